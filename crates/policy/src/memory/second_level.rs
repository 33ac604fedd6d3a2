// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The eCache as the second level of the file cache: where evicted file pages are read back from it, their eviction costs little, and an app
//! need not die to make room for files.

use fovea_apps::{PoolReading, PAGE_BYTES};
use serde::{Deserialize, Serialize};

/// The eCache serves if it has so many of a thousand pages that it is asked for. Below that evicted pages come from storage all the same.
const SERVES_PERMILLE: u32 = 50;

/// Pages asked for that count in full: of more, those asked for before count half.
const RECENT_GETS: u64 = 4096;

/// Reserved memory that caches evicted file pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondLevel {
    /// What of it no device holds.
    pub usable_bytes: u64,
    /// Share of the pages lately asked of it that it had, in thousandths.
    pub hit_permille: u32,
}

impl SecondLevel {
    /// What it adds to the room that file pages have.
    pub fn file_room_bytes(&self) -> u64 {
        match self.hit_permille >= SERVES_PERMILLE {
            true => self.usable_bytes,
            false => 0,
        }
    }
}

/// Hits of late, by a pool's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecentHits {
    seen: [u64; 2],
    hits: u64,
    gets: u64,
}

impl RecentHits {
    /// Takes a reading into account; the first is of all that was asked for until then.
    pub fn record(&mut self, pool: &PoolReading) -> SecondLevel {
        let [hits, gets] = [pool.hits, pool.gets];
        // A module that was loaded anew begins at 0.
        let since = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        self.hits += since(hits, self.seen[0]);
        self.gets += since(gets, self.seen[1]);
        self.seen = [hits, gets];
        let permille = (self.hits.saturating_mul(1000) / self.gets.max(1)).min(1000);
        while self.gets > RECENT_GETS {
            (self.hits, self.gets) = (self.hits / 2, self.gets / 2);
        }
        let usable_bytes = pool.cached.saturating_add(pool.free).saturating_mul(PAGE_BYTES);
        SecondLevel { usable_bytes, hit_permille: permille as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(hits: u64, gets: u64) -> PoolReading {
        PoolReading { frames: 100, cached: 30, free: 20, hits, gets, ..PoolReading::default() }
    }

    #[test]
    fn what_devices_hold_is_no_room_for_files_nor_is_a_cache_that_has_nothing() {
        let mut hits = RecentHits::default();
        assert_eq!(hits.record(&pool(10, 100)), SecondLevel { usable_bytes: 50 * 4096, hit_permille: 100 });
        assert_eq!(SecondLevel { usable_bytes: 7, hit_permille: 50 }.file_room_bytes(), 7);
        assert_eq!(SecondLevel { usable_bytes: 7, hit_permille: 49 }.file_room_bytes(), 0);
        assert_eq!(RecentHits::default().record(&pool(0, 0)).hit_permille, 0);
    }

    #[test]
    fn what_was_long_ago_counts_less_and_less() {
        let mut hits = RecentHits::default();
        hits.record(&pool(0, 1 << 20));
        for nth in 1..=20u64 {
            hits.record(&pool(nth * 1000, (1 << 20) + nth * 1000));
        }
        assert!(hits.record(&pool(20_000, (1 << 20) + 20_000)).hit_permille > 900, "all of late were there");
        assert_eq!(hits.record(&pool(5, 10)).hit_permille, hits.record(&pool(5, 10)).hit_permille, "loaded anew");
    }
}
