// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Two targets that change disks while both are suspended, as two linear devices can: each must show the other's disk, whatever was
//! cached of it; and neither may come back beside the other. And requests that must not wait.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fovea_linux::dm::Suspend;
use fovea_tests::kernel::{at, open_direct, target, Outcome, SECTOR};
use fovea_tests::pressure::drop_caches;
use fovea_tests::raw::{Pages, PAGE};

use crate::bed::{size_bytes, Volume};
use crate::calls::read_without_waiting;
use crate::Lab;

const BLOCKS: usize = 512;
const CHUNK: usize = 32;

/// Each block says whose it is, which, and which version.
fn block(disk: usize, number: usize, version: u32) -> [u8; PAGE] {
    let mut bytes = [disk as u8 + 1; PAGE];
    bytes[..8].copy_from_slice(&((number as u64) << 32 | u64::from(version)).to_le_bytes());
    bytes
}

fn write(device: &Path, disk: usize, version: u32) -> Outcome<()> {
    let (file, mut buffer) = (open_direct(device)?, Pages::new(CHUNK));
    for first in (0..BLOCKS).step_by(CHUNK) {
        for (i, to) in buffer.bytes(CHUNK).chunks_mut(PAGE).enumerate() {
            to.copy_from_slice(&block(disk, first + i, version));
        }
        at(device.display(), file.write_all_at(buffer.bytes(CHUNK), (first * PAGE) as u64))?;
    }
    Ok(())
}

/// Reads all of it through the page cache, or past it.
fn look(lab: &Lab, device: &Path, direct: bool, disk: usize, version: u32, when: &str) -> Outcome<()> {
    let file = if direct { open_direct(device)? } else { at(device.display(), File::open(device))? };
    let (mut buffer, mut wrong) = (Pages::new(CHUNK), 0);
    for first in (0..BLOCKS).step_by(CHUNK) {
        at(device.display(), file.read_exact_at(buffer.bytes(CHUNK), (first * PAGE) as u64))?;
        let found = buffer.bytes(CHUNK).chunks(PAGE).enumerate();
        wrong += found.filter(|(i, found)| *found != &block(disk, first + i, version)[..]).count();
    }
    if wrong > 0 {
        lab.report.fail(format_args!("wrong content: {} {when}: {wrong} blocks", device.display()));
    }
    Ok(())
}

/// Of all targets since the module was loaded; 0 without it.
fn pool_hits() -> u64 {
    let text = std::fs::read_to_string("/sys/module/dm_ecache/pool/hits").unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

pub fn tables(lab: &mut Lab) -> Outcome<()> {
    let disks = [lab.bed.disk(4, 4096)?, lab.bed.disk(4, 4096)?];
    let volumes: Vec<Volume> = disks.iter().map(|disk| lab.bed.volume(disk)).collect::<Outcome<_>>()?;
    // Whoever closes a device last takes its pages along.
    let _open = volumes.iter().map(|volume| open_direct(&volume.node)).collect::<Outcome<Vec<_>>>()?;
    let table = |lab: &Lab, disk: &PathBuf| -> Outcome<_> {
        let sectors = size_bytes(disk)? / SECTOR;
        Ok([target(lab.kind, 0, sectors, format!("{} 0", lab.bed.number(disk)?))])
    };
    let (mapper, hits_before) = (lab.bed.mapper(), pool_hits());
    for round in 0..6u32 {
        // Which disk each device is on.
        let on = |device: usize| (device + round as usize) % 2;
        for (device, volume) in volumes.iter().enumerate() {
            write(&volume.node, on(device), round)?;
            // Into the page cache and out of it: into the cache.
            look(lab, &volume.node, false, on(device), round, "just written")?;
            drop_caches()?;
            look(lab, &volume.node, true, on(device), round, "cached")?;
        }
        for volume in &volumes {
            at("suspend", mapper.suspend(&volume.name, Suspend::Flush))?;
        }
        for (device, volume) in volumes.iter().enumerate() {
            at("load", mapper.load(&volume.name, &table(lab, &disks[1 - on(device)])?))?;
        }
        let resumed = mapper.resume(&volumes[0].name);
        if round % 2 == 1 {
            // The second with its old table would run on the disk that the first has now.
            at("clear", mapper.clear(&volumes[1].name))?;
            let beside = mapper.resume(&volumes[1].name);
            let refused = lab.kind != fovea_contract::ECACHE_TARGET || beside.is_err();
            lab.report.check("two targets on one disk are refused", refused, format_args!("{:?}", beside.err()));
            at("load", mapper.load(&volumes[1].name, &table(lab, &disks[1 - on(1)])?))?;
        }
        // What the first writes there before the second comes back must be seen.
        at("resume", resumed)?;
        write(&volumes[0].node, 1 - on(0), round + 100)?;
        at("resume", mapper.resume(&volumes[1].name))?;
        drop_caches()?;
        for direct in [false, true] {
            look(lab, &volumes[0].node, direct, 1 - on(0), round + 100, "after the swap")?;
            look(lab, &volumes[1].node, direct, 1 - on(1), round, "after the swap")?;
        }
    }
    // Each volume counts for itself, and those before the last swap are gone.
    let hits = pool_hits() - hits_before;
    lab.report.check("what was swapped was cached", hits > 0 || !lab.has_module(), format_args!("{hits} hits"));
    volumes.iter().try_for_each(|volume| lab.compare(volume))
}

/// RWF_NOWAIT on the device: what io_uring tries before it hands a request to another thread. Served, or told to wait; not refused.
pub fn without_waiting(lab: &mut Lab) -> Outcome<()> {
    let disk = lab.bed.disk(4, 4096)?;
    let volume = lab.bed.volume(&disk)?;
    // As above: it stays open.
    let (file, mut buffer, mut served) = (open_direct(&volume.node)?, Pages::new(CHUNK), 0);
    write(&volume.node, 0, 1)?;
    look(lab, &volume.node, false, 0, 1, "just written")?;
    drop_caches()?;
    for first in (0..BLOCKS).step_by(CHUNK) {
        match read_without_waiting(&file, buffer.bytes(CHUNK), (first * PAGE) as u64) {
            Ok(length) => {
                served += length / PAGE;
                let found = buffer.bytes(CHUNK)[..length].chunks(PAGE).enumerate();
                let wrong = found.filter(|(i, found)| *found != &block(0, first + i, 1)[..]).count();
                lab.report.check("wrong content: without waiting", wrong == 0, wrong);
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(format!("RWF_NOWAIT on descriptor {}: {e}", file.as_raw_fd())),
        }
    }
    lab.report.check("requests that may not wait were served", served > 0, format_args!("{served} blocks"));
    lab.compare(&volume)
}
