// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What goes into and comes out of the eCache.

use thiserror::Error as ThisError;

/// Names a page: a file or block device, and a page in it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// File (inode) or block device; at most [`Key::MAX_OBJECT`].
    pub object: u64,
    /// Page within the object; at most [`Key::MAX_INDEX`].
    pub index: u64,
}

impl Key {
    /// `ECACHE_MAX_OBJECT`.
    pub const MAX_OBJECT: u64 = (1 << 24) - 1;
    /// `ECACHE_MAX_INDEX`.
    pub const MAX_INDEX: u64 = (1 << 40) - 1;

    /// Whether the core can name the page: what it cannot is never cached.
    pub fn is_in_range(self) -> bool {
        self.object <= Self::MAX_OBJECT && self.index <= Self::MAX_INDEX
    }
}

/// Contiguous frames within one carve-out.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// First frame.
    pub first: u32,
    /// Number of frames.
    pub count: u32,
}

impl Region {
    /// Whether a frame lies in the region.
    pub fn contains(&self, frame: u32) -> bool {
        frame >= self.first && frame - self.first < self.count
    }

    /// One past the last frame.
    pub fn end(&self) -> u32 {
        self.first + self.count
    }
}

/// A device with reserved memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceConfig {
    /// Its reservation: the most it may ask for; at least 1.
    pub size_frames: u32,
    /// First frame of its static place; `None` to have one found.
    pub home: Option<u32>,
}

/// What an eCache is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Frames of each carve-out, in frame order; each at least 1.
    pub carveout_frames: Vec<u32>,
    /// Devices.
    pub devices: Vec<DeviceConfig>,
    /// Most candidate regions kept per device; 0 for 64.
    pub max_candidates: u32,
    /// Most tombstones one put withdraws before it gives up; 0 for no limit.
    pub put_work_limit: u32,
    /// Most steps of the placement search per allocation; 0 for 4096.
    pub search_steps: u32,
    /// Most of the cache's frames that returned pages may keep from being the next to go, percent; at most 100. 0: one LRU list, the
    /// seed's.
    pub protect_percent: u32,
    /// Seeds the hash and [`Policy::Random`].
    pub seed: u64,
}

impl Config {
    /// One carve-out that the devices' reservations fill, in this order (eCache12, section 4: the sequence of reservations).
    pub fn in_order(sizes_frames: &[u32]) -> Self {
        let mut next = 0_u32;
        let devices = sizes_frames
            .iter()
            .map(|&size_frames| {
                let home = Some(next);
                next = next.saturating_add(size_frames);
                DeviceConfig { size_frames, home }
            })
            .collect();
        Config {
            carveout_frames: vec![next],
            devices,
            max_candidates: 0,
            put_work_limit: 0,
            search_steps: 0,
            protect_percent: 0,
            seed: 0,
        }
    }

    /// The Nexus S (eCache12, section 4): mfc0 34, mfc1 36, fimc 12 and jpeg 8 MB, in 4 KiB frames.
    pub fn nexus_s() -> Self {
        Self::in_order(&[34 * 256, 36 * 256, 12 * 256, 8 * 256])
    }
}

/// How an allocation chooses among a device's candidate regions (eCache12, sections 3.3 and 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The device's home, always.
    Static,
    /// Any candidate.
    Random,
    /// Fewest cached pages.
    Count,
    /// Least sum of LRU distances, by one walk over all frames.
    Lru,
    /// Least sum of ages, kept up to date as pages come and go.
    Aged,
}

/// Cost of losing the page with this key from this frame.
pub type CostFn<'a> = dyn FnMut(u32, Key) -> u32 + 'a;

/// A policy, or the caller's own cost of each page.
pub enum Choice<'a> {
    /// One of the core's policies.
    Policy(Policy),
    /// Least sum of what this returns for each cached page; free frames cost 0. Called once or more per page.
    Cost(&'a mut CostFn<'a>),
}

