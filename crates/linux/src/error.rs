// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What can go wrong at the door.

use std::path::PathBuf;

use thiserror::Error;

/// What was wrong, where, and the mend.
#[derive(Debug, Error)]
pub enum Error {
    /// A kernel file could not be read or written.
    #[error("{doing} {path}: {source}", path = .path.display())]
    File {
        /// "reading", "writing", …
        doing: &'static str,
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A system call failed.
    #[error("{call} on {what}: {source}")]
    Call {
        /// The call.
        call: &'static str,
        /// On what.
        what: String,
        /// Why.
        source: std::io::Error,
    },
    /// A kernel file did not hold what it should.
    #[error("{path}: cannot make sense of {text:?}", path = .path.display())]
    Parse {
        /// File.
        path: PathBuf,
        /// What stood there, shortened.
        text: String,
    },
    /// This machine lacks something.
    #[error("{what} is missing: {mend}")]
    Missing {
        /// What.
        what: &'static str,
        /// What to do.
        mend: String,
    },
}
