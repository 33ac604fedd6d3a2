// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The system's log (syslog(3) by its socket; journald listens there as well).

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// Facility daemon (3), severity warning (4).
const PRIORITY: u32 = 3 << 3 | 4;

/// Where the log listens.
#[derive(Debug)]
pub struct Syslog {
    path: PathBuf,
}

impl Syslog {
    /// The log of a socket, `/dev/log` on every Linux that has one.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Sends a line, with what steers a terminal in it escaped. A log that is not there or does not read is no reason to wait: the journal of our own has the line too.
    pub fn warning(&self, line: &str) {
        let Ok(socket) = UnixDatagram::unbound() else { return };
        let text = format!("<{PRIORITY}>fovea[{}]: {line}", std::process::id());
        let text = fovea_apps::printable(&text);
        let _ = socket.set_nonblocking(true).and_then(|()| socket.send_to(text.as_bytes(), &self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_arrives_as_the_log_wants_it_and_a_log_that_is_not_there_is_no_matter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        Syslog::at(&path).warning("nobody hears");
        let log = UnixDatagram::bind(&path).unwrap();
        Syslog::at(&path).warning("killed mail");
        let mut buffer = [0; 100];
        let length = log.recv(&mut buffer).unwrap();
        let expected = format!("<28>fovea[{}]: killed mail", std::process::id());
        assert_eq!(std::str::from_utf8(&buffer[..length]).unwrap(), expected);
        log.set_nonblocking(true).unwrap();
        for _ in 0..10_000 {
            Syslog::at(&path).warning("a log that does not read");
        }
    }
}
