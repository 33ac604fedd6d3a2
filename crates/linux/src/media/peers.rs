// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is connected to a server, where its descriptors may not be copied (Yama's `ptrace_scope=3`, a service without CAP_SYS_PTRACE). The kernel
//! tells which two sockets are connected, by their numbers (linux/unix_diag.h), and /proc who has the other one; so all processes' descriptors are
//! looked at, which costs a hundred times as much.

use std::collections::BTreeSet;
use std::io;

use crate::file::Root;
use crate::netlink::{attributes, u32_at};
use crate::open_files::{processes, sockets};
use crate::sock_diag::{ask, open, SOCK_DIAG_BY_FAMILY};

const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_PEER: u16 = 2;
const UDIAG_SHOW_NAME: u32 = 1;
const UDIAG_SHOW_PEER: u32 = 4;
const TCP_ESTABLISHED: u32 = 1;

const MESSAGE_BYTES: usize = 16;

/// The processes that have the other end of one of a server's named connections.
pub(super) fn peers(root: &Root, server: u32) -> io::Result<BTreeSet<u32>> {
    let ours: BTreeSet<u32> = sockets(root, server)?.collect();
    let mut theirs = BTreeSet::new();
    ask(&open()?, SOCK_DIAG_BY_FAMILY, &request(), &mut Vec::new(), &mut |message| {
        theirs.extend(named_pair(message).filter(|(own, _)| ours.contains(own)).map(|(_, peer)| peer));
    })?;
    if theirs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let has_one = |&pid: &u32| sockets(root, pid).is_ok_and(|mut sockets| sockets.any(|own| theirs.contains(&own)));
    let others = processes(root).map_err(io::Error::other)?.filter(|&pid| pid != server);
    Ok(others.filter(has_one).collect())
}

pub(super) fn fuzz(message: &[u8]) {
    let _ = named_pair(message);
}

/// `struct unix_diag_req`.
fn request() -> [u8; 24] {
    let mut body = [0; 24];
    body[0] = libc::AF_UNIX as u8;
    body[4..8].copy_from_slice(&(1u32 << TCP_ESTABLISHED).to_ne_bytes());
    body[12..16].copy_from_slice(&(UDIAG_SHOW_NAME | UDIAG_SHOW_PEER).to_ne_bytes());
    body
}

/// A socket with the name of the one that listens, and its peer, of a `struct unix_diag_msg`.
fn named_pair(message: &[u8]) -> Option<(u32, u32)> {
    let own = u32_at(message, 4)?;
    let (mut is_named, mut peer) = (false, None);
    for (kind, value) in attributes(message.get(MESSAGE_BYTES..)?) {
        match kind {
            UNIX_DIAG_NAME => is_named = !value.is_empty(),
            UNIX_DIAG_PEER => peer = u32_at(value, 0),
            _ => (),
        }
    }
    peer.filter(|_| is_named).map(|peer| (own, peer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::clients::clients;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    #[test]
    fn both_ways_of_asking_name_the_same_clients() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let accepted = listener.accept().unwrap().0;
        // The other process has the server's end alone, we the client's.
        let mut child = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)))
            .stdout(Stdio::from(std::os::fd::OwnedFd::from(accepted)))
            .spawn()
            .unwrap();
        let root = Root::at("/");
        let found = [clients(&root, child.id()), peers(&root, child.id())];
        let none = peers(&root, std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        drop(client);
        if let [Err(e), _] | [_, Err(e)] = &found {
            return println!("skipped: {e}");
        }
        let ours = BTreeSet::from([std::process::id()]);
        assert_eq!(found.map(Result::unwrap), [ours.clone(), ours]);
        assert!(!none.unwrap().contains(&child.id()), "a client is no server");
    }
}
