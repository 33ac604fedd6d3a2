// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The self-test (`examples/selftest`) as the first process of the virtual phone. Skipped, with a word, where QEMU or the kernel is
//! missing.

use std::path::PathBuf;
use std::time::Duration;

use fovea_phone::{fetch, Cache, Phone, Programs, Progress, RunOptions};
use fovea_scenario::Plan;

/// Cargo builds the examples before it runs tests, beside the folder this very test is in.
fn selftest() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/selftest")
}

fn plan() -> Plan {
    Plan::bare("selftest", 640 << 20, 2)
}

#[test]
fn every_check_on_a_real_kernel_passes() {
    let skipped = |why: String| println!("skipped: {why}");
    let selftest = selftest();
    if !selftest.exists() {
        return skipped(format!("no {}: run all of `cargo test -p fovea-linux`", selftest.display()));
    }
    let cache = match Cache::open() {
        Ok(cache) => cache,
        Err(e) => return skipped(e.to_string()),
    };
    let Some(kernel) = fetch::cached(&cache).unwrap() else {
        return skipped("no kernel in the cache; `fovea phone fetch` gets one".into());
    };
    // It needs no other program; the image wants three.
    let programs = Programs { init: selftest.clone(), fovea: selftest.clone(), busybox: selftest };
    let phone =
        match Phone::prepare(&cache, kernel, &programs, &["zram", "dm-mod", "null_blk"], &[], &Progress::quiet()) {
            Ok(phone) => phone,
            Err(e) if e.is_missing() => return skipped(e.to_string()),
            Err(e) => panic!("{e}"),
        };
    let results = tempfile::tempdir().unwrap();
    let options = RunOptions { timeout: Duration::from_secs(900), results: results.path().to_owned() };
    let outcome = phone.run(&plan(), &options, &Progress::quiet(), |_| ());
    let logs = match &outcome {
        Ok(outcome) => outcome.logs.clone(),
        Err(fovea_phone::Error::Boot(failure)) => failure.logs.clone(),
        Err(e) => panic!("{e}"),
    };
    let console = std::fs::read_to_string(logs.join("console.log")).unwrap();
    let lines = |mark: &str| console.lines().filter(|line| line.starts_with(mark)).collect::<Vec<_>>();
    assert!(outcome.is_ok() && lines("FAIL").is_empty(), "{:?}\n{:#?}\n{console}", outcome.err(), lines("FAIL"));
    // That the program came to its end, and not merely to a silent one.
    assert!(lines("ok ").len() >= 90, "{} checks only:\n{console}", lines("ok ").len());
}
