// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The clock that all times are read from.

/// CLOCK_MONOTONIC, in nanoseconds: the trace clock `mono`, and what timers and pressure triggers go by.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
