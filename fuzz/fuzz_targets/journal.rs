// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The journal, decided again line by line.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_client::fuzz::journal(bytes));
