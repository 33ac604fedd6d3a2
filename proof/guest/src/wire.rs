// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the first process, the zygote and the apps say to each other: one JSON message a packet over a socket pair.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use fovea_scenario::{AppProfile, BufferUse, Touch};
use rustix::net::{
    recvmsg, sendmsg, socketpair, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::outcome::{At, Outcome};

/// The largest message; an app's profile with a few hundred files fits.
const MESSAGE_MAX_BYTES: usize = 64 * 1024;

/// Number of the descriptor on which an app and the zygote find their socket.
pub const SOCKET_FD: i32 = 3;

/// To an app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "kebab-case")]
pub enum ToApp {
    /// First message: who it is. Not answered.
    Setup {
        /// Its profile.
        profile: Box<AppProfile>,
        /// Seed of its content and touch sets.
        seed: u64,
        /// Whether time is counted in instructions.
        exact: bool,
        /// Whether its start computes between its files, and not after them.
        spreads: bool,
    },
    /// Start: answered by `Ready`, after which the rest of the memory is filled.
    Launch {
        /// How often it has been opened before in this boot; chooses the drift.
        turn: u64,
    },
    /// Return to the screen: answered by `Ready`.
    Resume {
        /// As in `Launch`.
        turn: u64,
    },
    /// One interaction, in front: answered by `Ready`.
    Interact {
        /// Chooses the drift.
        turn: u64,
        /// What it touches.
        touch: Touch,
    },
    /// Work with it for a while, in front: answered by `Used`.
    Use {
        /// As in `Launch`.
        turn: u64,
        /// For so long.
        ns: u64,
    },
    /// Tell what device memory was allocated: answered by `Log`.
    Log {},
    /// Left: answered by `Released` if its profile names device buffers, else not at all.
    Background {
        /// Whether it goes on writing (`Churn`); a closed app does not.
        churn: bool,
    },
    /// Check every page: answered by `Checked`.
    Verify {},
    /// Occupy so many more pages at once: answered by `Ready`.
    Grow {
        /// How many.
        pages: u64,
    },
}

/// From an app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum FromApp {
    /// It can be used.
    Ready(Count),
    /// All is checked.
    Checked(Count),
    /// It was worked with.
    Used(Count),
    /// Device memory it asked for since it was last asked.
    Log {
        /// In order.
        buffers: Vec<BufferUse>,
    },
    /// It holds no device memory any more.
    Released {},
}

/// Pages checked, and how many of them were wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Pages looked at.
    pub checked: u64,
    /// Pages that did not hold what was written there.
    pub wrong: u64,
}

impl Count {
    /// Adds one page.
    pub fn page(&mut self, right: bool) {
        self.checked += 1;
        self.wrong += u64::from(!right);
    }
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.checked += other.checked;
        self.wrong += other.wrong;
    }
}

/// To the zygote, with two descriptors: the app's socket and its cgroup's folder. Answered by [`Forked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {}

/// From the zygote: once with its own PID when it has preloaded, then for each app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// The process, or why there is none.
    pub pid: Result<u32, String>,
}

/// A pair of connected packet sockets, closed on exec.
pub fn pair() -> Outcome<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .at(|| "making a socket pair".into())
}

/// Sends a message, and descriptors with it. `Ok(false)`: the other end is gone.
pub fn send(socket: impl AsFd, message: &impl Serialize, fds: &[BorrowedFd<'_>]) -> Outcome<bool> {
    let bytes = serde_json::to_vec(message).at(|| "writing a message".into())?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(format!("sending {} descriptors: at most 2 fit a message", fds.len()));
    }
    match sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL) {
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => Ok(false),
        Err(error) => Err(format!("sending a message of {} bytes: {error}", bytes.len())),
    }
}

/// Waits for a message and takes it; `None`: the other end is gone.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> Outcome<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0u8; MESSAGE_MAX_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC) {
        Ok(got) if got.bytes == 0 => return Ok(None),
        Ok(got) => got,
        Err(rustix::io::Errno::CONNRESET) => return Ok(None),
        Err(error) => return Err(format!("receiving a message: {error}")),
    };
    if got.flags.contains(ReturnFlags::TRUNC) {
        return Err(format!("a message is longer than {MESSAGE_MAX_BYTES} bytes: give the app fewer files"));
    }
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let message = serde_json::from_slice(&bytes[..got.bytes]).at(|| "reading a message".into())?;
    Ok(Some((message, fds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_descriptors_arrive() {
        let (a, b) = pair().unwrap();
        let (c, d) = pair().unwrap();
        assert!(send(&a, &Fork {}, &[c.as_fd(), d.as_fd()]).unwrap());
        let (_, fds) = receive::<Fork>(&b).unwrap().unwrap();
        assert_eq!(fds.len(), 2);
        let count = FromApp::Ready(Count { checked: 5, wrong: 1 });
        assert!(send(&fds[0], &count, &[]).unwrap());
        assert_eq!(receive::<FromApp>(&d).unwrap().unwrap().0, count);
    }

    #[test]
    fn a_closed_end_is_told_not_failed() {
        let (a, b) = pair().unwrap();
        drop(b);
        assert!(!send(&a, &ToApp::Verify {}, &[]).unwrap());
        assert!(receive::<ToApp>(&a).unwrap().is_none());
    }

    #[test]
    fn garbage_is_an_error() {
        let (a, b) = pair().unwrap();
        assert!(send(&a, &"what", &[]).unwrap());
        assert!(receive::<ToApp>(&b).is_err());
    }
}
