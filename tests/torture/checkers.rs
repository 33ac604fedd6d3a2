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

/// After the module has gone.
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
    let lost = lost_memory()?;
    let objects = lost.iter().filter(|line| line.starts_with("unreferenced object")).count();
    for line in lost.iter().take(SHOWN_LINES) {
        println!("     {line}");
    }
    report.check("kmemleak: no memory is lost", objects == 0, format_args!("{objects} objects"));
    Ok(())
}

/// What kmemleak lists after scans over longer than the age that it waits for. A single scan lists what only looks lost for a moment.
fn lost_memory() -> Outcome<Vec<String>> {
    let began = Instant::now();
    while began.elapsed() < LEAK_AGE {
        write_file(KMEMLEAK, "scan")?;
    }
    write_file(KMEMLEAK, "scan")?;
    let text = fs::read_to_string(KMEMLEAK).map_err(|e| format!("{KMEMLEAK}: {e}"))?;
    Ok(text.lines().map(str::to_owned).collect())
}
