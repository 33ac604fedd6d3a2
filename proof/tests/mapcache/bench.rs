// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What all checks share: heaps, devices, the cache's numbers, content.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering;

use fovea_contract::{
    HEAP_DEBUGFS_DEVICES, HEAP_DEBUGFS_FOLDER, HEAP_FOLDER, HEAP_MAPCACHE_FOLDER, HEAP_MODULE, HEAP_SHARED_FOLDER,
    SYSTEM_MODULE, SYSTEM_NODE,
};
use fovea_edu::{Direction, Edu, TRANSFER_MAX};
use fovea_heap::{Access, Buffer, Heap, Mapping};
use fovea_tests::content::Random;
use fovea_tests::kernel::{at, read_number, write_file, Outcome};
use fovea_tests::report::Report;

use crate::Options;

pub const PAGE: usize = 4096;
pub const MIB: u64 = 1 << 20;
/// PCI slots of the devices.
pub const SLOTS: [u32; 2] = [4, 5];
/// The eCache's device.
pub const VIDEO: &str = "video";
pub const VIDEO_BYTES: u64 = 4 << 20;

pub struct Bench<'a> {
    pub options: &'a Options,
    pub report: &'a Report,
    pub system: Heap,
    pub video: Heap,
}

impl Bench<'_> {
    pub fn open<'a>(options: &'a Options, report: &'a Report) -> Outcome<Bench<'a>> {
        let system = at("system", Heap::open(format!("/dev/{HEAP_SHARED_FOLDER}/{SYSTEM_NODE}")))?;
        let video = at("video", Heap::open(format!("/dev/{HEAP_FOLDER}/{VIDEO}")))?;
        if options.bounces() {
            set_system("max_order", "4")?;
        }
        Ok(Bench { options, report, system, video })
    }

    /// A buffer of system pages of which no two are neighbours.
    pub fn scattered(&self, size_bytes: u64) -> Outcome<Buffer> {
        set_system("scatter", "1")?;
        let buffer = at("a scattered buffer", self.system.allocate(size_bytes));
        set_system("scatter", "0")?;
        buffer
    }

    /// One in few pieces.
    pub fn buffer(&self, size_bytes: u64) -> Outcome<Buffer> {
        at("a buffer", self.system.allocate(size_bytes))
    }

    /// What a device takes in one piece at most, of so many bytes: it can be given copies of small pieces only.
    pub fn piece_bytes(&self, size_bytes: u64) -> u64 {
        if self.options.bounces() {
            size_bytes.min(128 << 10)
        } else {
            size_bytes
        }
    }

    pub fn check(&self, what: impl std::fmt::Display, holds: bool, found: impl std::fmt::Display) {
        self.report.check(what, holds, found);
    }
}

pub fn edu(slot: u32) -> Outcome<Edu> {
    at(format_args!("/dev/edu-{slot}"), Edu::open(slot))
}

pub fn set_system(parameter: &str, value: &str) -> Outcome<()> {
    write_file(format!("/sys/module/{SYSTEM_MODULE}/parameters/{parameter}"), value)
}

pub fn set_cache(parameter: &str, value: impl ToString) -> Outcome<()> {
    write_file(format!("/sys/module/{HEAP_MODULE}/parameters/{parameter}"), &value.to_string())
}

/// A number of the cache's.
pub fn total(name: &str) -> Outcome<u64> {
    read_number(format!("/sys/module/{HEAP_MODULE}/{HEAP_MAPCACHE_FOLDER}/{name}"))
}

/// A device's number, 0 if the cache does not know the device.
pub fn of_device(slot: u32, name: &str) -> Outcome<u64> {
    let path = Path::new("/sys/kernel/debug").join(HEAP_DEBUGFS_FOLDER).join(HEAP_DEBUGFS_DEVICES);
    let text = at(path.display(), fs::read_to_string(&path))?;
    let line = text.lines().find(|line| line.starts_with(&address(slot)));
    let word = line.and_then(|line| line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')));
    at(name, word.unwrap_or("0").parse())
}

/// A PCI device's name.
pub fn address(slot: u32) -> String {
    format!("0000:00:{slot:02x}.0")
}

/// Bytes that depend on a number.
pub fn pattern(number: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(number, 77);
    (0..length).map(|_| random.draw() as u8).collect()
}

/// A buffer's bytes.
pub struct View<'a> {
    pub buffer: &'a Buffer,
    mapping: Mapping,
}

impl View<'_> {
    pub fn of(buffer: &Buffer) -> Outcome<View<'_>> {
        Ok(View { buffer, mapping: at("mapping a buffer", buffer.map())? })
    }

    /// `offset` and the length: multiples of 8.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Outcome<()> {
        let words = &self.mapping.words()[offset / 8..][..bytes.len() / 8];
        let work = || {
            for (word, bytes) in words.iter().zip(bytes.chunks_exact(8)) {
                word.store(u64::from_le_bytes(bytes.try_into().unwrap_or_default()), Ordering::Relaxed);
            }
        };
        at("writing a buffer", self.buffer.access(Access::Write, work))
    }

    pub fn read(&self, offset: usize, length: usize) -> Outcome<Vec<u8>> {
        let words = &self.mapping.words()[offset / 8..][..length / 8];
        let work = || words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        at("reading a buffer", self.buffer.access(Access::Read, work))
    }

    /// The CPU writes, the device must read that.
    pub fn out(&self, edu: &Edu, direction: Direction, offset: usize, number: u64) -> Outcome<bool> {
        let bytes = pattern(number, TRANSFER_MAX);
        self.write(offset, &bytes)?;
        at("DMA", edu.transfer(self.buffer.as_fd(), direction, offset as u64, bytes.len(), false))?;
        Ok(at("the device's memory", edu.store(bytes.len()))? == bytes)
    }

    /// The device writes, the CPU must read that, and beside it what was there.
    pub fn back(&self, edu: &Edu, direction: Direction, offset: usize, number: u64) -> Outcome<bool> {
        let bytes = pattern(number, TRANSFER_MAX / 2);
        let beside = pattern(number ^ 1 << 40, TRANSFER_MAX / 2);
        self.write(offset, &[&beside[..], &beside[..]].concat())?;
        at("the device's memory", edu.load(&bytes))?;
        at("DMA", edu.transfer(self.buffer.as_fd(), direction, offset as u64, bytes.len(), true))?;
        Ok(self.read(offset, TRANSFER_MAX)? == [bytes, beside].concat())
    }
}
