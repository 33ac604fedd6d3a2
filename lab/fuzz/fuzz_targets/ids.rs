// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Any bytes through the importer of ids.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::import("ids", bytes));
