// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Device buffers opened and closed at random: an allocation never fails, a buffer is one contiguous piece of the carve-outs that
//! nobody else holds, and it is empty when it is new.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use fovea_linux::dma_heap::{Access, Heap, Mapping};

use crate::content::Random;
use crate::raw::PAGE;
use crate::report::Report;
use crate::stack::read_number;
use crate::{CARVEOUTS, DEVICES};

const WORDS: usize = PAGE / 8;

/// A device's buffer while it is held.
struct Held {
    mapping: Mapping,
    first_frame: u64,
    frames: u64,
    /// Pages that were written, and what with.
    touched: Vec<usize>,
    pattern: u64,
}

struct Device {
    name: &'static str,
    size_bytes: u64,
    heap: Heap,
    held: Option<Held>,
}

struct Bench<'a> {
    devices: Vec<Device>,
    pagemap: File,
    random: Random,
    report: &'a Report,
    opened: u64,
}

/// So many sequences of open and close with nothing else going on.
pub fn sequences(report: &Report, seed: u64, count: u64) {
    let mut left = count;
    let opened = run(report, seed, || {
        let over = left == 0;
        left = left.saturating_sub(1);
        over
    });
    report.check("buffers", opened >= count / 3, format_args!("{count} opens and closes, {opened} of them opens"));
}

/// The same beside other work, until that is over.
pub fn under_load(report: &Report, seed: u64, over: impl FnMut() -> bool) {
    let opened = run(report, seed ^ 1, over);
    report.check("buffers under load", opened > 0, format_args!("{opened} opened"));
}

fn run(report: &Report, seed: u64, mut over: impl FnMut() -> bool) -> u64 {
    let mut devices = Vec::new();
    for (name, size_bytes) in DEVICES {
        let heap = report.expect(name, Heap::open(format!("/dev/ecache/{name}")));
        devices.extend(heap.map(|heap| Device { name, size_bytes, heap, held: None }));
    }
    let Some(pagemap) = report.expect("pagemap", File::open("/proc/self/pagemap")) else { return 0 };
    let mut bench = Bench { devices, pagemap, random: Random::new(seed, 400), report, opened: 0 };
    while !over() && bench.devices.len() == DEVICES.len() {
        let index = bench.random.index(DEVICES.len());
        match bench.devices[index].held.take() {
            Some(held) => bench.close(index, held),
            None => bench.open(index),
        }
    }
    for index in 0..bench.devices.len() {
        if let Some(held) = bench.devices[index].held.take() {
            bench.close(index, held);
        }
    }
    bench.opened
}