/// What a device asks for.
pub struct Request<'a> {
    /// Device, by its place in [`Config::devices`].
    pub device: u32,
    /// 1 to the device's reservation.
    pub size_frames: u32,
    /// How to choose the region.
    pub choice: Choice<'a>,
    /// Most pages to salvage; 0: salvage does not begin with the allocation.
    pub salvage_budget_pages: u32,
}

/// Where to store a page that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// Frame to fill.
    pub frame: u32,
    /// Page that had to go for it.
    pub evicted: Option<Key>,
    /// Whether the page was cached already, in this frame.
    pub replaced: bool,
}

/// One step of salvage: copy frame `from` to frame `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Page that moves.
    pub key: Key,
    /// Frame it is in, of the device's new region.
    pub from: u32,
    /// Frame it gets.
    pub to: u32,
    /// Page that had to go for it.
    pub evicted: Option<Key>,
}

/// State of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameState {
    /// Holds nothing.
    Free,
    /// Holds a page.
    Cached,
    /// Is a device's.
    Device,
    /// Is a device's, and still in the cache's lists.
    Tombstone,
    /// Is being copied to or from, and perhaps a device's already.
    Pinned,
    /// Is broken, and no device's now.
    Retired,
}

/// Totals since the start, then the present state. `struct ecache_counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls of put.
    pub puts: u64,
    /// Puts that got no frame.
    pub puts_refused: u64,
    /// Puts of a page that was cached already.
    pub puts_replaced: u64,
    /// Pages that left for another page that was put.
    pub evictions: u64,
    /// Pages that left for another page that was salvaged.
    pub salvage_evictions: u64,
    /// Calls of get.
    pub gets: u64,
    /// Gets that found their page.
    pub hits: u64,
    /// Pages removed by flush.
    pub flushed: u64,
    /// Allocations.
    pub allocs: u64,
    /// Allocations that moved the reserved slot of an idle device.
    pub repacks: u64,
    /// Cached pages that allocations took away.
    pub discarded: u64,
    /// Of them, pages salvaged.
    pub salvaged: u64,
    /// Tombstones withdrawn.
    pub withdrawn: u64,
    /// Steps of the placement search.
    pub search_steps: u64,
    /// Frames that are free now.
    pub free_frames: u64,
    /// Frames that hold a page now.
    pub cached_frames: u64,
    /// Frames that are a device's now, tombstones not counted.
    pub device_frames: u64,
    /// Tombstones now.
    pub tombstone_frames: u64,
    /// Broken frames now that no device has.
    pub retired_frames: u64,
}

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// The configuration is out of the core's bounds.
    #[error(
        "eCache configuration: a size of 0, no carve-out, more than 2^27 frames or 256 devices, fewer candidates than carve-outs or \
             more than 16384, or more than 65535 base regions: lower max_candidates or mend the sizes"
    )]
    Config,
    /// The reservations were not found to fit.
    #[error(
        "eCache configuration: the devices' reservations do not fit the carve-outs: give each a home, or shrink them"
    )]
    Fit,
    /// No such device.
    #[error("eCache: no device {device}: there are {devices}")]
    Device {
        /// Device asked for.
        device: u32,
        /// Number of devices.
        devices: u32,
    },
    /// Size out of bounds.
    #[error("eCache: device {device} asked for {size_frames} frames: ask for 1 to {reserved_frames}")]
    Size {
        /// Device.
        device: u32,
        /// Frames asked for.
        size_frames: u32,
        /// Its reservation.
        reserved_frames: u32,
    },
    /// The device still holds frames.
    #[error("eCache: device {device} still holds a region: free it first")]
    Busy {
        /// Device.
        device: u32,
    },
    /// An allocation within the reservation failed, which the core promises not to happen.
    #[error(
        "eCache: allocation for device {device} failed within its reservation: this is a defect, please report it"
    )]
    Broken {
        /// Device.
        device: u32,
    },
}
