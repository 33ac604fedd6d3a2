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
    /// The compositor of a socket; without one that of `$SWAYSOCK`; without that the latest started of any user.
    pub fn new(socket: Option<PathBuf>) -> Self {
        let socket = socket.or_else(|| std::env::var_os("SWAYSOCK").filter(|s| !s.is_empty()).map(PathBuf::from));
        Self { socket, run_user: RUN_USER.into() }
    }

    fn connect(&self) -> Result<(UnixStream, PathBuf), SourceError> {
        let sockets = match &self.socket {
            Some(socket) => vec![socket.clone()],
            // Looked for each time: a sway has its PID in the name.
            None => sockets(&self.run_user),
        };
        let mut refused = None;
        for socket in sockets {
            match UnixStream::connect(&socket) {
                Ok(stream) => return Ok((stream, socket)),
                Err(e) if e.kind() == ErrorKind::PermissionDenied => refused = Some(socket),
                // What a dead sway left.
                Err(_) => {}
            }
        }
        let path = |path: &Path| path.display().to_string();
        Err(match (refused, &self.socket) {
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

/// All users' sway sockets, the latest first.
fn sockets(run_user: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(SystemTime, PathBuf)> = entries(run_user)
        .flat_map(|user| entries(&user.path()))
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
