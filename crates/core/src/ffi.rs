// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `core/ecache/ecache.h`, declared by hand; `abi.c` asserts the same sizes.

use std::ffi::{c_char, c_int, c_void};

use crate::types::{Counters, Key, Region};

/// `ECACHE_NONE`.
pub const NONE: u32 = u32::MAX;
/// `ECACHE_OK`.
pub const OK: c_int = 0;
/// `ECACHE_EINVAL`.
pub const EINVAL: c_int = -22;
/// `ECACHE_EBUSY`.
pub const EBUSY: c_int = -16;
/// `ECACHE_ENOSPC`.
pub const ENOSPC: c_int = -28;
/// `ECACHE_SALVAGE_MOVE`.
pub const SALVAGE_MOVE: u32 = 1;
/// `ECACHE_SALVAGE_AGAIN`.
pub const SALVAGE_AGAIN: u32 = 2;

/// `struct ecache`.
#[repr(C)]
pub struct Raw {
    _private: [u8; 0],
}

/// `struct ecache_device_config`.
#[repr(C)]
pub struct RawDeviceConfig {
    pub size_frames: u32,
    pub home: u32,
}

/// `struct ecache_config`.
#[repr(C)]
pub struct RawConfig {
    pub carveout_frames: *const u32,
    pub devices: *const RawDeviceConfig,
    pub nr_carveouts: u32,
    pub nr_devices: u32,
    pub max_candidates: u32,
    pub put_work_limit: u32,
    pub search_steps: u32,
    pub protect_percent: u32,
    pub seed: u64,
}

/// `struct ecache_put_result`.
#[repr(C)]
#[derive(Default)]
pub struct RawPut {
    pub evicted_key: Key,
    pub frame: u32,
    pub evicted: u8,
    pub replaced: u8,
    pub reserved: [u8; 2],
}

/// `ecache_cost_fn`.
pub type RawCostFn = unsafe extern "C" fn(context: *mut c_void, frame: u32, object: u64, index: u64) -> u32;

/// `struct ecache_request`.
#[repr(C)]
pub struct RawRequest {
    pub cost: Option<RawCostFn>,
    pub cost_context: *mut c_void,
    pub ranks: *mut u32,
    pub device: u32,
    pub size_frames: u32,
    pub policy: u32,
    pub salvage_budget_pages: u32,
}

/// `struct ecache_move`.
#[repr(C)]
#[derive(Default)]
pub struct RawMove {
    pub key: Key,
    pub evicted_key: Key,
    pub from: u32,
    pub to: u32,
    pub evicted: u8,
    pub reserved: [u8; 7],
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<Key>() == 16);
    assert!(size_of::<RawDeviceConfig>() == 8);
    assert!(size_of::<RawConfig>() == 48);
    assert!(size_of::<RawPut>() == 24);
    assert!(size_of::<Region>() == 8);
    assert!(size_of::<RawRequest>() == 40);
    assert!(size_of::<RawMove>() == 48);
    assert!(size_of::<Counters>() == 152);
};

extern "C" {
    pub fn ecache_memory_size(config: *const RawConfig) -> u64;
    pub fn ecache_init(memory: *mut c_void, size: u64, config: *const RawConfig, out: *mut *mut Raw) -> c_int;
    pub fn ecache_copy(memory: *mut c_void, size: u64, from: *const Raw, out: *mut *mut Raw) -> c_int;
    pub fn ecache_put(ec: *mut Raw, object: u64, index: u64, returned: bool, result: *mut RawPut) -> c_int;
    pub fn ecache_get(ec: *mut Raw, object: u64, index: u64) -> u32;
    pub fn ecache_put_begin(ec: *mut Raw) -> u32;
    pub fn ecache_put_end(ec: *mut Raw, frame: u32, object: u64, index: u64, returned: bool);
    pub fn ecache_get_begin(ec: *mut Raw, object: u64, index: u64) -> u32;
    pub fn ecache_unpin(ec: *mut Raw, frame: u32);
    pub fn ecache_retire(ec: *mut Raw, frame: u32);
    pub fn ecache_owned_pins(ec: *const Raw) -> u32;
    pub fn ecache_peek(ec: *const Raw, object: u64, index: u64) -> u32;
    pub fn ecache_flush_page(ec: *mut Raw, object: u64, index: u64) -> bool;
    pub fn ecache_flush_range(ec: *mut Raw, object: u64, first: u64, count: u64) -> u32;
    pub fn ecache_flush_object(ec: *mut Raw, object: u64) -> u32;
    pub fn ecache_alloc_region(ec: *mut Raw, request: *const RawRequest, region: *mut Region) -> c_int;
    pub fn ecache_salvage_begin(ec: *mut Raw, device: u32, budget_pages: u32);
    pub fn ecache_salvage_next(ec: *mut Raw, step_limit: u32, step: *mut RawMove) -> u32;
    pub fn ecache_salvage_end(ec: *mut Raw);
    pub fn ecache_free_some(ec: *mut Raw, device: u32, budget: u32) -> u32;
    pub fn ecache_free_region(ec: *mut Raw, device: u32);
    pub fn ecache_sweep(ec: *mut Raw, budget: u32) -> u32;
    pub fn ecache_counters_read(ec: *const Raw, counters: *mut Counters);
    pub fn ecache_frames(ec: *const Raw) -> u32;
    pub fn ecache_state(ec: *const Raw, frame: u32) -> u32;
    pub fn ecache_frame_key(ec: *const Raw, frame: u32, key: *mut Key) -> bool;
    pub fn ecache_candidates(ec: *const Raw, device: u32, count: *mut u32) -> *const u32;
    pub fn ecache_held(ec: *const Raw, device: u32) -> Region;
    pub fn ecache_slot(ec: *const Raw, device: u32) -> Region;
    pub fn ecache_check(ec: *const Raw) -> *const c_char;
}
