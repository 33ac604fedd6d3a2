// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Buffers of the kernel's own exporters, with `fovea-heap-wrap` and without it.

use std::os::fd::AsFd;
use std::path::Path;

use fovea_contract::{heap_mapcache_statistics as statistics, WRAP_MODULE};
use fovea_edu::{Direction, Edu, TRANSFER_MAX};
use fovea_heap::{Buffer, Heap};
use fovea_linux::module;
use fovea_tests::kernel::{at, load_module, Outcome};

use crate::bench::{edu, pattern, total, Bench, View, MIB, PAGE, SLOTS};
use crate::uses::maps_while;

const USES: u32 = 20;

/// Hits and misses of so many uses, and calls of `iommu_map`.
fn uses(device: &Edu, buffer: &Buffer, direction: Direction, count: u32) -> Outcome<(u64, u64, u64)> {
    let before = (total(statistics::HITS)?, total(statistics::MISSES)?);
    let (maps, _) = maps_while(|| at("use", device.touch(buffer.as_fd(), direction, count)))?;
    Ok((total(statistics::HITS)? - before.0, total(statistics::MISSES)? - before.1, maps))
}

pub fn all(bench: &Bench) -> Outcome<()> {
    for path in ["/dev/dma_heap/system", "/dev/udmabuf"] {
        if Path::new(path).exists() {
            one(bench, path)?;
        } else {
            println!("mapcache: {path}: skipped, this kernel has none");
        }
    }
    Ok(())
}

fn one(bench: &Bench, path: &str) -> Outcome<()> {
    let heap = at(path, Heap::open(path))?;
    let buffer = || at(path, heap.allocate(bench.piece_bytes(MIB)));
    let device = edu(SLOTS[0])?;
    let translates = bench.options.translates();
    let before = buffer()?;
    let found = uses(&device, &before, Direction::ToDevice, USES)?;
    let due = found.0 == 0 && found.1 == 0 && (found.2 >= u64::from(USES)) == translates;
    bench.check(format_args!("{path}: stock, each use maps"), due, format_args!("{found:?}"));

    load_module(WRAP_MODULE)?;
    let wrapped = buffer()?;
    for slot in SLOTS {
        let device = edu(slot)?;
        for direction in Direction::ALL {
            let first = uses(&device, &wrapped, direction, 1)?;
            let again = uses(&device, &wrapped, direction, USES)?;
            // What a device is given cannot be told from copies, and so the buffer stays its exporter's.
            let due = match bench.options.bounces() {
                true => (first.0, first.1) == (0, 0) && again == (0, 0, 0),
                false => (first.0, first.1) == (0, 1) && again == (u64::from(USES), 0, 0),
            };
            bench.check(
                format_args!("{path}: wrapped, device {slot}, {direction:?}: stays mapped"),
                due,
                format_args!("{first:?}, {again:?}"),
            );
        }
    }
    // The kernel's udmabuf maps a buffer for itself when the CPU first looks at it; with bounce buffers each further look brings the content of
    // that moment back, and buries what devices have written since. That is the exporter's, and stays so.
    let (stock, ours) = (wrong_content(&before)?, wrong_content(&wrapped)?);
    bench.check(
        format_args!("wrong content: none of wrapped {path} that is not the kernel's own"),
        ours.iter().all(|wrong| stock.contains(wrong)) && (ours.is_empty() || bench.options.bounces()),
        format_args!("{ours:?}, without the wrap {stock:?}"),
    );
    let found = uses(&device, &before, Direction::ToDevice, 1)?;
    let right = View::of(&before)?.out(&device, Direction::ToDevice, PAGE, 950)?;
    bench.check(
        format_args!("{path}: a buffer from before is as it was"),
        found.0 + found.1 == 0 && right,
        format_args!("{found:?}"),
    );
    let ours = bench.buffer(MIB / 8)?;
    let found = uses(&device, &ours, Direction::ToDevice, 2)?;
    let due = if bench.options.bounces() { (0, 2) } else { (1, 1) };
    bench.check(format_args!("{path}: ours are not wrapped"), (found.0, found.1) == due, format_args!("{found:?}"));
    drop(ours);

    let refused = module::remove(WRAP_MODULE);
    bench.check(format_args!("{path}: a buffer holds the module"), refused.is_err(), format_args!("{refused:?}"));
    drop(wrapped);
    let left = (total(statistics::MAPPINGS)?, total(statistics::MAPPED_BYTES)?);
    bench.check(format_args!("{path}: mappings go with the buffer"), left == (0, 0), format_args!("{left:?}"));
    at("unloading it", module::remove(WRAP_MODULE))?;
    let after = buffer()?;
    let found = uses(&device, &after, Direction::ToDevice, 2)?;
    bench.check(format_args!("{path}: stock again"), found.0 + found.1 == 0, format_args!("{found:?}"));
    Ok(())
}

/// Whose DMA, in which round, brought something else.
fn wrong_content(buffer: &Buffer) -> Outcome<Vec<String>> {
    let view = View::of(buffer)?;
    let mut wrong = Vec::new();
    for (round, slot) in [SLOTS[0], SLOTS[1], SLOTS[0]].into_iter().enumerate() {
        let (device, round) = (edu(slot)?, round as u64);
        for (direction, out) in [
            (Direction::ToDevice, true),
            (Direction::Both, true),
            (Direction::FromDevice, false),
            (Direction::Both, false),
        ] {
            let right = match out {
                true => view.out(&device, direction, PAGE, 960 + round)?,
                false => view.back(&device, direction, PAGE, 970 + round)?,
            };
            if !right {
                wrong.push(format!("{round}: {slot} {direction:?} out: {out}"));
            }
        }
    }
    // While a device has it, the CPU says when it looks.
    let device = edu(SLOTS[0])?;
    at("holding", device.hold(buffer.as_fd(), Direction::Both))?;
    view.write(PAGE, &pattern(980, TRANSFER_MAX))?;
    at("releasing", device.release())?;
    if view.read(PAGE, TRANSFER_MAX)? != pattern(980, TRANSFER_MAX) {
        wrong.push("after a look".into());
    }
    Ok(wrong)
}
