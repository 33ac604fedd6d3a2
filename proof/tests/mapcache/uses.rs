// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Buffers in devices' hands: what they read and write is right, whatever stayed mapped, and what stayed mapped is not mapped again.

use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::process::Command;

use fovea_contract::heap_mapcache_statistics as statistics;
use fovea_edu::{Direction, Edu, TRANSFER_MAX};
use fovea_heap::Buffer;
use fovea_tests::kernel::{at, write_file, Outcome};

use crate::bench::{edu, of_device, pattern, set_cache, total, Bench, View, MIB, PAGE, SLOTS, VIDEO_BYTES};

/// Where translations are made, counted.
const TRACE: &str = "/sys/kernel/tracing/instances/mapcache";

/// How often the kernel maps for devices while something is done; never, if it knows of no IOMMU.
pub fn maps_while<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(u64, T)> {
    let _ = std::fs::create_dir(TRACE);
    let switch = format!("{TRACE}/events/iommu/map/enable");
    if !std::path::Path::new(&switch).exists() {
        return Ok((0, work()?));
    }
    write_file(format!("{TRACE}/trace"), "")?;
    write_file(&switch, "1")?;
    let done = work();
    write_file(&switch, "0")?;
    let trace = at("the trace", std::fs::read_to_string(format!("{TRACE}/trace")))?;
    Ok((trace.lines().filter(|line| line.contains(" map: ")).count() as u64, done?))
}

/// Every source, device and direction.
pub fn content(bench: &Bench) -> Outcome<()> {
    let buffers = [
        ("scattered", bench.scattered(MIB)?),
        ("plain", bench.buffer(MIB)?),
        ("eCache's", at("video", bench.video.allocate(bench.piece_bytes(VIDEO_BYTES)))?),
    ];
    for (kind, buffer) in &buffers {
        let view = View::of(buffer)?;
        for slot in SLOTS {
            let device = edu(slot)?;
            let mut wrong = Vec::new();
            // Every other time it is a mapping that stayed.
            for (round, direction) in [Direction::ToDevice, Direction::Both, Direction::Both].into_iter().enumerate() {
                let offset = place(buffer, round + slot as usize);
                if !view.out(&device, direction, offset, offset as u64 + 7)? {
                    wrong.push(format!("out {direction:?} at {offset:#x}"));
                }
            }
            for (round, direction) in
                [Direction::FromDevice, Direction::FromDevice, Direction::Both].into_iter().enumerate()
            {
                let offset = place(buffer, round + slot as usize);
                if !view.back(&device, direction, offset, offset as u64 + 9)? {
                    wrong.push(format!("back {direction:?} at {offset:#x}"));
                }
            }
            bench.check(
                format_args!("wrong content: none of a {kind} buffer on device {slot}"),
                wrong.is_empty(),
                format_args!("{wrong:?}"),
            );
        }
    }
    Ok(())
}

/// Begin, end, and a page between; half a page in, so that where addresses are translated a transfer crosses pages.
fn place(buffer: &Buffer, number: usize) -> usize {
    let pages = buffer.size_bytes() / PAGE;
    [0, pages / 2, pages - 1, 3][number % 4] * PAGE
}

/// The same part of the same buffer again and again, changed by the CPU in between: a sync that is missing shows.
pub fn syncs(bench: &Bench) -> Outcome<()> {
    let buffer = bench.scattered(MIB)?;
    let view = View::of(&buffer)?;
    let device = edu(SLOTS[0])?;
    let mut wrong = 0;
    for round in 0..4 {
        wrong += u64::from(!view.out(&device, Direction::ToDevice, PAGE, 100 + round)?);
        wrong += u64::from(!view.out(&device, Direction::Both, PAGE, 200 + round)?);
        wrong += u64::from(!view.back(&device, Direction::Both, PAGE, 300 + round)?);
        wrong += u64::from(!view.back(&device, Direction::FromDevice, PAGE, 400 + round)?);
    }
    bench.check("wrong content: none in mappings used again", wrong == 0, format_args!("{wrong} of 16"));
    // While the device has it, the CPU says when it looks.
    at("holding", device.hold(buffer.as_fd(), Direction::Both))?;
    view.write(PAGE, &pattern(500, TRANSFER_MAX))?;
    let address = at("where it is", device.hold(buffer.as_fd(), Direction::Both)).err();
    bench.check("a file holds one buffer", address.is_some(), format_args!("{address:?}"));
    at("releasing", device.release())?;
    bench.check(
        "wrong content: none after a use with a look at it",
        view.read(PAGE, TRANSFER_MAX)? == pattern(500, TRANSFER_MAX),
        "",
    );
    Ok(())
}

