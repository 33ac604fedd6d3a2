// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What sway sends.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_focus::fuzz::sway(bytes));
