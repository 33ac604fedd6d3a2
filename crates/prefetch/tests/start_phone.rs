// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps start in a phone whose storage takes 8 ms a command: what is learned, prefetched and left alone. Skipped, with a word, where
//! something is missing.

#[path = "../../fovea/tests/common/console.rs"]
mod console;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use console::Console;
use fovea_phone::{fetch, Cache, Error, GuestFile, Phone, Programs, Progress, RunOptions};
use fovea_scenario::kinds::managed::STOCK;
use fovea_scenario::{Lacks, Plan};

const SCRIPT: &str = include_str!("start/guest.sh");

/// What the program may have resident at any time.
const RESIDENT_MAX_KIB: u64 = 12 << 10;

fn boot(dir: &Path) -> Result<String, Error> {
    let cache = Cache::open()?;
    let kernel = fetch::cached(&cache)?.ok_or_else(|| Error::Missing {
        what: "no kernel in the cache".into(),
        mend: "`make fetch` gets one".into(),
    })?;
    let busybox = fetch::busybox(&cache, &Progress::quiet())?;
    let programs = Programs { init: busybox.clone(), fovea: busybox.clone(), busybox };
    let (script, prefetch) = (dir.join("guest.sh"), dir.join("prefetch"));
    fs::write(&script, SCRIPT).unwrap();
    let stripped = Command::new("strip").arg("-o").arg(&prefetch).arg(env!("CARGO_BIN_EXE_fovea-prefetch")).status();
    if !stripped.is_ok_and(|status| status.success()) {
        return Err(Error::Missing { what: "strip is not installed".into(), mend: "apt-get install binutils".into() });
    }
    let file = |to: &str, from: PathBuf| GuestFile { to: to.into(), from };
    let files = [file("/guest.sh", script), file("/prefetch", prefetch)];
    let modules = ["configfs", "null_blk", "fuse"];
    let phone =
        Phone::prepare(&cache, kernel, &programs, &modules, None, &Progress::quiet())?.with_files(&files)?.by_turns();
    let plan = Plan {
        configuration: STOCK,
        lacks: Lacks {
            // The rest of the line goes to the first process.
            kernel_args: ["rdinit=/bin/busybox", "loglevel=3", "--", "sh", "/guest.sh"].map(String::from).to_vec(),
            ..Lacks::default()
        },
        ..Plan::bare("start", 1 << 30, 2)
    };
    let options = RunOptions { timeout: Duration::from_secs(500), results: dir.join("results") };
    // A shell cannot say the word that ends a plan; its last line tells.
    let logs = match phone.run(&plan, &options, &Progress::quiet(), |_| ()) {
        Ok(outcome) => outcome.logs,
        Err(Error::Boot(failure)) => failure.logs.clone(),
        Err(e) => return Err(e),
    };
    Ok(String::from_utf8_lossy(&fs::read(logs.join("console.log")).unwrap()).into_owned())
}

#[test]
fn a_start_finds_what_earlier_ones_read_and_nothing_holds_it_up() {
    let dir = tempfile::tempdir().unwrap();
    let console = match boot(dir.path()) {
        Ok(booted) => booted,
        Err(e) if e.is_missing() => return fovea_phone::skip(e),
        Err(e) => panic!("{e}"),
    };
    println!("{console}");
    let console = Console(console);
    let (lines, number) = (|mark| console.lines(mark), |mark| console.number(mark));
    assert_eq!(lines("at the end").len(), 1, "it did not get there");
    assert_eq!((number("accuracy:"), number("timely:"), number("wasted:")), (100, 100, 0));
    let (expected, prefetched) = (number("expected:"), number("prefetched:"));
    assert!(prefetched >= expected && expected >= 1 << 19, "{prefetched} of {expected}");
    let took: Vec<u64> = lines("took gimp:").iter().map(|line| line.trim().parse().unwrap()).collect();
    assert!(took[2] < took[0].min(took[1]), "with and without: {took:?}");
    let own: Vec<u64> = lines("read gimp:").iter().map(|line| line.trim().parse().unwrap()).collect();
    assert!(own[0] >= expected && own[1] >= expected && own[2] < expected / 50, "by the app itself: {own:?}");
    assert_eq!(number("prefetched after an upgrade:"), prefetched, "of the file that was there before");
    assert_eq!(lines("a silent file system ended one start alone").len(), 1);
    assert_eq!(number("starts of gimp:"), 5);
    assert_eq!(number("wake-ups in 20 s:"), 0);
    let resident = lines("VmHWM:");
    let kib: u64 = resident[0].trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib <= RESIDENT_MAX_KIB, "{kib} KiB");
}
