// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The undo log.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_daemon::fuzz::undo_log(bytes));
