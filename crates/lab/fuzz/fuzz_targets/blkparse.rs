// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Any bytes through the blkparse importer.
#![no_main]

use fovea_lab::import::{parse_bytes, Format, ImportOptions, Order};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let format: &'static Format = "blkparse".parse().expect("a format of the registry");
    for skip_bad in [false, true] {
        let options = ImportOptions { order: Order::Keep, skip_bad, ..ImportOptions::default() };
        if let Err(error) = parse_bytes(format, bytes, &options) {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
});
