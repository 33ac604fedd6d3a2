// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Buffers that change their size: content, what devices reach, and what is mapped for that.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd};

use fovea_contract::{heap_mapcache_statistics as statistics, HEAP_FOLDER, HEAP_SHARED_FOLDER, SYSTEM_NODE};
use fovea_edu::{Direction, Request, TRANSFER_MAX};
use fovea_heap::{Buffer, Growth, Heap};
use fovea_tests::audit::KernelLog;
use fovea_tests::kernel::{at, read_number, Outcome};

use crate::bench::{edu, of_device, pattern, set_system, total, Bench, View, MIB, PAGE, SLOTS, VIDEO};
use crate::calls::{allocate, resize, Allocation};
use crate::uses::maps_while;

const KIB: u64 = 1 << 10;

fn set(buffer: &Buffer, size_bytes: u64, growth: Growth) -> Outcome<()> {
    at(format_args!("resizing to {size_bytes}"), buffer.resize(size_bytes, growth))
}

/// Every page of a buffer bears its number, but those from `zero_from` on.
fn is_right(buffer: &Buffer, zero_from: usize) -> Outcome<bool> {
    let view = View::of(buffer)?;
    for page in 0..buffer.size_bytes() / PAGE {
        let found = view.read(page * PAGE, PAGE)?;
        let due = if page < zero_from { pattern(page as u64, 64) } else { vec![0; 64] };
        if found[..64] != due || page >= zero_from && found.iter().any(|&byte| byte != 0) {
            println!("page {page} of {} is wrong", buffer.size_bytes() / PAGE);
            return Ok(false);
        }
    }
    Ok(true)
}

fn number_pages(buffer: &Buffer) -> Outcome<()> {
    let view = View::of(buffer)?;
    (0..buffer.size_bytes() / PAGE).try_for_each(|page| view.write(page * PAGE, &pattern(page as u64, 64)))
}

pub fn all(bench: &Bench) -> Outcome<()> {
    content(bench)?;
    mappings(bench)?;
    reach(bench)?;
    library(bench)?;
    others(bench)?;
    refusals(bench)
}

/// Content stays, what is new is zero, and memory goes back, whatever the pieces are.
fn content(bench: &Bench) -> Outcome<()> {
    for (kind, scatter) in [("scattered", true), ("plain", false)] {
        let buffer = if scatter { bench.scattered(MIB)? } else { bench.buffer(MIB + 256 * KIB)? };
        number_pages(&buffer)?;
        set_system("scatter", if scatter { "1" } else { "0" })?;
        let mut right = Vec::new();
        let mut pages = buffer.size_bytes() / PAGE;
        // Into pieces and out of them again; to one page; and far up.
        for size_bytes in [MIB / 2 + 12 * KIB, 3 * MIB, 3 * MIB + 4 * KIB, 40 * KIB, 64 * KIB, 1, 2 * MIB] {
            set(&buffer, size_bytes, Growth::Whole)?;
            let zero_from = pages.min(buffer.size_bytes() / PAGE);
            right.push(is_right(&buffer, zero_from)?);
            number_pages(&buffer)?;
            pages = buffer.size_bytes() / PAGE;
        }
        set_system("scatter", "0")?;
        let all = right.iter().all(|&right| right);
        bench.check(format_args!("wrong content: none of a resized {kind} buffer"), all, format_args!("{right:?}"));
        let fd = at("a descriptor", buffer.as_fd().try_clone_to_owned())?;
        let end = at("its end", File::from(fd).seek(SeekFrom::End(0)))?;
        bench.check(format_args!("a {kind} buffer's end is the new one"), end == 2 * MIB, format_args!("{end}"));
        drop(buffer);
        let held = read_number(format!("/sys/class/misc/{HEAP_SHARED_FOLDER}!{SYSTEM_NODE}/held_bytes"))?;
        bench.check(format_args!("memory of a resized {kind} buffer goes back"), held == 0, format_args!("{held}"));
    }
    Ok(())
}

