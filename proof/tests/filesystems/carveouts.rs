// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory that is somebody's already, named as a carve-out: the module must refuse all of it. Before it is loaded for good.

use std::fs;

use fovea_linux::{module, Root};
use fovea_tests::kernel::Outcome;
use fovea_tests::report::Report;

use crate::MODULE;

/// Unit in which the module takes memory.
const UNIT: u64 = 2 << 20;

/// Ranges of /proc/iomem by name: first and last address, and how deep they lie below others.
fn ranges() -> Outcome<Vec<(String, u64, u64)>> {
    let text = fs::read_to_string("/proc/iomem").map_err(|e| format!("/proc/iomem: {e}"))?;
    let parse = |line: &str| {
        let (range, name) = line.split_once(" : ")?;
        let (first, last) = range.trim().split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((name.to_owned(), number(first)?, number(last)?))
    };
    Ok(text.lines().filter_map(parse).collect())
}

/// Loads the module with this carve-out; it goes at once if it was let in.
fn refused(report: &Report, what: &str, start: u64) {
    let parameters = format!("carveouts=2M@{start:#x} devices=a:1M");
    match module::load_with(&Root::at("/"), MODULE, &parameters) {
        Err(e) => println!("     refused: {what}, {start:#x}: {e}"),
        Ok(()) => {
            let gone = module::remove(MODULE);
            report.fail(format_args!("accepted as carve-out: {what}, 2 MiB at {start:#x} ({gone:?})"));
        }
    }
}

pub fn all(report: &Report) -> Outcome<()> {
    let ranges = ranges()?;
    let mut tried = 0;
    for name in ["Kernel code", "Kernel rodata", "Kernel data", "Kernel bss"] {
        if let Some((_, first, last)) = ranges.iter().find(|(found, ..)| found == name) {
            // All of the unit in it, or else the one it begins in.
            let inside = first.next_multiple_of(UNIT);
            refused(report, name, if inside + UNIT <= last + 1 { inside } else { first & !(UNIT - 1) });
            tried += 1;
        }
    }
    let memory = |(name, first, last): &&(String, u64, u64)| name == "System RAM" && last - first > 64 * UNIT;
    let (_, first, last) = ranges.iter().find(memory).ok_or("no System RAM in /proc/iomem")?;
    refused(report, "the first memory, which early boot took", first.next_multiple_of(UNIT));
    refused(report, "Linux's memory", ((first + last) / 2).next_multiple_of(UNIT));
    let end = ranges.iter().filter(|(name, ..)| name == "System RAM").map(|(_, _, last)| last + 1).max().unwrap_or(0);
    refused(report, "a hole above all memory", (end + (1 << 30)).next_multiple_of(UNIT));
    for (what, at) in [
        ("interrupt controllers and timers", 0xfec0_0000),
        ("the local interrupt controllers", 0xfee0_0000),
        ("the firmware", 0xffe0_0000),
        ("the lowest memory, which the firmware has", 0),
    ] {
        refused(report, what, at);
    }
    // What drivers have claimed: the first range of each name that no Linux memory is in.
    let mut names: Vec<&str> = Vec::new();
    for (name, first, last) in ranges.iter().filter(|(_, first, last)| last - first >= UNIT - 1 && *first > 1 << 20) {
        let owned = name.contains("PCI") || name.contains("MMCONFIG") || name.contains("pnp") || name.contains("HPET");
        if owned && !names.contains(&name.as_str()) && first.next_multiple_of(UNIT) + UNIT <= last + 1 {
            refused(report, name, first.next_multiple_of(UNIT));
            names.push(name);
        }
    }
    report.check(
        "wrong carve-outs were tried",
        tried >= 3 && !names.is_empty(),
        format_args!("{tried} of the kernel, {names:?}"),
    );
    Ok(())
}