impl Bench<'_> {
    fn open(&mut self, index: usize) {
        let device = &self.devices[index];
        let most = device.size_bytes;
        // The whole reservation often: that is what leaves no room for mistakes.
        let size = if self.random.below(3) == 0 { most } else { 1 + self.random.below(most) };
        for wrong in [0, most + 1, u64::MAX] {
            let refused = device.heap.allocate(wrong).err().and_then(|e| e.raw_os_error());
            if refused != Some(libc::EINVAL) {
                self.report.fail(format_args!("{} bytes of {}: error {refused:?}, not EINVAL", wrong, device.name));
            }
        }
        let buffer = match device.heap.allocate(size) {
            Ok(buffer) => buffer,
            Err(e) => {
                return self.report.fail(format_args!("{size} of {most} bytes for {} refused: {e}", device.name));
            }
        };
        let again = device.heap.allocate(1).err().and_then(|e| e.raw_os_error());
        if again != Some(libc::EBUSY) {
            self.report.fail(format_args!("a second buffer for {}: error {again:?}, not EBUSY", device.name));
        }
        let frames = (buffer.size_bytes() / PAGE) as u64;
        let held_bytes = read_number(format!("/sys/class/misc/ecache!{}/held_bytes", device.name));
        if held_bytes != Ok(frames * PAGE as u64) {
            self.report.fail(format_args!("{} holds {held_bytes:?} bytes, not {}", device.name, frames * PAGE as u64));
        }
        let Some(mapping) = self.report.expect(device.name, buffer.map()) else { return };
        self.opened += 1;
        let pattern = self.random.next() | 1;
        let mut held = Held { mapping, first_frame: 0, frames, touched: Vec::new(), pattern };
        let touched = buffer.access(Access::ReadWrite, || self.fill(index, &mut held));
        let _ = self.report.expect("sync", touched);
        self.check_place(index, &held);
        self.devices[index].held = Some(held);
        // From here on only the mapping holds the buffer.
    }

    /// Looks at some pages: each must be where it belongs, and empty. Then writes them.
    fn fill(&mut self, index: usize, held: &mut Held) {
        let frames = held.frames as usize;
        let mut pages = vec![0, frames - 1];
        pages.extend((0..3).map(|_| self.random.index(frames)));
        pages.sort_unstable();
        pages.dedup();
        for page in pages {
            let words = &held.mapping.words()[page * WORDS..][..WORDS];
            let stale = words.iter().filter(|word| word.load(Ordering::Relaxed) != 0).count();
            if stale != 0 {
                let name = self.devices[index].name;
                self.report
                    .fail(format_args!("wrong content: page {page} of a new buffer of {name} shows {stale} old words"));
            }
            match self.frame_of(words) {
                Some(frame) if page == 0 => held.first_frame = frame,
                Some(frame) if frame == held.first_frame + page as u64 => {}
                found => {
                    let (name, first) = (self.devices[index].name, held.first_frame);
                    self.report.fail(format_args!(
                        "page {page} of {name} is in frame {found:?}, its first in {first}: a fragment"
                    ));
                }
            }
            let pattern = held.pattern.wrapping_mul(page as u64 + 1);
            words.iter().for_each(|word| word.store(pattern, Ordering::Relaxed));
            held.touched.push(page);
        }
    }

    fn close(&mut self, index: usize, held: Held) {
        let wrong = held.touched.iter().filter(|&&page| {
            let pattern = held.pattern.wrapping_mul(page as u64 + 1);
            let words = &held.mapping.words()[page * WORDS..][..WORDS];
            words.iter().any(|word| word.load(Ordering::Relaxed) != pattern)
        });
        let wrong = wrong.count();
        let name = self.devices[index].name;
        if wrong != 0 {
            self.report.fail(format_args!("wrong content: {wrong} pages of {name}'s buffer were changed: two owners"));
        }
        drop(held);
        let held_bytes = read_number(format!("/sys/class/misc/ecache!{name}/held_bytes"));
        if held_bytes != Ok(0) {
            self.report.fail(format_args!("{name} still holds {held_bytes:?} bytes"));
        }
    }

    /// In one carve-out, and in no other device's buffer.
    fn check_place(&self, index: usize, held: &Held) {
        let (start, end) = (held.first_frame, held.first_frame + held.frames);
        let page = PAGE as u64;
        let inside = CARVEOUTS.iter().any(|&(size, at)| start >= at / page && end <= (at + size) / page);
        if !inside {
            self.report.fail(format_args!(
                "{}'s buffer is in frames {start} to {end}: no carve-out",
                self.devices[index].name
            ));
        }
        for other in &self.devices {
            let Some(theirs) = &other.held else { continue };
            if start < theirs.first_frame + theirs.frames && theirs.first_frame < end {
                self.report.fail(format_args!("{} and {} share memory", self.devices[index].name, other.name));
            }
        }
    }

    /// The frame of physical memory that a mapped page is in, from /proc/self/pagemap.
    fn frame_of(&self, page: &[AtomicU64]) -> Option<u64> {
        const PRESENT: u64 = 1 << 63;
        let address = page.as_ptr() as u64;
        let mut entry = [0; 8];
        self.pagemap.read_exact_at(&mut entry, address / PAGE as u64 * 8).ok()?;
        let entry = u64::from_le_bytes(entry);
        (entry & PRESENT != 0).then_some(entry & ((1 << 55) - 1))
    }
}
