// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! In which pieces memory is free; and memory without large ones, for exporters that cannot be told to do without: `fovea-system-heap` with `scatter`
//! takes every other page until the kernel has none left to give. The pages between are what the exporter gets.

use fovea_contract::{HEAP_SHARED_FOLDER, SYSTEM_NODE};
use fovea_heap::{Buffer, Heap};
use fovea_linux::PageSize;

use crate::outcome::{read_file, At, Outcome};

/// The smallest piece that the kernel's system heap takes beside single pages: 64 KiB.
const LARGE_ORDER: usize = 4;
/// What may be left of such: zones keep some of their memory from such requests as these.
const LEFT_BYTES: u64 = 3 << 20;
const STEP_BYTES: u64 = 1 << 20;
/// No phone of ours has more memory.
const STEPS_MAX: usize = 4096;

/// Takes it; the rest is single pages for as long as this is held.
pub fn ballast() -> Outcome<Vec<Buffer>> {
    let path = format!("/dev/{HEAP_SHARED_FOLDER}/{SYSTEM_NODE}");
    let heap = Heap::open(&path).map_err(|e| e.to_string())?;
    let mut held = Vec::new();
    while large_bytes(&read_file("/proc/buddyinfo")?) > LEFT_BYTES {
        if held.len() == STEPS_MAX {
            return Err(format!("{path}: memory has large pieces after {STEPS_MAX} buffers"));
        }
        held.push(heap.allocate(STEP_BYTES).at(|| format!("{path}: taking every other page"))?);
    }
    Ok(held)
}

/// Free pieces of each order, of /proc/buddyinfo: a zone in each line.
pub fn pieces(buddyinfo: &str) -> Vec<u64> {
    let mut all = Vec::new();
    for line in buddyinfo.lines() {
        for (order, count) in line.split_ascii_whitespace().skip(4).enumerate() {
            all.resize(all.len().max(order + 1), 0);
            all[order] += count.parse::<u64>().unwrap_or(0);
        }
    }
    all
}

fn large_bytes(buddyinfo: &str) -> u64 {
    let large = pieces(buddyinfo).into_iter().enumerate().skip(LARGE_ORDER);
    large.map(|(order, count)| count << order).sum::<u64>() * PageSize::of_system().bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_pieces_count() {
        let text = "Node 0, zone      DMA      9      9      9      9      1      0      0      0      0      0      2\n\
                    Node 0, zone    DMA32     70     60     50     40      0      3      0      0      0      0      0\n";
        assert_eq!(large_bytes(text), (16 + 2 * 1024 + 3 * 32) * 4096);
        assert_eq!(large_bytes(""), 0);
        assert_eq!(pieces(text), [79, 69, 59, 49, 1, 3, 0, 0, 0, 0, 2]);
    }
}
