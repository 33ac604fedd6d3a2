// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Network namespaces: a socket asks about the one it was made in, and a file of /proc/net shows the one it was opened in.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use rustix::thread::{move_into_link_name_space, LinkNameSpaceType};

use super::diag;
use crate::file::{read_into, Root};
use crate::probe::watched;
use crate::{sock_diag, Error};

/// One of them.
#[derive(Debug)]
pub(super) struct Namespace {
    /// Inode of its file in nsfs.
    pub id: u64,
    pub diag: OwnedFd,
    interfaces: OwnedFd,
    /// What each interface has received in all.
    received: BTreeMap<Vec<u8>, u64>,
}

/// The namespace of a process.
pub(super) fn id(root: &Root, pid: &str) -> io::Result<u64> {
    Ok(std::fs::metadata(root.join(format!("proc/{pid}/ns/net")))?.ino())
}

/// Does something in a process's namespace. A thread goes there and ends: whoever asks stays where he is.
pub(super) fn within<T: Send + 'static>(
    root: &Root,
    pid: u32,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let path = root.join(format!("proc/{pid}/ns/net"));
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    let there = move || {
        enter(process, &path)?;
        work()
    };
    let thread = std::thread::Builder::new().name("net".into()).spawn(there)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}

/// By the pidfd: opening the link waits where the process can make it ([`crate::probe::inspect`]). Kernels that take no pidfd
/// there (before 5.8) do not wait at the link.
fn enter(process: Pid, link: &Path) -> io::Result<()> {
    let network = Some(LinkNameSpaceType::Network);
    let pidfd = pidfd_open(process, PidfdFlags::empty());
    match pidfd.and_then(|pidfd| move_into_link_name_space(pidfd.as_fd(), network)) {
        Err(Errno::NOSYS | Errno::INVAL) => Ok(move_into_link_name_space(File::open(link)?.as_fd(), network)?),
        entered => Ok(entered?),
    }
}

/// Has the calling thread leave its namespace for one with nothing in it, for as long as it lives.
pub(crate) fn leave_for_an_empty_namespace() -> io::Result<()> {
    // SAFETY: the network namespace alone is another one, of this thread alone; descriptors and memory are shared as they were.
    Ok(unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }?)
}

impl Namespace {
    /// Our own.
    pub fn own(root: &Root) -> io::Result<Namespace> {
        Self::here(root, id(root, "self")?)
    }

    fn here(root: &Root, id: u64) -> io::Result<Namespace> {
        // "self" is the process, whose first thread is in another one.
        let interfaces = File::open(root.join("proc/thread-self/net/dev"))?.into();
        Ok(Namespace { id, diag: sock_diag::open()?, interfaces, received: BTreeMap::new() })
    }

    /// A process's.
    pub fn of(root: &Root, pid: u32) -> io::Result<Namespace> {
        let own_root = root.clone();
        within(root, pid, move || Self::here(&own_root, id(&own_root, "thread-self")?))
    }

    /// What came since the last time by the interface by which most did; loopback is none. The first time nothing has.
    pub fn received_bytes(&mut self, text: &mut Vec<u8>) -> io::Result<u64> {
        text.clear();
        let mut chunk = [0; 4096];
        loop {
            match crate::file::retry(|| rustix::io::pread(&self.interfaces, &mut chunk[..], text.len() as u64))? {
                0 => break,
                length => text.extend_from_slice(&chunk[..length]),
            }
        }
        let mut most = 0;
        for (name, bytes) in interfaces(text) {
            match self.received.get_mut(name) {
                Some(known) => most = most.max(bytes.saturating_sub(std::mem::replace(known, bytes))),
                None => drop(self.received.insert(name.to_vec(), bytes)),
            }
        }
        Ok(most)
    }
}

/// Name and received bytes of each line of /proc/net/dev but the loopback's.
pub(super) fn interfaces(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    text.split(|&byte| byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = line[..colon].trim_ascii();
        (name != b"lo").then_some((name, crate::proc::number(&line[colon + 1..])?))
    })
}

/// The namespaces of processes, one of the processes of each.
pub(crate) fn of_processes(root: &Root, pids: &[u32]) -> BTreeMap<u64, u32> {
    // One that ends meanwhile has none.
    let id = |pid: u32| watched::touch(pid).then(|| id(root, &pid.to_string()).ok())?;
    pids.iter().filter_map(|&pid| Some((id(pid)?, pid))).collect()
}

/// Whether the kernel answers at all, and says whose sockets are.
pub(super) fn probe(root: &Root) -> io::Result<bool> {
    let own = Namespace::own(root)?;
    // Of a machine without any connection nothing can be said against it: the attribute is as old as Linux 5.8.
    let mut lacks_cgroup = false;
    let mut buffer = Vec::new();
    diag::dump(&own.diag, diag::Protocol::Tcp, &mut buffer, &mut |socket| lacks_cgroup |= socket.cgroup.is_none())?;
    read_into(&root.join("proc/net/dev"), &mut buffer)?;
    Ok(!lacks_cgroup)
}

/// Whether there is an interface but the loopback's, in the machine's own namespace or in ours: whoever has one in another reaches the world through
/// one of those.
pub(crate) fn has_network(root: &Root) -> Result<bool, Error> {
    let has = |path: &str| {
        let text = crate::file::read(&root.join(path))?;
        let first = interfaces(&text).next();
        Ok(first.is_some())
    };
    Ok(has("proc/net/dev")? || has("proc/1/net/dev").unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_named_with_what_they_received() {
        let text = b"Inter-|   Receive\n face |bytes    packets\n    lo: 42 1 0\n  eth0: 1234 7 0 0\nwlan0:99 1\n";
        let found: Vec<_> = interfaces(text).collect();
        assert_eq!(found, [(&b"eth0"[..], 1234), (&b"wlan0"[..], 99)]);
    }

    #[test]
    fn the_first_look_has_seen_nothing_come() {
        let Ok(mut own) = Namespace::own(&Root::at("/")) else { return };
        assert_eq!(own.received_bytes(&mut Vec::new()).unwrap(), 0);
        assert_eq!(own.id, id(&Root::at("/"), "self").unwrap());
    }
}
