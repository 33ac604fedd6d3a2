// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pictures of results. A crate of its own, so that what runs inside the phone does not carry it.

mod free_memory;
mod series;

use std::path::PathBuf;

use thiserror::Error;

pub use free_memory::{free_memory_svg, write_free_memory};
pub use series::{Mark, Series};

/// A picture could not be made.
#[derive(Debug, Error)]
pub enum Error {
    /// There is nothing to show.
    #[error("no boot has two samples of memory: run the scenario to its end first")]
    Empty,
    /// The drawing library refused.
    #[error("drawing failed: {0}: please report this with the results file")]
    Drawing(String),
    /// The file cannot be written.
    #[error("{}: {cause}: check that the folder exists and may be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's word.
        cause: std::io::Error,
    },
}
