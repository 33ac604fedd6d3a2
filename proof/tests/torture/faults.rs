// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Faults on purpose, on a debug kernel: each call that the module has a part in is made again and again, with the first allocation
//! (or disk request) below it failing, then the second, and so on until none is left; where there are hundreds, at some of them. It may fail, and cleanly: no report of a
//! checker, nothing lost, and the next call without a fault works.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fovea_contract::{ECACHE_CACHE, ECACHE_DROP, ECACHE_OFF, ECACHE_ON, ECACHE_TARGET};
use fovea_heap::Heap;
use fovea_linux::dm::{device_number, DeviceMapper, Suspend, Target};
use fovea_linux::{module, Root};
use fovea_tests::audit::{compare, Watch};
use fovea_tests::content::{Contents, Random};
use fovea_tests::raw::{Pages, PAGE};
use fovea_tests::report::Report;
use rustix::fs::{fadvise, Advice};

use crate::checkers::DEBUGFS;
use crate::refusals::good_parameters;
use crate::stack::{open_direct, read_number, write_file, Outcome, Volume};
use crate::{Options, DEVICES, MODULE};

/// More than any call has places to fail at; a call that still fails then does not recover.
const PLACES_MAX: u32 = 30_000;
/// Each of the first so many places is tried, and beyond them one in as many more as go into what lies behind: loading a module has
/// thousands, nearly all of them the kernel's.
const PLACES_EACH: u32 = 50;
/// The disk of the volume that is gone by now.
const DISK: &str = "/dev/n2";
const NAME: &str = "faulty";
/// Requests of the part where faults come at random.
const REQUESTS: u32 = 2000;
const BLOCKS: usize = 1024;
const OPERATION_BLOCKS: usize = 8;

/// The calling thread's `fail-nth`: at which place its next calls fail.
struct Nth(File);

impl Nth {
    fn open() -> Outcome<Nth> {
        let path = "/proc/thread-self/fail-nth";
        File::options().read(true).write(true).open(path).map(Nth).map_err(|e| format!("{path}: {e}"))
    }

    fn set(&self, place: u32) -> Outcome<()> {
        self.0.write_all_at(place.to_string().as_bytes(), 0).map_err(|e| format!("fail-nth: {e}"))
    }

    /// Whether the place was reached since. No fault hits this call itself: nothing is allocated for it.
    fn was_reached(&self) -> Outcome<bool> {
        let mut text = [0; 16];
        let length = self.0.read_at(&mut text, 0).map_err(|e| format!("fail-nth: {e}"))?;
        Ok(std::str::from_utf8(&text[..length]).is_ok_and(|text| text.trim() == "0"))
    }
}

/// Makes a call with a fault at each of its places. `undo` is called after each that went well.
fn each_place<T>(
    what: &str,
    report: &Report,
    mut call: impl FnMut() -> Result<T, String>,
    mut undo: impl FnMut(T) -> Outcome<()>,
) -> Outcome<()> {
    let nth = Nth::open()?;
    let (mut failed, mut survived) = (0, 0);
    let mut place = 1;
    while place <= PLACES_MAX {
        nth.set(place)?;
        let done = call();
        let reached = nth.was_reached()?;
        nth.set(0)?;
        match (done, reached) {
            (Ok(made), _) => {
                undo(made)?;
                survived += u32::from(reached);
            }
            (Err(_), true) => failed += 1,
            (Err(e), false) => return Err(format!("{what} fails without a fault: {e}")),
        }
        if !reached {
            let places = failed + survived;
            report.check(
                format_args!("faults: {what}"),
                places > 0,
                format_args!("{failed} failed, {survived} survived, of {place} places at most"),
            );
            return Ok(());
        }
        place += 1 + place / PLACES_EACH;
    }
    Err(format!("{what}: faults at {PLACES_MAX} places, and no end"))
}

/// After everything else: the module and its devices are gone.
pub fn all(options: &Options, contents: &Contents, report: &Report, watch: &mut Watch) -> Outcome<()> {
    if !(options.debug && options.has_module()) {
        return Ok(());
    }
    watch.look(report, false);
    for kind in ["failslab", "fail_page_alloc", "fail_make_request"] {
        let set = |name: &str, value: &str| write_file(Path::new(DEBUGFS).join(kind).join(name), value);
        // Hundreds of stacks that are meant say nothing.
        set("verbose", "0")?;
        if kind != "fail_make_request" {
            // Allocations that may wait, which are nearly all, fail too.
            set("ignore-gfp-wait", "N")?;
        }
    }
    let root = Root::at("/");
    let parameters = good_parameters(options);
    let load = || module::load_with(&root, MODULE, &parameters).map_err(|e| e.to_string());
    let unload = |()| module::remove(MODULE).map_err(|e| e.to_string());
    load()?;
    let volume = targets(report)?;
    buffers(report)?;
    requests(options, report, &volume)?;
    compare(&volume.sides(), contents, report)?;
    let mapper = DeviceMapper::open(&root).map_err(|e| e.to_string())?;
    mapper.remove(NAME).map_err(|e| e.to_string())?;
    unload(())?;
    // Last, for it takes minutes: the kernel lets go of a module's kobject seconds late, on purpose.
    each_place("loading the module", report, load, unload)?;
    // An allocation that fails for vmalloc is shown with its stack. The kernel's tracing warns of itself where it cannot describe a module's
    // trace point, and once more as it forgets what it has not described.
    watch.expect(&["Call Trace", "event_define_fields", "event_file_put"]);
    watch.look(report, true);
    Ok(())
}

