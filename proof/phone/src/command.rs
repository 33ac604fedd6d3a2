// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Calling other programs, with errors of one line.

use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use crate::error::{Error, Result};

/// Runs a program to its end with no input and returns its output, whatever its status.
///
/// # Errors
/// It cannot be started; `mend` says how to get it.
pub(crate) fn output(command: &mut Command, mend: &str) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).env("LC_ALL", "C.UTF-8").output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => Error::missing(format!("{program} is not installed"), mend),
        _ => Error::Command { program, detail: e.to_string() },
    })
}

/// Runs a program to its end and returns its standard output.
///
/// # Errors
/// It cannot be started, or ends with another status than 0: the error then holds the line that says why.
pub(crate) fn stdout(command: &mut Command, mend: &str) -> Result<String> {
    let out = output(command, mend)?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&out.stderr);
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Error::Command { program, detail: reason(&stderr).unwrap_or_else(|| out.status.to_string()) })
}

/// The line of a program's complaint that says most: apt's first `E:`, else the last line that is not empty.
fn reason(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.clone().find(|line| line.starts_with("E: ")).or_else(|| lines.next_back())?;
    Some(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_apts_error_or_the_last_line() {
        assert_eq!(reason("W: a\nE: broken\nW: b\n").as_deref(), Some("E: broken"));
        assert_eq!(reason("first\nlast\n\n").as_deref(), Some("last"));
        assert_eq!(reason("\n"), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_mend() {
        let error = stdout(&mut Command::new("fovea-no-such-program"), "install it").unwrap_err();
        assert!(error.is_missing());
        assert_eq!(error.to_string(), "fovea-no-such-program is not installed; install it");
    }
}
