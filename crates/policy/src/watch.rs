// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How often to look at memory where nothing tells that it gets short: a kernel without PSI, and only there.

use crate::{MemoryConfig, Snapshot, PAGE_BYTES};

/// How fast apps can fill memory, at most: bytes per millisecond, 1 GiB/s. A phone's CPU faults a page in in some microseconds.
const FILL_BYTES_PER_MS: u64 = 1 << 20;

/// Looks while memory is near to being short, in terms of those while it is short.
const NEAR_LOOKS: u64 = 4;

/// Longest time between two looks, in the same terms (2 s by default): what a device with much memory pays while nothing happens.
const FAR_LOOKS: u64 = 40;

/// Time until the next look.
///
/// Memory is short when free memory and file cache are both low, so what apps must fill first is the excess of either: they cannot
/// have filled it before that takes at [`FILL_BYTES_PER_MS`]. Looking after that time sees every shortage begin, with few looks
/// while there is much memory. With the screen off nobody opens an app, and the longest time will do.
pub(crate) fn interval_ns(snapshot: &Snapshot, config: &MemoryConfig) -> u64 {
    let memory = &snapshot.memory;
    let short_bytes = config.minfree_pages.iter().copied().max().unwrap_or(0).saturating_mul(PAGE_BYTES);
    let excess_bytes =
        memory.free_bytes.saturating_sub(short_bytes) + memory.file_bytes.saturating_sub(short_bytes / 2 * 3);
    let (least_ms, most_ms) = (config.watch_ms * NEAR_LOOKS, config.watch_ms * FAR_LOOKS);
    let wanted_ms = if snapshot.screen_on { excess_bytes / FILL_BYTES_PER_MS } else { most_ms };
    wanted_ms.clamp(least_ms, most_ms) * 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryState;

    fn interval_ms(free_mb: u64, file_mb: u64, screen_on: bool) -> u64 {
        let memory = MemoryState { free_bytes: free_mb << 20, file_bytes: file_mb << 20, ..Default::default() };
        let snapshot = Snapshot { screen_on, memory, ..Snapshot::default() };
        interval_ns(&snapshot, &MemoryConfig::default()) / 1_000_000
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
