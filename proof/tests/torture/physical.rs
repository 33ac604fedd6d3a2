// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Physical memory, read past the module: what is written to a device's buffer must show where its frames are.
//!
//! Carve-outs that Linux never had are read through /dev/mem, which the phone's kernel opens to us with `iomem=relaxed`. Memory that
//! was Linux's own, /dev/mem does not show; /proc/kcore does, which is the kernel's linear mapping as a core file.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use fovea_contract::ecache_parameters::CARVEOUTS;
use fovea_tests::raw::frame_bytes;

use crate::stack::{module_file, Outcome};

pub struct Physical {
    carveouts: Vec<(u64, u64)>,
    memory: File,
    kcore: File,
    linear: Vec<Segment>,
}

/// A piece of the core file that holds memory of the linear mapping.
struct Segment {
    address: u64,
    size_bytes: u64,
    offset: u64,
}

impl Physical {
    pub fn open() -> Outcome<Physical> {
        let open = |path: &str| File::open(path).map_err(|e| format!("{path}: {e}"));
        let kcore = open("/proc/kcore")?;
        Ok(Physical {
            carveouts: carveouts()?,
            memory: open("/dev/mem")?,
            linear: segments(&kcore).map_err(|e| format!("/proc/kcore: {e}"))?,
            kcore,
        })
    }

    /// Where a frame is.
    pub fn of_frame(&self, frame: u64) -> Option<u64> {
        let mut offset = frame * frame_bytes() as u64;
        for (size, at) in &self.carveouts {
            if offset < *size {
                return Some(at + offset);
            }
            offset -= size;
        }
        None
    }

    pub fn read(&self, bytes: &mut [u8], address: u64) -> io::Result<()> {
        let inside = |s: &&Segment| (s.address..s.address + s.size_bytes).contains(&address);
        match self.linear.iter().find(inside) {
            Some(segment) => self.kcore.read_exact_at(bytes, segment.offset + (address - segment.address)),
            None => self.memory.read_exact_at(bytes, address),
        }
    }
}

/// What the module says.
pub fn carveouts() -> Outcome<Vec<(u64, u64)>> {
    let text = fs::read_to_string(module_file(CARVEOUTS)).map_err(|e| format!("{CARVEOUTS}: {e}"))?;
    let one = |line: &str| {
        let (size, at) = line.split_once('@')?;
        Some((size.parse().ok()?, u64::from_str_radix(at.strip_prefix("0x")?, 16).ok()?))
    };
    text.lines().map(|line| one(line).ok_or_else(|| format!("{CARVEOUTS}: {line:?}"))).collect()
}

/// The program headers of a 64-bit ELF file of this machine's byte order whose physical address is known.
fn segments(file: &File) -> io::Result<Vec<Segment>> {
    const HEADER: usize = 56;
    const LOAD: u32 = 1;
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0)?;
    let word = |bytes: &[u8], at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    let (first, count) = (word(&head, 32), u16::from_ne_bytes([head[56], head[57]]));
    let mut table = vec![0; HEADER * usize::from(count)];
    file.read_exact_at(&mut table, first)?;
    let of = |header: &[u8]| {
        let kind = u32::from_ne_bytes(std::array::from_fn(|i| header[i]));
        let (offset, address, size_bytes) = (word(header, 8), word(header, 24), word(header, 32));
        (kind == LOAD && address.checked_add(size_bytes).is_some()).then_some(Segment { address, size_bytes, offset })
    };
    Ok(table.chunks_exact(HEADER).filter_map(of).collect())
}
