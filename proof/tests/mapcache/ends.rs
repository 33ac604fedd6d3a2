// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! When mappings end: with their buffer, with the device's driver or the device, over the cap, when addresses or memory run out.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use fovea_contract::{heap_mapcache_statistics as statistics, EDU_MODULE};
use fovea_edu::{Direction, Edu, TRANSFER_MAX};
use fovea_heap::{Buffer, Heap};
use fovea_linux::{module, Root};
use fovea_tests::audit::KernelLog;
use fovea_tests::kernel::{at, comes, write_file, Outcome};

use crate::bench::{address, edu, of_device, pattern, set_cache, total, Bench, View, MIB, PAGE, SLOTS};

const DRIVER: &str = "/sys/bus/pci/drivers/edu-importer";
const SECRET: u64 = 800;

/// What the device reads at an address; its memory held something else before.
fn read_at(device: &Edu, dma_address: u64) -> Outcome<Vec<u8>> {
    at("the device's memory", device.load(&pattern(801, TRANSFER_MAX)))?;
    at("DMA", device.raw(dma_address, TRANSFER_MAX, false))?;
    at("the device's memory", device.store(TRANSFER_MAX))
}

/// As long as a buffer lives, its device reaches it; not a moment longer where addresses are translated and given back at once.
pub fn release(bench: &Bench) -> Outcome<()> {
    let device = edu(SLOTS[0])?;
    let mut log = at("the kernel's log", KernelLog::new())?;
    let buffer = bench.scattered(MIB)?;
    View::of(&buffer)?.write(PAGE, &pattern(SECRET, TRANSFER_MAX))?;
    let used = at("use", device.transfer(buffer.as_fd(), Direction::ToDevice, PAGE as u64, TRANSFER_MAX, false))?;
    let seen = read_at(&device, used.dma_address)? == pattern(SECRET, TRANSFER_MAX);
    bench.check("an idle mapping is its device's still: the price", seen, format_args!("{:#x}", used.dma_address));
    drop(buffer);
    let left = total(statistics::MAPPINGS)?;
    bench.check("a released buffer is not mapped", left == 0, format_args!("{left} mappings"));
    if !bench.options.strict {
        return Ok(());
    }
    log.lines();
    let found = read_at(&device, used.dma_address)?;
    let secret = pattern(SECRET, TRANSFER_MAX);
    let words = found.chunks(8).zip(secret.chunks(8)).filter(|(found, secret)| found == secret).count();
    bench.check(
        "wrong content: DMA to a released buffer reads nothing of it",
        words == 0,
        format_args!("{words} words"),
    );
    let faults = log.lines().iter().filter(|(_, line)| line.contains("DMAR") && line.contains("fault")).count();
    bench.check("and faults", faults > 0 || !bench.options.intel(), format_args!("{faults} lines"));
    Ok(())
}

fn wait_for(what: &Path) -> Outcome<()> {
    match comes(Duration::from_secs(10), || Ok(what.exists()))? {
        true => Ok(()),
        false => Err(format!("{} does not come", what.display())),
    }
}

/// Two idle mappings and one in use, on the first device; one idle on the second.
fn fill(buffers: &[Buffer; 2], held: &Edu) -> Outcome<()> {
    let device = edu(SLOTS[0])?;
    for buffer in buffers {
        at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 1))?;
    }
    at("hold", held.hold(buffers[0].as_fd(), Direction::Both))?;
    at("use", edu(SLOTS[1])?.touch(buffers[0].as_fd(), Direction::ToDevice, 1))?;
    Ok(())
}

/// Nothing of the first device is left; then it is back, and works.
fn gone(bench: &Bench, how: &str, buffer: &Buffer, back: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    let left = (total(statistics::MAPPINGS)?, total(statistics::IDLE)?);
    bench.check(format_args!("{how} leaves nothing"), left == (1, 1), format_args!("{left:?} mappings, idle"));
    back()?;
    wait_for(Path::new("/dev/edu-4"))?;
    let misses = total(statistics::MISSES)?;
    let right = View::of(buffer)?.out(&edu(SLOTS[0])?, Direction::ToDevice, PAGE, 810)?;
    let misses = total(statistics::MISSES)? - misses;
    bench.check(format_args!("wrong content: none after {how}"), right && misses == 1, format_args!("{misses} misses"));
    Ok(())
}

