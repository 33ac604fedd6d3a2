// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Any options and any bytes through the importer of tables: the first line is what `--csv` says.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::table(bytes));
