// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Standard output, which may be a pipe that somebody closes or a file on a full disk.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// Prints a text as it stands. A reader that has left has read what it wanted.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("standard output: {e}: free some space, or print elsewhere")))
        }
        _ => Ok(()),
    }
}

/// Prints a line.
pub fn print_line(line: impl std::fmt::Display) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}

/// Prints as JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print_line(serde_json::to_string_pretty(value).map_err(|e| Failure::failed(format!("writing JSON: {e}")))?)
}
