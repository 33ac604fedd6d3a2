// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sway as a source, over its IPC socket.

use std::io::{self, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::sway_wire::{granted, is_news, receive, send, windows, GET_TREE, SUBSCRIBE, SUBSCRIPTION};
use crate::{Event, Source, SourceError};

/// Where users' run folders are.
const RUN_USER: &str = "/run/user";

/// A sway, or another compositor that speaks its protocol and names the PIDs of windows.
#[derive(Debug)]
pub struct Sway {
    socket: Option<PathBuf>,
    run_user: PathBuf,
}

impl Sway {
    /// The compositor of a socket; without one that of `$SWAYSOCK`; without that the latest started of the only user who has one.
    pub fn new(socket: Option<PathBuf>) -> Self {
        let socket = socket.or_else(|| std::env::var_os("SWAYSOCK").filter(|s| !s.is_empty()).map(PathBuf::from));
        Self { socket, run_user: RUN_USER.into() }
    }

    fn connect(&self) -> Result<(UnixStream, PathBuf), SourceError> {
        let path = |path: &Path| path.display().to_string();
        let mut refused = None;
        // Looked for each time: a sway has its PID in the name. What a dead one left is passed over.
        let mut first_of = |sockets: Vec<PathBuf>| {
            sockets.into_iter().find_map(|socket| match UnixStream::connect(&socket) {
                Ok(stream) => Some((stream, socket)),
                Err(e) => {
                    refused = refused.take().or((e.kind() == ErrorKind::PermissionDenied).then_some(socket));
                    None
                }
            })
        };
        let mut found: Vec<_> = match &self.socket {
            Some(socket) => first_of(vec![socket.clone()]).into_iter().collect(),
            None => self.users().iter().filter_map(|user| first_of(sockets(user))).collect(),
        };
        // Anybody can make one, so none is believed for being the latest.
        if found.len() > 1 {
            let sockets: Vec<_> = found.iter().map(|(_, socket)| path(socket)).collect();
            return Err(SourceError::Refused(format!(
                "sway: several users have one ({}): name that of the one meant with --socket",
                sockets.join(", ")
            )));
        }
        found.pop().ok_or_else(|| match (refused, &self.socket) {
            (Some(socket), _) => {
                SourceError::Refused(format!("sway: {}: permission denied: run as root", path(&socket)))
            }
            (None, Some(socket)) => SourceError::Absent(format!(
                "sway: nobody answers at {}: start sway, or name its socket with --socket",
                path(socket)
            )),
            (None, None) => SourceError::Absent(format!(
                "sway: no sway-ipc.*.sock in {}/*: start sway, or name its socket with --socket",
                path(&self.run_user)
            )),
        })
    }

    /// The users' run folders that count: all of them for root, else only this user's own.
    fn users(&self) -> Vec<PathBuf> {
        let own = rustix::process::geteuid();
        let counts = |name: &str| own.is_root() || *name == own.as_raw().to_string();
        let mut users: Vec<PathBuf> = entries(&self.run_user)
            .filter(|user| user.file_name().to_str().is_some_and(counts))
            .map(|user| user.path())
            .collect();
        users.sort();
        users
    }
}

impl Source for Sway {
    fn watch(&mut self, report: &mut dyn FnMut(Event)) -> SourceError {
        let (stream, socket) = match self.connect() {
            Ok(connected) => connected,
            Err(error) => return error,
        };
        let Err(error) = follow(stream, report);
        let lost = |why: String| SourceError::Lost(format!("sway: {}: {why}", socket.display()));
        match error.kind() {
            ErrorKind::UnexpectedEof => lost("the compositor has gone".into()),
            ErrorKind::Unsupported => SourceError::Refused(format!("sway: {}: {error}", socket.display())),
            _ => lost(crate::one_line(error)),
        }
    }
}

/// No value: what only ends by an error.
enum Never {}

/// Requests and events share the connection, so that a tree is never older than the event before it.
fn follow(mut stream: UnixStream, report: &mut dyn FnMut(Event)) -> io::Result<Never> {
    let mut incoming = BufReader::new(stream.try_clone()?);
    send(&mut stream, SUBSCRIBE, SUBSCRIPTION)?;
    send(&mut stream, GET_TREE, b"")?;
    // A tree on its way was asked for before the event that is read now: one more will do for all events that come until it is there.
    let (mut asked, mut stale, mut last) = (true, false, None);
    loop {
        let message = receive(&mut incoming)?;
        match message.kind {
            SUBSCRIBE if granted(&message.payload) => {}
            SUBSCRIBE => {
                let why = "it grants no window events: sway 1.0 or newer does";
                return Err(io::Error::new(ErrorKind::Unsupported, why));
            }
            GET_TREE => {
                asked = stale;
                if std::mem::take(&mut stale) {
                    send(&mut stream, GET_TREE, b"")?;
                }
                let now = windows(&message.payload)?;
                if last.as_ref() != Some(&now) {
                    report(Event::Windows(now.clone()));
                    last = Some(now);
                }
            }
            _ if !is_news(&message) => {}
            _ if asked => stale = true,
            _ => {
                send(&mut stream, GET_TREE, b"")?;
                asked = true;
            }
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// A user's sway sockets, the latest first.
fn sockets(user: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(SystemTime, PathBuf)> = entries(user)
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("sway-ipc.") && name.ends_with(".sock")
        })
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
#[path = "sway_tests.rs"]
mod tests;
