// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an app's start reads: learned from earlier starts, predicted for the next, put in the storage's order, judged, and kept.
//!
//! Pure: no clock, no system call. `fovea-prefetch` observes, reads and writes; docs/design/prefetch.md says how.

pub mod ahead;
pub mod app;
pub mod bytes;
#[doc(hidden)]
pub mod fuzz;
pub mod learn;
pub mod order;
pub mod pages;
#[cfg(test)]
mod reference;
pub mod score;
pub mod store;
pub mod when;

pub use ahead::Ahead;
pub use app::{App, Mode};
pub use learn::{Observation, Seen};
pub use order::{Extent, Piece};
pub use pages::Pages;
pub use score::{Counts, Standing};
pub use store::{FileId, FileKey, UserStore};
pub use when::When;