/// Only what changes is mapped or unmapped, where the device's addresses are translated.
fn mappings(bench: &Bench) -> Outcome<()> {
    let buffer = bench.scattered(MIB)?;
    let device = edu(SLOTS[0])?;
    let touch = |buffer: &Buffer| at("use", device.touch(buffer.as_fd(), Direction::Both, 1));
    touch(&buffer)?;
    set_system("scatter", "1")?;
    let translates = bench.options.translates();
    for (what, size_bytes, growth, due_maps, due_hits, due_pieces) in [
        ("half of it goes", MIB / 2, Growth::Whole, 0, 1, 1),
        ("another half comes as a piece", MIB, Growth::Pieces, 128, 1, 2),
        ("and another quarter", MIB + 256 * KIB, Growth::Whole, 64, 1, 3),
        ("a piece and a half go", MIB - 256 * KIB, Growth::Whole, 0, 1, 2),
        ("all but a page go", 4 * KIB, Growth::Whole, 0, 1, 1),
        ("one piece grows to one piece", MIB, Growth::Whole, 256, 0, 1),
    ] {
        let hits = total(statistics::HITS)?;
        let (maps, pieces) = maps_while(|| {
            set(&buffer, size_bytes, growth)?;
            touch(&buffer).map(|request| request.pieces)
        })?;
        let found = (maps, total(statistics::HITS)? - hits, pieces);
        let holds = !translates || found == (due_maps, due_hits, due_pieces);
        bench.check(format_args!("resized, {what}: maps, hits, pieces"), holds, format_args!("{found:?}"));
        let mapped = of_device(SLOTS[0], "mapped_bytes")?;
        let size = if bench.options.bounces() { 0 } else { buffer.size_bytes() as u64 };
        bench.check(format_args!("resized, {what}: counted"), mapped == size, format_args!("{mapped} of {size}"));
        let view = View::of(&buffer)?;
        let last = buffer.size_bytes() - PAGE;
        let mut right = true;
        for offset in [0, last / 2 / PAGE * PAGE, last] {
            right &= view.out(&device, Direction::Both, offset, 900 + offset as u64)?;
            right &= view.back(&device, Direction::Both, offset, 901 + offset as u64)?;
        }
        bench.check(format_args!("wrong content: none when resized, {what}"), right, "");
    }
    set_system("scatter", "0")?;
    // Where one entry of the IOMMU's may span the new end, it is mapped anew.
    let buffer = bench.buffer(2 * MIB)?;
    touch(&buffer)?;
    set(&buffer, MIB / 2 + 4 * KIB, Growth::Whole)?;
    let left = of_device(SLOTS[0], "mappings")?;
    let right = View::of(&buffer)?.out(&device, Direction::Both, MIB as usize / 2, 910)?;
    bench.check("cut through a piece: right, if mapped anew", right, format_args!("{left} mappings"));
    Ok(())
}

/// What a buffer has lost its device does not reach, though it stays mapped.
fn reach(bench: &Bench) -> Outcome<()> {
    let device = edu(SLOTS[0])?;
    let mut log = at("the kernel's log", KernelLog::new())?;
    let buffer = bench.scattered(MIB)?;
    let offset = MIB as usize - PAGE;
    let secret = pattern(920, TRANSFER_MAX);
    View::of(&buffer)?.write(offset, &secret)?;
    let used = device.transfer(buffer.as_fd(), Direction::Both, offset as u64, TRANSFER_MAX, false);
    let Request { dma_address, .. } = at("use", used)?;
    let seen = at("the device's memory", device.store(TRANSFER_MAX))? == secret;
    set(&buffer, MIB / 2, Growth::Whole)?;
    if !bench.options.translates() {
        return Ok(());
    }
    log.lines();
    at("the device's memory", device.load(&pattern(921, TRANSFER_MAX)))?;
    at("DMA", device.raw(dma_address, TRANSFER_MAX, false))?;
    let found = at("the device's memory", device.store(TRANSFER_MAX))?;
    let words = found.chunks(8).zip(secret.chunks(8)).filter(|(found, secret)| found == secret).count();
    bench.check(
        "wrong content: a device reads nothing of what its buffer has lost",
        seen && words == 0,
        format_args!("read before: {seen}, {words} words after"),
    );
    let faults = log.lines().iter().filter(|(_, line)| line.contains("DMAR") && line.contains("fault")).count();
    bench.check("it faults", faults > 0 || !bench.options.intel(), format_args!("{faults} lines"));
    Ok(())
}

