// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A stock V4L2 importer, the kernel's test driver vivid as a camera. videobuf2 keeps a buffer mapped in its slot, so what counts is whether a
//! buffer comes back to the slot that it had: it does where there are as many buffers as slots, and a pool with one more makes it wander.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::Duration;

use fovea_contract::heap_mapcache_statistics as statistics;
use fovea_heap::Buffer;
use fovea_linux::{module, Root};
use fovea_tests::kernel::{at, comes, Outcome};

use crate::bench::{set_cache, set_system, total, Bench, MIB};
use crate::display::cpu_ns;

const NODE: &str = "/dev/video0";
const DRIVER: &str = "vivid";
const FRAMES: u32 = 30;
const SLOTS: u32 = 2;
/// V4L2_BUF_TYPE_VIDEO_CAPTURE, V4L2_MEMORY_DMABUF.
const CAPTURE: u32 = 1;
const DMABUF: u32 = 4;

/// `struct v4l2_requestbuffers`.
#[repr(C)]
#[derive(Default)]
struct Slots {
    count: u32,
    kind: u32,
    memory: u32,
    rest: [u32; 2],
}

/// `struct v4l2_buffer`.
#[repr(C)]
#[derive(Default)]
struct Frame {
    index: u32,
    kind: u32,
    bytes_used: u32,
    flags: u32,
    field: u32,
    timestamp: [u64; 2],
    timecode: [u32; 4],
    sequence: u32,
    memory: u32,
    fd: i64,
    length: u32,
    rest: [u32; 3],
}

/// `struct v4l2_format` of one plane: its beginning, and the rest.
#[repr(C)]
struct Format {
    kind: u32,
    pad: u32,
    /// Width, height, pixel format, field, bytes of a line, bytes of an image.
    pixels: [u32; 6],
    rest: [u32; 44],
}

fn call<T>(node: &File, direction: u32, number: u32, argument: &mut T) -> io::Result<()> {
    let command = direction << 30 | (size_of::<T>() as u32) << 16 | (b'V' as u32) << 8 | number;
    // SAFETY: the structures above are the kernel's (linux/videodev2.h), borrowed for writing, and hold no addresses.
    match unsafe { libc::ioctl(node.as_raw_fd(), command as libc::Ioctl, std::ptr::from_mut(argument)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What a frame takes: CPU time of queueing it, mappings of the kernel's found and made, mappings for devices found and made; hundredths.
#[derive(Debug, PartialEq, Eq)]
struct Taken {
    queue_ns: u64,
    vmaps: (u64, u64),
    maps: (u64, u64),
}

fn numbers() -> Outcome<[u64; 4]> {
    Ok([
        total(statistics::VMAP_HITS)?,
        total(statistics::VMAP_MISSES)?,
        total(statistics::HITS)?,
        total(statistics::MISSES)?,
    ])
}

fn queue(node: &File, slot: u32, buffer: &Buffer) -> Outcome<()> {
    let (fd, length) = (buffer.as_fd().as_raw_fd().into(), buffer.size_bytes() as u32);
    let mut frame = Frame { index: slot, kind: CAPTURE, memory: DMABUF, fd, length, ..Frame::default() };
    at("VIDIOC_QBUF", call(node, 3, 15, &mut frame))
}

fn dequeue(node: &File) -> Outcome<u32> {
    let mut frame = Frame { kind: CAPTURE, memory: DMABUF, ..Frame::default() };
    at("VIDIOC_DQBUF", call(node, 3, 17, &mut frame))?;
    Ok(frame.index)
}

/// Frames into buffers, one after the other.
fn record(buffers: &[Buffer]) -> Outcome<Taken> {
    let node = at(NODE, File::options().read(true).write(true).open(NODE))?;
    let mut slots = Slots { count: SLOTS, kind: CAPTURE, memory: DMABUF, ..Slots::default() };
    at("VIDIOC_REQBUFS", call(&node, 3, 8, &mut slots))?;
    if slots.count != SLOTS {
        return Err(format!("{} slots in place of {SLOTS}", slots.count));
    }
    let mut next = (0..).map(|number| &buffers[number % buffers.len()]);
    let mut give = |slot| next.next().map_or(Ok(()), |buffer| queue(&node, slot, buffer));
    (0..SLOTS).try_for_each(&mut give)?;
    at("VIDIOC_STREAMON", call(&node, 1, 18, &mut CAPTURE.clone()))?;
    // Each buffer has been in each slot once.
    for _ in 0..buffers.len() * SLOTS as usize {
        give(dequeue(&node)?)?;
    }
    let (before, mut queue_ns) = (numbers()?, 0);
    for _ in 0..FRAMES {
        let slot = dequeue(&node)?;
        let began = cpu_ns();
        give(slot)?;
        queue_ns += cpu_ns() - began;
    }
    let after = numbers()?;
    let share = |n: usize| (after[n] - before[n]) * 100 / u64::from(FRAMES);
    Ok(Taken { queue_ns: queue_ns / u64::from(FRAMES), vmaps: (share(0), share(1)), maps: (share(2), share(3)) })
}

fn image_bytes() -> Outcome<u64> {
    let node = at(NODE, File::options().read(true).write(true).open(NODE))?;
    let mut format = Format { kind: CAPTURE, pad: 0, pixels: [0; 6], rest: [0; 44] };
    at("VIDIOC_G_FMT", call(&node, 3, 4, &mut format))?;
    Ok(u64::from(format.pixels[5]))
}

pub fn all(bench: &Bench) -> Outcome<()> {
    if !module::is_available(&Root::at("/"), DRIVER) {
        return Ok(());
    }
    for (memory, allocators) in [("vmalloc", 0), ("dma-contig", 1)] {
        let parameters = format!("node_types=0x1 no_error_inj=1 allocators={allocators}");
        at(DRIVER, module::load_with(&Root::at("/"), DRIVER, &parameters))?;
        comes(Duration::from_secs(10), || Ok(Path::new(NODE).exists()))?;
        one(bench, memory)?;
        at("unloading vivid", module::remove(DRIVER))?;
    }
    Ok(())
}

fn one(bench: &Bench, memory: &str) -> Outcome<()> {
    // Its DMA is one piece, as nothing translates for it; the kernel's mapping is dear where pages are scattered.
    let contiguous = memory == "dma-contig";
    let size_bytes = if contiguous { MIB } else { image_bytes()?.next_multiple_of(4096) };
    if image_bytes()? > size_bytes {
        return Err(format!("an image of {} bytes", image_bytes()?));
    }
    for (wanders, count) in [(false, SLOTS), (true, SLOTS + 1)] {
        let mut found = Vec::new();
        for on in [0, 1] {
            set_cache("mapcache", on)?;
            set_system("scatter", if contiguous { "0" } else { "1" })?;
            let buffers = (0..count).map(|_| bench.buffer(size_bytes)).collect::<Outcome<Vec<Buffer>>>()?;
            set_system("scatter", "0")?;
            found.push(record(&buffers)?);
        }
        let mapped = |taken: &Taken| if contiguous { taken.maps } else { taken.vmaps };
        let made = if wanders { 100 } else { 0 };
        bench.check(
            format_args!("{DRIVER} by {memory}, {count} buffers in {SLOTS} slots: mapped with each frame: {wanders}"),
            mapped(&found[0]) == (0, made) && mapped(&found[1]) == (made, 0),
            format_args!("off {:?}, on {:?}", found[0], found[1]),
        );
    }
    Ok(())
}