fn unbind() -> Outcome<()> {
    write_file(format!("{DRIVER}/unbind"), &address(SLOTS[0]))
}

fn bind() -> Outcome<()> {
    write_file(format!("{DRIVER}/bind"), &address(SLOTS[0]))
}

pub fn driver(bench: &Bench) -> Outcome<()> {
    let buffers = [bench.scattered(MIB)?, bench.scattered(MIB)?];
    let held = edu(SLOTS[0])?;
    fill(&buffers, &held)?;
    unbind()?;
    let refused = held.touch(buffers[0].as_fd(), Direction::ToDevice, 1).err().and_then(|e| e.raw_os_error());
    bench.check("a file of a device that lost its driver", refused == Some(libc::ENODEV), format_args!("{refused:?}"));
    gone(bench, "unbind", &buffers[0], bind)
}

pub fn unplug(bench: &Bench) -> Outcome<()> {
    let buffers = [bench.scattered(MIB)?, bench.scattered(MIB)?];
    let held = edu(SLOTS[0])?;
    fill(&buffers, &held)?;
    write_file(format!("/sys/bus/pci/devices/{}/remove", address(SLOTS[0])), "1")?;
    gone(bench, "unplugging", &buffers[0], || write_file("/sys/bus/pci/rescan", "1"))
}

/// The device's address space is exchanged for another one, and that again.
pub fn group_type(bench: &Bench) -> Outcome<()> {
    if !bench.options.intel() {
        return Ok(());
    }
    let kind = format!("/sys/bus/pci/devices/{}/iommu_group/type", address(SLOTS[0]));
    let before = at(&kind, std::fs::read_to_string(&kind))?.trim().to_owned();
    let buffers = [bench.buffer(MIB)?, bench.scattered(MIB)?];
    let held = edu(SLOTS[0])?;
    fill(&buffers, &held)?;
    unbind()?;
    write_file(&kind, "identity")?;
    gone(bench, "identity", &buffers[0], bind)?;
    unbind()?;
    write_file(&kind, &before)?;
    gone(bench, "translation", &buffers[1], bind)
}

/// More than the cap does not stay; the one not used for longest goes first.
pub fn cap(bench: &Bench) -> Outcome<()> {
    set_cache("device_cap_bytes", 8 * MIB)?;
    let device = edu(SLOTS[0])?;
    let buffers: Vec<Buffer> = (0..6).map(|_| bench.buffer(2 * MIB)).collect::<Outcome<_>>()?;
    let evicted = total(statistics::EVICTED)?;
    let use_ = |buffer: &Buffer| at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 1));
    buffers.iter().try_for_each(|buffer| use_(buffer).map(drop))?;
    let (evicted, kept) = (total(statistics::EVICTED)? - evicted, of_device(SLOTS[0], "mapped_bytes")?);
    bench.check(
        "over the cap nothing stays",
        (evicted, kept) == (2, 8 * MIB),
        format_args!("{evicted} evicted, {kept}"),
    );
    let hits = total(statistics::HITS)?;
    use_(&buffers[5])?;
    use_(&buffers[0])?;
    let hits = total(statistics::HITS)? - hits;
    bench.check("the least recently used goes first", hits == 1, format_args!("{hits} hits"));
    let large = bench.buffer(12 * MIB)?;
    use_(&large)?;
    let kept = of_device(SLOTS[0], "mapped_bytes")?;
    bench.check("what is larger than the cap is used and not kept", kept == 0, format_args!("{kept}"));
    buffers.iter().try_for_each(|buffer| use_(buffer).map(drop))?;
    set_cache("device_cap_bytes", 4 * MIB)?;
    let kept = of_device(SLOTS[0], "mapped_bytes")?;
    bench.check("a lower cap counts at once", kept == 4 * MIB, format_args!("{kept}"));
    set_cache("device_cap_bytes", 256 * MIB)
}

/// Devices with so many address lines from now on.
fn lines(bits: u32) -> Outcome<()> {
    at("unloading the importer", module::remove(EDU_MODULE))?;
    at("loading it", module::load_with(&Root::at("/"), EDU_MODULE, &format!("mask_bits={bits}")))?;
    SLOTS.iter().try_for_each(|slot| wait_for(Path::new(&format!("/dev/edu-{slot}"))))
}

/// An exporter that knows nothing of the cache; Debian 12's cloud kernel has none.
const STOCK: &str = "/dev/dma_heap/system";

