// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The eCache's core, owned and safe.

mod devices;

use std::ffi::CStr;
use std::ptr::{null, null_mut, NonNull};
use std::slice;

use crate::ffi::{self, Raw, RawConfig, RawDeviceConfig, RawPut};
use crate::types::{Config, Counters, Error, FrameState, Key, Put, Region};

/// The exclusive frame table and region choice of `core/ecache/ecache.h`, with its memory.
pub struct ECache {
    raw: NonNull<Raw>,
    /// Where `raw` and all it points to lies; never touched while `raw` is in use, and never reallocated.
    memory: Vec<u64>,
    devices: Vec<u32>,
    /// The core's scratch for [`Policy::Lru`], made when first needed: one entry a frame.
    ranks: Vec<u32>,
}

// SAFETY: `raw` points into `memory`, which this value owns alone; the core has no thread-local or global state.
unsafe impl Send for ECache {}
// SAFETY: `&ECache` only gives calls that take `*const Raw`, and those read only.
unsafe impl Sync for ECache {}

impl Clone for ECache {
    /// A cache in the same state, and from then on independent: for looking ahead.
    fn clone(&self) -> Self {
        let mut memory = vec![0_u64; self.memory.len()];
        let mut raw = null_mut();
        let size = self.memory_bytes();
        // SAFETY: `memory` is 8-byte aligned and as large as what this cache was made in; `raw` is a live cache, only read.
        let status = unsafe { ffi::ecache_copy(memory.as_mut_ptr().cast(), size, self.raw.as_ptr(), &mut raw) };
        match (status, NonNull::new(raw)) {
            (ffi::OK, Some(raw)) => ECache { raw, memory, devices: self.devices.clone(), ranks: Vec::new() },
            _ => unreachable!("a cache's own memory is large enough for its copy"),
        }
    }
}

/// Calls `with` on the C form of a configuration.
fn with_raw<T>(config: &Config, with: impl FnOnce(&RawConfig) -> T) -> Result<T, Error> {
    let devices: Vec<RawDeviceConfig> = config
        .devices
        .iter()
        .map(|d| RawDeviceConfig { size_frames: d.size_frames, home: d.home.unwrap_or(ffi::NONE) })
        .collect();
    let raw = RawConfig {
        carveout_frames: config.carveout_frames.as_ptr(),
        devices: devices.as_ptr(),
        nr_carveouts: u32::try_from(config.carveout_frames.len()).map_err(|_| Error::Config)?,
        nr_devices: u32::try_from(devices.len()).map_err(|_| Error::Config)?,
        max_candidates: config.max_candidates,
        put_work_limit: config.put_work_limit,
        search_steps: config.search_steps,
        protect_percent: config.protect_percent,
        seed: config.seed,
    };
    Ok(with(&raw))
}

impl ECache {
    /// Bytes of metadata that a cache of this configuration takes; `None` if the configuration is invalid.
    pub fn memory_size_bytes(config: &Config) -> Option<u64> {
        // SAFETY: `with_raw` gives a valid configuration struct whose arrays live through the call.
        let size = with_raw(config, |raw| unsafe { ffi::ecache_memory_size(raw) }).ok()?;
        (size > 0).then_some(size)
    }

    /// Makes an empty cache.
    pub fn new(config: &Config) -> Result<Self, Error> {
        let reserved: u64 = config.devices.iter().map(|d| u64::from(d.size_frames)).sum();
        if reserved > config.carveout_frames.iter().map(|&c| u64::from(c)).sum() {
            return Err(Error::Fit);
        }
        let size = Self::memory_size_bytes(config).ok_or(Error::Config)?;
        let words = usize::try_from(size.div_ceil(8)).map_err(|_| Error::Config)?;
        let mut memory = vec![0_u64; words];
        let mut raw = null_mut();
        // SAFETY: `memory` is 8-byte aligned, has `size` bytes, and lives as long as `raw`; the configuration is as above.
        let status = with_raw(config, |c| unsafe { ffi::ecache_init(memory.as_mut_ptr().cast(), size, c, &mut raw) })?;
        match (status, NonNull::new(raw)) {
            (ffi::OK, Some(raw)) => {
                let devices = config.devices.iter().map(|d| d.size_frames).collect();
                Ok(ECache { raw, memory, devices, ranks: Vec::new() })
            }
            (ffi::ENOSPC, _) => Err(Error::Fit),
            _ => Err(Error::Config),
        }
    }

