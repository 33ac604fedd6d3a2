// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kinds of memory, and what lies where.

use std::ffi::c_void;
use std::io;

use fovea_linux::PageSize;
use fovea_scenario::PAGE_BYTES;

use crate::outcome::{read_file, At, Outcome};
use crate::readings::{field, list, system_ns};

/// Pages asked about together.
const BATCH: usize = 512;

const TIERS: &str = "/sys/devices/virtual/memory_tiering";

/// The fast node, and the slow one: one of each, in the kernel's two tiers.
pub fn find() -> Outcome<[u32; 2]> {
    let mut tiers = Vec::new();
    for name in list(TIERS)? {
        let Some(number) = name.strip_prefix("memory_tier").and_then(|n| n.parse::<u32>().ok()) else { continue };
        let nodes = read_file(format!("{TIERS}/{name}/nodelist"))?;
        tiers.push((number, nodes.trim().parse().at(|| format!("{name} has nodes {nodes:?}"))?));
    }
    tiers.sort_unstable();
    match tiers[..] {
        [(_, fast), (_, slow)] => Ok([fast, slow]),
        _ => Err(format!("{} memory tiers, not 2: give the phone [tiers]", tiers.len())),
    }
}

fn meminfo(node: u32, name: &str) -> Outcome<u64> {
    let path = format!("/sys/devices/system/node/node{node}/meminfo");
    let found = field(&read_file(&path)?, &format!("Node {node} {name}:"));
    found.map(|kib| kib << 10).ok_or_else(|| format!("{path}: no {name}"))
}

/// All memory of a node that the kernel manages.
pub fn total_bytes(node: u32) -> Outcome<u64> {
    meminfo(node, "MemTotal")
}

/// What the kernel keeps free of a node before it begins to reclaim there.
fn kept_bytes(node: u32) -> Outcome<u64> {
    let text = read_file("/proc/zoneinfo")?;
    let mut sum = 0;
    let mut ours = false;
    for line in text.lines() {
        if line.starts_with("Node ") {
            ours = line.starts_with(&format!("Node {node},"));
        } else if ours {
            sum += field(line.trim_start(), "high ").unwrap_or(0);
        }
    }
    Ok(sum * PageSize::of_system().bytes())
}

/// Takes of a node all but so much, and what the kernel keeps free, for good.
pub fn leave(node: u32, bytes: u64) -> Outcome<()> {
    let (free, keep) = (meminfo(node, "MemFree")?, bytes + kept_bytes(node)?);
    let Some(take) = free.checked_sub(keep).map(|take| take as usize / PAGE_BYTES * PAGE_BYTES) else {
        return Err(format!("node {node} has {free} bytes free, and {keep} are to be left: use a lower fast_percent"));
    };
    if take == 0 {
        return Ok(());
    }
    const MPOL_BIND: libc::c_int = 2;
    let mask = 1u64 << node;
    // SAFETY: a new mapping of ours, where the kernel likes; the mask is read, and has the 64 bits that are told.
    let done = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let at = libc::mmap(std::ptr::null_mut(), take, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if at == libc::MAP_FAILED {
            -1
        } else {
            match libc::syscall(libc::SYS_mbind, at, take, MPOL_BIND, &raw const mask, 64 + 1, 0) {
                0 => libc::mlock(at, take),
                _ => -1,
            }
        }
    };
    match done {
        0 => Ok(()),
        _ => Err(format!("taking {take} bytes of node {node}: {}", io::Error::last_os_error())),
    }
}

/// The node of each of this process's own pages; none where there is no page.
pub fn of_pages(addresses: &[usize]) -> Outcome<Vec<Option<u32>>> {
    let mut nodes = Vec::with_capacity(addresses.len());
    for batch in addresses.chunks(BATCH) {
        let mut status = [-1i32; BATCH];
        let pages: Vec<*const c_void> = batch.iter().map(|&address| address as *const c_void).collect();
        // SAFETY: without nodes nothing is moved: the kernel reads as many addresses, which it does not follow, and writes as many numbers.
        let done = unsafe {
            let none = std::ptr::null::<libc::c_int>();
            libc::syscall(libc::SYS_move_pages, 0, batch.len(), pages.as_ptr(), none, status.as_mut_ptr(), 0)
        };
        if done != 0 {
            return Err(format!("asking where pages are: {}", io::Error::last_os_error()));
        }
        nodes.extend(status[..batch.len()].iter().map(|&node| u32::try_from(node).ok()));
    }
    Ok(nodes)
}

/// What the kernel has done since boot.
pub struct Work {
    pub moved_pages: u64,
    pub system_ns: u64,
}

impl Work {
    pub fn read() -> Outcome<Work> {
        let moved = field(&read_file("/proc/vmstat")?, "pgmigrate_success ");
        Ok(Work { moved_pages: moved.ok_or("/proc/vmstat: no pgmigrate_success")?, system_ns: system_ns()? })
    }
}

/// The physical addresses of a node: from its first block of memory to the end of its last.
pub fn addresses(node: u32) -> Outcome<[u64; 2]> {
    let text = read_file("/proc/zoneinfo")?;
    let mut ends: Option<[u64; 2]> = None;
    let mut zone = None;
    for line in text.lines() {
        if line.starts_with("Node ") {
            zone = line.starts_with(&format!("Node {node},")).then_some(0);
        }
        let line = line.trim_start();
        if let (Some(spanned), Some(pages)) = (&mut zone, field(line, "spanned ")) {
            *spanned = pages;
        }
        if let (Some(spanned), Some(first)) = (zone.filter(|&n| n > 0), field(line, "start_pfn:")) {
            let [low, high] = ends.unwrap_or([u64::MAX, 0]);
            ends = Some([low.min(first), high.max(first + spanned)]);
        }
    }
    ends.map(|ends| ends.map(|page| page * PageSize::of_system().bytes()))
        .ok_or_else(|| format!("/proc/zoneinfo: no node {node}"))
}
