// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The bounce pool, which all devices share: what nobody uses takes nothing of it, and a disk reads whatever importers have done.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use fovea_contract::heap_mapcache_statistics as statistics;
use fovea_edu::Direction;
use fovea_heap::Buffer;
use fovea_tests::kernel::{at, comes, read_number, Outcome};
use fovea_tests::raw::Pages;

use crate::bench::{edu, set_system, total, Bench, MIB, PAGE, SLOTS};

const POOL: &str = "/sys/kernel/debug/swiotlb";
/// A disk whose requests go by the pool.
const DISK: &str = "/dev/nvme0n1";
/// A slot's bytes.
const SLOT_BYTES: u64 = 2048;

fn used() -> Outcome<u64> {
    read_number(format!("{POOL}/io_tlb_used"))
}

/// Whether 2 MiB are read from the disk, in requests as large as it takes. A read that waits for slots has no end, so another thread has it.
fn disk_reads() -> Outcome<bool> {
    let read = || -> std::io::Result<()> {
        let mut disk = File::options().read(true).custom_flags(libc::O_DIRECT).open(DISK)?;
        disk.read_exact(Pages::new(512).bytes(512))
    };
    let done = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&done);
    std::thread::spawn(move || set.store(read().is_ok(), Ordering::Release));
    comes(Duration::from_secs(20), || Ok(done.load(Ordering::Acquire)))
}

pub fn all(bench: &Bench) -> Outcome<()> {
    if !bench.options.bounces() || !Path::new(POOL).exists() {
        return Ok(());
    }
    let slots = read_number(format!("{POOL}/io_tlb_nslabs"))?;
    let before = used()?;
    let device = edu(SLOTS[0])?;
    set_system("max_order", "0")?;
    // Buffers for all there is but two pages, each used once. One more, and a mapping would fail, and end those that are idle.
    let mut buffers: Vec<Buffer> = Vec::new();
    let most = (slots * SLOT_BYTES / MIB) as usize - 1;
    for size_bytes in [vec![MIB; most], vec![MIB / 16; 15], vec![PAGE as u64; 14]].concat() {
        let buffer = bench.buffer(size_bytes)?;
        at("use", device.touch(buffer.as_fd(), Direction::ToDevice, 1))?;
        buffers.push(buffer);
    }
    set_system("max_order", "4")?;
    let (idle, kept) = (total(statistics::IDLE)?, used()?.saturating_sub(before));
    bench.check(
        "buffers that nobody uses hold no bounce slots",
        kept * 16 <= slots,
        format_args!("{kept} of {slots} slots, {idle} idle mappings of {} buffers", buffers.len()),
    );
    let reads = disk_reads()?;
    bench.check("a disk reads beside them", reads, DISK);
    let other = edu(SLOTS[1])?.touch(bench.buffer(MIB / 4)?.as_fd(), Direction::ToDevice, 1);
    bench.check("another device finds slots", other.is_ok(), format_args!("{:?}", other.err()));
    Ok(())
}
