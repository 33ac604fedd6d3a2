// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `[tier]`.

use serde::{Deserialize, Serialize};

/// Memory of two speeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TierConfig {
    /// Whether the daemon sees to it, where there is memory of two speeds.
    pub enabled: bool,
    /// Pages that may move in a second: by the daemon to slow memory, and as many by the kernel to fast memory.
    pub pages_per_s: u64,
    /// Pages that are moved at once.
    pub batch_pages: u64,
    /// Share of one CPU that moving them to slow memory may take.
    pub cpu_percent: u64,
    /// How much CPU time of an app passes before the kernel first looks at what it uses, and between two looks; counts from the start of the daemon,
    /// and for apps that start after it.
    pub scan_period_ms: u64,
    /// How soon after such a look a page of slow memory must be used to be moved to fast memory. The kernel lowers it by itself while more moves than
    /// `pages_per_s`.
    pub hot_threshold_ms: u64,
    /// Only pages that two looks, so far apart or farther, found unused go to slow memory; 0: whatever the kernel holds for old.
    pub unused_ms: u64,
    /// Whether an app that takes new memory in the background is kept out of fast memory (Hybrid15, section 3). The kernel moves all that it has there
    /// with that, used or not: off, for it has cost more than it gave wherever it was measured.
    pub keep_out: bool,
    /// An app that was kept out of fast memory, for it took new memory in the background, is let in again after so long, if it takes none any more or fast
    /// memory is free; twice as long each time that it did not last.
    pub steer_ms: u64,
}

impl Default for TierConfig {
    fn default() -> Self {
        // 64 MiB a second, 2 MiB at once.
        Self {
            enabled: true,
            pages_per_s: 16_384,
            batch_pages: 512,
            cpu_percent: 10,
            scan_period_ms: 100,
            hot_threshold_ms: 3_000,
            unused_ms: 0,
            keep_out: false,
            steer_ms: 5_000,
        }
    }
}

impl TierConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        match () {
            () if !(256..=1 << 24).contains(&self.pages_per_s) => Err(("pages_per_s", "must be 256 (1 MiB) to 2^24")),
            () if !(1..=1 << 18).contains(&self.batch_pages) => Err(("batch_pages", "must be 1 to 2^18")),
            () if !(1..=100).contains(&self.cpu_percent) => Err(("cpu_percent", "must be 1 to 100, of one CPU")),
            () if !(1..=10_000).contains(&self.scan_period_ms) => Err(("scan_period_ms", "must be 1 to 10000")),
            () if !(1..=60_000).contains(&self.hot_threshold_ms) => Err(("hot_threshold_ms", "must be 1 to 60000")),
            () if self.unused_ms > 60_000 => Err(("unused_ms", "must be 0 to 60000")),
            () if !(100..=600_000).contains(&self.steer_ms) => Err(("steer_ms", "must be 100 to 600000")),
            () => Ok(()),
        }
    }
}
