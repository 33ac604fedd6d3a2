// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The eCache below a page cache (eCache12): traces of what a phone's kernel asks of it, and their replay through the real core
//! (`core/ecache/ecache.c`) under every way of choosing a device's region.
//!
//! The eCache is exclusive and the page cache does not see it: a page missing in the page cache comes into it wherever it was.
//! So the requests do not depend on what the eCache holds, and one trace serves every policy.

mod bound;
pub mod compare;
mod format;
mod generate;
mod media;
mod optimal;
mod page_cache;
mod policy;
mod record;
mod replay;
mod selective;

pub use format::{read, write};
pub use fovea_core::Key;
pub use generate::{generate, generate_recorded, GenerateOptions, WORKLOADS};
pub use optimal::{beam, Alike};
pub use page_cache::PageCache;
pub use policy::{orders, Base, RegionPolicy, Worth, PROTECT_PERCENT};
pub use record::Record;
pub use replay::{replay, Outcome};

use fovea_core::{Config, DeviceConfig};

/// A device with reserved memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its reservation, in frames of 4 KiB.
    pub frames: u32,
}

/// What is asked of the eCache. Pages go by their number in [`Trace::pages`], 8 bytes an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The page cache evicts a clean page.
    Put(u32),
    /// The page cache misses a page.
    Get(u32),
    /// The page is no more (truncated, written past the cache).
    FlushPage(u32),
    /// The file is no more; any page of it names it.
    FlushFile(u32),
    /// A device needs that many frames.
    Alloc {
        /// Its place in [`Trace::devices`].
        device: u8,
        /// How many frames.
        frames: u32,
    },
    /// A device gives them back.
    Free {
        /// Its place in [`Trace::devices`].
        device: u8,
    },
    /// A second is over: utilisation is sampled (eCache12, section 5.4).
    Second,
}

/// A trace of the eCache's interface, as eCache12, section 5.4, gathered them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its name, e.g. the workload's.
    pub name: String,
    /// Devices, in the order of their regions.
    pub devices: Vec<Device>,
    /// Every page there is: file and place in it.
    pub pages: Vec<Key>,
    /// What is asked, in order.
    pub events: Vec<Event>,
}

impl Trace {
    /// Pages asked for.
    pub fn gets(&self) -> u64 {
        self.events.iter().filter(|e| matches!(e, Event::Get(_))).count() as u64
    }

    /// Allocations.
    pub fn allocs(&self) -> u64 {
        self.events.iter().filter(|e| matches!(e, Event::Alloc { .. })).count() as u64
    }

    /// The core's configuration, the devices' homes side by side in that order (indices into [`Trace::devices`]).
    pub fn config(&self, order: &[usize], seed: u64) -> Config {
        let mut homes = vec![0; self.devices.len()];
        let mut next = 0;
        for &device in order {
            homes[device] = next;
            next += self.devices[device].frames;
        }
        let devices =
            self.devices.iter().zip(homes).map(|(d, home)| DeviceConfig { size_frames: d.frames, home: Some(home) });
        Config {
            carveout_frames: vec![next],
            devices: devices.collect(),
            max_candidates: 0,
            put_work_limit: 0,
            search_steps: 0,
            protect_percent: 0,
            seed,
        }
    }
}
