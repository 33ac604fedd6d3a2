// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The control socket: root only, one packet a request, no client can make the daemon wait.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    accept_with, bind, listen, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};

use fovea_client::protocol::{Reply, Request, REPLY_MAX_BYTES, REQUEST_MAX_BYTES, SOCKET_NAME};

/// Makes the control socket of a run folder: for its owner alone.
pub fn open(run_folder: &Path) -> std::io::Result<OwnedFd> {
    make_socket(&run_folder.join(SOCKET_NAME), 0o600, 16)
}

/// A socket that is listened on, in place of one that a dead daemon left.
pub fn make_socket(path: &Path, mode: u32, backlog: i32) -> std::io::Result<OwnedFd> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    // The kernel's structure holds 107 bytes.
    let address = SocketAddrUnix::new(path)
        .map_err(|_| std::io::Error::other("too long for a socket: name a run folder with a shorter path"))?;
    bind(&socket, &address)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    listen(&socket, backlog)?;
    Ok(socket)
}

/// Takes the next client; `None` when there is none. One that is neither root nor the daemon's own user is told so and let go.
pub fn accept(listener: &OwnedFd) -> std::io::Result<Option<OwnedFd>> {
    loop {
        let client = match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(client) => client,
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::CONNABORTED | Errno::INTR) => continue,
            // Memory is short, which is what the daemon is there to end: the client waits in the queue until then.
            Err(Errno::NOMEM | Errno::NOBUFS) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let peer = fovea_linux::peer_of(&client).map_err(std::io::Error::other)?.uid;
        if peer == 0 || peer == rustix::process::geteuid().as_raw() {
            return Ok(Some(client));
        }
        let error = format!("user {peer} may not steer the daemon: ask as root");
        reply(&client, &Reply::Error { error });
    }
}

/// What came from a client.
pub enum Received {
    /// A request.
    Request(Request),
    /// Something that is none: what to answer.
    Bad(String),
    /// Nothing now.
    Nothing,
    /// The client is gone.
    Gone,
}

/// Reads the next packet of a client.
pub fn receive(client: &OwnedFd) -> Received {
    let mut buffer = [0u8; REQUEST_MAX_BYTES];
    match recv(client, &mut buffer[..], RecvFlags::TRUNC) {
        Ok((_, 0)) => Received::Gone,
        Ok((_, length)) if length > REQUEST_MAX_BYTES => {
            Received::Bad(format!("request of {length} bytes: at most {REQUEST_MAX_BYTES} are read"))
        }
        Ok((got, _)) => match serde_json::from_slice(&buffer[..got]) {
            Ok(request) => Received::Request(request),
            Err(e) => Received::Bad(format!("request is not understood ({e}): see the protocol's documentation")),
        },
        Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
        Err(_) => Received::Gone,
    }
}

/// Answers a client; false if it cannot be answered without waiting (it is to be let go).
pub fn reply(client: &OwnedFd, reply: &Reply) -> bool {
    let Ok(mut text) = serde_json::to_vec(reply) else { return false };
    if text.len() > REPLY_MAX_BYTES {
        let error = format!("the answer has {} bytes, more than {REPLY_MAX_BYTES}: ask for less", text.len());
        text = serde_json::to_vec(&Reply::Error { error }).unwrap_or_default();
    }
    send(client, &text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
}
