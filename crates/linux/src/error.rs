// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What can go wrong at the door.

use std::io;
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
        source: io::Error,
    },
    /// A system call failed.
    #[error("{call} on {what}: {source}")]
    Call {
        /// The call.
        call: &'static str,
        /// On what.
        what: String,
        /// Why.
        source: io::Error,
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
    /// Nothing was asked, for somebody has held up whoever asked: that was said when it began.
    #[error("{what}")]
    PutOff {
        /// Why.
        what: String,
    },
    /// The caller asked for something that must not be done.
    #[error("{what} refused: {mend}")]
    Refused {
        /// What was asked.
        what: String,
        /// Why, and what to do instead.
        mend: String,
    },
}

impl Error {
    /// Whether nothing was asked, for a reason that has been said.
    pub fn is_put_off(&self) -> bool {
        match self {
            Error::PutOff { .. } => true,
            Error::File { source, .. } | Error::Call { source, .. } => {
                source.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).is_some_and(Error::is_put_off)
            }
            _ => false,
        }
    }

    /// A kernel file that could not be read or written.
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>, source: impl Into<io::Error>) -> Error {
        Error::File { doing, path: path.into(), source: source.into() }
    }

    /// A system call that failed.
    pub(crate) fn call(call: &'static str, what: impl ToString, source: impl Into<io::Error>) -> Error {
        Error::Call { call, what: what.to_string(), source: source.into() }
    }

    /// A kernel file that holds nonsense; the text is cut to what fits on a line.
    pub(crate) fn parse(path: impl Into<PathBuf>, text: &[u8]) -> Error {
        let text = String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned();
        Error::Parse { path: path.into(), text }
    }
}

/// Whether an error says that the process or cgroup worked on has ended, which is no failure (see [`crate::Device`]).
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::ENODEV))
}
