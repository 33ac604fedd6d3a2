// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The decision cores in `core/` (C11, shared with the kernel modules) as safe Rust, for the lab and for tests.
//!
//! - [`ECache`]: device-reserved memory as an eviction-based file cache (eCache12), from `core/ecache/ecache.[ch]`.
//! - [`aciom::Aciom`]: when and in which order apps' requests go to a disk (Aciom11), from `core/aciom/aciom.h`; its reference model and what
//!   runs both are in [`aciom`].
//! - [`reference`]: a slow and obvious model of the same semantics.
//! - [`differential`]: runs both side by side and reports the first difference; property tests and the fuzzer use it.

pub mod aciom;
pub mod differential;
mod ecache;
mod ffi;
pub mod reference;
mod types;

pub use ecache::ECache;
pub use types::{
    Choice, Config, CostFn, Counters, DeviceConfig, Error, FrameState, Key, Move, Policy, Put, Region, Request,
};
