// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What can be wrong with a profile, a scenario or a parameter.

use thiserror::Error;

/// One line: what was wrong, where, and the mend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{path}: {cause}: check that the path is right and its permissions allow it")]
    File {
        /// The file or folder.
        path: String,
        /// The system's word.
        cause: String,
    },
    /// A file's content is wrong.
    #[error("{file}:{line}: {what}: {mend}")]
    Content {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// What to do.
        mend: String,
    },
    /// A `key=value` from the command line is wrong.
    #[error("parameter {parameter:?}: {what}: {mend}")]
    Parameter {
        /// As given.
        parameter: String,
        /// What is wrong.
        what: String,
        /// What to do.
        mend: String,
    },
    /// The scenario asks for what cannot be.
    #[error("scenario {scenario}: {what}: {mend}")]
    Scenario {
        /// Its name.
        scenario: String,
        /// What is wrong.
        what: String,
        /// What to do.
        mend: String,
    },
}

/// Line of a byte offset, from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&b| b == b'\n').count() + 1
}

/// Parses TOML; an error names file and line.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|e| Error::Content {
        file: file.into(),
        line: line_of(text, e.span().map_or(0, |s| s.start)),
        what: e.message().replace('\n', " "),
        mend: "correct that line (docs/guide/scenarios.md lists what may stand there)".into(),
    })
}

pub(crate) fn file_error(path: &std::path::Path, cause: &std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), cause: cause.to_string() }
}
