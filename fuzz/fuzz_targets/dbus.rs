// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A D-Bus message, as a monitor of a session hears it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fovea_focus::fuzz::dbus(bytes));
