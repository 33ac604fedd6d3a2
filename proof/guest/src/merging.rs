// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Merging of pages that are alike: how ksmd is set as the phone starts, and what the kernel tells of it.

use std::collections::BTreeMap;

use fovea_linux::device_traits::Merging;
use fovea_linux::{System, MERGING_FOLDER};
use fovea_scenario::{Ksmd, Plan};

use crate::outcome::{write_file, At, Outcome};

/// Sets ksmd as whoever set this phone up did, before the daemon comes.
pub fn begin(plan: &Plan) -> Outcome<()> {
    let set = |name: &str, value: &str| write_file(format!("/{MERGING_FOLDER}/{name}"), value);
    match plan.configuration.merging.map(|merging| merging.ksmd) {
        Some(Ksmd::Advisor) => set("advisor_mode", "scan-time").and_then(|()| set("run", "1")),
        Some(Ksmd::Always) => set("run", "1"),
        Some(Ksmd::Off | Ksmd::Windows) | None => Ok(()),
    }
}

/// The kernel's numbers by name.
pub fn values() -> Outcome<BTreeMap<String, u64>> {
    let reading = System::new().and_then(|mut system| system.merging()).at(|| "merging".into())?;
    let reading = reading.ok_or("this kernel merges no pages")?;
    Ok([
        ("run", reading.settings.run),
        ("pages_to_scan", reading.settings.pages_to_scan),
        ("full_scans", reading.full_scans),
        ("shared_pages", reading.shared_pages),
        ("sharing_pages", reading.sharing_pages),
        ("unshared_pages", reading.unshared_pages),
        ("volatile_pages", reading.volatile_pages),
        ("scanned_pages", reading.scanned_pages.unwrap_or(0)),
        ("parted_pages", reading.parted_pages),
        ("cpu_ns", reading.cpu_ns),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}
