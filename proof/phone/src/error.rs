// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What can go wrong, each in one line: what, where, and the mend.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the virtual phone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be worked on.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, e.g. "read".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// This machine lacks something (exit code 3 of the command line).
    #[error("{what}; {mend}")]
    Missing {
        /// What is missing, and where it was looked for.
        what: String,
        /// How to get it.
        mend: String,
    },
    /// A program that was called failed.
    #[error("{program} failed: {detail}")]
    Command {
        /// Its name.
        program: String,
        /// The last line it said, or its exit status.
        detail: String,
    },
    /// A file does not hold what it should.
    #[error("{}: {why}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and the mend.
        why: String,
    },
    /// A boot did not come to the end of its plan.
    #[error(transparent)]
    Boot(Box<BootFailure>),
    /// The kernel modules could not be built.
    #[error(transparent)]
    Build(Box<BuildFailure>),
}

/// The kernel modules could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("building the kernel modules failed: {reason}")]
pub struct BuildFailure {
    /// The compiler's first error.
    pub reason: String,
    /// The last lines of the output, at most 20, oldest first.
    pub tail: Vec<String>,
}

/// A boot that did not come to the end of its plan.
#[derive(Debug, thiserror::Error)]
#[error("{plan}: {reason} (logs in {})", logs.display())]
pub struct BootFailure {
    /// Which plan: scenario, case and configuration.
    pub plan: String,
    /// Why it ended.
    pub reason: FailureReason,
    /// The last lines of the console, at most 20, oldest first.
    pub console_tail: Vec<String>,
    /// Folder that holds the console log, the event log and QEMU's own messages.
    pub logs: PathBuf,
}

/// Why a boot ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailureReason {
    /// The guest's kernel panicked.
    #[error("the guest's kernel panicked: {0}")]
    Panic(String),
    /// QEMU before 8.1 ran a breakpoint that the guest's kernel had taken away (`console.rs`).
    #[error(
        "QEMU ran a breakpoint that was no longer there, as versions before 8.1 can; run it again, or with QEMU 8.1"
    )]
    StaleBreakpoint,
    /// The guest could not follow the plan.
    #[error("the guest could not follow the plan: {0}")]
    Plan(String),
    /// The guest said it was done by its exit code, and sent no `done` event.
    #[error("the guest left without its done event; the event log says how far it came")]
    NoDone,
    /// The guest switched the machine off. A guest that hibernates ends so; any other has left its plan.
    #[error("the guest switched the machine off before it was done; the console log says how far it came")]
    PoweredOff,
    /// QEMU ended by itself.
    #[error("QEMU ended without the guest's exit code ({0})")]
    Qemu(String),
    /// Nothing was heard for the time-out, or it went on for eight times as long.
    #[error(
        "not a word for {0} s, or not done after eight times that; look at the console log, or raise the time-out"
    )]
    Timeout(u64),
}

impl Error {
    /// Whether this machine lacks something, as against something having failed.
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Missing { .. })
    }

    /// Lines to show below the error: the end of the guest's console, if a boot failed, or of the compiler's output.
    pub fn details(&self) -> &[String] {
        match self {
            Error::Boot(failure) => &failure.console_tail,
            Error::Build(failure) => &failure.tail,
            _ => &[],
        }
    }

    /// For `map_err` after a file operation.
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::Io { action, path, source }
    }

    /// A file that does not hold what it should.
    pub(crate) fn bad(path: impl AsRef<Path>, why: impl Into<String>) -> Error {
        Error::Bad { path: path.as_ref().to_path_buf(), why: why.into() }
    }

    /// Something this machine lacks.
    pub(crate) fn missing(what: impl Into<String>, mend: impl Into<String>) -> Error {
        Error::Missing { what: what.into(), mend: mend.into() }
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
