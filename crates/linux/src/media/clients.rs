// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is connected to a server, asked of the server's own sockets: the kernel keeps who connected (SO_PEERCRED). So no other process need be
//! looked into, and the cost is the server's descriptors. Only unix sockets are copied for that ([`super::unix`]): anybody may call his
//! program like a server, and what he does with his other sockets must not hold us up.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use fovea_apps::limits::SERVER_DESCRIPTORS_MAX;
use rustix::io::Errno;
use rustix::net::sockopt::socket_acceptconn;
use rustix::net::{getsockname, SocketAddrUnix};
use rustix::process::{pidfd_getfd, pidfd_open, Pid, PidfdFlags, PidfdGetfdFlags};

use super::peers::peers;
use super::unix::accepted;
use crate::file::Root;
use crate::open_files::socket_number;
use crate::probe::watched;
use crate::sys;

/// The processes that have connected to a server's named sockets. A process that was handed the connection (by a portal, say) is not known; who
/// made it is.
pub(crate) fn clients(root: &Root, server: u32) -> io::Result<BTreeSet<u32>> {
    let pid = i32::try_from(server).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    if !watched::may_touch(server) {
        return Ok(BTreeSet::new());
    }
    watched::touch(server);
    let accepted = accepted(root, server, &mut Vec::new())?;
    let mut clients = BTreeSet::new();
    for entry in std::fs::read_dir(root.join(format!("proc/{server}/fd")))?.flatten().take(SERVER_DESCRIPTORS_MAX) {
        let link = std::fs::read_link(entry.path());
        let is_accepted_one = link.is_ok_and(|to| socket_number(&to).is_some_and(|number| accepted.contains(&number)));
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|_| is_accepted_one) else { continue };
        // Closed in between, or opened anew as something else: what it is now is asked of it.
        let socket = match pidfd_getfd(&pidfd, number, PidfdGetfdFlags::empty()) {
            Ok(socket) => socket,
            Err(Errno::PERM) => return peers(root, server),
            Err(_) => continue,
        };
        if is_accepted(&socket) {
            let peer = sys::peer_credentials(socket.as_fd()).ok().and_then(|peer| u32::try_from(peer.pid).ok());
            clients.extend(peer.filter(|&pid| pid > 0));
        }
    }
    Ok(clients)
}

/// Accepted sockets have the name of the one that listens; the server's own connections, to the message bus say, have none. The one that listens
/// would name whoever made it: systemd, where the server was started by it.
fn is_accepted(socket: &OwnedFd) -> bool {
    let Some(name) = getsockname(socket).ok().and_then(|name| SocketAddrUnix::try_from(name).ok()) else {
        return false;
    };
    // One without a name has an empty one here.
    let is_named = name.path_bytes().or(name.abstract_name()).is_some_and(|bytes| !bytes.is_empty());
    is_named && socket_acceptconn(socket) == Ok(false)
}
