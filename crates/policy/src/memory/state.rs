// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory as a decision sees it.

use fovea_apps::{MemoryReading, ZramReading, PAGE_BYTES};
use serde::{Deserialize, Serialize};

use super::SecondLevel;
use crate::snapshot::is_zero;

/// Swap is nearly full when less than such a part of it is left.
const NEARLY_FULL: u64 = 40;

/// Memory, with what changed since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryState {
    /// MemFree.
    pub free_bytes: u64,
    /// MemTotal without what is set aside as huge pages; 0 if it is not known.
    #[serde(default)]
    pub total_bytes: u64,
    /// MemAvailable.
    #[serde(default)]
    pub available_bytes: u64,
    /// Sum of the zones' low watermarks: what the kernel keeps free by itself. 0 if it is not known.
    #[serde(default)]
    pub low_bytes: u64,
    /// Page cache that can be dropped.
    pub file_bytes: u64,
    /// What the kernel can give back beside it: dentries, inodes, ZFS's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kernel_caches_bytes: u64,
    /// Reserved memory that caches evicted file pages; read only where little is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_level: Option<SecondLevel>,
    /// Swap, if there is any.
    pub swap: Option<SwapState>,
    /// Time some task waited for memory since the last look; the kernel's reclaim thread at work counts.
    pub stalled_us: u64,
    /// The same as a share of that time, percent.
    #[serde(default)]
    pub stall_percent: f64,
    /// Share of the last 10 s in which every task waited, percent.
    pub psi_full_avg10: f64,
    /// Pages read again that had been evicted, per second since the last look.
    pub refaults_per_s: u64,
    /// Pages that storage had to read again, per second over the last seconds: of files, and of swap that is not in memory.
    #[serde(default)]
    pub storage_refaults_per_s: u64,
    /// Nothing tells when memory gets short (a kernel without PSI): it has to be looked at.
    #[serde(default, rename = "untold")]
    pub polled: bool,
}

/// Swap as it really is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapState {
    /// What the kernel says is free, in all areas.
    pub free_bytes: u64,
    /// Size of all areas.
    pub total_bytes: u64,
    /// zram's own account; `None` for swap on storage.
    pub zram: Option<ZramReading>,
}

/// Swap on storage that the kernel comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Storage {
    free_bytes: u64,
    used_bytes: u64,
}

/// Less is no swap on storage: what the kernel counts of zram and zram's own account differ by some pages.
const STORAGE_LEAST_BYTES: u64 = 1 << 20;

impl SwapState {
    fn zram_room_pages(&self) -> u64 {
        self.zram.map_or(0, |zram| zram.room_pages().min(self.free_bytes / PAGE_BYTES))
    }

    /// What is beside zram. The kernel comes to it once zram has no place left: if its memory is limited that may never be, for at the limit
    /// it refuses pages that it has a place for.
    fn storage(&self) -> Storage {
        let Some(zram) = self.zram else {
            return Storage {
                free_bytes: self.free_bytes,
                used_bytes: self.total_bytes.saturating_sub(self.free_bytes),
            };
        };
        let total_bytes = self.total_bytes.saturating_sub(zram.disk_bytes);
        if zram.limit_bytes > 0 || total_bytes < STORAGE_LEAST_BYTES {
            return Storage::default();
        }
        let zram_free_bytes = zram.disk_bytes.saturating_sub(zram.original_bytes);
        let free_bytes = self.free_bytes.saturating_sub(zram_free_bytes).min(total_bytes);
        Storage { free_bytes, used_bytes: total_bytes - free_bytes }
    }
}

impl MemoryState {
    /// A reading as decisions see it, without rates since an earlier one.
    pub fn of_reading(now: &MemoryReading, low_bytes: u64) -> MemoryState {
        MemoryState {
            free_bytes: now.free_bytes,
            total_bytes: now.total_bytes,
            available_bytes: now.available_bytes,
            low_bytes,
            file_bytes: now.file_bytes,
            kernel_caches_bytes: now.kernel_caches_bytes(low_bytes),
            swap: (now.swap_total_bytes > 0).then_some(SwapState {
                free_bytes: now.swap_free_bytes,
                total_bytes: now.swap_total_bytes,
                zram: now.zram,
            }),
            psi_full_avg10: now.psi_full_avg10.unwrap_or(0.0),
            polled: now.psi_some_total_us.is_none(),
            ..MemoryState::default()
        }
    }

    /// Page cache and the kernel's other caches.
    pub fn caches_bytes(&self) -> u64 {
        self.file_bytes.saturating_add(self.kernel_caches_bytes)
    }

    /// Whether less than such a part of memory can be had, with what can be dropped of the file cache. Where evicted file pages come back from a
    /// second level, that is part of both.
    pub fn is_less_left_than(&self, part: u64) -> bool {
        let second_bytes = self.second_level.map_or(0, |second| second.file_room_bytes());
        self.available_bytes.saturating_add(second_bytes) < self.total_bytes.saturating_add(second_bytes) / part
    }

