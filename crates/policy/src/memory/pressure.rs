// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How short memory is.

use fovea_apps::{Importance, PAGE_BYTES};
use serde::{Deserialize, Serialize};

use super::thresholds::{is_refaulting, thresholds};
use super::{MemoryConfig, MemoryState, Rule};

/// Little memory is left when less than such a part of it is available.
const LITTLE_LEFT: u64 = 10;

/// Very little is left when less than such a part is: from here on every return reads its files anew.
const VERY_LITTLE_LEFT: u64 = 12;

/// How short memory is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// What is short; `None` while the kernel needs no help.
    pub shortage: Option<Shortage>,
    /// The least important classes down to this one may be killed (LowMem13, figure 2-19); `None` for no class.
    pub ladder: Option<Importance>,
    /// Free memory is below what even the foreground app is killed for: whoever allocates now has to wait for memory.
    pub critical: bool,
    /// Half of that is gone as well: the kernel takes from anybody by now, the app in front too.
    #[serde(default)]
    pub drained: bool,
    /// Less than a tenth of memory can be had, with what can be dropped of the file cache.
    #[serde(default)]
    pub little_left: bool,
    /// The same of a twelfth.
    #[serde(default)]
    pub very_little_left: bool,
    /// Memory is being read back as fast as it is taken away: reclaim no longer helps.
    pub thrash: bool,
}

/// A shortage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// Pages to find.
    pub pages: u64,
    /// The file cache is as small as it should get: the kernel's own first step (shrinking caches) is spent.
    pub caches_spent: bool,
}

/// What the kernel's own first step can still shrink: page cache, dentries, inodes, ZFS's cache
/// (LowMem13, section 3.2, step 1, names inodes and the kernel's other objects). While everybody
/// waits, page cache alone: then the kernel is looking for memory and does not find it there. Slab
/// counts as reclaimable though one object in use keeps the whole page.
fn caches_bytes(memory: &MemoryState, everybody_waits: bool) -> u64 {
    if everybody_waits {
        memory.file_bytes
    } else {
        memory.caches_bytes()
    }
}

