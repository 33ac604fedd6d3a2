// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The control socket, both ends: a packet is a request or its reply. A client waits for the reply; the daemon never waits.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    accept_with, bind, connect, listen, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use thiserror::Error;

use crate::protocol::{Reply, Request, REPLY_MAX_BYTES, REQUEST_MAX_BYTES, SOCKET_NAME};
use crate::Status;

/// Time the daemon has to answer: it never works longer than some milliseconds before it looks at its socket.
const ANSWER_LIMIT: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No daemon is listening.
    #[error("no daemon answers at {path}: start it with `fovea run` (as root)", path = .path.display())]
    NotRunning {
        /// Socket.
        path: PathBuf,
    },
    /// The socket is there and may not be used.
    #[error("{path}: permission denied: only root may ask the daemon: run this by sudo", path = .path.display())]
    NotAllowed {
        /// Socket.
        path: PathBuf,
    },
    /// The connection broke.
    #[error("{path}: {source}: see what the daemon printed", path = .path.display())]
    Broken {
        /// Socket.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The daemon answered something else.
    #[error("{path}: the daemon's answer makes no sense ({source}): is it of another version?", path = .path.display())]
    Garbled {
        /// Socket.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The daemon refused.
    #[error("{0}")]
    Refused(String),
    /// The daemon answered another question.
    #[error("unexpected answer {0:?}: is the daemon of another version?")]
    Unexpected(Box<Reply>),
}

impl From<Reply> for ClientError {
    /// The error that an unexpected reply stands for.
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Error { error } => ClientError::Refused(error),
            other => ClientError::Unexpected(Box::new(other)),
        }
    }
}

/// Sends one request to the daemon of a run folder and waits for its reply.
pub fn request(run_folder: &Path, request: &Request) -> Result<Reply, ClientError> {
    Connection::open(run_folder)?.ask(request)
}

/// Asks for the status, page by page until all apps from `offset` on are told of, `limit` at most.
pub fn status(run_folder: &Path, offset: usize, limit: Option<usize>) -> Result<Status, ClientError> {
    let mut link = Connection::open(run_folder)?;
    status_by(offset, limit, |request| link.ask(request))
}

/// The same over whatever asks.
pub fn status_by(
    offset: usize,
    limit: Option<usize>,
    mut ask: impl FnMut(&Request) -> Result<Reply, ClientError>,
) -> Result<Status, ClientError> {
    let mut whole: Option<Status> = None;
    let mut from = offset;
    loop {
        let left = limit.map(|limit| limit - (from - offset).min(limit));
        let page = match ask(&Request::Status { offset: from, limit: left })? {
            Reply::Status(page) => *page,
            other => return Err(other.into()),
        };
        // Apps that come and go meanwhile may be told of twice or not at all, as with any list that is read in parts.
        let next = page.next_offset;
        let status = match whole.take() {
            Some(mut whole) => {
                whole.apps.extend(page.apps);
                whole.next_offset = next;
                whole
            }
            None => page,
        };
        match next.filter(|&next| next > from && limit.is_none_or(|limit| next - offset < limit)) {
            Some(next) => (whole, from) = (Some(status), next),
            None => return Ok(status),
        }
    }
}

/// Sends one request that is answered with [`Reply::Done`].
pub fn tell(run_folder: &Path, request: &Request) -> Result<(), ClientError> {
    Connection::open(run_folder)?.tell(request)
}

/// A connection that is kept. It becomes readable between two requests when the daemon is gone, and then all that it was told on this
/// connection is gone too.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    path: PathBuf,
}

impl Connection {
    /// Connects to the daemon of a run folder.
    pub fn open(run_folder: &Path) -> Result<Self, ClientError> {
        let path = run_folder.join(SOCKET_NAME);
        Ok(Self { socket: open(&path)?, path })
    }

