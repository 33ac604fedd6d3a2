// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is read of a device and said of it: `linux` fills these in, `policy` decides on them, `client` hands them out.

use serde::{Deserialize, Serialize};

/// Bytes of a page as policy, configuration and journal count them, whatever the kernel's pages are: `linux` converts.
pub const PAGE_BYTES: u64 = 4096;

/// State of the device's memory at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryReading {
    /// MemTotal.
    pub total_bytes: u64,
    /// MemFree.
    pub free_bytes: u64,
    /// MemAvailable, and what ZFS can give back, which the kernel does not count there.
    pub available_bytes: u64,
    /// Page cache that can be dropped: Active(file) + Inactive(file), less what has to be written
    /// first.
    pub file_bytes: u64,
    /// KReclaimable: dentries, inodes and the like.
    #[serde(default)]
    pub reclaimable_bytes: u64,
    /// What ZFS's cache can give back.
    #[serde(default)]
    pub arc_bytes: u64,
    /// SwapTotal over all areas.
    pub swap_total_bytes: u64,
    /// SwapFree over all areas. Not what zram can really take: see `zram`.
    pub swap_free_bytes: u64,
    /// State of the zram device used as swap, if there is one.
    pub zram: Option<ZramReading>,
    /// Share of the last 10 s in which some task waited for memory, percent; `None` without PSI.
    pub psi_some_avg10: Option<f64>,
    /// The same for all tasks at once.
    pub psi_full_avg10: Option<f64>,
    /// Time some task waited for memory since boot; `None` without PSI.
    pub psi_some_total_us: Option<u64>,
    /// Pages that were evicted and had to be read again since boot: workingset_refault_file.
    pub refault_file: u64,
    /// The same for anonymous pages: workingset_refault_anon.
    pub refault_anon: u64,
    /// Kills by the kernel's OOM killer since boot.
    pub oom_kills: u64,
}

impl MemoryReading {
    /// What the kernel can give back beside page cache, where `low_bytes` is the sum of the zones'
    /// low watermarks, 0 if unknown: reclaimable slab but for what stays, which the kernel takes to
    /// be half of it, or the watermarks if they are less (mm/show_mem.c, si_mem_available), and
    /// ZFS's cache.
    pub fn kernel_caches_bytes(&self, low_bytes: u64) -> u64 {
        let half_bytes = self.reclaimable_bytes / 2;
        let stays_bytes = if low_bytes == 0 { half_bytes } else { half_bytes.min(low_bytes) };
        (self.reclaimable_bytes - stays_bytes).saturating_add(self.arc_bytes)
    }
}

/// State of a zram device (`mm_stat`, admin-guide/blockdev/zram).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZramReading {
    /// Size of the device: what it can hold uncompressed.
    pub disk_bytes: u64,
    /// What it holds, uncompressed.
    pub original_bytes: u64,
    /// What that takes, compressed.
    pub compressed_bytes: u64,
    /// Memory it occupies, fragmentation included.
    pub used_bytes: u64,
    /// Most memory it may occupy; 0 for no limit.
    pub limit_bytes: u64,
}

impl ZramReading {
    /// Memory one more page takes, by the experience so far; half a page before there is any, the most a chosen page may take.
    pub fn page_cost_bytes(&self) -> u64 {
        // 1 MiB of experience: less would let a few odd pages decide.
        if self.original_bytes < 1 << 20 {
            return PAGE_BYTES / 2;
        }
        (self.used_bytes * PAGE_BYTES / self.original_bytes).clamp(PAGE_BYTES / 16, PAGE_BYTES)
    }

    /// Pages it can really still take: its size and its memory limit both bound it (LowMem13, 2.4.3: SwapFree "does not mean
    /// system still has" so much).
    pub fn room_pages(&self) -> u64 {
        let by_size = self.disk_bytes.saturating_sub(self.original_bytes) / PAGE_BYTES;
        if self.limit_bytes == 0 {
            return by_size;
        }
        by_size.min(self.limit_bytes.saturating_sub(self.used_bytes) / self.page_cost_bytes())
    }
}