/// Reads the pressure off the state of memory.
///
/// The first step under pressure is the kernel's, which shrinks its caches (LowMem13, section 3.2, step 1). Ours begins when that is
/// spent: free memory and file cache both low, as Android's driver has it, or caches that are read back as soon as they are shrunk.
pub fn pressure(memory: &MemoryState, config: &MemoryConfig) -> Pressure {
    let free_pages = memory.free_bytes / PAGE_BYTES;
    let limits = thresholds(memory, config);
    let refaulting = is_refaulting(memory, config);
    // The average lags: ten seconds after a large app's start it still tells of that.
    let still_waits = memory.polled || memory.stall_percent >= config.thrash_full_percent;
    let everybody_waits = memory.psi_full_avg10 >= config.thrash_full_percent && still_waits;
    let thrash = everybody_waits || refaulting;
    let caches_pages = caches_bytes(memory, everybody_waits && config.has(Rule::CachesCount)) / PAGE_BYTES;

    let below =
        |i: Importance| free_pages < limits.free_pages[i.index()] && caches_pages < limits.file_pages[i.index()];
    let mut ladder = Importance::ALL.into_iter().find(|&i| below(i));

    let target_pages = limits.free_pages[Importance::Empty.index()];
    // A working set of files larger than any threshold can thrash as well: then the time that is lost counts. Not where much memory is left,
    // for a cgroup that is held to a limit of its own waits without anything being short.
    let little_memory_left = MemoryState { second_level: None, ..*memory }.is_less_left_than(LITTLE_LEFT);
    let little_left = memory.is_less_left_than(LITTLE_LEFT);
    let very_little_left = memory.is_less_left_than(VERY_LITTLE_LEFT);
    if ladder.is_none()
        && config.minfree_pages.is_none()
        && everybody_waits
        && refaulting
        && little_memory_left
        && free_pages < target_pages
    {
        ladder = Some(Importance::Hidden);
    }
    let caches_spent = caches_pages < limits.short_file_pages();
    let wanted = target_pages.saturating_sub(free_pages);
    let shortage = (wanted > 0 && (caches_spent || refaulting)).then_some(Shortage { pages: wanted, caches_spent });
    let critical = free_pages < limits.free_pages[Importance::Foreground.index()];
    let drained = free_pages < limits.drained_pages();
    Pressure { shortage, ladder, critical, drained, little_left, very_little_left, thrash }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::SecondLevel;

    const MB: u64 = 1 << 20;

    fn memory(free_mb: u64, file_mb: u64) -> MemoryState {
        MemoryState { free_bytes: free_mb * MB, file_bytes: file_mb * MB, ..Default::default() }
    }

    fn paper() -> MemoryConfig {
        MemoryConfig {
            minfree_pages: Some(crate::memory::PAPER_PAGES),
            thrash_refaults_per_s: Some(600),
            ..MemoryConfig::default()
        }
    }

    fn at(free_mb: u64, file_mb: u64) -> Pressure {
        pressure(&memory(free_mb, file_mb), &paper())
    }

    /// A guest of 1.25 GiB with transparent huge pages as Debian has them.
    fn laptop(free_mb: u64, file_mb: u64) -> MemoryState {
        MemoryState { total_bytes: 1280 * MB, low_bytes: 47 * MB, ..memory(free_mb, file_mb) }
    }

    #[test]
    fn what_huge_pages_keep_free_does_not_put_the_thresholds_out_of_reach() {
        let at = |free_mb, file_mb| pressure(&laptop(free_mb, file_mb), &MemoryConfig::default());
        assert_eq!(at(52, 12).ladder, Some(Importance::Foreground));
        assert_eq!(at(60, 30).ladder, Some(Importance::Hidden));
        assert_eq!(at(92, 30).ladder, Some(Importance::Empty));
        assert_eq!(at(60, 60).ladder, None, "caches first");
        assert_eq!(at(110, 10).ladder, None);
        assert!(at(90, 70).shortage.is_some());
    }

    /// 16 GB with 5.86 GB available, 60 MB free and 20 MB of file pages: the largest app was
    /// killed. And a guest of 240 MB with 37 MB of dentries: three of six apps were.
    #[test]
    fn what_the_kernel_can_give_back_of_its_own_is_no_shortage() {
        let large = MemoryState {
            total_bytes: 16 << 30,
            low_bytes: 45 * MB,
            available_bytes: 5_860 * MB,
            kernel_caches_bytes: 5_825 * MB,
            ..memory(60, 20)
        };
        let small = MemoryState {
            total_bytes: 181 * MB,
            low_bytes: 2 * MB,
            available_bytes: 41 * MB,
            kernel_caches_bytes: 35 * MB,
            ..memory(5, 3)
        };
        for m in [large, small] {
            let p = pressure(&m, &MemoryConfig::default());
            assert_eq!((p.ladder, p.shortage), (None, None), "{m:?}");
            let slab_in_use = MemoryState { psi_full_avg10: 30.0, stall_percent: 60.0, ..m };
            let waits = pressure(&slab_in_use, &MemoryConfig::default());
            assert!(waits.ladder.is_some(), "the kernel does not find it");
            let nothing_else = MemoryState { kernel_caches_bytes: 0, ..m };
            assert!(pressure(&nothing_else, &MemoryConfig::default()).ladder.is_some());
        }
    }

    #[test]
    fn a_large_working_set_that_thrashes_opens_the_ladder_but_not_to_the_foreground() {
        let mut m = laptop(60, 120);
        (m.psi_full_avg10, m.refaults_per_s, m.stall_percent) = (30.0, 5000, 60.0);
        let ladder = |m: &MemoryState| pressure(m, &MemoryConfig::default()).ladder;
        assert_eq!(ladder(&m), Some(Importance::Hidden));
        m.available_bytes = 400 * MB;
        assert_eq!(ladder(&m), None, "somebody waits at a limit of his own");
        m.available_bytes = 0;
        m.refaults_per_s = 0;
        assert_eq!(ladder(&m), None, "nothing is read back");
    }

    #[test]
    fn the_ladder_is_the_seeds() {
        // 2048, 3072, 4096, 6144, 7168, 8192 pages are 8, 12, 16, 24, 28 and 32 MB.
        assert_eq!(at(33, 10).ladder, None);
        assert_eq!(at(10, 33).ladder, None, "caches first");
        assert_eq!(at(10, 31).ladder, Some(Importance::Empty));
        assert_eq!(at(10, 27).ladder, Some(Importance::ContentProvider));
        assert_eq!(at(10, 23).ladder, Some(Importance::Hidden));
        assert_eq!(at(10, 15).ladder, Some(Importance::Service));
        assert_eq!(at(10, 11).ladder, Some(Importance::Visible));
        assert_eq!(at(7, 7).ladder, Some(Importance::Foreground));
    }

    #[test]
    fn compression_begins_before_the_first_kill() {
        assert_eq!(at(20, 47).shortage, Some(Shortage { pages: 12 * 256, caches_spent: true }));
        assert_eq!(at(20, 47).ladder, None);
        assert_eq!(at(20, 60).shortage, None, "the kernel can still shrink its caches");
        assert_eq!(at(40, 10).shortage, None);
    }

    #[test]
    fn what_everybody_waited_for_ten_seconds_ago_is_no_thrash() {
        let waited = |psi_full_avg10, stall_percent| MemoryState { psi_full_avg10, stall_percent, ..memory(20, 30) };
        let thrash = |m: &MemoryState| pressure(m, &paper()).thrash;
        assert!(thrash(&waited(30.0, 60.0)));
        assert!(!thrash(&waited(30.0, 2.0)), "over");
        assert!(!thrash(&waited(2.0, 60.0)), "of a moment");
        assert!(thrash(&MemoryState { polled: true, ..waited(30.0, 0.0) }), "who is not called cannot tell");
    }

    /// With the eCache at HM, 61 MB of 661 were left when an app was killed to make room for files, and 90 MB of reserved memory cached them.
    #[test]
    fn a_second_level_that_serves_is_room_for_files() {
        let left = |second_level| {
            let memory =
                MemoryState { total_bytes: 661 * MB, available_bytes: 52 * MB, second_level, ..memory(10, 62) };
            let p = pressure(&memory, &paper());
            (p.little_left, p.very_little_left)
        };
        let second = |mb: u64, hit_permille| Some(SecondLevel { usable_bytes: mb * MB, hit_permille });
        assert_eq!(left(None), (true, true));
        assert_eq!(left(second(90, 170)), (false, false));
        assert_eq!(left(second(90, 20)), (true, true), "nothing comes back from it");
        assert_eq!(left(second(5, 170)), (true, false), "devices hold the rest");
    }

    #[test]
    fn refaults_count_as_pressure_though_caches_look_large() {
        let mut m = memory(20, 100);
        m.storage_refaults_per_s = 601;
        let p = pressure(&m, &paper());
        assert!(p.thrash && p.shortage.is_some_and(|s| !s.caches_spent));
    }
}
