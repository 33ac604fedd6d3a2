// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is remembered of apps' memory, of a victim, and of compression under way.

use fovea_apps::{AppName, AppUsage};
use fovea_linux::{CompressCursor, PageRange};
use fovea_policy::memory::{Baseline, Growth, Part};
use fovea_policy::{Action, Reason, Snapshot};

/// What is remembered of an app's memory.
#[derive(Debug, Default)]
pub(super) struct AppMemory {
    /// A kill of it was in vain: others are tried until then.
    pub(super) kill_failed_until_ns: u64,
    /// Where compression of it goes on; it is not taken back while the app is in front.
    pub(super) cursor: CompressCursor,
    /// Compression has come to its end once.
    pub(super) looked_through: bool,
    /// Pages of it were compressed in this life.
    pub(super) was_compressed: bool,
    /// It has been in front since.
    pub(super) returned: bool,
    /// It was compressed and has not been in front since.
    pub(super) all_out: bool,
    /// What its last return touched, remembered when that too had to be compressed.
    pub(super) resume_set: Option<Vec<PageRange>>,
    /// Resident memory when its last range had been looked at; `None` while some are left.
    pub(super) exhausted_at_bytes: Option<u64>,
    /// A part of it was killed in vain: all of it dies until then.
    pub(super) whole_until_ns: u64,
    /// When a part of it was last killed, and what all of it held before.
    pub(super) parted: Option<(u64, u64)>,
    /// What its processes held when they were first seen to grow.
    pub(super) baseline: Baseline,
    /// What its largest process holds, if all of it holds several times as much as any other.
    pub(super) hog_bytes: u64,
    pub(super) usage: AppUsage,
    /// What it occupied over the last seconds, while memory was short.
    pub(super) growth: Growth,
    /// When that was last read in full, and its charge then.
    pub(super) sized: Option<(u64, u64)>,
}

/// A victim whose memory is awaited.
#[derive(Debug)]
pub(super) struct Victim {
    pub(super) app: AppName,
    /// What of it dies; none if all of it does.
    pub(super) part: Option<Part>,
    pub(super) awaited: usize,
    /// Those that are awaited are all there are.
    pub(super) all_held: bool,
    pub(super) since_ns: u64,
    /// It was only asked to end, for this reason: when its grace is over it is killed.
    pub(super) asked: Option<Reason>,
}

/// A run of compressions of one app for one reason: one journal line when it ends.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) app: AppName,
    pub(super) action: Action,
    pub(super) reason: Reason,
    /// What the first batch was decided on.
    pub(super) snapshot: Snapshot,
    pub(super) swapped_pages: u64,
    pub(super) scanned_pages: u64,
    pub(super) incompressible_pages: u64,
}
