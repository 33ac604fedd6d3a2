// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! fovea-heap and the modules that it has its memory from: names that two of them want, who may be unloaded under whom, and a module
//! that comes and goes while programs open its nodes. The second source is `contig-heap`, with memory of ZONE_MOVABLE.

use std::any::Any;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fovea_contract::{CONTIG_MODULE as SECOND, HEAP_MODULE as HEAP};
use fovea_heap::Heap;
use fovea_linux::{module, Error, Root};
use fovea_tests::audit::KernelLog;
use fovea_tests::raw::frame_bytes;
use fovea_tests::report::Report;

use crate::stack::Outcome;
use crate::DEVICES;

const SPARE: &str = "/dev/ecache/spare";
const SPARE_BYTES: u64 = 1 << 20;
/// How often the second source comes and goes under programs that open its nodes.
const COMINGS: u32 = 40;
/// Attempts at each going: whoever has its node open just now is in the way.
const ATTEMPTS_MAX: u32 = 1_000_000;

fn errno(error: &Error) -> Option<i32> {
    match error {
        Error::Call { source, .. } | Error::File { source, .. } => source.raw_os_error(),
        _ => None,
    }
}

/// Unloads a module; the errno if that is refused.
fn unload(module: &str) -> Option<i32> {
    module::remove(module).err().map(|e| errno(&e).unwrap_or(0))
}

fn is_busy(refused: Option<i32>) -> bool {
    matches!(refused, Some(libc::EWOULDBLOCK | libc::EBUSY))
}

/// Loads the second source, with memory from the lower end of ZONE_MOVABLE: nothing lies there that cannot be moved.
fn load_second(devices: &str) -> Outcome<Option<i32>> {
    let zones = fs::read_to_string("/proc/zoneinfo").map_err(|e| e.to_string())?;
    let zone = zones.split("Node ").find(|zone| zone.lines().next().is_some_and(|line| line.ends_with("Movable")));
    let first = zone.and_then(|zone| zone.lines().find_map(|line| line.trim().strip_prefix("start_pfn:")));
    let first: u64 = first.and_then(|text| text.trim().parse().ok()).ok_or("no ZONE_MOVABLE in /proc/zoneinfo")?;
    let parameters = format!("region=8M@{} tries=100 devices={devices}", first * frame_bytes() as u64);
    let loaded = module::load_with(&Root::at("/"), SECOND, &parameters);
    Ok(loaded.err().map(|e| errno(&e).unwrap_or(0)))
}

/// Beside the first source.
pub fn all(report: &Report) -> Outcome<()> {
    names(report)?;
    let refused = load_second(&format!("spare:{SPARE_BYTES}"))?;
    report.check("a second source of buffers", refused.is_none(), format_args!("error {refused:?}"));
    let heap = unload(HEAP);
    report.check("refused: unloading the heap under its sources", is_busy(heap), format_args!("{heap:?}"));
    both(report)?;
    if !goes(report, SECOND, SPARE, SPARE_BYTES)? {
        return Err("the rest is left out: code that is gone would be called".into());
    }
    let left = Path::new(SPARE).exists();
    let first = Heap::open(node(DEVICES[0].0)).map_err(|e| e.to_string())?.allocate(1).is_ok();
    report.check("one source goes, the other stays", !left && first, format_args!("left {left}, served {first}"));
    come_and_go(report)
}

fn node(name: &str) -> String {
    format!("/dev/ecache/{name}")
}

/// A name that the first source has: refused with one line, and nothing is left of a load that got half-way.
fn names(report: &Report) -> Outcome<()> {
    let mut log = KernelLog::new().map_err(|e| format!("/dev/kmsg: {e}"))?;
    let taken = DEVICES[0].0;
    for devices in [format!("{taken}:1M"), format!("spare:1M,{taken}:1M"), "spare:1M,spare:1M".into()] {
        let refused = load_second(&devices)?;
        let lines: Vec<String> = log.lines().into_iter().map(|(_, line)| line).collect();
        let own = lines.iter().filter(|line| line.starts_with(SECOND) && !line.contains("taint")).count();
        let stacks = lines.iter().filter(|line| line.contains("Call Trace") || line.contains("duplicate")).count();
        let loaded = Path::new("/sys/module").join(SECOND).exists();
        let left = Path::new(SPARE).exists() || Path::new("/sys/class/misc/ecache!spare").exists();
        report.check(
            format_args!("refused: devices={devices} of a second source"),
            // A module's own EEXIST comes out as EBUSY since some release of Linux 7: the other is the loader's word.
            matches!(refused, Some(libc::EEXIST | libc::EBUSY | libc::EINVAL))
                && own == 1
                && stacks == 0
                && !loaded
                && !left,
            format_args!("error {refused:?}, {own} lines of it, {stacks} stacks, loaded {loaded}, left {left}"),
        );
    }
    Ok(())
}