/// Calls to device-mapper; leaves a device behind that works.
fn targets(report: &Report) -> Outcome<Volume> {
    let mapper = DeviceMapper::open(&Root::at("/")).map_err(|e| e.to_string())?;
    let disk = PathBuf::from(DISK);
    let number = device_number(&disk).map_err(|e| e.to_string())?;
    let size_sectors = read_number("/sys/block/n2/size")?;
    let kind = ECACHE_TARGET.into();
    let table = [Target { start_sectors: 0, size_sectors, kind, parameters: format!("{number} 0") }];
    let text = |e: fovea_linux::Error| e.to_string();
    mapper.create(NAME).map_err(text)?;
    each_place(
        "loading a table",
        report,
        || mapper.load(NAME, &table).map_err(text),
        |()| mapper.clear(NAME).map_err(text),
    )?;
    mapper.load(NAME, &table).map_err(text)?;
    let node = mapper.resume(NAME).map_err(text)?.node();
    // A table takes another's place, with what is cached.
    let reload = || {
        mapper.load(NAME, &table).map_err(text)?;
        let suspended = mapper.suspend(NAME, Suspend::Freeze).map_err(text);
        let resumed = mapper.resume(NAME).map_err(text);
        suspended.and(resumed).map(drop)
    };
    each_place("reloading", report, reload, Ok)?;
    // Whatever the last fault left: it must go on.
    mapper.resume(NAME).map_err(text)?;
    let (off, on) = (format!("{ECACHE_CACHE} {ECACHE_OFF}"), format!("{ECACHE_CACHE} {ECACHE_ON}"));
    for message in [ECACHE_DROP, &off, &on] {
        each_place(message, report, || mapper.message(NAME, 0, message).map_err(text), |_| Ok(()))?;
    }
    each_place("status", report, || mapper.status(NAME).map_err(text), |_| Ok(()))?;
    Ok(Volume::of_disk(NAME, node, disk, size_sectors * 512))
}

/// Devices' buffers: each allocation that failed for want of memory leaves the reservation as it was.
fn buffers(report: &Report) -> Outcome<()> {
    let (name, size_bytes) = DEVICES[0];
    let take = || {
        let heap = Heap::open(format!("/dev/ecache/{name}")).map_err(|e| e.to_string())?;
        let buffer = heap.allocate(size_bytes).map_err(|e| e.to_string())?;
        let mapping = buffer.map().map_err(|e| e.to_string())?;
        mapping.words()[0].store(1, std::sync::atomic::Ordering::Relaxed);
        Ok(mapping)
    };
    each_place("a buffer", report, take, |_| Ok(()))
}

/// Reads and writes with faults at random, in the disk and in memory. What a failed write left is uncertain; that target and disk agree
/// on it is not.
fn requests(options: &Options, report: &Report, volume: &Volume) -> Outcome<()> {
    let (direct, buffered) = (open_direct(&volume.node)?, File::options().read(true).write(true).open(&volume.node));
    let buffered = buffered.map_err(|e| format!("{}: {e}", volume.node.display()))?;
    let dm = volume.node.file_name().unwrap_or_default();
    let devices = [Path::new("/sys/block/n2").to_owned(), Path::new("/sys/block").join(dm)];
    // Opened before: opening fails once memory does.
    let ours = File::options().write(true).open("/proc/thread-self/make-it-fail").map_err(|e| e.to_string())?;
    let faults = |on: bool| -> Outcome<()> {
        ours.write_all_at(b"0", 0).map_err(|e| e.to_string())?;
        for (kind, probability) in [("failslab", "1"), ("fail_page_alloc", "1"), ("fail_make_request", "5")] {
            let folder = Path::new(DEBUGFS).join(kind);
            write_file(folder.join("probability"), if on { probability } else { "0" })?;
            write_file(folder.join("times"), "-1")?;
            // Memory fails for this thread only, or the whole machine would come to an end; requests for everybody, on these devices.
            write_file(folder.join("task-filter"), if kind == "fail_make_request" { "N" } else { "Y" })?;
        }
        devices.iter().try_for_each(|device| write_file(device.join("make-it-fail"), if on { "1" } else { "0" }))?;
        ours.write_all_at(if on { b"1" } else { b"0" }, 0).map_err(|e| e.to_string())
    };
    let mut random = Random::new(options.seed, 600);
    let mut pages = Pages::new(OPERATION_BLOCKS);
    let (mut failed, mut done) = (0, 0);
    faults(true)?;
    for _ in 0..REQUESTS {
        let (first, count) = (random.index(BLOCKS - OPERATION_BLOCKS), 1 + random.index(OPERATION_BLOCKS));
        let at = (first * PAGE) as u64;
        let bytes = pages.bytes(count);
        let file = if random.below(2) == 0 { &direct } else { &buffered };
        let result = match random.below(8) {
            0 | 1 => {
                bytes.fill(random.draw() as u8);
                file.write_all_at(bytes, at)
            }
            2 => buffered.sync_data(),
            3 => fadvise(&buffered, at, std::num::NonZeroU64::new((4 * count * PAGE) as u64), Advice::DontNeed)
                .map_err(Into::into),
            _ => file.read_exact_at(bytes, at),
        };
        match result {
            Ok(()) => done += 1,
            Err(_) => failed += 1,
        }
    }
    faults(false)?;
    // The first may report a write-back that failed.
    let _ = buffered.sync_data();
    let synced = buffered.sync_data();
    report.check(
        "faults: requests",
        failed > 10 && done > 500 && synced.is_ok(),
        format_args!("{failed} failed, {done} done, then {synced:?}"),
    );
    fovea_tests::pressure::drop_caches()
}
