// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Every exporter that can be had here under `fovea-heap-wrap`: udmabuf on small and on huge pages, the kernel's heap, and one whose lists are
//! unusual or wrong. All bytes are compared, at the device and at the CPU.

use std::os::fd::AsFd;
use std::path::Path;

use fovea_contract::{
    heap_mapcache_statistics as statistics, wrap_statistics as wraps, ODD_MODULE, WRAP_FOLDER, WRAP_MODULE,
};
use fovea_edu::{Direction, Edu, TRANSFER_MAX};
use fovea_linux::{module, Root};
use fovea_tests::kernel::{at, load_module, read_number, write_file, Outcome};

use crate::bench::{edu, pattern, total, Bench, PAGE, SLOTS};
use crate::odd::{is_right, Huge, Shared};

pub fn wrap_number(name: &str) -> Outcome<u64> {
    read_number(format!("/sys/module/{WRAP_MODULE}/{WRAP_FOLDER}/{name}"))
}

/// A way to get a buffer, and whether its list is right.
struct Source {
    name: String,
    right: bool,
    make: Box<dyn Fn() -> Outcome<Shared>>,
}

fn sources() -> Outcome<Vec<Source>> {
    let mut found = Vec::new();
    if Path::new("/dev/udmabuf").exists() {
        let _ = write_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "advise");
        for (name, kind) in [("hugetlb", Huge::Hugetlb), ("huge shmem", Huge::Shmem)] {
            for (part, first, pages) in [("its begin", 0, 2), ("page 100", 100, 2)] {
                let make = move || at(name, Shared::huge(kind, first * PAGE, pages * PAGE));
                found.push(Source { name: format!("udmabuf on {name}, {part}"), right: true, make: Box::new(make) });
            }
        }
    }
    for kind in 0.. {
        let Some((_, fault)) = at("the odd exporter", Shared::odd(kind))? else { break };
        let make = move || at("the odd exporter", Shared::odd(kind))?.map(|(made, _)| made).ok_or("none".to_owned());
        found.push(Source { name: format!("odd list {kind}"), right: is_right(fault), make: Box::new(make) });
    }
    Ok(found)
}

pub fn all(bench: &Bench) -> Outcome<()> {
    load_module(ODD_MODULE)?;
    let sources = sources()?;
    let stock = sources.iter().map(|s| wrong_bytes(&(s.make)()?, s.right, bench)).collect::<Outcome<Vec<usize>>>()?;
    let load = module::load_with(&Root::at("/"), WRAP_MODULE, "exporters=system,udmabuf,odd");
    at(WRAP_MODULE, load)?;
    for (source, stock) in sources.iter().zip(stock) {
        one(bench, source, stock)?;
    }
    at("unloading the wrap", module::remove(WRAP_MODULE))?;
    at("unloading the odd exporter", module::remove(ODD_MODULE))
}

fn one(bench: &Bench, source: &Source, stock: usize) -> Outcome<()> {
    let refused = wrap_number(wraps::REFUSED)?;
    let buffer = (source.make)()?;
    let wrong = wrong_bytes(&buffer, source.right, bench)?;
    // With copies the kernel's own udmabuf (7.3) has old content come back at a sync; the wrap is not to add to it.
    let right = wrong <= stock && (stock == 0 || bench.options.bounces());
    bench.check(
        format_args!("wrong content: none of {}", source.name),
        right,
        format_args!("{wrong} bytes, {stock} without the wrap"),
    );
    let hits = total(statistics::HITS)?;
    at("use", edu(SLOTS[0])?.touch(buffer.fd.as_fd(), Direction::Both, 2))?;
    let found = (total(statistics::HITS)? - hits > 0, wrap_number(wraps::REFUSED)? - refused);
    // Where devices are given copies nothing can be told, and nothing is kept.
    let due = match bench.options.bounces() {
        true => (false, 0),
        false => (source.right, u64::from(!source.right)),
    };
    bench.check(format_args!("{}: cached or refused", source.name), found == due, format_args!("{found:?}"));
    Ok(())
}

/// Transfers of a buffer: beginnings and lengths, of which each is in one piece of the device's. `whole`: all of the buffer has to be.
fn places(buffer: &Shared, device: &Edu, whole: bool) -> Outcome<Vec<(usize, usize)>> {
    let (mut places, mut first) = (Vec::new(), 0);
    while first < buffer.size_bytes {
        let most = TRANSFER_MAX.min(buffer.size_bytes - first);
        let lengths = (0..).map(|halvings| most >> halvings).take_while(|&length| length >= 64);
        let Some(length) = lengths.into_iter().find(|&length| fits(buffer, device, first, length)) else {
            if whole || places.is_empty() {
                return Err(format!("no transfer fits at {first:#x} of {:#x}", buffer.size_bytes));
            }
            break;
        };
        places.push((first, length));
        first += length;
    }
    Ok(places)
}

fn fits(buffer: &Shared, device: &Edu, first: usize, length: usize) -> bool {
    let held = device.hold_at(buffer.fd.as_fd(), Direction::ToDevice, first as u64, length);
    let _ = device.release();
    held.is_ok()
}

/// All of it is read by the device, then parts are written; the number of bytes that are not as they should be.
fn wrong_bytes(buffer: &Shared, whole: bool, bench: &Bench) -> Outcome<usize> {
    let device = edu(SLOTS[0])?;
    let mut due = pattern(buffer.size_bytes as u64, buffer.size_bytes);
    at("writing", buffer.write(&due))?;
    let differ = |found: &[u8], due: &[u8]| found.iter().zip(due).filter(|(found, due)| found != due).count();
    let mut wrong = 0;
    let places = places(buffer, &device, whole)?;
    for &(first, length) in &places {
        at("DMA", device.transfer(buffer.fd.as_fd(), Direction::Both, first as u64, length, false))?;
        wrong += differ(&at("the device's memory", device.store(length))?, &due[first..][..length]);
    }
    for (number, &(first, length)) in places.iter().enumerate() {
        // A transfer takes a tenth of a second.
        if number % 2 == 1 && !bench.options.is_long() {
            continue;
        }
        let bytes = pattern(1000 + first as u64, length);
        at("the device's memory", device.load(&bytes))?;
        at("DMA", device.transfer(buffer.fd.as_fd(), Direction::Both, first as u64, length, true))?;
        due[first..][..length].copy_from_slice(&bytes);
        wrong += differ(&at("reading", buffer.read())?, &due);
    }
    Ok(wrong + usize::from(!buffer.is_beside_whole()))
}