/// Buffers of both at once, each clear and its own.
fn both(report: &Report) -> Outcome<()> {
    let buffer = |path: &str| -> Outcome<_> {
        let heap = Heap::open(path).map_err(|e| e.to_string())?;
        heap.allocate(SPARE_BYTES).map_err(|e| format!("{path}: {e}"))?.map().map_err(|e| e.to_string())
    };
    let held = [buffer(SPARE)?, buffer(&node(DEVICES[0].0))?];
    let stale =
        held.iter().flat_map(|mapping| mapping.words()).filter(|word| word.load(Ordering::Relaxed) != 0).count();
    for (index, mapping) in held.iter().enumerate() {
        mapping.words().iter().for_each(|word| word.store(!(index as u64), Ordering::Relaxed));
    }
    let wrong = held.iter().enumerate().flat_map(|(index, mapping)| {
        mapping.words().iter().filter(move |word| word.load(Ordering::Relaxed) != !(index as u64))
    });
    let wrong = wrong.count();
    report.check("buffers of two sources", stale + wrong == 0, format_args!("{stale} old words, {wrong} wrong ones"));
    Ok(())
}

/// Makes something that holds a source, for as long as it is there.
type Hold<'a> = &'a dyn Fn() -> Outcome<Box<dyn Any>>;

/// A source is not unloaded under an open node, a buffer, or a mapping of one, each by itself; and then it is. False if it went too
/// soon: what holds it must then never be let go.
pub fn goes(report: &Report, module: &str, path: &str, size_bytes: u64) -> Outcome<bool> {
    let open = || Heap::open(path).map_err(|e| e.to_string());
    let allocate = || open()?.allocate(size_bytes).map_err(|e| format!("{path}: {e}"));
    let map = || allocate()?.map().map_err(|e| e.to_string());
    let each: [(&str, Hold); 3] = [
        ("an open node", &|| Ok(Box::new(open()?))),
        ("a buffer", &|| Ok(Box::new(allocate()?))),
        ("a buffer's mapping", &|| Ok(Box::new(map()?))),
    ];
    for (what, hold) in each {
        let held = hold()?;
        let refused = unload(module);
        report.check(
            format_args!("refused: unloading {module} under {what}"),
            is_busy(refused),
            format_args!("{refused:?}"),
        );
        if refused.is_none() {
            std::mem::forget(held);
            return Ok(false);
        }
    }
    let refused = unload(module);
    report.check(format_args!("{module} goes"), refused.is_none(), format_args!("{refused:?}"));
    Ok(true)
}

/// The second source comes and goes while others open its node, and now and then take its buffer. Whoever opens it has it whole, or an
/// error that says it is not there.
fn come_and_go(report: &Report) -> Outcome<()> {
    let (over, opened, early) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let opener = |number: u64| {
        let mut turn = number;
        while !over.load(Ordering::Relaxed) {
            turn += 1;
            match Heap::open(SPARE) {
                Ok(heap) => {
                    opened.fetch_add(1, Ordering::Relaxed);
                    let taken = if turn % 16 == 0 { heap.allocate(4096).map(|_| ()) } else { Ok(()) };
                    // Both may ask at once, and a page may be in use for a moment.
                    if let Err(e) = taken.or_else(|e| if is_busy(e.raw_os_error()) { Ok(()) } else { Err(e) }) {
                        report.fail(format_args!("{SPARE} while it comes and goes: {e}"));
                    }
                }
                Err(e) => match e.io().raw_os_error() {
                    Some(libc::EAGAIN | libc::ENODEV | libc::ENXIO) => {
                        early.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(libc::ENOENT) => {}
                    _ => report.fail(format_args!("{SPARE} while it comes and goes: {e}")),
                },
            }
            // Or it would be open all the time.
            std::thread::yield_now();
        }
    };
    let mut gone = 0;
    let outcome = std::thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || opener(number));
        }
        let mut come_and_go = || -> Outcome<()> {
            for _ in 0..COMINGS {
                if let Some(error) = load_second(&format!("spare:{SPARE_BYTES},other:1M"))? {
                    return Err(format!("{SECOND} cannot be loaded again: error {error}"));
                }
                // The others get at it.
                let before = opened.load(Ordering::Relaxed);
                while opened.load(Ordering::Relaxed) < before + 4 && report.failures() == 0 {
                    std::thread::yield_now();
                }
                gone += u32::from((0..ATTEMPTS_MAX).any(|_| unload(SECOND).is_none()));
            }
            Ok(())
        };
        let outcome = come_and_go();
        over.store(true, Ordering::Relaxed);
        outcome
    });
    outcome?;
    let (opened, early) = (opened.into_inner(), early.into_inner());
    report.check(
        "a source comes and goes under programs that open its nodes",
        gone == COMINGS && opened >= u64::from(COMINGS),
        format_args!("{gone} times, opened {opened} times, {early} times too early or too late"),
    );
    Ok(())
}