    /// Sends one request and waits for its reply. After an error the connection is of no use any more: a late reply would be taken
    /// for the next one's.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, ClientError> {
        let broken = |e: Errno| ClientError::Broken { path: self.path.clone(), source: e.into() };
        let garbled = |source| ClientError::Garbled { path: self.path.clone(), source };
        let text = serde_json::to_vec(request).map_err(garbled)?;
        match send(&self.socket, &text, SendFlags::NOSIGNAL) {
            // The daemon closed the connection before this request; its reason may still be there to read.
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => {}
            Err(e) => return Err(broken(e)),
        }
        match self.next(Some(&ANSWER_LIMIT))? {
            Some(reply) => Ok(reply),
            None => Err(ClientError::Broken { path: self.path.clone(), source: Errno::TIMEDOUT.into() }),
        }
    }

    /// Waits for the next packet, for so long; of a connection that follows, [`Reply::News`].
    pub fn next(&mut self, limit: Option<&Timespec>) -> Result<Option<Reply>, ClientError> {
        let broken = |e: Errno| ClientError::Broken { path: self.path.clone(), source: e.into() };
        let garbled = |source| ClientError::Garbled { path: self.path.clone(), source };
        let mut wanted = [PollFd::new(&self.socket, PollFlags::IN)];
        if poll(&mut wanted, limit).map_err(broken)? == 0 {
            return Ok(None);
        }
        let mut reply = vec![0; REPLY_MAX_BYTES];
        let length = match recv(&self.socket, &mut reply[..], RecvFlags::empty()) {
            // The daemon closed the connection without reading the request; what it wrote before can be read after this error.
            Err(Errno::CONNRESET) => recv(&self.socket, &mut reply[..], RecvFlags::DONTWAIT),
            received => received,
        };
        let (length, _) = length.map_err(broken)?;
        if length == 0 {
            return Err(broken(Errno::CONNRESET));
        }
        serde_json::from_slice(&reply[..length]).map(Some).map_err(garbled)
    }

    /// Sends one request that is answered with "done", and waits for that. A refusal leaves the connection of use.
    pub fn tell(&mut self, request: &Request) -> Result<(), ClientError> {
        match self.ask(request)? {
            Reply::Done {} => Ok(()),
            other => Err(other.into()),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(path: &Path) -> Result<OwnedFd, ClientError> {
    let broken = |e: Errno| ClientError::Broken { path: path.to_owned(), source: e.into() };
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(broken)?;
    let address = SocketAddrUnix::new(path).map_err(broken)?;
    match connect(&socket, &address) {
        Ok(()) => Ok(socket),
        Err(Errno::NOENT | Errno::CONNREFUSED) => Err(ClientError::NotRunning { path: path.to_owned() }),
        Err(Errno::ACCESS | Errno::PERM) => Err(ClientError::NotAllowed { path: path.to_owned() }),
        Err(e) => Err(broken(e)),
    }
}

/// A listening socket, in place of one that a dead daemon left.
pub fn listen_at(path: &Path, mode: u32) -> std::io::Result<OwnedFd> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // The kernel's structure holds 107 bytes.
    let address = SocketAddrUnix::new(path)
        .map_err(|_| std::io::Error::other("too long for a socket: name a run folder with a shorter path"))?;
    bind(&socket, &address)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    listen(&socket, 16)?;
    Ok(socket)
}

/// Takes the next client of a socket that does not block; `None` when there is none.
pub fn accept(listener: &OwnedFd) -> std::io::Result<Option<OwnedFd>> {
    loop {
        match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(client) => return Ok(Some(client)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::CONNABORTED | Errno::INTR) => {}
            // Memory is short, which is what the daemon is there to end: the client waits in the queue until then.
            Err(Errno::NOMEM | Errno::NOBUFS) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
    }
}

/// What came from a client.
#[derive(Debug, PartialEq)]
pub enum Received {
    /// A request.
    Request(Request),
    /// No valid request; the text of the error to answer with.
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

/// Answers a client; false if that would block, and the client is to be disconnected.
pub fn reply(client: &OwnedFd, reply: &Reply) -> bool {
    let Ok(mut text) = serde_json::to_vec(reply) else { return false };
    if text.len() > REPLY_MAX_BYTES {
        let error =
            format!("the answer has {} bytes, more than {REPLY_MAX_BYTES}: report it with what was asked", text.len());
        text = serde_json::to_vec(&Reply::Error { error }).unwrap_or_default();
    }
    send(client, &text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
}
