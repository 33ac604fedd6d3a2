// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `core/aciom/aciom.h`, declared by hand; `abi.c` asserts the same sizes.

use std::ffi::{c_char, c_int, c_void};

use super::Counters;

/// `ACIOM_OK`.
pub const OK: c_int = 0;
/// `ACIOM_EEXIST`.
pub const EEXIST: c_int = -17;
/// `ACIOM_URGENT`.
pub const URGENT: u32 = 1;
/// `ACIOM_WRITE`.
pub const WRITE: u32 = 2;
/// `ACIOM_THROTTLED`.
pub const THROTTLED: u32 = 4;
/// `STATE_FLYING`: this state and beyond is that of a dispatched request.
pub const FLYING: u8 = 2;

/// `struct aciom`.
#[repr(C)]
pub struct Raw {
    _private: [u8; 0],
}

/// `struct aciom_config`.
#[repr(C)]
pub struct RawConfig {
    pub cmax: u64,
    pub max_apps: u32,
    pub hold_limit: u32,
}

/// `struct aciom_request`.
#[repr(C)]
pub struct RawRequest {
    pub next: *mut RawRequest,
    pub arrival_ns: u64,
    pub due_ns: u64,
    pub order_ns: u64,
    pub dispatched_ns: u64,
    pub app: u32,
    pub incarnation: u32,
    pub size_bytes: u32,
    pub class: u8,
    pub state: u8,
    pub write: u8,
    pub counted_write: u8,
}

impl Default for RawRequest {
    fn default() -> Self {
        RawRequest {
            next: std::ptr::null_mut(),
            arrival_ns: 0,
            due_ns: 0,
            order_ns: 0,
            dispatched_ns: 0,
            app: 0,
            incarnation: 0,
            size_bytes: 0,
            class: 0,
            state: 0,
            write: 0,
            counted_write: 0,
        }
    }
}

/// A request, and what the caller calls it.
#[repr(C)]
pub struct Node {
    pub raw: RawRequest,
    pub id: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<RawConfig>() == 16);
    assert!(size_of::<RawRequest>() == 56);
    assert!(size_of::<Counters>() == 264);
};

extern "C" {
    pub fn aciom_memory_size(config: *const RawConfig) -> u64;
    pub fn aciom_init(memory: *mut c_void, size: u64, config: *const RawConfig, out: *mut *mut Raw) -> c_int;
    pub fn aciom_app_add(a: *mut Raw, app: u32, class: u32, now_ns: u64) -> c_int;
    pub fn aciom_app_class(a: *mut Raw, app: u32, class: u32, now_ns: u64) -> c_int;
    pub fn aciom_app_remove(a: *mut Raw, app: u32, now_ns: u64) -> c_int;
    pub fn aciom_set_cmax(a: *mut Raw, cmax: u64, now_ns: u64) -> c_int;
    pub fn aciom_set_hold(a: *mut Raw, hold_limit: u32, now_ns: u64);
    pub fn aciom_set_open(a: *mut Raw, open: bool, now_ns: u64);
    pub fn aciom_writes_full(a: *const Raw, class: u32, awaited: bool) -> bool;
    pub fn aciom_is_limited(a: *const Raw) -> bool;
    pub fn aciom_observe(a: *mut Raw, bytes: u64, latency_ns: u64, now_ns: u64);
    pub fn aciom_enqueue(a: *mut Raw, request: *mut RawRequest, app: u32, size_bytes: u32, flags: u32, now_ns: u64);
    pub fn aciom_dispatch(a: *mut Raw, now_ns: u64) -> *mut RawRequest;
    pub fn aciom_wake_ns(a: *const Raw) -> u64;
    pub fn aciom_complete(a: *mut Raw, request: *mut RawRequest, now_ns: u64);
    pub fn aciom_counters_read(a: *const Raw, counters: *mut Counters);
    pub fn aciom_check(a: *const Raw) -> *const c_char;
}