fn refusals(bench: &Bench) -> Outcome<()> {
    let buffer = bench.buffer(MIB)?;
    let found = std::cell::RefCell::new(Vec::new());
    let note = |what: &'static str, done: std::io::Result<()>, due: Option<i32>| {
        found.borrow_mut().push((what, done.err().and_then(|e| e.raw_os_error()), due));
    };
    let set = |size_bytes: u64| buffer.resize(size_bytes, Growth::Whole);
    let memory = rustix::system::sysinfo();
    let half = memory.totalram as u64 * u64::from(memory.mem_unit) / 2;
    note("no size", set(0), Some(libc::EINVAL));
    note("beyond numbers", set(u64::MAX), Some(libc::EINVAL));
    note("more than there can be", set(1 << 62), Some(libc::ENOMEM));
    note("more than half of memory", set(half + MIB), Some(libc::ENOMEM));
    let device = edu(SLOTS[0])?;
    at("hold", device.hold(buffer.as_fd(), Direction::Both))?;
    note("mapped by a device, smaller", set(MIB / 2), Some(libc::EBUSY));
    note("mapped by a device, larger", set(2 * MIB), Some(libc::EBUSY));
    at("release", device.release())?;
    at("attach", device.attach(buffer.as_fd()))?;
    note("attached by a device, smaller", set(MIB / 2), Some(libc::EBUSY));
    note("attached by a device, larger", set(2 * MIB), Some(libc::EBUSY));
    at("release", device.release())?;

    // Past the library, which would not let its own program do that.
    let node = at("the node", File::open(bench.system.path()))?;
    let raw = buffer.as_fd().as_raw_fd();
    let call = |fd: i32, size_bytes: u64, flags: u32| resize(&node, fd, size_bytes, flags);
    let mapping = at("mapping", buffer.map())?;
    note("in use by the program itself", set(2 * MIB), Some(libc::EBUSY));
    note("mapped by a process, smaller", call(raw, MIB - 4096, 0), Some(libc::EBUSY));
    note("mapped by a process, larger", call(raw, 2 * MIB, 0), None);
    note("mapped by a process, to its end", call(raw, MIB, 0), None);
    drop(mapping);
    let video = at("video", Heap::open(format!("/dev/{HEAP_FOLDER}/{VIDEO}")))?;
    let foreign = at("video", File::open(video.path()))?;
    note("of another node", resize(&foreign, raw, MIB / 2, 0), Some(libc::EINVAL));
    let reserved = at("video", video.allocate(MIB / 4))?;
    note("a reservation's", reserved.resize(MIB / 8, Growth::Whole), Some(libc::EOPNOTSUPP));
    drop(reserved);
    let other = at("another file", File::open("/proc/self/exe"))?;
    note("a file that is no buffer", call(other.as_raw_fd(), MIB, 0), Some(libc::EINVAL));
    note("no file", call(-1, MIB, 0), Some(libc::EBADF));
    note("unknown flags", call(raw, MIB, 2), Some(libc::EINVAL));
    let readable = Allocation { len: MIB, fd_flags: libc::O_RDONLY as u32, ..Allocation::default() };
    let readable = at("a buffer to read", allocate(&node, readable, 0))?;
    note("a descriptor for reading", call(readable.as_raw_fd(), MIB / 2, 0), Some(libc::EACCES));
    for (what, errno, due) in found.take() {
        bench.check(format_args!("resize: {what}"), errno == due, format_args!("{errno:?}, due {due:?}"));
    }
    bench.check("a buffer that was refused is as it was", buffer.size_bytes() == MIB as usize, "");
    let view = View::of(&buffer)?;
    view.write(MIB as usize - PAGE, &pattern(930, TRANSFER_MAX))?;
    bench.check("and of its size", view.read(MIB as usize - PAGE, TRANSFER_MAX)? == pattern(930, TRANSFER_MAX), "");
    Ok(())
}

/// The library's mapping of a process follows: what stays mapped shows what the buffer has, and nothing is mapped twice.
fn library(bench: &Bench) -> Outcome<()> {
    let buffer = bench.scattered(MIB)?;
    number_pages(&buffer)?;
    let start = |buffer: &Buffer| at("mapping", buffer.map()).map(|mapping| mapping.words().as_ptr() as usize);
    let first = start(&buffer)?;
    let mapped = || -> Outcome<u64> {
        let maps = at("maps", std::fs::read_to_string("/proc/self/maps"))?;
        let bytes = maps.lines().filter(|line| line.contains("dmabuf")).map(|line| {
            let (from, to) = line.split(' ').next().and_then(|range| range.split_once('-')).unwrap_or(("0", "0"));
            let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
            number(to) - number(from)
        });
        Ok(bytes.sum())
    };
    let mut found = Vec::new();
    for (size_bytes, zero_from) in [(MIB / 2, 128), (MIB, 128), (2 * MIB, 128)] {
        set(&buffer, size_bytes, Growth::Pieces)?;
        let place = start(&buffer)?;
        found.push((mapped()? == size_bytes, place == first, is_right(&buffer, zero_from)?));
    }
    // Where its addresses are taken is the kernel's choice, so they may be others.
    let holds = found.iter().all(|(size, _, right)| *size && *right) && found[0].1;
    bench.check("the library's mapping follows its buffer: size, place, content", holds, format_args!("{found:?}"));
    at("trim", buffer.trim())?;
    let left = mapped()?;
    bench.check("and goes when it is given up", left == 0, format_args!("{left} bytes"));
    Ok(())
}

/// Any heap, whoever's, and memory of the program's own, where the kernel has them.
fn others(bench: &Bench) -> Outcome<()> {
    for path in ["/dev/dma_heap/system", "/dev/udmabuf"] {
        if !std::path::Path::new(path).exists() {
            println!("mapcache: {path}: skipped, this kernel has none");
            continue;
        }
        let heap = at(path, Heap::open(path))?;
        let buffer = at(path, heap.allocate(3 * PAGE as u64 + 1))?;
        let view = View::of(&buffer)?;
        view.write(2 * PAGE, &pattern(940, TRANSFER_MAX))?;
        let right = view.out(&edu(SLOTS[0])?, Direction::ToDevice, 2 * PAGE, 941)?;
        let size = buffer.size_bytes() == 4 * PAGE;
        bench.check(format_args!("the library has buffers of {path}"), right && size, "");
        drop(view);
        let refused = buffer.resize(PAGE as u64, Growth::Whole).err().and_then(|e| e.raw_os_error());
        let due = Some(libc::EOPNOTSUPP);
        bench.check(format_args!("and leaves their size: {path}"), refused == due, format_args!("{refused:?}"));
    }
    Ok(())
}
