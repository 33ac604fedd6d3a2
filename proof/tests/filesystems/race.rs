// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Requests that overlap: blocks are read, evicted and read again while one request over all of them is on its way down, which takes
//! many steps to make the cache forget them.
//!
//! The window is wide on purpose. Those who read share one CPU with who writes, run before it, and wake every 50 us: wherever the
//! writer gives way between two of these steps, blocks are read. Many pages are followed, so that there are many steps.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fovea_tests::kernel::{at, load_module, open_direct, Outcome};
use fovea_tests::raw::{discard, zero_out, Pages, PAGE};
use rustix::fs::{fadvise, Advice};

use crate::bed::Volume;
use crate::calls::{on_first_cpu, Memory};
use crate::tree::read_whole;
use crate::Lab;

/// More than the module looks at as one piece (2 MiB), less than the cache has frames.
const AREA_BYTES: usize = 6 << 20;
const AREA_BLOCKS: usize = AREA_BYTES / PAGE;
const READ_BLOCKS: usize = 16;
const READERS: u64 = 2;
/// Time for reads while a request has passed the target and has not ended.
const WRITE_DELAY_MS: u64 = 4;
/// Pages followed beside those of the area.
const CROWD_MIB: usize = 48;

/// What is sent down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A direct write of whole blocks.
    Aligned,
    /// A direct write that begins and ends inside of blocks.
    Unaligned,
    Discard,
    Zero,
}

pub fn race(lab: &mut Lab, request: Request) -> Outcome<()> {
    load_module("dm_delay")?;
    // Requests that end inside of blocks need small sectors, which cost.
    let disk = lab.bed.disk(16, if request == Request::Unaligned { 512 } else { 4096 })?;
    let slow = lab.bed.map("delay", &disk, |number| format!("{number} 0 0 {number} 0 {WRITE_DELAY_MS}"))?;
    let volume = lab.bed.volume(&slow)?;
    // A device above: what is sent to it passes the target, and does not keep readers of the target's own page cache out.
    let above = lab.bed.map("linear", &volume.node, |number| format!("{number} 0"))?;
    let crowd_disk = lab.bed.disk(CROWD_MIB as u64, 4096)?;
    let crowd = lab.bed.volume(&crowd_disk)?;
    let crowd = at("crowd", File::open(&crowd.node))?;
    let mut bytes = vec![0; 1 << 20];
    for mib in 0..CROWD_MIB {
        at("crowd", crowd.read_exact_at(&mut bytes, (mib as u64) << 20))?;
    }

    let phase = Phase::default();
    std::thread::scope(|scope| {
        for reader in 0..READERS {
            let (volume, phase, report) = (&volume, &phase, lab.report);
            scope.spawn(move || {
                if let Err(e) = read_meanwhile(volume, phase, reader as usize) {
                    report.fail(format_args!("reading: {e}"));
                }
            });
        }
        let lab = &*lab;
        let done = scope.spawn(|| write_and_look(lab, &volume, &above, request, &phase));
        let done = done.join().unwrap_or_else(|_| Err("panicked".into()));
        phase.over.store(true, Ordering::Relaxed);
        done
    })?;
    lab.compare(&volume)
}

#[derive(Default)]
struct Phase {
    /// A request is on its way.
    now: AtomicBool,
    over: AtomicBool,
}

/// Reads through the page cache while a request is on its way; of two readers one goes up and one down.
fn read_meanwhile(volume: &Volume, phase: &Phase, reader: usize) -> Outcome<()> {
    let file = at("volume", File::open(&volume.node))?;
    at("a real-time priority", on_first_cpu(true))?;
    let mut buffer = Pages::new(READ_BLOCKS);
    let mut next = 0;
    while !phase.over.load(Ordering::Relaxed) {
        if phase.now.load(Ordering::Relaxed) {
            let step = next % (AREA_BLOCKS / READ_BLOCKS);
            let place = if reader == 0 { step } else { AREA_BLOCKS / READ_BLOCKS - 1 - step };
            at("read", file.read_exact_at(buffer.bytes(READ_BLOCKS), (place * READ_BLOCKS * PAGE) as u64))?;
            next += 1;
        }
        // Nothing waits for this: it lets the writer go on by a step or two.
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

fn write_and_look(lab: &Lab, volume: &Volume, above: &Path, request: Request, phase: &Phase) -> Outcome<()> {
    at("a CPU", on_first_cpu(false))?;
    let buffered = at("volume", File::open(&volume.node))?;
    let direct = open_direct(&volume.node)?;
    let above = open_direct(above)?;
    let mut memory = at("huge pages", Memory::huge(AREA_BYTES.next_multiple_of(2 << 20)))?;
    let mut found = Pages::new(256);
    for round in 0..lab.rounds {
        // Never zeros, which a discard leaves.
        let value = (round % 255) as u8 + 1;
        memory.bytes().fill(value);
        if matches!(request, Request::Discard | Request::Zero) {
            at("write", direct.write_all_at(&memory.bytes()[..AREA_BYTES], 0))?;
        }
        // All of it to the cache.
        for start in (0..AREA_BYTES).step_by(256 * PAGE) {
            at("read", buffered.read_exact_at(found.bytes(256), start as u64))?;
        }
        at("fadvise", fadvise(&buffered, 0, None, Advice::DontNeed))?;
        phase.now.store(true, Ordering::Relaxed);
        let (right, inside) = match request {
            Request::Aligned => {
                at("write", above.write_all_at(&memory.bytes()[..AREA_BYTES], 0))?;
                (value, 0..AREA_BYTES)
            }
            Request::Unaligned => {
                at("write", above.write_all_at(&memory.bytes()[..AREA_BYTES - 1024], 512))?;
                (value, 512..AREA_BYTES - 512)
            }
            Request::Discard => {
                (0, discard(&above, 0, AREA_BYTES as u64).map(|()| 0..AREA_BYTES).map_err(|e| e.to_string())?)
            }
            Request::Zero => {
                (0, zero_out(&above, 0, AREA_BYTES as u64).map(|()| 0..AREA_BYTES).map_err(|e| e.to_string())?)
            }
        };
        phase.now.store(false, Ordering::Relaxed);
        // Who was followed and should not have been is put now.
        at("fadvise", fadvise(&buffered, 0, None, Advice::DontNeed))?;
        let mut stale = 0;
        let page = [right; PAGE];
        for start in (0..AREA_BYTES).step_by(256 * PAGE) {
            let bytes = found.bytes(256);
            at("read", read_whole(&direct, bytes, start as u64, bytes.len()))?;
            for (number, block) in bytes.chunks(PAGE).enumerate() {
                let first = start + number * PAGE;
                let whole = inside.contains(&first) && inside.contains(&(first + PAGE - 1));
                stale += usize::from(whole && block != page);
            }
        }
        if stale > 0 {
            lab.report
                .fail(format_args!("wrong content: {stale} blocks stale after {request:?} number {round} had ended"));
            break;
        }
    }
    Ok(())
}
