// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Telling systemd that the daemon is ready, and that it is alive (sd_notify(3)). The unit lets its main process speak alone
//! (`NotifyAccess=main`), which is the supervisor; the worker speaks in its name, as root may (`SCM_CREDENTIALS`).

use std::io::IoSlice;
use std::mem::MaybeUninit;

use rustix::io::Errno;
use rustix::net::{
    sendmsg_addr, socket_with, AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, UCred,
};
use rustix::process::{getegid, geteuid, getpid, getppid};

/// Whoever started us, if he listens.
#[derive(Debug)]
pub struct Notify {
    address: Option<SocketAddrUnix>,
    /// Half of the time after which silence counts as death.
    pub period_ns: Option<u64>,
    /// When it was last told that the loop turns.
    told_ns: Option<u64>,
}

impl Notify {
    /// By the environment that systemd gives. The watchdog is for the main process, which is our supervisor: it is the worker that may hang,
    /// so `WATCHDOG_PID` is not looked at.
    pub fn from_environment() -> Self {
        let said = |name: &str| std::env::var(name).ok();
        Self::new(said("NOTIFY_SOCKET").as_deref(), said("WATCHDOG_USEC").as_deref())
    }

    fn new(socket: Option<&str>, watchdog_us: Option<&str>) -> Self {
        let address = socket.and_then(|socket| match socket.strip_prefix('@') {
            Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()).ok(),
            None => SocketAddrUnix::new(socket).ok(),
        });
        let half = |us: u64| us.checked_mul(500).filter(|&ns| ns > 0);
        let period_ns = watchdog_us.and_then(|us| us.parse().ok()).and_then(half).filter(|_| address.is_some());
        Self { address, period_ns, told_ns: None }
    }

    /// The device is set up, and requests are answered.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// The loop has turned: told once a period, however often it turns. Returns when it is to be told again.
    pub fn alive(&mut self, now_ns: u64) -> Option<u64> {
        let period_ns = self.period_ns?;
        match self.told_ns.map(|told_ns| told_ns + period_ns).filter(|&due_ns| due_ns > now_ns) {
            Some(due_ns) => Some(due_ns),
            None => {
                self.tell("WATCHDOG=1");
                self.told_ns = Some(now_ns);
                Some(now_ns + period_ns)
            }
        }
    }

    fn tell(&self, what: &str) {
        let Some(address) = &self.address else { return };
        let told = send(address, what);
        if let Err(e) = told {
            say!("fovea: telling systemd {what}: {e}");
        }
    }
}

/// In the supervisor's name; who is not root has only his own.
fn send(address: &SocketAddrUnix, what: &str) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let pid = getppid().unwrap_or_else(getpid);
    control.push(SendAncillaryMessage::ScmCredentials(UCred { pid, uid: geteuid(), gid: getegid() }));
    let text = [IoSlice::new(what.as_bytes())];
    match sendmsg_addr(&socket, address, &text, &mut control, SendFlags::NOSIGNAL) {
        Err(Errno::PERM) => {
            sendmsg_addr(&socket, address, &text, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
        }
        sent => sent,
    }
    .map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use rustix::net::{recvmsg, sockopt, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

    use super::*;

    /// Needs to be root, as the daemon is; skipped where it is not.
    #[test]
    fn the_worker_speaks_in_its_supervisors_name() {
        if !geteuid().is_root() {
            eprintln!("skipped: root alone may speak for others");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        sockopt::set_socket_passcred(&listener, true).unwrap();
        Notify::new(path.to_str(), None).ready();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut buffer = [0; 64];
        let mut parts = [std::io::IoSliceMut::new(&mut buffer)];
        recvmsg(&listener, &mut parts, &mut control, RecvFlags::empty()).unwrap();
        let speakers: Vec<_> = control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmCredentials(credentials) => Some(credentials.pid),
                _ => None,
            })
            .collect();
        assert_eq!(speakers, [getppid().unwrap()]);
    }

    #[test]
    fn systemd_is_told_what_it_asks_for_and_nobody_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let heard = || {
            let mut buffer = [0; 64];
            let length = listener.recv(&mut buffer).unwrap();
            String::from_utf8(buffer[..length].to_vec()).unwrap()
        };
        let mut notify = Notify::new(path.to_str(), Some("120000000"));
        assert_eq!(notify.period_ns, Some(60_000_000_000));
        notify.ready();
        assert_eq!(heard(), "READY=1");
        const MINUTE_NS: u64 = 60_000_000_000;
        assert_eq!(notify.alive(5), Some(5 + MINUTE_NS));
        assert_eq!(heard(), "WATCHDOG=1");
        // Under pressure the loop turns twenty times a second.
        for turn in 0..1000 {
            assert_eq!(notify.alive(6 + turn * 50_000_000), Some(5 + MINUTE_NS));
        }
        notify.ready();
        assert_eq!(heard(), "READY=1", "nothing in between");
        assert_eq!(notify.alive(5 + MINUTE_NS), Some(5 + 2 * MINUTE_NS));
        assert_eq!(heard(), "WATCHDOG=1");
        let mut without = Notify::new(path.to_str(), None);
        assert_eq!(without.alive(0), None);
        without.ready();
        assert_eq!(heard(), "READY=1", "no watchdog, no word");
        for (socket, us) in [(None, Some("5")), (Some(""), Some("x")), (path.to_str(), Some("0"))] {
            assert_eq!(Notify::new(socket, us).period_ns, None);
        }
        Notify::new(None, None).ready();
    }
}
