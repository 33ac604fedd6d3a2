// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a use costs, attach to detach, where an instruction is a nanosecond.

use std::os::fd::AsFd;

use fovea_edu::Direction;
use fovea_tests::kernel::{at, Outcome};

use crate::bench::{edu, set_cache, Bench, MIB, SLOTS};

/// Uses that are measured at once, and how often: the kernel's tick, and others' work, fall into some.
const USES: u32 = 16;
const TIMES: usize = 9;
/// Most for one that finds the buffer mapped.
const HIT_INSNS_MAX: u64 = 1400;

pub fn all(bench: &Bench) -> Outcome<()> {
    let device = edu(SLOTS[0])?;
    for (kind, size_bytes) in
        [("scattered", MIB / 16), ("scattered", 3 * MIB), ("scattered", 8 * MIB), ("plain", 3 * MIB)]
    {
        let buffer = if kind == "plain" { bench.buffer(size_bytes)? } else { bench.scattered(size_bytes)? };
        let cost = |on: u32| {
            set_cache("mapcache", on)?;
            at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 1))?;
            let uses = || at("use", device.touch(buffer.as_fd(), Direction::ToDevice, USES));
            let mut costs = (0..TIMES)
                .map(|_| uses().map(|used| used.elapsed_ns / u64::from(USES)))
                .collect::<Outcome<Vec<u64>>>()?;
            costs.sort_unstable();
            Ok::<u64, String>(costs[TIMES / 2])
        };
        let (off, on) = (cost(0)?, cost(1)?);
        if bench.options.bounces() {
            // Not kept, so both are the same; a build without that safety (BROKEN=pool) shows what keeping would save.
            println!(
                "copies, {} KiB {kind}: {off} instructions when ended with its use, {on} when not",
                size_bytes >> 10
            );
            continue;
        }
        bench.check(
            format_args!("{} KiB {kind}", size_bytes >> 10),
            on <= HIT_INSNS_MAX && on < off,
            format_args!("{off} instructions without the cache, {on} with it"),
        );
    }
    Ok(())
}
