// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A packet on the control socket.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_client::fuzz::control(bytes));
