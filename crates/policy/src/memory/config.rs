// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Knobs of the memory policy: meaning, unit, default.

use serde::{Deserialize, Serialize};

use super::RulesOff;

/// How much the daemon does about memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Kills only: what a stock device does (LowMem13, figure 2-20). The figures' "stock" and "zram".
    Ladder,
    /// Compresses idle apps, reads back ahead of need, kills last.
    #[default]
    Full,
}

/// The memory ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryConfig {
    /// How much is done.
    pub mode: Mode,
    /// Free and file-cache pages under which a class may be killed, most important class first, as they stand (LowMem13, figure 2-19);
    /// none: by the device's watermarks and size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minfree_pages: Option<[u64; 6]>,
    /// Pages compressed between two looks at memory. The kernel is asked for 32 at a time (LowMem13, section 3.3).
    pub batch_pages: u64,
    /// A range is compressed only if its sample shrinks to under so many thousandths (LowMem13, section 3, step 5: half).
    pub compress_under_permille: u32,
    /// An app with less resident anonymous memory than this is not worth compressing.
    pub compress_least_pages: u64,
    /// Time in the background after which an app may be compressed ahead of need while the device is idle, and memory is not plentiful
    /// (less is available than twice what a shortage begins at); 0: none but closed ones with the screen off.
    pub idle_ms: u64,
    /// Time after an open app was left in which it is not compressed while memory is merely short: people come back soonest to what they
    /// left last. Not kept where the alternative is a kill, or a wait for memory; but what its last return touched is, until free memory is
    /// nearly gone.
    pub just_left_ms: u64,
    /// Time after an open app was left in which it is not killed merely to make room for files, unless very little is left. Without `minfree_pages` none ever is: only a
    /// phone's apps save what they have as they leave the front.
    pub keep_open_ms: u64,
    /// With the screen off, leave an app that came back since it was compressed alone while at most so much of its memory is
    /// resident, percent: that is what its return touched, and will touch again. 0: compress all of it again.
    pub keep_returned_percent: u64,
    /// Stop giving pages to zram when its remaining true room is under so many pages.
    pub room_least_pages: u64,
    /// Time between two looks while memory is short.
    pub watch_ms: u64,
    /// Full-stall share (PSI full avg10, percent) that counts as thrash.
    pub thrash_full_percent: f64,
    /// Pages per second, over the last seconds, that storage has to read again and that count as thrash; none: by the time that refaults cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thrash_refaults_per_s: Option<u64>,
    /// `ladder` mode with swap: kills wait until less than so much of the swap is free, as Android's lmkd does by SwapFree.
    pub ladder_swap_free_percent: u64,
    /// Time an app is given to end by itself (SIGTERM) before it is killed, where memory allows for it; 0 to kill at once.
    pub kill_grace_ms: u64,
    /// Time after an app came to the screen in which the CPU is left to it: nothing is compressed unless free memory is below
    /// the threshold of the foreground.
    pub focus_grace_ms: u64,
    /// Pages read back when an app comes to the screen, at most; 0 for none. What its last return touched if that is known, else
    /// from its main heap on. Only where another CPU can do it while the app runs.
    pub prefetch_pages: u64,
    /// Rules that the laboratory has switched off.
    #[serde(skip)]
    pub rules_off: RulesOff,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Full,
            minfree_pages: None,
            batch_pages: 256,
            compress_under_permille: 500,
            compress_least_pages: 64,
            idle_ms: 300_000,
            just_left_ms: 12_000,
            keep_open_ms: 60_000,
            keep_returned_percent: 75,
            room_least_pages: 256,
            watch_ms: 50,
            thrash_full_percent: 10.0,
            thrash_refaults_per_s: None,
            ladder_swap_free_percent: 10,
            kill_grace_ms: 1000,
            focus_grace_ms: 1000,
            prefetch_pages: 1024,
            rules_off: RulesOff::default(),
        }
    }
}

impl MemoryConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        /// 16 TiB: beyond any device, and far from where sums of pages would overflow.
        const PAGES_MAX: u64 = 1 << 32;
        let minfree = self.minfree_pages.unwrap_or_default();
        if minfree.iter().any(|&pages| pages > PAGES_MAX) {
            return Err(("minfree_pages", "must each be at most 4294967296: they are pages, not bytes"));
        }
        if minfree.windows(2).any(|w| w[0] > w[1]) {
            return Err(("minfree_pages", "must not fall from left to right: write the most important class first"));
        }
        if !(1..=1000).contains(&self.compress_under_permille) {
            return Err(("compress_under_permille", "must be 1 to 1000"));
        }
        if !(32..=1 << 20).contains(&self.batch_pages) {
            return Err(("batch_pages", "must be 32, the size of one request to the kernel, to 1048576"));
        }
        if !(1..=60_000).contains(&self.watch_ms) {
            return Err(("watch_ms", "must be 1 to 60000"));
        }
        if self.kill_grace_ms > 10_000 {
            return Err(("kill_grace_ms", "must be at most 10000: memory is short meanwhile"));
        }
        if self.focus_grace_ms > 600_000 {
            return Err(("focus_grace_ms", "must be at most 600000"));
        }
        if self.ladder_swap_free_percent > 100 {
            return Err(("ladder_swap_free_percent", "must be 0 to 100"));
        }
        if !(0.0..=100.0).contains(&self.thrash_full_percent) {
            return Err(("thrash_full_percent", "must be 0 to 100"));
        }
        for (key, pages) in
            [("compress_least_pages", self.compress_least_pages), ("room_least_pages", self.room_least_pages)]
        {
            if pages > PAGES_MAX {
                return Err((key, "must be at most 4294967296: it is pages, not bytes"));
            }
        }
        Ok(())
    }
}
