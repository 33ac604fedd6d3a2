// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon does to itself: it must run when memory is short, and know who talks to it.

use std::os::fd::AsFd;

use rustix::mm::{mlockall, MlockAllFlags};

use crate::file::{write_named, Root};
use crate::{sys, Error};

/// Who is at the other end of a unix socket, as of when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// PID; 0 if it is of a PID namespace that we do not see.
    pub pid: u32,
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
}

/// Asks the kernel for a connected unix socket's peer (SO_PEERCRED).
pub fn peer_of(socket: impl AsFd) -> Result<Peer, Error> {
    let peer = sys::peer_credentials(socket.as_fd()).map_err(|e| Error::call("SO_PEERCRED", "a control socket", e))?;
    Ok(Peer { pid: u32::try_from(peer.pid).unwrap_or(0), uid: peer.uid, gid: peer.gid })
}

/// Keeps the process's own pages in memory: a daemon that must be paged in to relieve memory pressure is too late. Pages are locked
/// as they are touched and not all at once, so that unused stack and buffers cost nothing.
pub(crate) fn lock_memory() -> Result<(), Error> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT).map_err(|e| match e {
        rustix::io::Errno::PERM | rustix::io::Errno::NOMEM => Error::Missing {
            what: "locked memory",
            mend: "run as root (CAP_IPC_LOCK) or raise LimitMEMLOCK in the unit".into(),
        },
        e => Error::call("mlockall", "the daemon", e),
    })
}

/// Puts the process itself out of the OOM killer's reach.
pub(crate) fn set_self_oom_protection(root: &Root) -> Result<(), Error> {
    write_named(&root.join("proc/self/oom_score_adj"), "-1000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_pairs_peer_is_this_process() {
        let (a, _b) = std::os::unix::net::UnixStream::pair().unwrap();
        let peer = peer_of(&a).unwrap();
        assert_eq!(peer.pid, std::process::id());
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
    }
}
