// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The receive window of another process's connection. Its descriptor is copied for the few microseconds that takes and closed again: were it kept,
//! the connection would outlive the app's closing it. And were the app to close it in those microseconds, closing ours would wait for as long as
//! the app likes (SO_LINGER): so the daemon has its probe do it ([`crate::probe`]).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{pidfd_getfd, pidfd_open, Pid, PidfdFlags, PidfdGetfdFlags};
use serde::{Deserialize, Serialize};

use crate::file::Root;
use crate::open_files::socket_number;
use crate::probe::watched;
use crate::{sys, Error};

/// What is set beside what the app has locked: the kernel does not tune the receive buffer any more, and with it the window.
const RECEIVE_LOCK: u32 = 2;

/// Descriptors of one process that are looked at.
const DESCRIPTORS_MAX: usize = 16384;

/// How far beyond the last known descriptor a fresh one is looked for first.
const FURTHER: i32 = 16;

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

/// What is to be done to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Act {
    /// Nothing: is it there?
    Find,
    /// Say what its locks and its largest window are.
    Read,
    /// Hold it, of which these were the locks.
    Hold { lock: u32, window_bytes: u32 },
    /// Hold it, being held, to another window.
    Change { window_bytes: u32 },
    /// Give it back what it had.
    Release(HeldSocket),
}

/// Sockets by their numbers: the process that has each, and its descriptor there.
pub(crate) type Descriptors = BTreeMap<u64, (u32, i32)>;

/// What came of it: `None` if that process has not got it there any more, else its locks and largest window (0 where they were not asked
/// for).
pub(crate) type Done = Option<(u32, u32)>;

/// Who does it.
pub(crate) trait Hand {
    /// Does it to the connection of that number, if the process has it at that descriptor.
    fn act(&mut self, pid: u32, fd: i32, inode: u64, act: Act) -> io::Result<Done>;

    /// Where a cgroup's processes have these sockets.
    fn sockets(
        &mut self,
        root: &Root,
        _cgroup: &str,
        pids: &[u32],
        wanted: &[u64],
        known: &Descriptors,
    ) -> Result<Descriptors, Error> {
        Ok(find_descriptors(root, pids, wanted, known))
    }

    /// The network namespaces of a cgroup's processes, one of the processes of each.
    fn namespaces(&mut self, root: &Root, _cgroup: &str, pids: Vec<u32>) -> Result<BTreeMap<u64, u32>, Error> {
        Ok(super::namespace::of_processes(root, &pids))
    }
}

impl Hand for Source {
    fn act(&mut self, pid: u32, fd: i32, inode: u64, act: Act) -> io::Result<Done> {
        let Some(socket) = self.copy(pid, fd, inode)? else { return Ok(None) };
        let done = match act {
            Act::Find => Ok((0, 0)),
            Act::Read => read(&socket),
            Act::Hold { lock, window_bytes } => hold(&socket, lock, window_bytes).map(|()| (0, 0)),
            Act::Change { window_bytes } => change(&socket, window_bytes).map(|()| (0, 0)),
            Act::Release(held) => release(&socket, &held).map(|()| (0, 0)),
        };
        done.map(Some)
    }
}

/// The process whose sockets are copied one after the other: it is opened once for all of them. One, not one for each process, for an app may
/// have more processes than we may have descriptors.
#[derive(Debug, Default)]
pub(crate) struct Source {
    opened: Option<(u32, OwnedFd)>,
}

