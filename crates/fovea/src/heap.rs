// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea heap`: buffers of devices that have memory reserved.

use std::fmt::Write as _;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::{Args, Subcommand};
use fovea_heap::Heap;
use fovea_linux::ecache::{self, Reservation};
use fovea_linux::heap_module::{self, MappingCache, Wrap};
use fovea_linux::Root;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::size::parse_size;

/// Buffers of devices.
#[derive(Debug, Subcommand)]
pub enum HeapCommand {
    /// List the reservations.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Allocate a device's buffer, look at all of it, and give it back.
    Alloc(Alloc),
    /// Allocate and give back many times, and print how long it took.
    Bench(Bench),
}

/// `fovea heap alloc`.
#[derive(Debug, Args)]
pub struct Alloc {
    /// The device, as `fovea heap list` names it.
    device: String,
    /// How much, e.g. 4M or 65536; all of the reservation without it.
    #[arg(long, value_parser = parse_size)]
    size: Option<u64>,
    /// Keep it until standard input ends.
    #[arg(long)]
    hold: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// `fovea heap bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Devices; all of them without any.
    devices: Vec<String>,
    /// How often each is allocated.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What one allocation took.
#[derive(Debug, Serialize)]
struct Allocated {
    device: String,
    size_bytes: u64,
    alloc_ns: u64,
    /// First reading of every page, which clears it where the module does so lazily.
    first_sight_ns: u64,
    /// Words that were not zero: 0, or a bug.
    stale_words: u64,
}

/// Times of a device's allocations.
#[derive(Debug, Serialize)]
struct Times {
    device: String,
    size_bytes: u64,
    count: u32,
    least_ns: u64,
    median_ns: u64,
    most_ns: u64,
}

/// Runs it.
pub fn heap(command: HeapCommand) -> Result<(), Failure> {
    match command {
        HeapCommand::List { json } => list(json),
        HeapCommand::Alloc(options) => alloc(&options),
        HeapCommand::Bench(options) => bench(&options),
    }
}

fn reservations() -> Result<Vec<Reservation>, Failure> {
    let found = ecache::reservations(&Root::at("/")).map_err(|e| Failure::failed(e.to_string()))?;
    match found.is_empty() {
        true => Err(Failure::Lacks(
            "no reservations in /sys/class/misc: load the module dm-ecache with carveouts= and devices=".into(),
        )),
        false => Ok(found),
    }
}

fn list(json: bool) -> Result<(), Failure> {
    let root = Root::at("/");
    let failed = |e: fovea_linux::Error| Failure::failed(e.to_string());
    let (system, cache) =
        (heap_module::system_held_bytes(&root).map_err(failed)?, heap_module::mapping_cache(&root).map_err(failed)?);
    let wrap = heap_module::wrap(&root).map_err(failed)?;
    // Root's alone to read, while the rest is everybody's.
    let holders = heap_module::holders(&root).ok().flatten().unwrap_or_default();
    // Buffers of the system's pages need no reservation.
    let found = if system.is_some() { ecache::reservations(&root).map_err(failed)? } else { reservations()? };
    if json {
        return print_json(&found);
    }
    let mut out = format!("{:<24} {:>12} {:>12}\n", "device", "reserved", "held");
    for r in &found {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<24} {:>8} KiB {:>8} KiB", r.name, r.size_bytes >> 10, r.held_bytes >> 10);
    }
    if let Some(held_bytes) = system {
        let _ = writeln!(out, "{:<24} {:>12} {:>8} KiB", "(system)", "-", held_bytes >> 10);
    }
    if let Some(cache) = cache {
        out += &mapped(&cache);
    }
    if let Some(wrap) = wrap {
        out += &wrapped(&wrap);
    }
    for holder in &holders {
        let _ = writeln!(
            out,
            "held by user {} in cgroup {}: {} buffers, {} KiB",
            holder.uid,
            holder.cgroup,
            holder.buffers,
            holder.bytes >> 10
        );
    }
    print(&out)
}

/// The mapping cache in words.
fn mapped(cache: &MappingCache) -> String {
    format!(
        "mapping cache {}: {} mappings ({} idle), {} KiB; {} hits, {} misses, {} evicted, {} given up for memory, {} failed; by the kernel {} hits, {} misses\n",
        if cache.on { "on" } else { "off" },
        cache.mappings,
        cache.idle,
        cache.mapped_bytes >> 10,
        cache.hits,
        cache.misses,
        cache.evicted,
        cache.shrunk,
        cache.failures,
        cache.vmap_hits,
        cache.vmap_misses
    )
}

/// The module for other exporters' buffers in words.
fn wrapped(wrap: &Wrap) -> String {
    let seen = match wrap.active {
        true => "wrapped",
        false => "not seen: its probe is switched off (`fovea check`)",
    };
    format!(
        "buffers of other exporters are {seen}; {} wrapped, {} of them left as they are, {} missed\n",
        wrap.wrapped, wrap.refused, wrap.missed
    )
}