/// What the CPUs did since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuReading {
    /// Time they were idle, summed over all of them, in steps of 10 ms; waiting for storage is not idle.
    pub idle_ns: u64,
    /// Time this process had.
    pub own_ns: u64,
}

/// What an app occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppUsage {
    /// Resident anonymous memory.
    pub anon_bytes: u64,
    /// Memory charged to it in all (memory.current).
    pub current_bytes: u64,
    /// What it has in swap and not in memory, uncompressed.
    pub swap_bytes: u64,
    /// Resident shared memory charged to it: memfd, `MAP_SHARED`, System V segments, files on a
    /// tmpfs.
    #[serde(default)]
    pub shmem_bytes: u64,
    /// What of `shmem_bytes` may outlive it, at most: files on a tmpfs, and System V segments that
    /// nobody has removed.
    #[serde(default)]
    pub lasting_bytes: u64,
    /// The kernel's memory that it is charged for and that ends with its processes: page tables,
    /// stacks, sockets, open files.
    #[serde(default)]
    pub kernel_bytes: u64,
    /// Live processes.
    pub processes: u32,
}

impl AppUsage {
    /// What it has taken in all, in swap too.
    pub fn taken_bytes(&self) -> u64 {
        let resident_bytes = self.anon_bytes.saturating_add(self.shmem_bytes).saturating_add(self.kernel_bytes);
        resident_bytes.saturating_add(self.swap_bytes)
    }

    /// What it has taken for itself, in swap too: what counts where growth is measured. Files that it
    /// has put on a tmpfs stay whoever dies. Where they are few, all shared memory counts, for what
    /// they may be at most changes with other programs' files.
    pub fn own_bytes(&self) -> u64 {
        let taken_bytes = self.taken_bytes();
        let lasting_bytes = if self.lasting_bytes < taken_bytes / 8 { 0 } else { self.lasting_bytes };
        taken_bytes - lasting_bytes
    }
}

/// A process for as long as it lives: its PID alone may be given to another one afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// PID.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

/// A process, and what it holds of its cgroup's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Which one.
    pub id: ProcessId,
    /// PID of its parent, which may be in another cgroup.
    pub parent: u32,
    /// Anonymous memory, in swap too.
    pub bytes: u64,
    /// When it began, by the clock that stands still while the device sleeps.
    pub started_ns: u64,
    /// Its `oom_score_adj`.
    pub oom_score_adj: i32,
}

/// Device buffers that a user's processes in a cgroup have allocated and that are still there. Their memory is charged to the cgroup, and is
/// in no process's address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferHolder {
    /// The cgroup's number in the unified hierarchy: the inode number of its folder, as long as it has one.
    pub cgroup: u64,
    /// The user.
    pub uid: u32,
    /// How many.
    pub buffers: u64,
    /// What they take together.
    pub bytes: u64,
}

/// State of the pool, in pages of [`PAGE_BYTES`] and in counts since the module was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolReading {
    /// Pages in all.
    pub frames: u64,
    /// Of them, with a page of a file; those of devices; free ones.
    pub cached: u64,
    /// Held by devices, those that the lists still know included.
    pub device: u64,
    /// Free.
    pub free: u64,
    /// Pages that came out of the page cache and were kept.
    pub puts: u64,
    /// Pages asked for, and those of them that were there.
    pub gets: u64,
    /// Pages served.
    pub hits: u64,
    /// Allocations by devices, and cached pages lost to them.
    pub allocs: u64,
    /// Pages lost.
    pub discarded: u64,
    /// Memory that the module needs for itself, bytes.
    pub memory_bytes: u64,
}

impl PoolReading {
    /// Size of the whole pool.
    pub fn size_bytes(&self) -> u64 {
        self.frames * PAGE_BYTES
    }
}
