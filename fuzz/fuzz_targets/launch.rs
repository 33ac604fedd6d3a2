// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is kept of a user's apps' starts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_launch::fuzz::launch(bytes));
