// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Devices and their memory: regions, the salvage of what lies in them, their return.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;

use fovea_contract::ecache_policies;

use super::ECache;
use crate::ffi::{self, RawMove, RawRequest};
use crate::types::{Choice, CostFn, Error, Key, Move, Policy, Region, Request};

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Config;

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
