// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What drivers do with the module, by `kmod/selftest`, which does not load if anything is wrong: buffers by name, and a program's
//! buffer attached to a device, mapped for it and seen by the kernel.

use std::os::fd::{AsFd, AsRawFd};

use fovea_contract::SELFTEST_MODULE;
use fovea_heap::Heap;
use fovea_linux::{module, Root};
use fovea_tests::report::Report;

use crate::DEVICES;

fn selftest(parameters: &str) -> Result<(), String> {
    module::load_with(&Root::at("/"), SELFTEST_MODULE, parameters).map_err(|e| e.to_string())?;
    module::remove(SELFTEST_MODULE).map_err(|e| e.to_string())
}

/// Every device as a driver has it, and as a program hands it to one.
pub fn all(report: &Report) {
    for (name, size_bytes) in DEVICES {
        for size_bytes in [1, size_bytes / 2 + 1, size_bytes] {
            let done = selftest(&format!("device={name} size={size_bytes}"));
            report.check(format_args!("a driver's {name}"), done.is_ok(), format_args!("{size_bytes} bytes: {done:?}"));
        }
        let Some(heap) = report.expect(name, Heap::open(format!("/dev/ecache/{name}"))) else { continue };
        let Some(buffer) = report.expect(name, heap.allocate(size_bytes)) else { continue };
        let done = selftest(&format!("fd={}", buffer.as_fd().as_raw_fd()));
        report.check(format_args!("{name} in a device's hands"), done.is_ok(), format_args!("{done:?}"));
    }
    let refused = selftest("device=none size=4096");
    report.check("a driver of a device without reservation", refused.is_err(), format_args!("{refused:?}"));
}
