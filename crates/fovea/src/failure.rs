// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How a command ends: one line, and an exit code that scripts rely on.

use std::io::Write;
use std::process::ExitCode;

use fovea_client::ClientError;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// It failed: exit code 1.
    Failed(String),
    /// It was used wrongly: exit code 2.
    Usage(String),
    /// The machine lacks something: exit code 3.
    Lacks(String),
}

impl Failure {
    /// A failure with its line.
    pub fn failed(line: impl Into<String>) -> Self {
        Failure::Failed(line.into())
    }

    /// The line.
    pub fn line(self) -> String {
        let (Failure::Failed(line) | Failure::Usage(line) | Failure::Lacks(line)) = self;
        line
    }

    /// Prints the line and gives the code.
    pub fn report(self) -> ExitCode {
        let (line, code) = match self {
            Failure::Failed(line) => (line, 1),
            Failure::Usage(line) => (line, 2),
            Failure::Lacks(line) => (line, 3),
        };
        if !line.is_empty() {
            // Nobody may be listening; the exit code tells all the same.
            let _ = writeln!(std::io::stderr(), "fovea: {line}");
        }
        ExitCode::from(code)
    }
}

impl From<clap::Error> for Failure {
    /// The first paragraph says what is wrong; the rest is advice that `--help` gives better.
    fn from(error: clap::Error) -> Self {
        let text = error.to_string();
        let words: Vec<&str> = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect();
        // What the user typed is quoted in it, and may hold anything.
        let line: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
        Failure::Usage(format!("{}: see `fovea --help`", line.strip_prefix("error: ").unwrap_or(&line)))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Failure::Failed(error.to_string())
    }
}

#[cfg(feature = "lab")]
impl From<fovea_lab::Error> for Failure {
    fn from(error: fovea_lab::Error) -> Self {
        let line = error.to_string();
        match error.exit_code() {
            2 => Failure::Usage(line),
            3 => Failure::Lacks(line),
            _ => Failure::Failed(line),
        }
    }
}
