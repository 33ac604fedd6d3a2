// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Beside 300 apps the daemon sleeps while nothing happens, and stays small: on a kernel whose PSI triggers work (this host's may not), with the
//! program that goes on a device where that is built (`make small`), else with this one. Skipped, with a word, where something is missing.

#[path = "common/console.rs"]
mod console;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use console::Console;
use fovea_phone::{fetch, Cache, Error, GuestFile, Phone, Programs, Progress, RunOptions};
use fovea_scenario::kinds::managed::STOCK;
use fovea_scenario::{Lacks, Plan};

const SCRIPT: &str = include_str!("idle/guest.sh");

/// What the daemon may have resident at any time.
const RESIDENT_MAX_BYTES: u64 = 8 << 20;

/// What goes on a device, if it is built; and whether it is that.
fn program(dir: &Path) -> Result<(PathBuf, bool), Error> {
    let built = Path::new(env!("CARGO_BIN_EXE_fovea"));
    let small = built.ancestors().nth(2).map(|target| target.join("small/fovea")).filter(|path| path.exists());
    if let Some(small) = small {
        return Ok((small, true));
    }
    let stripped = dir.join("fovea");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(built).status();
    match status.is_ok_and(|status| status.success()) {
        true => Ok((stripped, false)),
        false => Err(Error::Missing { what: "strip is not installed".into(), mend: "apt-get install binutils".into() }),
    }
}

fn boot(dir: &Path) -> Result<(String, bool), Error> {
    let cache = Cache::open()?;
    let kernel = fetch::cached(&cache)?.ok_or_else(|| Error::Missing {
        what: "no kernel in the cache".into(),
        mend: "`make fetch` gets one".into(),
    })?;
    let busybox = fetch::busybox(&cache, &Progress::quiet())?;
    let (fovea, is_small) = program(dir)?;
    let programs = Programs { init: busybox.clone(), fovea, busybox };
    let script = dir.join("guest.sh");
    fs::write(&script, SCRIPT).unwrap();
    let files = [GuestFile { to: "/guest.sh".into(), from: script }];
    let phone =
        Phone::prepare(&cache, kernel, &programs, &["zram"], None, &Progress::quiet())?.with_files(&files)?.by_turns();
    let plan = Plan {
        configuration: STOCK,
        lacks: Lacks {
            // The rest of the line goes to the first process.
            kernel_args: ["rdinit=/bin/busybox", "loglevel=3", "--", "sh", "/guest.sh"].map(String::from).to_vec(),
            ..Lacks::default()
        },
        ..Plan::bare("idle", 1 << 30, 2)
    };
    let options = RunOptions { timeout: Duration::from_secs(600), results: dir.join("results") };
    // A shell cannot say the word that ends a plan; its last line tells.
    let logs = match phone.run(&plan, &options, &Progress::quiet(), |_| ()) {
        Ok(outcome) => outcome.logs,
        Err(Error::Boot(failure)) => failure.logs.clone(),
        Err(e) => return Err(e),
    };
    Ok((String::from_utf8_lossy(&fs::read(logs.join("console.log")).unwrap()).into_owned(), is_small))
}

#[test]
fn beside_300_apps_the_daemon_sleeps_and_is_small() {
    let dir = tempfile::tempdir().unwrap();
    let (console, is_small) = match boot(dir.path()) {
        Ok(booted) => booted,
        Err(e) if e.is_missing() => return fovea_phone::skip(e),
        Err(e) => panic!("{e}"),
    };
    println!("{console}");
    let console = Console(console);
    let (lines, number) = (|mark| console.lines(mark), |mark| console.number(mark));
    assert_eq!(lines("at the end").len(), 1, "it did not get there");
    assert_eq!(number("apps:"), 300);
    let missing = lines("\"missing\":");
    assert!(missing.len() == 1 && !missing[0].contains("psi"), "PSI works in the phone: {missing:?}");
    assert!(number("wake-ups by a client:") > 0, "the count can tell");
    assert_eq!(number("wake-ups in 60 s:"), 0);
    // Unoptimised code alone is larger than the program that people run; what grows with the number of apps is anonymous.
    let resident = lines(if is_small { "process VmHWM:" } else { "process RssAnon:" });
    assert_eq!(resident.len(), 2, "of both processes");
    for line in resident {
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib * 1024 <= RESIDENT_MAX_BYTES, "{kib} KiB");
    }
}
