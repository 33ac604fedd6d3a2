// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Device-mapper and DMA-BUF heaps: on null_blk and the kernel's system heap, in a virtual machine only.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

use fovea_heap::{Access, Heap};
use fovea_linux::dm::{device_number, DeviceMapper, Suspend, Target};
use fovea_linux::{module, Root};

use crate::Bench;

const NAME: &str = "fovea-selftest";

fn linear(start_sectors: u64, size_sectors: u64, lower: &str, from: u64) -> Target {
    Target { start_sectors, size_sectors, kind: "linear".into(), parameters: format!("{lower} {from}") }
}

/// All of it. Makes and removes a device, so it is for machines that are ours.
pub fn run(bench: &mut Bench) {
    let root = Root::at("/");
    let before = DeviceMapper::open(&root);
    bench.check("no device-mapper before its module", before.as_ref().is_err(), format!("{:?}", before.err()));
    for name in ["dm_mod", "null_blk"] {
        let loaded = module::load(&root, name);
        bench.check(&format!("module {name}"), loaded.is_ok(), format!("{loaded:?}"));
    }
    let mapper = match DeviceMapper::open(&root) {
        Ok(mapper) => mapper,
        Err(e) => return bench.check("device-mapper", false, e),
    };
    let version = mapper.version();
    bench.check("device-mapper speaks 4", version.as_ref().is_ok_and(|v| v.0 == 4), format!("{version:?}"));
    devices(bench, &mapper);
    let gone = mapper.info(NAME);
    bench.check("the device is gone", gone.is_err(), format!("{gone:?}"));
    let unloaded = module::remove("dm_mod");
    // The crate itself holds the module.
    bench.check("a module in use stays", unloaded.is_err(), format!("{unloaded:?}"));
    drop(mapper);
    let unloaded = module::remove("dm_mod");
    bench.check("a module out of use goes", unloaded.is_ok(), format!("{unloaded:?}"));
    heap(bench);
}

fn devices(bench: &mut Bench, mapper: &DeviceMapper) {
    let lower = match device_number(Path::new("/dev/nullb0")) {
        Ok(number) => number,
        Err(e) => return bench.check("null_blk's number", false, e),
    };
    let made = mapper.create(NAME);
    let empty = made.as_ref().is_ok_and(|info| !info.has_table && !info.has_new_table && info.open_count == 0);
    bench.check("a device is made", empty, format!("{made:?}"));
    let twice = mapper.create(NAME);
    bench.check("a name is taken once", twice.is_err(), format!("{twice:?}"));
    let nonsense = Target { kind: "no-such-target".into(), ..linear(0, 8, &lower, 0) };
    let refused = mapper.load(NAME, &[nonsense]);
    bench.check("an unknown target is refused", refused.is_err(), format!("{refused:?}"));

    // Swapped halves, so that the order of the targets shows.
    let table = [linear(0, 2048, &lower, 2048), linear(2048, 2048, &lower, 0)];
    let loaded = mapper.load(NAME, &table);
    let waiting = mapper.info(NAME).is_ok_and(|info| info.has_new_table && !info.has_table);
    bench.check("a table waits for its resume", loaded.is_ok() && waiting, format!("{loaded:?}"));
    let resumed = mapper.resume(NAME);
    let live = resumed.as_ref().is_ok_and(|info| info.has_table && !info.has_new_table && !info.is_suspended);
    bench.check("resume puts it in place", live, format!("{resumed:?}"));
    let found = mapper.table(NAME);
    bench.check("the table reads back", found.as_ref().is_ok_and(|t| t == &table), format!("{found:?}"));
    let status = mapper.status(NAME);
    let empty = status.as_ref().is_ok_and(|s| s.len() == 2 && s[1].start_sectors == 2048 && s[0].kind == "linear");
    bench.check("status has a line per target", empty, format!("{status:?}"));
    many_targets(bench, mapper, &lower);

    let info = mapper.info(NAME).expect("info");
    let opened = OpenOptions::new().read(true).write(true).open(info.node());
    let held = mapper.info(NAME).is_ok_and(|info| info.open_count == 1);
    bench.check("the node is there and counted", opened.is_ok() && held, format!("{opened:?}"));
    for how in [Suspend::Freeze, Suspend::Flush, Suspend::Hold] {
        let done = mapper.suspend(NAME, how);
        let is = mapper.info(NAME).is_ok_and(|info| info.is_suspended);
        let back = mapper.resume(NAME);
        bench.check(&format!("{how:?}"), done.is_ok() && is && back.is_ok(), format!("{done:?} {back:?}"));
    }
    let answer = mapper.message(NAME, 0, "@stats_list");
    bench.check("a message's answer", answer.as_ref().is_ok_and(Option::is_some), format!("{answer:?}"));
    let refused = mapper.message(NAME, 0, "dance");
    bench.check("a message that nobody takes", refused.is_err(), format!("{refused:?}"));
    if let Ok(mut node) = opened {
        let mut page = [0u8; 4096];
        let read = node.seek(SeekFrom::Start(4096)).and_then(|_| node.read_exact(&mut page));
        let wrote = node.write_all(&page).and_then(|()| node.sync_all());
        bench.check("requests pass", read.is_ok() && wrote.is_ok(), format!("{read:?} {wrote:?}"));
        let busy = mapper.remove(NAME);
        bench.check("a device in use stays", busy.is_err(), format!("{busy:?}"));
    }
    let removed = mapper.remove(NAME);
    bench.check("a device goes", removed.is_ok(), format!("{removed:?}"));
}

/// A table whose answer is longer than the first room for it.
fn many_targets(bench: &mut Bench, mapper: &DeviceMapper, lower: &str) {
    let table: Vec<Target> = (0..1000).map(|n| linear(n * 8, 8, lower, (999 - n) * 8)).collect();
    let loaded = mapper.load(NAME, &table).and_then(|()| mapper.resume(NAME));
    let found = mapper.table(NAME);
    let same = found.as_ref().is_ok_and(|found| found == &table);
    bench.check("a long table reads back", loaded.is_ok() && same, found.map_or(0, |table| table.len()));
    let cleared = mapper.load(NAME, &table[..1]).and_then(|()| mapper.clear(NAME));
    let none = mapper.info(NAME).is_ok_and(|info| !info.has_new_table);
    bench.check("a table that waits is taken back", cleared.is_ok() && none, format!("{cleared:?}"));
}

fn heap(bench: &mut Bench) {
    let heap = match Heap::open("/dev/dma_heap/system") {
        Ok(heap) => heap,
        Err(e) => return bench.check("the system heap", false, e),
    };
    let refused = heap.allocate(0).map_err(|e| e.raw_os_error());
    bench.check("a buffer of nothing", matches!(refused, Err(Some(libc::EINVAL))), format!("{refused:?}"));
    let buffer = heap.allocate(5000).expect("a buffer");
    bench.check("sizes are whole pages", buffer.size_bytes() == 8192, buffer.size_bytes());
    let (one, two) = (buffer.map().expect("mapping"), buffer.map().expect("second mapping"));
    let written = buffer.access(Access::Write, || {
        for (word, value) in one.words().iter().zip(1..) {
            word.store(value, Ordering::Relaxed);
        }
    });
    drop((buffer, one));
    let same = two.words().iter().zip(1..).all(|(word, value)| word.load(Ordering::Relaxed) == value);
    bench.check("mappings share and hold the buffer", written.is_ok() && same, two.words().len());
}
