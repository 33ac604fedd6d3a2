// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How often to look at memory when nothing calls: all the time on a kernel without PSI, and on any near a shortage that swap cannot end.

use super::thresholds::thresholds;
use super::MemoryConfig;
use crate::Snapshot;
use fovea_apps::PAGE_BYTES;

/// How fast apps can fill memory, at most: bytes per millisecond, 1 GiB/s. A phone's CPU faults a page in in some microseconds.
const FILL_BYTES_PER_MS: u64 = 1 << 20;

/// Looks while memory is near to being short, in terms of those while it is short.
const NEAR_LOOKS: u64 = 4;

/// Longest time between two looks, in the same terms (2 s by default): what a device with much memory pays while nothing happens.
const FAR_LOOKS: u64 = 40;

/// What an app may fill while nobody waits for memory. The kernel drops clean cache without a stall, so PSI can stay silent until that
/// is spent; where the kernel cannot swap then, the next page is the OOM killer's.
const NEAR_BYTES: u64 = 64 << 20;

/// Time until the next look; `None`: PSI will call in time.
///
/// Memory is short when free memory and file cache are both low, so what apps must fill first is the excess of either: they cannot
/// have filled it before that takes at [`FILL_BYTES_PER_MS`]. Looking after that time sees every shortage begin, with few looks
/// while there is much memory. With the screen off nobody opens an app, and the longest time will do.
pub(crate) fn interval_ns(snapshot: &Snapshot, config: &MemoryConfig) -> Option<u64> {
    let excess_bytes = excess_bytes(snapshot, config);
    let can_swap = snapshot.memory.room_pages() >= config.room_least_pages.max(1);
    let near = snapshot.screen_on && excess_bytes < NEAR_BYTES && !can_swap;
    if !(snapshot.memory.polled || near) {
        return None;
    }
    let (least_ms, most_ms) = (config.watch_ms * NEAR_LOOKS, config.watch_ms * FAR_LOOKS);
    let wanted_ms = if snapshot.screen_on { excess_bytes / FILL_BYTES_PER_MS } else { most_ms };
    Some(wanted_ms.clamp(least_ms, most_ms) * 1_000_000)
}

fn excess_bytes(snapshot: &Snapshot, config: &MemoryConfig) -> u64 {
    let memory = &snapshot.memory;
    let limits = thresholds(memory, config);
    let [free_bytes, file_bytes] =
        [limits.free_pages, limits.file_pages].map(|pages| pages[5].saturating_mul(PAGE_BYTES));
    memory.free_bytes.saturating_sub(free_bytes) + memory.caches_bytes().saturating_sub(file_bytes / 2 * 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MemoryState, SwapState};

    fn wanted_ms(free_mb: u64, file_mb: u64, screen_on: bool, polled: bool) -> Option<u64> {
        let memory = MemoryState { free_bytes: free_mb << 20, file_bytes: file_mb << 20, polled, ..Default::default() };
        let snapshot = Snapshot { screen_on, memory, ..Snapshot::default() };
        interval_ns(&snapshot, &MemoryConfig::default()).map(|ns| ns / 1_000_000)
    }

    fn interval_ms(free_mb: u64, file_mb: u64, screen_on: bool) -> u64 {
        wanted_ms(free_mb, file_mb, screen_on, true).unwrap()
    }

    #[test]
    fn where_psi_calls_and_nothing_can_be_swapped_memory_is_looked_at_near_a_shortage() {
        assert_eq!(wanted_ms(20, 0, true, false), Some(200), "short, and perhaps without a stall");
        assert_eq!(wanted_ms(60, 60, true, false), Some(200), "one app away from it");
        assert_eq!(wanted_ms(100, 48, true, false), None);
        assert_eq!(wanted_ms(32, 150, true, false), None);
        assert_eq!(wanted_ms(20, 0, false, false), None, "nobody opens an app");
        let swap = Some(SwapState { free_bytes: 100 << 20, total_bytes: 100 << 20, zram: None });
        let memory = MemoryState { free_bytes: 20 << 20, swap, ..Default::default() };
        let snapshot = Snapshot { screen_on: true, memory, ..Snapshot::default() };
        assert_eq!(interval_ns(&snapshot, &MemoryConfig::default()), None, "swapping is a stall, and PSI calls");
    }

    #[test]
    fn the_nearer_a_shortage_the_more_often_memory_is_looked_at() {
        assert_eq!(interval_ms(32, 48, true), 200, "short now");
        assert_eq!(interval_ms(332, 48, true), 300, "300 MB to fill");
        assert_eq!(interval_ms(32, 348, true), 300, "caches count as well");
        assert_eq!(interval_ms(1032, 1048, true), 2000);
        assert_eq!(interval_ms(60_000, 0, true), 2000);
        assert_eq!(interval_ms(0, 0, false), 2000);
    }
}
