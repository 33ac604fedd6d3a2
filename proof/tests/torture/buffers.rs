// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Device buffers opened and closed at random: an allocation never fails, a buffer is one contiguous piece of the carve-outs that
//! nobody else holds, and it is empty when it is new.
//!
//! Where a buffer is, the trace event `ecache_alloc` tells; that it really is there, physical memory does: what is written through the
//! mapping must show there, page by page.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use fovea_contract::{ecache_alloc_fields as fields, ecache_events, ECACHE_EVENTS_FOLDER};
use fovea_heap::{Access, Heap, Mapping};
use fovea_tests::content::Random;
use fovea_tests::raw::frame_bytes;
use fovea_tests::report::Report;
use rustix::mount::{mount, MountFlags};

use crate::physical::Physical;
use crate::stack::{read_number, write_file};
use crate::DEVICES;

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
    trace: Trace,
    memory: Physical,
    random: Random,
    report: &'a Report,
    opened: u64,
}

/// So many sequences of open and close with nothing else going on.
pub fn sequences(report: &Report, seed: u64, count: u64) {
    // Each step opens a device's buffer or closes it.
    let mut steps = 2 * count;
    let opened = run(report, seed, || {
        let over = steps == 0;
        steps = steps.saturating_sub(1);
        if over {
            Now::End
        } else {
            Now::Work
        }
    });
    report.check("buffers", opened >= count, format_args!("{opened} opened and closed"));
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    Work,
    /// All is given back, so that the cache has all frames and fills up.
    Rest,
    End,
}

/// The same beside other work.
pub fn under_load(report: &Report, seed: u64, now: impl FnMut() -> Now) {
    let opened = run(report, seed ^ 1, now);
    report.check("buffers under load", opened > 0, format_args!("{opened} opened"));
}