fn find<'a>(found: &'a [Reservation], device: &str) -> Result<&'a Reservation, Failure> {
    found.iter().find(|r| r.name == device).ok_or_else(|| {
        let names: Vec<&str> = found.iter().map(|r| r.name.as_str()).collect();
        Failure::Failed(format!("no device {device:?} has memory reserved: name one of {}", names.join(", ")))
    })
}

fn open(device: &str) -> Result<Heap, Failure> {
    Heap::open(ecache::node(&Root::at("/"), device)).map_err(|e| Failure::failed(e.to_string()))
}

/// A refusal in words.
fn refused(device: &str, size_bytes: u64, error: &std::io::Error) -> Failure {
    let mend = match error.raw_os_error() {
        Some(16) => "it holds a buffer already: end the program that has it",
        Some(22) => "ask for at least 1 byte and at most its reservation (`fovea heap list`)",
        _ => "see the kernel's log",
    };
    Failure::Failed(format!("{device}: allocating {size_bytes} bytes: {error}: {mend}"))
}

fn alloc(options: &Alloc) -> Result<(), Failure> {
    let found = reservations()?;
    let reservation = find(&found, &options.device)?;
    let size_bytes = options.size.unwrap_or(reservation.size_bytes);
    let heap = open(&options.device)?;
    let began = Instant::now();
    let buffer = heap.allocate(size_bytes).map_err(|e| refused(&options.device, size_bytes, &e))?;
    let alloc_ns = began.elapsed().as_nanos() as u64;
    let mapping = buffer.map().map_err(|e| Failure::failed(e.to_string()))?;
    let began = Instant::now();
    let stale = |word: &&AtomicU64| word.load(Ordering::Relaxed) != 0;
    let stale_words = mapping.words().iter().filter(stale).count() as u64;
    let first_sight_ns = began.elapsed().as_nanos() as u64;
    let result = Allocated { device: options.device.clone(), size_bytes, alloc_ns, first_sight_ns, stale_words };
    if options.json {
        print_json(&result)?;
    } else {
        print(&format!(
            "{}: {} KiB in {:.1} us; read and cleared in {:.1} us\n",
            result.device,
            result.size_bytes >> 10,
            result.alloc_ns as f64 / 1e3,
            result.first_sight_ns as f64 / 1e3
        ))?;
    }
    if stale_words > 0 {
        return Err(Failure::Failed(format!(
            "{}: {stale_words} words of a fresh buffer were not zero: report this as a bug",
            options.device
        )));
    }
    if options.hold {
        // Whatever ends the input ends the holding.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    }
    Ok(())
}

fn bench(options: &Bench) -> Result<(), Failure> {
    let found = reservations()?;
    let chosen: Vec<&Reservation> = match options.devices.is_empty() {
        true => found.iter().collect(),
        false => options.devices.iter().map(|device| find(&found, device)).collect::<Result<_, _>>()?,
    };
    let mut results = Vec::new();
    for reservation in chosen {
        let heap = open(&reservation.name)?;
        let mut times = Vec::with_capacity(options.count as usize);
        for _ in 0..options.count {
            let began = Instant::now();
            let buffer = heap
                .allocate(reservation.size_bytes)
                .map_err(|e| refused(&reservation.name, reservation.size_bytes, &e))?;
            times.push(began.elapsed().as_nanos() as u64);
            drop(buffer);
        }
        times.sort_unstable();
        results.push(Times {
            device: reservation.name.clone(),
            size_bytes: reservation.size_bytes,
            count: options.count,
            least_ns: times[0],
            median_ns: times[times.len() / 2],
            most_ns: times[times.len() - 1],
        });
    }
    if options.json {
        return print_json(&results);
    }
    let mut out = format!("{:<24} {:>12} {:>12} {:>12} {:>12}\n", "device", "size", "least", "median", "most");
    for t in &results {
        let us = |ns: u64| format!("{:.1} us", ns as f64 / 1e3);
        let _ = writeln!(
            out,
            "{:<24} {:>8} KiB {:>12} {:>12} {:>12}",
            t.device,
            t.size_bytes >> 10,
            us(t.least_ns),
            us(t.median_ns),
            us(t.most_ns)
        );
    }
    print(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_said_in_one_line() {
        let (on, mappings, idle, mapped_bytes) = (true, 3, 2, 6 << 20);
        let (hits, misses, evicted, shrunk, failures) = (120, 6, 1, 0, 0);
        let (vmap_hits, vmap_misses) = (7, 1);
        let cache = MappingCache {
            on,
            mappings,
            idle,
            mapped_bytes,
            hits,
            misses,
            evicted,
            shrunk,
            failures,
            vmap_hits,
            vmap_misses,
        };
        let line = "mapping cache on: 3 mappings (2 idle), 6144 KiB; 120 hits, 6 misses, 1 evicted, 0 given up for memory, 0 failed; by the kernel 7 hits, 1 misses\n";
        assert_eq!(mapped(&cache), line);
    }
}
