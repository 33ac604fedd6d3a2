// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Aciom's core against its reference model, on whatever bytes the fuzzer makes.
#![no_main]

use fovea_core::aciom::differential::{decode, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (config, ops) = decode(bytes);
    if let Err(difference) = run(&config, &ops) {
        panic!("{difference}\n{config:?}");
    }
});
