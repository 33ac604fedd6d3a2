// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One line per failure: what was wrong, where, and the mend.

use std::{io, path::Path};

/// What can go wrong in the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {error}; check the name and its permissions")]
    Io {
        /// The file.
        path: String,
        /// The system's word.
        error: io::Error,
    },
    /// The disk is full.
    #[error("{path}: no space left on the disk; {mend}")]
    DiskFull {
        /// The file that was being written.
        path: String,
        /// What was kept and what to do.
        mend: String,
    },
    /// A trace's content is wrong.
    #[error("{path}: {place}: {what}; {mend}")]
    Content {
        /// The file.
        path: String,
        /// "line 12", "record 7", "end of file".
        place: String,
        /// What is wrong there.
        what: String,
        /// What to do.
        mend: String,
    },
    /// An experiment could not be run to its end.
    #[error("{0}")]
    Experiment(String),
    /// Somebody [asked](crate::Stop) that the work end.
    #[error("stopped; what was finished before is kept where a sweep's journal keeps it")]
    Stopped,
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
}

/// The lab's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Wraps an I/O error with the file's name; a full disk gets its own line with the given mend.
    pub fn io(path: &Path, error: io::Error, mend: &str) -> Self {
        let path = path.display().to_string();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { path, mend: mend.into() },
            // The error of a temporary file names that file; the user knows only the one it stands for.
            kind if error.raw_os_error().is_none() => Error::Io { path, error: kind.into() },
            _ => Error::Io { path, error },
        }
    }

    /// Wraps an I/O error of a file being read.
    pub(crate) fn read(path: &Path, error: io::Error) -> Self {
        Error::Io { path: path.display().to_string(), error }
    }

    /// The process's exit code: 2 for wrong usage, 1 for the rest.
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Usage(_) => 2,
            _ => 1,
        }
    }
}
