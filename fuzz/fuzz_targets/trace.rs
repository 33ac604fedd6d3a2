// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A page of a trace's ring buffer, and the formats' descriptions.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_linux::fuzz::trace(bytes));