    /// What can be had without taking anything from a process: memory that the kernel does not keep for itself, and caches.
    pub fn left_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.low_bytes).saturating_add(self.caches_bytes())
    }

    /// What can be had in all: that, and what moving pages to swap gives. A page that zram takes occupies memory there.
    pub fn left_with_swap_bytes(&self) -> u64 {
        let swap_bytes = self.swap.map_or(0, |swap| {
            let cost_bytes = swap.zram.map_or(0, |zram| zram.page_cost_bytes());
            swap.zram_room_pages() * PAGE_BYTES.saturating_sub(cost_bytes) + swap.storage().free_bytes
        });
        self.left_bytes().saturating_add(swap_bytes)
    }

    /// Pages that swap can really still take.
    pub fn room_pages(&self) -> u64 {
        self.swap.map_or(0, |swap| swap.zram_room_pages() + swap.storage().free_bytes / PAGE_BYTES)
    }

    /// Whether what is swapped out goes to storage from now on: zram has room for less than so many pages, or there is none.
    pub fn spills(&self, least_pages: u64) -> bool {
        self.swap.is_some_and(|swap| swap.zram_room_pages() < least_pages.max(1) && swap.storage().free_bytes > 0)
    }

    /// Whether swap takes hardly any more: what it holds and what it can still take are its size, and less than a fortieth of that is left.
    pub fn is_swap_nearly_full(&self) -> bool {
        let room_pages = self.room_pages();
        let size_pages = match self.swap {
            None => return false,
            Some(swap @ SwapState { zram: Some(zram), .. }) => {
                (zram.original_bytes + swap.storage().used_bytes) / PAGE_BYTES + room_pages
            }
            Some(SwapState { total_bytes, .. }) => total_bytes / PAGE_BYTES,
        };
        room_pages * NEARLY_FULL < size_pages
    }
}

#[cfg(test)]
mod tests {
    use fovea_apps::ZramReading;

    use super::*;

    const MB: u64 = 1 << 20;

    fn memory(zram: Option<ZramReading>, total_mb: u64, free_mb: u64) -> MemoryState {
        let swap = SwapState { free_bytes: free_mb * MB, total_bytes: total_mb * MB, zram };
        MemoryState { swap: Some(swap), ..MemoryState::default() }
    }

    fn zram(limit_mb: u64, original_mb: u64) -> ZramReading {
        let [disk_bytes, original_bytes, limit_bytes] = [200, original_mb, limit_mb].map(|mb| mb * MB);
        ZramReading {
            disk_bytes,
            limit_bytes,
            original_bytes,
            used_bytes: original_bytes / 2,
            ..ZramReading::default()
        }
    }

    #[test]
    fn swap_on_storage_below_zram_takes_what_zram_cannot() {
        // 150 MB of zram's 200 are taken, nothing of the 800 on storage.
        let memory_of = |zram| memory(Some(zram), 1000, 850);
        assert_eq!(memory_of(zram(0, 150)).room_pages() * PAGE_BYTES, 850 * MB);
        assert!(!memory_of(zram(0, 150)).spills(256));
        // At its limit zram refuses pages, and the kernel goes on offering them to it.
        assert_eq!(memory_of(zram(75, 150)).room_pages(), 0);
        assert!(memory_of(zram(75, 150)).is_swap_nearly_full());
        // zram is full, then storage nearly.
        let full = memory(Some(zram(0, 200)), 1000, 800);
        assert_eq!(
            (full.room_pages() * PAGE_BYTES, full.spills(256), full.is_swap_nearly_full()),
            (800 * MB, true, false)
        );
        assert!(memory(Some(zram(0, 200)), 1000, 20).is_swap_nearly_full());
    }

    #[test]
    fn what_is_left_in_all_counts_a_page_in_zram_for_what_moving_it_there_gives() {
        let mut both = memory(Some(zram(0, 150)), 1000, 850);
        assert_eq!(both.left_with_swap_bytes(), (25 + 800) * MB, "50 MB of zram's are free, and take half of that");
        (both.free_bytes, both.low_bytes, both.file_bytes) = (50 * MB, 40 * MB, 7 * MB);
        assert_eq!((both.left_bytes(), both.left_with_swap_bytes()), (17 * MB, (10 + 7 + 25 + 800) * MB));
        both.free_bytes = 30 * MB;
        assert_eq!(MemoryState { swap: None, ..both }.left_with_swap_bytes(), 7 * MB);
    }

    #[test]
    fn zram_alone_counts_as_before_whatever_the_kernel_says_is_free() {
        for free_mb in [50, 60] {
            let alone = memory(Some(zram(0, 150)), 200, free_mb);
            assert_eq!(alone.room_pages() * PAGE_BYTES, 50 * MB);
            assert!(!alone.spills(256) && !memory(Some(zram(0, 200)), 200, 5).spills(256));
        }
        let storage = memory(None, 100, 30);
        assert_eq!((storage.room_pages() * PAGE_BYTES, storage.spills(256)), (30 * MB, true));
    }
}
