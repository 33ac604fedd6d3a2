// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An answer of sock_diag's.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_linux::fuzz::sock_diag(bytes));
