// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory as a decision sees it.

use fovea_apps::{ZramReading, PAGE_BYTES};
use serde::{Deserialize, Serialize};

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
    #[serde(default)]
    pub untold: bool,
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

impl MemoryState {
    /// Pages that swap can really still take.
    pub fn room_pages(&self) -> u64 {
        match self.swap {
            None => 0,
            Some(SwapState { zram: Some(zram), free_bytes, .. }) => zram.room_pages().min(free_bytes / PAGE_BYTES),
            Some(SwapState { free_bytes, .. }) => free_bytes / PAGE_BYTES,
        }
    }

    /// Whether swap takes hardly any more: what it holds and what it can still take are its size, and less than a fortieth of that is left.
    pub fn is_swap_nearly_full(&self) -> bool {
        let room_pages = self.room_pages();
        let size_pages = match self.swap {
            None => return false,
            Some(SwapState { zram: Some(zram), .. }) => zram.original_bytes / PAGE_BYTES + room_pages,
            Some(SwapState { total_bytes, .. }) => total_bytes / PAGE_BYTES,
        };
        room_pages * NEARLY_FULL < size_pages
    }
}
