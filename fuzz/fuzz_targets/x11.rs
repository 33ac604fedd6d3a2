// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an X server sends, as far as its lengths are bounded.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_focus::fuzz::x11(bytes));
