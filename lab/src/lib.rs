// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The laboratory: traces in one form, importers into it, and replay of cache policies on them.
//!
//! The data flow is one way: a foreign file is [`import`]ed into a trace file ([`store`]); a trace file is made dense once
//! ([`dense`]); every policy ([`policy`]) then runs over the dense requests ([`replay`], [`sweep`]). `docs/guide/researcher.md` tells how to use it,
//! and pages beside it the formats, the policies and the results.

pub mod dense;
pub mod ecache;
mod error;
mod export;
mod file_notes;
mod filter;
pub mod hybrid;
pub mod import;
mod info;
mod input;
pub mod mrc;
pub mod output;
pub mod parallel;
pub mod policy;
mod record;
pub mod replay;
pub mod reproduce;
mod requests;
mod size;
mod stop;
pub mod store;
pub mod sweep;
pub mod synthetic;

pub use error::{Error, Result};
pub use export::export;
pub use file_notes::{FileNote, FILES_KEY};
pub use filter::{filter, Filter};
pub use import::{import, ImportOptions, ImportReport};
pub use info::{info, TraceInfo};
pub use parallel::threads;
pub use record::{importance_from_name, importance_name, Names, Op, Record};
pub use replay::{replay, ReplayOptions};
pub use requests::{Requests, FORMAT_KEY, FORMAT_RECORDED};
pub use size::{Capacity, Footprint, Size, Weight};
pub use stop::Stop;
pub use sweep::{sweep, SweepOptions, SweepReport};

/// The commit that was built, for results documents.
pub const COMMIT: &str = env!("FOVEA_LAB_COMMIT");

/// Bytes of a page, the unit in which block and file traces are replayed.
pub const PAGE_BYTES: u64 = fovea_apps::PAGE_BYTES;