impl Source {
    /// A copy of the socket; `None` if that process has not got it there any more.
    pub fn copy(&mut self, pid: u32, fd: i32, inode: u64) -> io::Result<Option<OwnedFd>> {
        if !matches!(&self.opened, Some((opened, _)) if *opened == pid) {
            let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
            match pidfd_open(process, PidfdFlags::empty()) {
                Ok(pidfd) => self.opened = Some((pid, pidfd)),
                Err(rustix::io::Errno::SRCH) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
        let Some((_, pidfd)) = &self.opened else { return Ok(None) };
        watched::touch(pid);
        copy_by(pidfd, fd, inode)
    }
}

/// A copy of one socket, alone.
#[cfg(test)]
pub(super) fn copy(pid: u32, fd: i32, inode: u64) -> io::Result<Option<OwnedFd>> {
    Source::default().copy(pid, fd, inode)
}

fn copy_by(pidfd: &OwnedFd, fd: i32, inode: u64) -> io::Result<Option<OwnedFd>> {
    match pidfd_getfd(pidfd, fd, PidfdGetfdFlags::empty()).map_err(io::Error::from) {
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
    change(socket, window_bytes)
}

/// Holds one that is held, and locked, to another window.
pub(super) fn change(socket: &OwnedFd, window_bytes: u32) -> io::Result<()> {
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
pub(super) fn descriptors(root: &Root, pids: &[u32]) -> BTreeMap<u64, (u32, i32)> {
    let mut found = BTreeMap::new();
    pids.iter().for_each(|&pid| read_descriptors(root, pid, &BTreeSet::new(), &mut found));
    found
}

/// Where processes have these sockets. Descriptors that are known to be something else are not read, for that is what looking costs; unless not all
/// are found elsewhere: an app may have put another socket where it had one.
pub(crate) fn find_descriptors(
    root: &Root,
    pids: &[u32],
    wanted: &[u64],
    known: &BTreeMap<u64, (u32, i32)>,
) -> BTreeMap<u64, (u32, i32)> {
    let mut by_process: BTreeMap<u32, BTreeSet<i32>> = BTreeMap::new();
    for &(pid, fd) in known.values() {
        by_process.entry(pid).or_default().insert(fd);
    }
    let mut found = BTreeMap::new();
    for &pid in pids {
        let known = by_process.remove(&pid).unwrap_or_default();
        let end = known.last().map_or(0, |&fd| fd.saturating_add(FURTHER));
        // A fresh descriptor is the lowest that is free: with few unknown ones these are tried, and the folder is not read.
        if end as usize <= 2 * known.len() {
            let unknown = (0..end).filter(|fd| !known.contains(fd));
            unknown.for_each(|fd| read_descriptor(root, pid, fd, &mut found));
        } else {
            read_descriptors(root, pid, &known, &mut found);
        }
    }
    if wanted.iter().any(|inode| !found.contains_key(inode)) {
        return descriptors(root, pids);
    }
    found
}

fn read_descriptors(root: &Root, pid: u32, known: &BTreeSet<i32>, found: &mut BTreeMap<u64, (u32, i32)>) {
    if !watched::touch(pid) {
        return;
    }
    let Ok(entries) = std::fs::read_dir(root.join(format!("proc/{pid}/fd"))) else { return };
    let names = entries.flatten().take(DESCRIPTORS_MAX).filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.filter(|fd| !known.contains(fd)).for_each(|fd| read_descriptor(root, pid, fd, found));
}

fn read_descriptor(root: &Root, pid: u32, fd: i32, found: &mut BTreeMap<u64, (u32, i32)>) {
    if !watched::touch(pid) {
        return;
    }
    let link = std::fs::read_link(root.join(format!("proc/{pid}/fd/{fd}")));
    if let Some(inode) = link.ok().and_then(|link| socket_number(&link)) {
        found.entry(inode).or_insert((pid, fd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    fn inode(socket: &impl AsFd) -> u64 {
        rustix::fs::fstat(socket).unwrap().st_ino
    }

    /// Found as by reading every descriptor, whatever is believed of some of them.
    #[test]
    fn known_descriptors_are_passed_over_and_wrong_beliefs_cost_nothing_but_time() {
        let (root, own) = (Root::at("/"), std::process::id());
        let pairs: Vec<_> = (0..8).map(|_| UnixStream::pair().unwrap()).collect();
        let place = |socket: &UnixStream| (own, socket.as_raw_fd());
        let known: BTreeMap<_, _> = pairs.iter().map(|(one, _)| (inode(one), place(one))).collect();
        let wanted: Vec<u64> = pairs.iter().map(|(_, other)| inode(other)).collect();
        let found = find_descriptors(&root, &[own], &wanted, &known);
        let all = descriptors(&root, &[own]);
        for ((one, other), wanted) in pairs.iter().zip(&wanted) {
            assert_eq!((found[wanted], all[wanted]), (place(other), place(other)));
            assert!(!found.contains_key(&inode(one)), "it is known, and was read");
        }
        // Nearly all that there is is known: the others are found without asking what there is.
        let last = all.values().map(|&(_, fd)| fd).max().unwrap();
        let beliefs = (0..=last).filter(|&fd| wanted.iter().all(|inode| all[inode].1 != fd));
        let known: BTreeMap<u64, (u32, i32)> = beliefs.map(|fd| (fd as u64, (own, fd))).collect();
        let found = find_descriptors(&root, &[own], &wanted, &known);
        assert!(wanted.iter().all(|inode| found[inode] == all[inode]));
        assert!(pairs.iter().all(|(one, _)| !found.contains_key(&inode(one))));
        // One of those looked for is where another is believed to be.
        let moved = BTreeMap::from([(1, place(&pairs[3].1))]);
        assert_eq!(find_descriptors(&root, &[own], &wanted, &moved)[&wanted[3]], place(&pairs[3].1));
        // And one is nowhere.
        assert!(!find_descriptors(&root, &[own], &[u64::MAX], &known).contains_key(&u64::MAX));
    }

    #[test]
    fn copies_are_of_the_process_they_are_asked_of() {
        let (ours, _peer) = UnixStream::pair().unwrap();
        let (own, fd) = (std::process::id(), ours.as_raw_fd());
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let mut source = Source::default();
        for _ in 0..2 {
            assert!(source.copy(own, fd, inode(&ours)).unwrap().is_some());
            // Descriptors of that number are of others there, or none.
            assert!(source.copy(child.id(), fd, inode(&ours)).unwrap().is_none());
        }
        assert!(source.copy(child.id(), 0, inode(&ours)).unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(source.copy(child.id(), 0, inode(&ours)).unwrap().is_none());
        assert!(source.copy(own, fd, inode(&ours)).unwrap().is_some());
        assert!(source.copy(own, fd, inode(&ours) + 1).unwrap().is_none());
        assert!(source.copy(u32::MAX, fd, inode(&ours)).unwrap().is_none());
    }
}
