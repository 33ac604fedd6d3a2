// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The receive window of another process's connection. Its descriptor is copied for the few microseconds that takes and closed again: were it kept,
//! the connection would outlive the app's closing it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{pidfd_getfd, pidfd_open, Pid, PidfdFlags, PidfdGetfdFlags};
use serde::{Deserialize, Serialize};

use crate::file::Root;
use crate::open_files::socket_number;
use crate::sys;

/// What is set beside what the app has locked: the kernel does not tune the receive buffer any more, and with it the window.
const RECEIVE_LOCK: u32 = 2;

/// Descriptors of one process that are looked at.
const DESCRIPTORS_MAX: usize = 16384;

/// A connection as it was before its window was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSocket {
    /// The process it was found in.
    pub pid: u32,
    /// Its descriptor there.
    pub fd: i32,
    /// Its number, by which it is known again: no other living socket has it.
    pub inode: u64,
    /// Which of its buffers were locked (SO_BUF_LOCK).
    pub lock: u32,
    /// The largest window it could offer (TCP_WINDOW_CLAMP).
    pub clamp_bytes: u32,
}

/// A copy of the socket; `None` if that process has not got it there any more.
pub(super) fn copy(pid: u32, fd: i32, inode: u64) -> io::Result<Option<OwnedFd>> {
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    let copied = pidfd_open(process, PidfdFlags::empty())
        .and_then(|pidfd| pidfd_getfd(pidfd, fd, PidfdGetfdFlags::empty()))
        .map_err(io::Error::from);
    match copied {
        Ok(socket) => Ok((rustix::fs::fstat(&socket)?.st_ino == inode).then_some(socket)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::ESRCH | libc::EBADF)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// What it is now; `None` if it is no TCP connection of the kernel's.
pub(super) fn read(socket: &OwnedFd) -> io::Result<(u32, u32)> {
    let lock = sys::socket_option(socket.as_fd(), libc::SOL_SOCKET, sys::SO_BUF_LOCK)?;
    Ok((lock, sys::socket_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP)?))
}

/// Holds a window. Locked first: without that the kernel's tuning undoes it within a second.
pub(super) fn hold(socket: &OwnedFd, lock: u32, window_bytes: u32) -> io::Result<()> {
    sys::set_socket_option(socket.as_fd(), libc::SOL_SOCKET, sys::SO_BUF_LOCK, lock | RECEIVE_LOCK)?;
    sys::set_socket_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window_bytes)
}

/// As it was.
pub(super) fn release(socket: &OwnedFd, held: &HeldSocket) -> io::Result<()> {
    // One that has ended meanwhile is CLOSE, and refuses a clamp of 0 in any other state; it never had one then.
    if held.clamp_bytes > 0 {
        sys::set_socket_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, held.clamp_bytes)?;
    }
    sys::set_socket_option(socket.as_fd(), libc::SOL_SOCKET, sys::SO_BUF_LOCK, held.lock)
}

/// Where processes have which sockets.
pub(super) fn descriptors(root: &Root, pids: &[u32], found: &mut BTreeMap<u64, (u32, i32)>) {
    for &pid in pids {
        let Ok(entries) = std::fs::read_dir(root.join(format!("proc/{pid}/fd"))) else { continue };
        for entry in entries.flatten().take(DESCRIPTORS_MAX) {
            let Some(fd) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(link) = std::fs::read_link(entry.path()) else { continue };
            if let Some(inode) = socket_number(&link) {
                found.entry(inode).or_insert((pid, fd));
            }
        }
    }
}