fn stock(size_bytes: u64) -> Outcome<Buffer> {
    at("the kernel's heap", Heap::open(STOCK))
        .and_then(|heap| at("a buffer of the kernel's heap", heap.allocate(size_bytes)))
}

/// A device with few addresses; the cache leaves some to others, and gives up its own.
pub fn exhaustion(bench: &Bench) -> Outcome<()> {
    if !bench.options.translates() || !Path::new(STOCK).exists() {
        return Ok(());
    }
    lines(26)?;
    let device = edu(SLOTS[0])?;
    // Here, for its allocation takes longer than a flush queue's timer.
    let others = stock(8 * MIB)?;
    let buffers: Vec<Buffer> = (0..6).map(|_| bench.buffer(4 * MIB)).collect::<Outcome<_>>()?;
    let fill = |buffers: &[Buffer], directions: &[Direction]| {
        let uses = buffers.iter().flat_map(|buffer| directions.iter().map(move |&direction| (buffer, direction)));
        uses.filter_map(|(buffer, direction)| device.touch(buffer.as_fd(), direction, 1).err()).collect::<Vec<_>>()
    };
    // 52 of 64 MiB, were all to stay: not so many that mapping failed, and idle ones went.
    let mut failed = fill(&buffers[..4], &Direction::ALL);
    failed.extend(fill(&buffers[4..5], &[Direction::ToDevice]));
    let mut used = device.touch(others.as_fd(), Direction::ToDevice, 1);
    if !bench.options.strict {
        // What the cache gave up is free when the flush queue's timer has fired, as is what an exporter without a cache unmaps.
        comes(Duration::from_secs(10), || {
            used = device.touch(others.as_fd(), Direction::ToDevice, 1);
            Ok(used.is_ok())
        })?;
    }
    bench.check("a cache leaves addresses to other exporters", used.is_ok(), format_args!("{:?}", used.err()));
    // 72.
    failed.extend(fill(&buffers[4..], &Direction::ALL));
    bench.check("a device with few addresses", failed.is_empty(), format_args!("{failed:?}"));
    drop((buffers, others));
    run_out(bench, &device)?;
    drop(device);
    lines(32)
}

/// Others take all there is; what is idle makes room for what is wanted.
fn run_out(bench: &Bench, device: &Edu) -> Outcome<()> {
    let idle: Vec<Buffer> = (0..3).map(|_| bench.buffer(4 * MIB)).collect::<Outcome<_>>()?;
    for buffer in &idle {
        at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 1))?;
    }
    let mut others = Vec::new();
    while others.len() < 16 {
        let (buffer, holder) = (stock(4 * MIB)?, edu(SLOTS[0])?);
        if holder.hold(buffer.as_fd(), Direction::ToDevice).is_err() {
            break;
        }
        others.push((buffer, holder));
    }
    let evicted = total(statistics::EVICTED)?;
    let wanted = bench.buffer(4 * MIB)?;
    let used = device.touch(wanted.as_fd(), Direction::ToDevice, 1);
    let evicted = total(statistics::EVICTED)? - evicted;
    bench.check(
        "when addresses run out, idle mappings make room",
        used.is_ok() && evicted == 3 && others.len() < 16,
        format_args!("{:?}, {evicted} evicted, others hold {} of 16", used.err(), others.len()),
    );
    Ok(())
}

/// When memory is short nothing stays mapped that nobody uses.
pub fn shrink(bench: &Bench) -> Outcome<()> {
    let buffers = [bench.scattered(MIB)?, bench.scattered(MIB)?];
    let held = edu(SLOTS[0])?;
    fill(&buffers, &held)?;
    let (before, shrunk) = (total(statistics::IDLE)?, total(statistics::SHRUNK)?);
    write_file("/proc/sys/vm/drop_caches", "2")?;
    let (after, shrunk) = (total(statistics::IDLE)?, total(statistics::SHRUNK)? - shrunk);
    let busy = of_device(SLOTS[0], "busy")?;
    bench.check(
        "memory pressure ends what is idle and leaves what is used",
        (before, after, shrunk, busy) == (3, 0, 3, 1),
        format_args!("idle {before}, then {after}; {shrunk} ended, {busy} used"),
    );
    let right = View::of(&buffers[0])?.out(&edu(SLOTS[0])?, Direction::ToDevice, PAGE, 820)?;
    bench.check("wrong content: none after memory pressure", right, "");
    Ok(())
}