fn run(report: &Report, seed: u64, mut now: impl FnMut() -> Now) -> u64 {
    let mut devices = Vec::new();
    for (name, size_bytes) in DEVICES {
        let heap = report.expect(name, Heap::open(format!("/dev/ecache/{name}")));
        devices.extend(heap.map(|heap| Device { name, size_bytes, heap, held: None }));
    }
    let (trace, memory) = (Trace::open(), Physical::open());
    let (Some(trace), Some(memory)) = (report.expect("trace", trace), report.expect("physical memory", memory)) else {
        return 0;
    };
    let mut bench = Bench { devices, trace, memory, random: Random::new(seed, 400), report, opened: 0 };
    while bench.devices.len() == DEVICES.len() {
        match now() {
            Now::Work => bench.step(),
            Now::Rest => {
                bench.close_all();
                // Nothing waits for this; it leaves the CPU to those who fill the cache.
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            Now::End => break,
        }
    }
    bench.close_all();
    bench.opened
}

impl Bench<'_> {
    fn step(&mut self) {
        let index = self.random.index(DEVICES.len());
        match self.devices[index].held.take() {
            Some(held) => self.close(index, held),
            None => self.open(index),
        }
    }

    fn close_all(&mut self) {
        for index in 0..self.devices.len() {
            if let Some(held) = self.devices[index].held.take() {
                self.close(index, held);
            }
        }
    }

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
        let frames = (buffer.size_bytes() / frame_bytes()) as u64;
        let held_bytes = read_number(format!("/sys/class/misc/ecache!{}/held_bytes", device.name));
        if held_bytes != Ok(frames * frame_bytes() as u64) {
            self.report.fail(format_args!(
                "{} holds {held_bytes:?} bytes, not {}",
                device.name,
                frames * frame_bytes() as u64
            ));
        }
        let Some(mapping) = self.report.expect(device.name, buffer.map()) else { return };
        self.opened += 1;
        let pattern = self.random.draw() | 1;
        let place = self.trace.allocation();
        let Some((_, first_frame, _)) = place.clone().filter(|p| (p.0.as_str(), p.2) == (device.name, frames)) else {
            return self.report.fail(format_args!("{frames} pages for {}: the trace says {place:?}", device.name));
        };
        let mut held = Held { mapping, first_frame, frames, touched: Vec::new(), pattern };
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
            let words = &words_of(&held.mapping, page);
            let stale = words.iter().filter(|word| word.load(Ordering::Relaxed) != 0).count();
            if stale != 0 {
                let name = self.devices[index].name;
                self.report
                    .fail(format_args!("wrong content: page {page} of a new buffer of {name} shows {stale} old words"));
            }
            let pattern = held.pattern.wrapping_mul(page as u64 + 1);
            words.iter().for_each(|word| word.store(pattern, Ordering::Relaxed));
            held.touched.push(page);
            let physical = self.memory.of_frame(held.first_frame + page as u64);
            let mut found = [0; 16];
            let read = physical.map(|at| {
                let (start, end) = found.split_at_mut(8);
                // The page's first and last word.
                self.memory.read(start, at).and_then(|()| self.memory.read(end, at + frame_bytes() as u64 - 8))
            });
            let there = u128::from(pattern) << 64 | u128::from(pattern);
            if !matches!(read, Some(Ok(()))) || u128::from_le_bytes(found) != there {
                let (name, first) = (self.devices[index].name, held.first_frame);
                self.report.fail(format_args!(
                    "page {page} of {name}, which begins in frame {first}, is not at {physical:x?}: a fragment ({read:?})"
                ));
            }
        }
    }

    fn close(&mut self, index: usize, held: Held) {
        let wrong = held.touched.iter().filter(|&&page| {
            let pattern = held.pattern.wrapping_mul(page as u64 + 1);
            let words = &words_of(&held.mapping, page);
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
        // Neighbours by number are neighbours in memory within one carve-out only.
        let (first, last) = (self.memory.of_frame(start), self.memory.of_frame(end - 1));
        if first.zip(last).is_none_or(|(first, last)| last - first != (held.frames - 1) * frame_bytes() as u64) {
            let name = self.devices[index].name;
            self.report.fail(format_args!("{name}'s buffer is in frames {start} to {end}: not in one carve-out"));
        }
        for other in &self.devices {
            let Some(theirs) = &other.held else { continue };
            if start < theirs.first_frame + theirs.frames && theirs.first_frame < end {
                self.report.fail(format_args!("{} and {} share memory", self.devices[index].name, other.name));
            }
        }
    }
}

fn words_of(mapping: &Mapping, page: usize) -> &[AtomicU64] {
    let count = frame_bytes() / size_of::<u64>();
    &mapping.words()[page * count..][..count]
}

/// The module's word on where buffers are.
struct Trace {
    pipe: File,
    text: String,
}

impl Trace {
    fn open() -> Result<Trace, String> {
        let root = Path::new("/sys/kernel/tracing");
        if !root.join("events").exists() {
            let mounted = mount("tracefs", root, "tracefs", MountFlags::empty(), None);
            mounted.map_err(|e| format!("mounting tracefs: {e}"))?;
        }
        // Names of tasks are recorded by trace points of the scheduler, whose switching patches its hottest code while all CPUs run it:
        // QEMU's translation, many CPUs at once, has been seen to execute the patcher's int3 after it was gone ("Oops: int3").
        write_file(root.join("options/record-cmd"), "0")?;
        // An instance of our own begins empty.
        let instance = root.join("instances/buffers");
        let _ = std::fs::remove_dir(&instance);
        std::fs::create_dir(&instance).map_err(|e| format!("{}: {e}", instance.display()))?;
        let events = instance.join("events").join(ECACHE_EVENTS_FOLDER);
        write_file(events.join(ecache_events::ALLOC).join("enable"), "1")?;
        let pipe = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(instance.join("trace_pipe"));
        Ok(Trace { pipe: pipe.map_err(|e| e.to_string())?, text: String::new() })
    }

    /// The oldest allocation not asked for yet: name, first frame, number of frames.
    fn allocation(&mut self) -> Option<(String, u64, u64)> {
        let mut bytes = [0; 4096];
        while !self.text.contains('\n') {
            let length = self.pipe.read(&mut bytes).ok().filter(|&length| length > 0)?;
            self.text += &String::from_utf8_lossy(&bytes[..length]);
        }
        let (line, rest) = self.text.split_once('\n')?;
        let value = |key: &str| {
            let word = line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            word.map(str::to_owned)
        };
        let found = (value(fields::NAME)?, value(fields::FIRST)?.parse().ok()?, value(fields::COUNT)?.parse().ok()?);
        self.text = rest.to_owned();
        Some(found)
    }
}
