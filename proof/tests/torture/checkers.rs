// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The checkers of a debug kernel: that they are there, that they are still at work at the end, and what those say that do not speak up
//! by themselves.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_tests::report::Report;
use rustix::mount::{mount, MountFlags};

use crate::stack::{write_file, Outcome};
use crate::Options;

pub const DEBUGFS: &str = "/sys/kernel/debug";
const KMEMLEAK: &str = "/sys/kernel/debug/kmemleak";
/// kmemleak takes memory for lost only once it is 5 s old.
const LEAK_AGE: Duration = Duration::from_secs(6);
/// Lines of a report of lost memory that are shown.
const SHOWN_LINES: usize = 24;

/// Before the module is there: that the kernel is one with checkers, and what is lost already is not ours.
pub fn begin(options: &Options, report: &Report) -> Outcome<()> {
    if !options.debug {
        return Ok(());
    }
    let _ = mount("debugfs", DEBUGFS, "debugfs", MountFlags::empty(), None);
    for path in [KMEMLEAK, "/sys/kernel/debug/failslab", "/sys/kernel/debug/fail_make_request", "/proc/lockdep_stats"] {
        report.check(format_args!("a debug kernel: {path}"), Path::new(path).exists(), "there");
    }
    write_file(KMEMLEAK, "scan")?;
    write_file(KMEMLEAK, "clear")
}

/// What stands in a stack for a function of ours while its module is there, and once it has gone.
const OURS: [&str; 4] = ["[dm_ecache]", "[fovea_heap]", "[contig_heap]", "[ecache_selftest]"];
const BARE: &str = "0x";

/// After the module has gone, before anything was made to fail: nothing is lost, by whomever.
pub fn nothing_lost(options: &Options, report: &Report) -> Outcome<()> {
    if !options.debug {
        return Ok(());
    }
    let lost = lost_memory()?;
    show(&lost);
    report.check("kmemleak: no memory is lost", lost.is_empty(), format_args!("{} objects", lost.len()));
    write_file(KMEMLEAK, "clear")
}

/// At the end. Where allocations fail the kernel itself loses some (6.12: a slab cache's name, if its folder in sysfs cannot be made); what
/// counts is what was asked for by us.
pub fn end(options: &Options, report: &Report) -> Outcome<()> {
    if !options.debug {
        return Ok(());
    }
    // lockdep switches itself off at its first report, and would say nothing of what comes after.
    let stats = fs::read_to_string("/proc/lockdep_stats").unwrap_or_default();
    let at_work = stats
        .lines()
        .any(|line| line.split_once(':').is_some_and(|(k, v)| k.trim() == "debug_locks" && v.trim() == "1"));
    report.check("lockdep is still at work", at_work, at_work);
    let (ours, kernels): (Vec<_>, Vec<_>) = lost_memory()?.into_iter().partition(|object| is_ours(object));
    show(&ours);
    show(&kernels[..kernels.len().min(1)]);
    let found = format_args!("{} objects, and {} of the kernel's own", ours.len(), kernels.len());
    report.check("kmemleak: no memory of ours is lost where allocations fail", ours.is_empty(), found);
    Ok(())
}

fn is_ours(object: &[String]) -> bool {
    let stack = object.iter().skip_while(|line| !line.trim_start().starts_with("backtrace"));
    stack.skip(1).any(|line| line.trim_start().starts_with(BARE) || OURS.iter().any(|ours| line.contains(ours)))
}

fn show(objects: &[Vec<String>]) {
    objects.concat().iter().take(SHOWN_LINES).for_each(|line| println!("     {line}"));
}

/// What kmemleak lists after scans over longer than the age that it waits for, each object's lines. A single scan lists what only looks lost for
/// a moment.
fn lost_memory() -> Outcome<Vec<Vec<String>>> {
    let began = Instant::now();
    while began.elapsed() < LEAK_AGE {
        write_file(KMEMLEAK, "scan")?;
    }
    write_file(KMEMLEAK, "scan")?;
    let text = fs::read_to_string(KMEMLEAK).map_err(|e| format!("{KMEMLEAK}: {e}"))?;
    let mut objects: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("unreferenced object") {
            objects.push(Vec::new());
        }
        objects.last_mut().into_iter().for_each(|object| object.push(line.to_owned()));
    }
    Ok(objects)
}
