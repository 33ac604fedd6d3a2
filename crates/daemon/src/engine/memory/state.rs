// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the engine remembers of apps, of a victim, and of compression under way.

use super::*;

/// What the daemon remembers of an app beside its rank.
#[derive(Debug, Default)]
pub(super) struct Runtime {
    pub(super) background_since_ns: u64,
    pub(super) importance: Option<Importance>,
    /// The list it is on, by which entry, and when that was last looked up.
    pub(super) listed: Option<Listed>,
    pub(super) identified_ns: u64,
    /// Why it is perceptible, if it is.
    pub(super) perceived: Option<Perceived>,
    /// The `oom_score_adj` that its processes' scores are by.
    pub(super) scored_as: Option<i32>,
    pub(super) frozen: bool,
    /// What was added to its processes' `oom_score_adj`.
    pub(super) score_shift: i32,
    /// A kill of it was in vain: others are tried until then.
    pub(super) spared_until_ns: u64,
    pub(super) cursor: CompressCursor,
    /// Pages of it were compressed in this life.
    pub(super) was_compressed: bool,
    /// It has been in front since.
    pub(super) returned: bool,
    /// It was compressed and has not been in front since.
    pub(super) all_out: bool,
    /// What its last return touched, remembered when that too had to be compressed.
    pub(super) resume_set: Option<Vec<PageRange>>,
    /// Resident memory when its last range had been looked at; `None` while some are left.
    pub(super) compressed_at_bytes: Option<u64>,
    pub(super) usage: AppUsage,
    /// What it occupied over the last seconds, while memory was short.
    pub(super) growth: Growth,
    /// When that was last read in full, and its charge then.
    pub(super) sized: Option<(u64, u64)>,
}

impl Runtime {
    pub(super) fn standing(&self) -> Standing {
        self.listed.as_ref().map_or(Standing::Plain, |listed| listed.list)
    }

    /// The `oom_score_adj` that its processes should have: the kernel's OOM killer is to choose as the daemon would.
    pub(super) fn wanted_score(&self, importance: Importance) -> i32 {
        let wanted = self.standing().oom_score_adj(importance);
        self.perceived.map_or(wanted, |_| wanted.min(Perceived::OOM_SCORE_ADJ))
    }
}

/// A victim whose memory is awaited.
#[derive(Debug)]
pub(super) struct Victim {
    pub(super) app: AppName,
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
    pub(super) reason: Reason,
    pub(super) readings: MemoryState,
    pub(super) began_ns: u64,
    pub(super) swapped_pages: u64,
    pub(super) scanned_pages: u64,
    pub(super) incompressible_pages: u64,
}
