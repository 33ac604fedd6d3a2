// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The eCache's core, owned and safe.

use std::any::Any;
use std::ffi::{c_void, CStr};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut, NonNull};
use std::slice;

use fovea_contract::ecache_policies;

use crate::ffi::{self, Raw, RawConfig, RawDeviceConfig, RawMove, RawPut, RawRequest};
use crate::types::{Choice, Config, CostFn, Counters, Error, FrameState, Key, Move, Policy, Put, Region, Request};

/// The exclusive frame table and region choice of `core/ecache.h`, with its memory.
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

/// A caller's cost function on its way through C, and the panic it may have ended with.
struct CostContext<'a, 'b> {
    cost: &'a mut CostFn<'b>,
    panic: Option<Box<dyn Any + Send>>,
}

/// Calls the [`CostContext`] that `context` points to.
unsafe extern "C" fn call_cost(context: *mut c_void, frame: u32, object: u64, index: u64) -> u32 {
    // SAFETY: `ECache::alloc_with` passes a pointer to a live CostContext that nothing else uses during the call.
    let context = unsafe { &mut *context.cast::<CostContext>() };
    if context.panic.is_some() {
        return 0;
    }
    match catch_unwind(AssertUnwindSafe(|| (context.cost)(frame, Key { object, index }))) {
        Ok(cost) => cost,
        Err(panic) => {
            context.panic = Some(panic);
            0
        }
    }
}

fn policy_number(policy: Policy) -> u32 {
    match policy {
        Policy::Static => ecache_policies::STATIC_NUMBER,
        Policy::Random => ecache_policies::RANDOM_NUMBER,
        Policy::Count => ecache_policies::COUNT_NUMBER,
        Policy::Lru => ecache_policies::LRU_NUMBER,
        Policy::Aged => ecache_policies::AGED_NUMBER,
    }
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

    /// Gives a device contiguous frames by one of the core's policies, without salvage.
    pub fn alloc(&mut self, device: u32, size_frames: u32, policy: Policy) -> Result<Region, Error> {
        self.alloc_with(Request { device, size_frames, choice: Choice::Policy(policy), salvage_budget_pages: 0 })
    }

    /// Gives a device contiguous frames. With a salvage budget, call [`ECache::salvage_next`] until it returns `None` or
    /// time is up, then [`ECache::salvage_end`], and only then let the device write.
    pub fn alloc_with(&mut self, request: Request<'_>) -> Result<Region, Error> {
        let Request { device, size_frames, choice, salvage_budget_pages } = request;
        let mut region = Region::default();
        let mut raw = RawRequest {
            cost: None,
            cost_context: null_mut(),
            ranks: null_mut(),
            device,
            size_frames,
            policy: 0,
            salvage_budget_pages,
        };
        let status = match choice {
            Choice::Policy(policy) => {
                raw.policy = policy_number(policy);
                if policy == Policy::Lru {
                    self.ranks.resize(self.frames() as usize, 0);
                    raw.ranks = self.ranks.as_mut_ptr();
                }
                // SAFETY: `raw` is a live cache that we hold alone; request and region are valid for the call, and so are the
                // ranks, one for each frame.
                unsafe { ffi::ecache_alloc_region(self.raw.as_ptr(), &raw, &mut region) }
            }
            Choice::Cost(cost) => {
                let mut context = CostContext { cost, panic: None };
                raw.policy = ecache_policies::CALLBACK_NUMBER;
                raw.cost = Some(call_cost);
                raw.cost_context = (&raw mut context).cast();
                // SAFETY: as above; `context` outlives the call, and the closure cannot reach this cache, which we borrow.
                let status = unsafe { ffi::ecache_alloc_region(self.raw.as_ptr(), &raw, &mut region) };
                if let Some(panic) = context.panic {
                    // The region was chosen by wrong costs: the caller never learns of it.
                    if status == ffi::OK {
                        self.free(device);
                    }
                    resume_unwind(panic);
                }
                status
            }
        };
        match status {
            ffi::OK => Ok(region),
            ffi::EBUSY => Err(Error::Busy { device }),
            ffi::EINVAL => Err(match self.devices.get(device as usize) {
                Some(&reserved_frames) => Error::Size { device, size_frames, reserved_frames },
                None => Error::Device { device, devices: self.devices.len() as u32 },
            }),
            _ => Err(Error::Broken { device }),
        }
    }

    /// Begins salvage of at most `budget_pages` pages from what a device holds, instead of any under way: only while nobody has
    /// written to its region. Then as after [`ECache::alloc_with`] with a budget.
    pub fn salvage_begin(&mut self, device: u32, budget_pages: u32) {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_salvage_begin(self.raw.as_ptr(), device, budget_pages) }
    }

    /// The next page to save: copy it before any other use. `None` when no page is worth it or the budget is spent.
    pub fn salvage_next(&mut self) -> Option<Move> {
        self.salvage_in_steps(0)
    }

    /// The same, a few frames looked at in each of the core's calls (0: all at once), as who holds a lock would.
    pub fn salvage_in_steps(&mut self, step_limit: u32) -> Option<Move> {
        let mut step = RawMove::default();
        loop {
            // SAFETY: `raw` is a live cache that we hold alone; `step` is valid for writing.
            match unsafe { ffi::ecache_salvage_next(self.raw.as_ptr(), step_limit, &mut step) } {
                ffi::SALVAGE_AGAIN => {}
                found => {
                    return (found == ffi::SALVAGE_MOVE).then(|| Move {
                        key: step.key,
                        from: step.from,
                        to: step.to,
                        evicted: (step.evicted != 0).then_some(step.evicted_key),
                    });
                }
            }
        }
    }

    /// Ends salvage: to be called before the device gets its memory.
    pub fn salvage_end(&mut self) {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_salvage_end(self.raw.as_ptr()) }
    }

    /// Takes back all frames of a device.
    pub fn free(&mut self, device: u32) {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_free_region(self.raw.as_ptr(), device) }
    }

    /// Takes back at most `budget` frames of a device, from the end of its region; returns how many it still holds.
    pub fn free_some(&mut self, device: u32, budget: u32) -> u32 {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_free_some(self.raw.as_ptr(), device, budget) }
    }

    /// Looks at up to `budget` device frames and withdraws tombstones; returns how many tombstones are left.
    pub fn sweep(&mut self, budget: u32) -> u32 {
        // SAFETY: `raw` is a live cache that we hold alone.
        unsafe { ffi::ecache_sweep(self.raw.as_ptr(), budget) }
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
            _ => FrameState::Pinned,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The wrapper always gives them.
    #[test]
    fn lru_without_ranks_is_refused() {
        let cache = ECache::new(&Config::in_order(&[4])).unwrap();
        let request = RawRequest {
            cost: None,
            cost_context: null_mut(),
            ranks: null_mut(),
            device: 0,
            size_frames: 4,
            policy: policy_number(Policy::Lru),
            salvage_budget_pages: 0,
        };
        let mut region = Region::default();
        // SAFETY: `raw` is a live cache that we hold alone; request and region are valid for the call.
        let status = unsafe { ffi::ecache_alloc_region(cache.raw.as_ptr(), &request, &mut region) };
        assert_eq!((status, cache.counters().allocs, cache.check()), (ffi::EINVAL, 0, Ok(())));
    }
}
