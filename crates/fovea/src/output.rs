// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Standard output, which may be a pipe that somebody closes or a file on a full disk, and lines for people on standard error. Whatever is
//! printed goes through here, and no name in it can steer a terminal.

use std::io::{ErrorKind, Write};

use fovea_apps::{printable, printable_json, printable_lines};

use crate::failure::Failure;

/// Prints a text. A reader that has left has read what it wanted.
pub fn print(text: &str) -> Result<(), Failure> {
    write(&printable_lines(text))
}

/// Says a line to people, with the program's name before it.
pub fn say(line: impl std::fmt::Display) {
    say_as_is(format!("fovea: {line}"));
}

/// The same without the program's name. Nobody may be listening.
pub fn say_as_is(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{}", printable(&line.to_string()));
}

fn write(text: &str) -> Result<(), Failure> {
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
    json_line(serde_json::to_string_pretty(value))
}

/// Prints as JSON on one line.
pub fn print_json_line(value: &impl serde::Serialize) -> Result<(), Failure> {
    json_line(serde_json::to_string(value))
}

fn json_line(text: serde_json::Result<String>) -> Result<(), Failure> {
    let text = text.map_err(|e| Failure::failed(format!("writing JSON: {e}")))?;
    write(&format!("{}\n", printable_json(&text)))
}
