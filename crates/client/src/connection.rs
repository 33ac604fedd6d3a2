// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Asking a running daemon.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::{
    connect, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use thiserror::Error;

use crate::protocol::{Reply, Request, REPLY_MAX_BYTES, SOCKET_NAME};

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
    #[error("{path}: permission denied: only root may steer the daemon", path = .path.display())]
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
}

/// Sends one request to the daemon of a run folder and waits for its reply.
pub fn request(run_folder: &Path, request: &Request) -> Result<Reply, ClientError> {
    Connection::open(run_folder)?.ask(request)
}

/// A connection that stays: readable between two requests once the daemon has gone, and with it all it was told.
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
        let broken = |e: rustix::io::Errno| ClientError::Broken { path: self.path.clone(), source: e.into() };
        let garbled = |source| ClientError::Garbled { path: self.path.clone(), source };
        let text = serde_json::to_vec(request).map_err(garbled)?;
        match send(&self.socket, &text, SendFlags::NOSIGNAL) {
            // Let go before it was asked: it may have said why.
            Ok(_) | Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => {}
            Err(e) => return Err(broken(e)),
        }
        let mut wanted = [PollFd::new(&self.socket, PollFlags::IN)];
        if poll(&mut wanted, Some(&ANSWER_LIMIT)).map_err(broken)? == 0 {
            return Err(broken(rustix::io::Errno::TIMEDOUT));
        }
        let mut reply = vec![0; REPLY_MAX_BYTES];
        let length = match recv(&self.socket, &mut reply[..], RecvFlags::empty()) {
            // The daemon hung up on a request that it had not read; what it said before that comes after this error.
            Err(rustix::io::Errno::CONNRESET) => recv(&self.socket, &mut reply[..], RecvFlags::DONTWAIT),
            received => received,
        };
        let (length, _) = length.map_err(broken)?;
        if length == 0 {
            return Err(broken(rustix::io::Errno::CONNRESET));
        }
        serde_json::from_slice(&reply[..length]).map_err(garbled)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(path: &Path) -> Result<OwnedFd, ClientError> {
    let broken = |e: rustix::io::Errno| ClientError::Broken { path: path.to_owned(), source: e.into() };
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(broken)?;
    let address = SocketAddrUnix::new(path).map_err(broken)?;
    match connect(&socket, &address) {
        Ok(()) => Ok(socket),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::CONNREFUSED) => {
            Err(ClientError::NotRunning { path: path.to_owned() })
        }
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            Err(ClientError::NotAllowed { path: path.to_owned() })
        }
        Err(e) => Err(broken(e)),
    }
}
