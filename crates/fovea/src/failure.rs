// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How a command ends: one line, and an exit code that scripts rely on.

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
            // The exit code tells all the same.
            crate::output::say(line);
        }
        ExitCode::from(code)
    }
}

impl From<clap::Error> for Failure {
    /// One line: what is wrong, clap's hints, and the help of the command that was used wrongly.
    fn from(error: clap::Error) -> Self {
        let text = error.to_string();
        let one_line = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            // What the user typed is quoted in it, and may hold anything.
            words.join(" ").chars().filter(|c| !c.is_control()).collect::<String>()
        };
        let mut paragraphs = text.split("\n\n");
        let wrong = one_line(paragraphs.next().unwrap_or_default());
        let mut line = wrong.strip_prefix("error: ").unwrap_or(&wrong).to_owned();
        let mut command = String::new();
        for paragraph in paragraphs.map(one_line) {
            if let Some(hints) = paragraph.strip_prefix("tip: ") {
                line += &format!("; {}", hints.replace(" tip: ", "; "));
            } else if let Some(usage) = paragraph.strip_prefix("Usage: ") {
                let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
                command = usage.split(' ').take_while(is_name).collect::<Vec<_>>().join(" ");
            }
        }
        let command = if command.is_empty() { "fovea" } else { &command };
        Failure::Usage(format!("{line}: see `{command} --help`"))
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
