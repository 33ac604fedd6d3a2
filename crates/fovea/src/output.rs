// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Standard output, which may be a pipe that somebody closes or a file on a full disk, and lines for people on standard error. Whatever is
//! printed goes through here, and no name in it can steer a terminal.

use std::io::{ErrorKind, Write};

use fovea_apps::{printable, printable_json, printable_lines};

use crate::failure::Failure;

/// Prints a text; on a terminal no line is longer than it is wide. A reader that has left has read what it wanted.
pub fn print(text: &str) -> Result<(), Failure> {
    let text = printable_lines(text);
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        // Whoever reads it through a pipe wants lines whole.
        Ok(size) if size.ws_col > 40 => write(&folded(&text, size.ws_col.into())),
        _ => write(&text),
    }
}

/// Lines that are too long go on below their last column.
fn folded(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        // Where the last column begins.
        let indent =
            line.char_indices().take(width / 2).fold(0, |at, (i, _)| if line[..i].ends_with("  ") { i } else { at });
        let (indent, mut column) = (if indent == 0 { 4 } else { indent }, 0);
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column > indent && column + length > width {
                out = out.trim_end_matches(' ').to_owned() + "\n" + &" ".repeat(indent);
                column = indent;
            }
            out += word;
            column += word.chars().count();
        }
        out.push('\n');
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_the_terminal_is_wide() {
        let row =
            " yes  psi                here, and woken by it when memory gets short, instead of looking at it again\n";
        let text = format!("kernel 6.12\n{row}memory   ok\n");
        let shown = folded(&text, 60);
        assert!(shown.lines().all(|line| line.len() <= 60), "{shown}");
        let more: Vec<&str> = shown.lines().filter(|line| line.starts_with(&" ".repeat(25))).collect();
        assert!(!more.is_empty() && more.iter().all(|line| !line[25..].starts_with(' ')), "{shown}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&shown), words(&text));
        assert_eq!(folded(&text, 200), text);
        assert_eq!(
            folded("a-word-that-is-longer-than-the-terminal\n", 10),
            "a-word-that-is-longer-than-the-terminal\n"
        );
    }
}
