// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where memory begins to be short: the paper's six values as they stand, or by the device.

use super::{MemoryConfig, MemoryState};
use fovea_apps::PAGE_BYTES;

/// The paper's values (LowMem13, figure 2-19), most important class first.
pub const PAPER_PAGES: [u64; 6] = [2048, 3072, 4096, 6144, 7168, 8192];

/// Memory of the phones that those values are for.
const PAPER_MEMORY_BYTES: u64 = 512 << 20;

/// Refaulted pages per second that a phone's flash can read at random, and no more (eCache12, table 8: 1.51 ms a page).
const PAPER_REFAULTS_PER_S: u64 = 600;

/// Pages of free memory and of file cache under which a class may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Of MemFree.
    pub free_pages: [u64; 6],
    /// Of the file cache.
    pub file_pages: [u64; 6],
}

impl Thresholds {
    /// Half-way between what the foreground app is killed for and what the kernel keeps to itself.
    pub fn drained_pages(&self) -> u64 {
        self.free_pages[0] - self.file_pages[0] / 2
    }

    /// File cache under which memory is short. Half as much again as what the least important app is killed for: compression, which loses
    /// nothing, comes before it.
    pub fn short_file_pages(&self) -> u64 {
        self.file_pages[5] * 3 / 2
    }

    /// Memory is short under so many pages of both together, those left out that the kernel keeps for itself.
    pub fn short_pages(&self) -> u64 {
        self.file_pages[5] + self.short_file_pages()
    }
}

/// The thresholds in force.
///
/// By the device: the kernel keeps what is under its low watermarks to itself (its reclaim thread begins there), so free memory is counted
/// from them: transparent huge pages and `vm.min_free_kbytes` raise them above any absolute value. Above them the paper's values grow with the
/// root of the memory, as the kernel's own reserve does (mm/page_alloc.c, init_per_zone_wmark_min): a device with 50 times the memory is
/// short with 7 times as much left, not with 50. A smaller device is not short with a larger share left than the paper's is.
pub fn thresholds(memory: &MemoryState, config: &MemoryConfig) -> Thresholds {
    if let Some(pages) = config.minfree_pages {
        return Thresholds { free_pages: pages, file_pages: pages };
    }
    let scale = match memory.total_bytes {
        0 => 1.0,
        total => {
            let papers = total as f64 / PAPER_MEMORY_BYTES as f64;
            papers.sqrt().min(papers)
        }
    };
    let file_pages = PAPER_PAGES.map(|pages| (pages as f64 * scale) as u64);
    let low_pages = memory.low_bytes / PAGE_BYTES;
    Thresholds { free_pages: file_pages.map(|pages| pages + low_pages), file_pages }
}

/// Whether memory is read back as fast as it is taken away.
///
/// How many pages a second that is depends on the storage: 600 stop a phone's flash, and an NVMe disk does not notice them. By the device
/// it is therefore the time that they cost, which PSI measures. A number that is set is of pages that storage has to read, and for seconds: an
/// app's return reads for a moment what it needs, and what comes back from compressed memory takes a hundredth of the time.
pub fn is_refaulting(memory: &MemoryState, config: &MemoryConfig) -> bool {
    match config.thrash_refaults_per_s {
        Some(most) => memory.storage_refaults_per_s >= most,
        None => {
            let costs = memory.polled || memory.stall_percent >= config.thrash_full_percent;
            memory.refaults_per_s >= PAPER_REFAULTS_PER_S && costs
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn at(total_mb: u64, low_mb: u64) -> [u64; 6] {
        let memory = MemoryState { total_bytes: total_mb * MB, low_bytes: low_mb * MB, ..Default::default() };
        thresholds(&memory, &MemoryConfig::default()).free_pages.map(|pages| pages / 256)
    }

    #[test]
    fn the_papers_phone_has_the_papers_values_above_the_kernels_own() {
        assert_eq!(at(512, 0), [8, 12, 16, 24, 28, 32]);
        assert_eq!(at(512, 20), [28, 32, 36, 44, 48, 52]);
        // Debian's THP=always in a guest of 1.25 GiB keeps 47 MB free: that is under the first threshold, not above the last.
        assert!(at(1280, 47)[0] > 47);
        assert_eq!(at(24 << 10, 100)[5], 100 + 221);
        assert_eq!(at(128, 0), [2, 3, 4, 6, 7, 8], "a quarter of the memory, the same share of it");
        let memory = MemoryState { total_bytes: 24 << 30, low_bytes: 100 * MB, ..Default::default() };
        let config = MemoryConfig { minfree_pages: Some(PAPER_PAGES), ..MemoryConfig::default() };
        assert_eq!(thresholds(&memory, &config).free_pages, PAPER_PAGES, "as they stand");
    }

    #[test]
    fn refaults_count_by_what_they_cost_unless_a_number_is_set() {
        let slow = MemoryState { refaults_per_s: 900, stall_percent: 40.0, ..Default::default() };
        let fast = MemoryState { refaults_per_s: 9000, stall_percent: 1.0, ..Default::default() };
        let blind = MemoryState { refaults_per_s: 900, polled: true, ..Default::default() };
        let idle = MemoryState { refaults_per_s: 5, stall_percent: 90.0, ..Default::default() };
        let device = MemoryConfig::default();
        let by = |memory| is_refaulting(memory, &device);
        assert_eq!((by(&slow), by(&fast), by(&blind), by(&idle)), (true, false, true, false));
        let paper = MemoryConfig { thrash_refaults_per_s: Some(600), ..MemoryConfig::default() };
        assert!(!is_refaulting(&fast, &paper), "out of compressed memory");
        assert!(is_refaulting(&MemoryState { storage_refaults_per_s: 600, ..fast }, &paper));
    }
}