    /// Bytes of metadata in use; [`Policy::Lru`] takes 4 a frame more.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.len() as u64 * 8
    }

    /// Stores a page that has been read from disk; `None` if no frame was to be had.
    pub fn put(&mut self, key: Key) -> Option<Put> {
        self.put_page(key, false)
    }

    /// Stores a page; `returned`: it was got from here before and has not been read from disk since. `None` if no frame was to be had,
    /// or if the key is out of range, which counts as no put.
    pub fn put_page(&mut self, key: Key, returned: bool) -> Option<Put> {
        let mut result = RawPut::default();
        // SAFETY: `raw` is a live cache that we hold alone; `result` is valid for writing.
        let status = unsafe { ffi::ecache_put(self.raw.as_ptr(), key.object, key.index, returned, &mut result) };
        (status == ffi::OK).then(|| Put {
            frame: result.frame,
            evicted: (result.evicted != 0).then_some(result.evicted_key),
            replaced: result.replaced != 0,
        })
    }

    /// Takes a page out; its frame is free from then on, first in line for the next put.
    pub fn get(&mut self, key: Key) -> Option<u32> {
        // SAFETY: `raw` is a live cache that we hold alone.
        let frame = unsafe { ffi::ecache_get(self.raw.as_ptr(), key.object, key.index) };
        (frame != ffi::NONE).then_some(frame)
    }

    /// A frame for a page that is copied before it is stored: each is given back by [`ECache::put_end`] or [`ECache::unpin`].
    pub fn put_begin(&mut self) -> Option<u32> {
        // SAFETY: `raw` is a live cache that we hold alone.
        let frame = unsafe { ffi::ecache_put_begin(self.raw.as_ptr()) };
        (frame != ffi::NONE).then_some(frame)
    }

    /// Stores a page in a pinned frame; whether it did: not if the frame is not pinned or the key out of range.
    pub fn put_end(&mut self, frame: u32, key: Key, returned: bool) -> bool {
        let right = key.is_in_range() && self.state(frame) == Some(FrameState::Pinned);
        if right {
            // SAFETY: `raw` is a live cache that we hold alone; the frame is pinned and the key in range.
            unsafe { ffi::ecache_put_end(self.raw.as_ptr(), frame, key.object, key.index, returned) };
        }
        right
    }

    /// Takes a page out; its frame is pinned until [`ECache::unpin`].
    pub fn get_begin(&mut self, key: Key) -> Option<u32> {
        // SAFETY: `raw` is a live cache that we hold alone.
        let frame = unsafe { ffi::ecache_get_begin(self.raw.as_ptr(), key.object, key.index) };
        (frame != ffi::NONE).then_some(frame)
    }

    /// Gives a pinned frame back with nothing in it; whether it was pinned.
    pub fn unpin(&mut self, frame: u32) -> bool {
        let pinned = self.state(frame) == Some(FrameState::Pinned);
        if pinned {
            // SAFETY: `raw` is a live cache that we hold alone; the frame is pinned.
            unsafe { ffi::ecache_unpin(self.raw.as_ptr(), frame) };
        }
        pinned
    }

    /// Gives a pinned frame back whose memory is broken; whether it was pinned.
    pub fn retire(&mut self, frame: u32) -> bool {
        let pinned = self.state(frame) == Some(FrameState::Pinned);
        if pinned {
            // SAFETY: `raw` is a live cache that we hold alone; the frame is pinned.
            unsafe { ffi::ecache_retire(self.raw.as_ptr(), frame) };
        }
        pinned
    }

    /// Pinned frames of devices' regions, which nobody may write to before this is 0.
    pub fn owned_pins(&self) -> u32 {
        // SAFETY: `raw` is a live cache; the call reads only.
        unsafe { ffi::ecache_owned_pins(self.raw.as_ptr()) }
    }

    /// The frame that holds a page; changes nothing.
    pub fn peek(&self, key: Key) -> Option<u32> {
        // SAFETY: `raw` is a live cache; the call reads only.
        let frame = unsafe { ffi::ecache_peek(self.raw.as_ptr(), key.object, key.index) };
        (frame != ffi::NONE).then_some(frame)
    }

    /// Drops a page; returns whether it was cached.
    pub fn flush_page(&mut self, key: Key) -> bool {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_flush_page(self.raw.as_ptr(), key.object, key.index) }
    }

    /// Drops `count` pages of an object from `first` on; returns how many were cached.
    pub fn flush_range(&mut self, object: u64, first: u64, count: u64) -> u32 {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_flush_range(self.raw.as_ptr(), object, first, count) }
    }

    /// Drops all pages of an object; returns how many were cached.
    pub fn flush_object(&mut self, object: u64) -> u32 {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_flush_object(self.raw.as_ptr(), object) }
    }

    /// The counters at this moment.
    pub fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        // SAFETY: `raw` is a live cache; `counters` is valid for writing.
        unsafe { ffi::ecache_counters_read(self.raw.as_ptr(), &mut counters) };
        counters
    }

    /// Number of frames.
    pub fn frames(&self) -> u32 {
        // SAFETY: `raw` is a live cache; the call reads only.
        unsafe { ffi::ecache_frames(self.raw.as_ptr()) }
    }

    /// State of a frame; `None` if there is no such frame.
    pub fn state(&self, frame: u32) -> Option<FrameState> {
        if frame >= self.frames() {
            return None;
        }
        // SAFETY: `raw` is a live cache; the call reads only.
        Some(match unsafe { ffi::ecache_state(self.raw.as_ptr(), frame) } {
            0 => FrameState::Free,
            1 => FrameState::Cached,
            2 => FrameState::Device,
            3 => FrameState::Tombstone,
            4 => FrameState::Pinned,
            _ => FrameState::Retired,
        })
    }

    /// The page that a frame holds.
    pub fn key_of(&self, frame: u32) -> Option<Key> {
        let mut key = Key::default();
        // SAFETY: `raw` is a live cache; `key` is valid for writing.
        unsafe { ffi::ecache_frame_key(self.raw.as_ptr(), frame, &mut key) }.then_some(key)
    }

    /// First frames of a device's candidate regions PR(d), ascending; empty if there is no such device.
    pub fn candidates(&self, device: u32) -> &[u32] {
        let mut count = 0;
        let mut first = null();
        if (device as usize) < self.devices.len() {
            // SAFETY: `raw` is a live cache; the call reads only.
            first = unsafe { ffi::ecache_candidates(self.raw.as_ptr(), device, &mut count) };
        }
        if first.is_null() {
            return &[];
        }
        // SAFETY: the core returned an array of `count` entries in `memory`, which it changes at init only.
        unsafe { slice::from_raw_parts(first, count as usize) }
    }

    /// What a device holds.
    pub fn held(&self, device: u32) -> Option<Region> {
        // SAFETY: `raw` is a live cache; the call reads only.
        let region = unsafe { ffi::ecache_held(self.raw.as_ptr(), device) };
        (region.count > 0).then_some(region)
    }

    /// The slot that is kept for a device, of its whole reservation; `None` if there is no such device.
    pub fn slot(&self, device: u32) -> Option<Region> {
        // SAFETY: `raw` is a live cache; the call reads only.
        let region = unsafe { ffi::ecache_slot(self.raw.as_ptr(), device) };
        (region.count > 0).then_some(region)
    }

    /// Verifies every invariant of the core; slow, for tests. The error says what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        // SAFETY: `raw` is a live cache; the call reads only.
        let wrong = unsafe { ffi::ecache_check(self.raw.as_ptr()) };
        if wrong.is_null() {
            return Ok(());
        }
        // SAFETY: not null, so it is one of the core's string literals.
        Err(unsafe { CStr::from_ptr(wrong) }.to_str().unwrap_or("broken"))
    }
}