/// Hits and misses, by numbers and by what the kernel maps.
pub fn hits(bench: &Bench) -> Outcome<()> {
    const USES: u32 = 20;
    let buffer = bench.scattered(3 * MIB)?;
    for slot in SLOTS {
        let device = edu(slot)?;
        for direction in Direction::ALL {
            let uses = |count| at("use", device.touch(buffer.as_fd(), direction, count));
            let misses = total(statistics::MISSES)?;
            let (first, request) = maps_while(|| uses(1))?;
            bench.check(
                format_args!("device {slot}, {direction:?}: mapped once"),
                total(statistics::MISSES)? == misses + 1 && (first > 0) == bench.options.translates(),
                format_args!("{first} calls, {} pieces", request.pieces),
            );
            // Copies are not kept (mapping.c).
            let kept = !bench.options.bounces();
            let hits = total(statistics::HITS)?;
            let (again, _) = maps_while(|| uses(USES))?;
            let hits = total(statistics::HITS)? - hits;
            bench.check(
                format_args!("device {slot}, {direction:?}: stays mapped"),
                again == 0 && hits == if kept { u64::from(USES) } else { 0 },
                format_args!("{hits} hits of {USES}, {again} calls"),
            );
        }
    }
    let mappings = (total(statistics::MAPPINGS)?, total(statistics::IDLE)?);
    let due = if bench.options.bounces() { 0 } else { 6 };
    bench.check("one mapping a device and direction", mappings == (due, due), format_args!("{mappings:?}"));
    drop(buffer);
    let left = (total(statistics::MAPPINGS)?, total(statistics::MAPPED_BYTES)?);
    bench.check("they go with the buffer", left == (0, 0), format_args!("{left:?}"));
    Ok(())
}

/// Two files of one device at once get a mapping each.
pub fn at_once(bench: &Bench) -> Outcome<()> {
    let buffer = bench.scattered(MIB)?;
    let (one, two) = (edu(SLOTS[0])?, edu(SLOTS[0])?);
    at("one", one.hold(buffer.as_fd(), Direction::ToDevice))?;
    at("two", two.hold(buffer.as_fd(), Direction::ToDevice))?;
    let busy = of_device(SLOTS[0], "busy")?;
    bench.check("two uses at once have a mapping each", busy == 2, format_args!("{busy}"));
    drop((one, two));
    let idle = of_device(SLOTS[0], "idle")?;
    let due = if bench.options.bounces() { 0 } else { 2 };
    bench.check("both stay, unless they are copies", idle == due, format_args!("{idle}"));
    Ok(())
}

/// Another process has the same buffer used, and its mapping serves us.
pub fn processes(bench: &Bench) -> Outcome<()> {
    let buffer = bench.scattered(MIB)?;
    let fd = buffer.as_fd().as_raw_fd();
    let view = View::of(&buffer)?;
    let bytes = pattern(600, TRANSFER_MAX);
    view.write(2 * PAGE, &bytes)?;
    at("a descriptor to inherit", rustix::io::fcntl_setfd(&buffer, rustix::io::FdFlags::empty()))?;
    let child = at("a child", Command::new("/proc/self/exe").args(["child", &fd.to_string()]).status())?;
    let hits = total(statistics::HITS)?;
    let right =
        view.read(2 * PAGE, TRANSFER_MAX)? == bytes && view.out(&edu(SLOTS[1])?, Direction::ToDevice, 3 * PAGE, 601)?;
    let hits = total(statistics::HITS)? - hits;
    bench.check(
        "wrong content: none in two processes",
        child.success() && right && hits == u64::from(!bench.options.bounces()),
        format_args!("{child}, right: {right}, {hits} hits after the other's use"),
    );
    Ok(())
}

/// The other process: reads by the device what the first one wrote.
pub fn child(fd: &str) -> Outcome<()> {
    let fd: i32 = at("a number", fd.parse())?;
    // SAFETY: inherited from the parent, which opened it for this.
    let buffer = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    let device = edu(SLOTS[1])?;
    at("DMA", device.transfer(buffer, Direction::ToDevice, 2 * PAGE as u64, TRANSFER_MAX, false))?;
    let found = at("the device's memory", device.store(TRANSFER_MAX))?;
    (found == pattern(600, TRANSFER_MAX)).then_some(()).ok_or_else(|| "wrong content".into())
}

/// A device that changes what it takes is mapped for anew.
pub fn limits(bench: &Bench) -> Outcome<()> {
    let buffer = bench.scattered(MIB)?;
    let device = edu(SLOTS[0])?;
    let pieces = |device: &Edu| at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 1)).map(|r| r.pieces);
    let whole = pieces(&device)?;
    at("pieces of 64 KiB", device.segment(64 << 10))?;
    let cut = pieces(&device)?;
    at("pieces of any size", device.segment(u32::MAX))?;
    let again = pieces(&device)?;
    let due = if bench.options.translates() { (1, 16, 1) } else { (256, 256, 256) };
    let found = (whole, cut, again);
    bench.check("pieces are what the device takes now", found == due, format_args!("{found:?}"));
    let kept = of_device(SLOTS[0], "idle")?;
    let due = u64::from(!bench.options.bounces());
    bench.check("mappings for what it took before are gone", kept == due, format_args!("{kept} kept"));
    Ok(())
}

/// Without the cache all is as it was before there was one.
pub fn off(bench: &Bench) -> Outcome<()> {
    let buffer = bench.scattered(MIB)?;
    let device = edu(SLOTS[0])?;
    at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 1))?;
    let before = total(statistics::MAPPINGS)?;
    set_cache("mapcache", 0)?;
    let at_once = total(statistics::MAPPINGS)?;
    let (calls, _) = maps_while(|| at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 3)))?;
    let after = total(statistics::MAPPINGS)?;
    let right = View::of(&buffer)?.out(&device, Direction::ToDevice, 0, 700)?;
    set_cache("mapcache", 1)?;
    let found = (before, at_once, after);
    let due = (u64::from(!bench.options.bounces()), 0, 0);
    bench.check("switched off it keeps nothing", found == due, format_args!("{found:?}"));
    let mapped = calls >= 3 || !bench.options.translates();
    bench.check("wrong content: none without the cache", right && mapped, format_args!("{calls} calls in 3 uses"));
    Ok(())
}
