// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! News of kills for the users whose apps they were: a socket that anybody may listen on and nobody can say anything on. So whoever shows them on
//! a user's screen need not be root.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use fovea_apps::limits::{listener_to_close, LISTENERS_IN_A_ROW_MAX};
use fovea_client::news::{Killed, SOCKET_NAME};
use fovea_client::socket;
use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};

/// The socket and who listens.
#[derive(Debug)]
pub struct News {
    socket: OwnedFd,
    listeners: Vec<(OwnedFd, u32)>,
}

impl News {
    /// Makes the socket of a run folder, in place of one that a dead daemon left.
    pub fn open(run_folder: &Path) -> std::io::Result<News> {
        let socket = socket::listen_at(&run_folder.join(SOCKET_NAME), 0o666)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(News { socket, listeners: Vec::new() })
    }

    /// Readable when somebody comes.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes some of those who have come, in place of those who have gone or of the first of a user who has too many. The
    /// socket stays readable while there are more.
    pub fn accept(&mut self) {
        for _ in 0..LISTENERS_IN_A_ROW_MAX {
            let Ok(Some(listener)) = socket::accept(&self.socket) else { return };
            if let Ok(peer) = fovea_linux::peer_of(&listener) {
                self.add(listener, peer.uid);
            }
        }
    }

    fn add(&mut self, listener: OwnedFd, uid: u32) {
        // Whoever says something is not one who listens.
        self.listeners.retain(|(fd, _)| recv(fd, &mut [0u8; 1][..], RecvFlags::empty()) == Err(Errno::AGAIN));
        self.listeners.push((listener, uid));
        let users: Vec<u32> = self.listeners.iter().map(|&(_, of)| of).collect();
        if let Some(first) = listener_to_close(&users) {
            self.listeners.remove(first);
        }
    }

    /// Tells those whose app it was, and root. Who does not read is let go.
    pub fn tell(&mut self, killed: &Killed) {
        let Ok(text) = serde_json::to_vec(killed) else { return };
        self.listeners.retain(|(listener, uid)| {
            let is_theirs = *uid == 0 || killed.uid == Some(*uid);
            !is_theirs || send(listener, &text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fovea_apps::limits::{LISTENERS_MAX, LISTENERS_OF_USER_MAX};
    use fovea_client::news::NEWS_MAX_BYTES;
    use fovea_policy::Reason;
    use rustix::net::socketpair;
    use rustix::net::{socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

    fn killed(uid: Option<u32>) -> Killed {
        Killed {
            app: "mail".parse().unwrap(),
            unit: "app-mail-7.scope".into(),
            uid,
            reason: Reason::SwapFull,
            process: None,
            size_bytes: 7,
        }
    }

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    }

    fn hears(listener: &OwnedFd) -> Result<Killed, Errno> {
        let mut buffer = [0u8; NEWS_MAX_BYTES];
        let (length, _) = recv(listener, &mut buffer[..], RecvFlags::empty())?;
        Ok(serde_json::from_slice(&buffer[..length]).unwrap_or_else(|_| panic!("let go")))
    }

    fn is_let_go(listener: &OwnedFd) -> bool {
        matches!(recv(listener, &mut [0u8; 8][..], RecvFlags::empty()), Ok((0, _)) | Err(Errno::CONNRESET))
    }

    #[test]
    fn each_user_hears_of_his_own_apps_and_root_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut news = News::open(folder.path()).unwrap();
        let (theirs, ours): (Vec<_>, Vec<_>) = [0, 1000, 1001].map(|uid| (pair(), uid)).into_iter().unzip();
        let theirs: Vec<OwnedFd> = theirs
            .into_iter()
            .zip(ours)
            .map(|((a, b), uid)| {
                news.add(a, uid);
                b
            })
            .collect();
        news.tell(&killed(Some(1000)));
        assert_eq!(hears(&theirs[0]), Ok(killed(Some(1000))));
        assert_eq!(hears(&theirs[1]), Ok(killed(Some(1000))));
        assert_eq!(hears(&theirs[2]), Err(Errno::AGAIN), "another user's");
        news.tell(&killed(None));
        assert_eq!(hears(&theirs[0]), Ok(killed(None)));
        assert_eq!(hears(&theirs[1]), Err(Errno::AGAIN), "nobody knows whose");
    }

    #[test]
    fn one_user_keeps_nobody_out_and_who_talks_or_does_not_read_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut news = News::open(folder.path()).unwrap();
        let mut greedy = Vec::new();
        for _ in 0..200 {
            let (a, b) = pair();
            news.add(a, 1000);
            greedy.push(b);
        }
        assert_eq!(news.listeners.len(), LISTENERS_OF_USER_MAX);
        assert!(is_let_go(&greedy[0]) && !is_let_go(&greedy[199]));
        let (a, talker) = pair();
        news.add(a, 1001);
        send(&talker, b"kill me", SendFlags::NOSIGNAL).unwrap();
        let (a, deaf) = pair();
        news.add(a, 1002);
        assert!(is_let_go(&talker));
        for _ in 0..100_000 {
            news.tell(&killed(Some(1002)));
        }
        assert_eq!(news.listeners.len(), LISTENERS_OF_USER_MAX, "the deaf one has gone");
        drop(deaf);
    }

    #[test]
    fn many_users_with_many_listeners_keep_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut news = News::open(folder.path()).unwrap();
        let mut greedy = Vec::new();
        for uid in 2000..2100 {
            for _ in 0..LISTENERS_OF_USER_MAX {
                let (a, b) = pair();
                news.add(a, uid);
                greedy.push(b);
            }
        }
        assert_eq!(news.listeners.len(), LISTENERS_MAX);
        let (a, modest) = pair();
        news.add(a, 1000);
        for uid in 2000..2100 {
            let (a, b) = pair();
            news.add(a, uid);
            greedy.push(b);
        }
        assert!(!is_let_go(&modest), "who has one is not the one that goes");
        assert!(news.listeners.len() <= LISTENERS_MAX);
    }

    #[test]
    fn those_who_come_without_end_are_taken_some_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut news = News::open(folder.path()).unwrap();
        let address = SocketAddrUnix::new(folder.path().join(SOCKET_NAME)).unwrap();
        let connect = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
            rustix::net::connect(&listener, &address).map(|()| listener)
        };
        let mut come: Vec<OwnedFd> = std::iter::from_fn(|| connect().ok()).collect();
        assert!(come.len() > LISTENERS_IN_A_ROW_MAX, "the socket's queue is longer: {}", come.len());
        news.accept();
        assert!(connect().is_ok_and(|listener| {
            come.push(listener);
            true
        }));
        let more = std::iter::from_fn(|| connect().ok().map(|listener| come.push(listener))).count() + 1;
        assert_eq!(more, LISTENERS_IN_A_ROW_MAX, "so many were taken");
    }

    #[test]
    fn a_listener_connects_by_the_sockets_name_and_is_known_by_the_kernels_word() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(SOCKET_NAME), "left by a dead one").unwrap();
        let mut news = News::open(folder.path()).unwrap();
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let address = SocketAddrUnix::new(folder.path().join(SOCKET_NAME)).unwrap();
        rustix::net::connect(&listener, &address).unwrap();
        news.accept();
        let uid = rustix::process::geteuid().as_raw();
        assert_eq!(news.listeners[0].1, uid);
        news.tell(&killed(Some(uid)));
        assert_eq!(hears(&listener), Ok(killed(Some(uid))));
    }
}
