// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The same traces through the PyPI package libcachesim, an independent implementation: misses must be equal. Needs python3 and
//! the package, in `$FOVEA_LIBCACHESIM_PYTHON` or in a virtual environment that the test makes; skips, visibly, without.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use fovea_lab::{
    dense::Dense,
    policy::Choice,
    replay::{over_seeds, run, with_seeds},
    Size,
};

fn skip(why: &str) {
    // Past the test harness's capture, so that a skipped test is seen.
    writeln!(std::io::stderr().lock(), "SKIPPED: no comparison with libcachesim: {why}").unwrap();
}

fn has_package(python: &Path) -> bool {
    Command::new(python).args(["-c", "import libcachesim"]).output().is_ok_and(|o| o.status.success())
}

fn python() -> Option<PathBuf> {
    if let Some(python) = std::env::var_os("FOVEA_LIBCACHESIM_PYTHON").map(PathBuf::from) {
        if has_package(&python) {
            return Some(python);
        }
        skip("$FOVEA_LIBCACHESIM_PYTHON has no package libcachesim");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcachesim");
    let python = folder.join("bin/python3");
    if !has_package(&python) {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).output();
        let installed = Command::new(folder.join("bin/pip")).args(["install", "--quiet", "libcachesim"]).output();
        if !(made.is_ok_and(|o| o.status.success())
            && installed.is_ok_and(|o| o.status.success())
            && has_package(&python))
        {
            skip("the package could not be installed with pip");
            return None;
        }
    }
    Some(python)
}

/// Requests with a skew, scans and objects of different sizes, from a fixed recurrence.
fn requests() -> Vec<(u64, u32)> {
    let mut state = 7u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..30_000)
        .map(|time| {
            let limit = 1 + draw(3000);
            let object = if time % 5000 < 800 { 10_000 + time % 2000 } else { draw(limit) };
            (object, 64 * (1 + object as u32 * 7 % 61))
        })
        .collect()
}

/// The requests as libCacheSim's oracleGeneral, with each request's next access.
fn write_oracle(path: &Path, requests: &[(u64, u32)]) {
    let mut next = std::collections::HashMap::new();
    let mut records: Vec<[u8; 24]> = Vec::new();
    for (time, &(object, size)) in requests.iter().enumerate().rev() {
        let mut record = [0; 24];
        record[..4].copy_from_slice(&(time as u32).to_le_bytes());
        record[4..12].copy_from_slice(&object.to_le_bytes());
        record[12..16].copy_from_slice(&size.to_le_bytes());
        record[16..].copy_from_slice(&next.insert(object, time as i64).unwrap_or(-1).to_le_bytes());
        records.push(record);
    }
    records.reverse();
    std::fs::write(path, records.concat()).unwrap();
}

/// Runs `compare` on (policy, size, requests, misses) of the package for each policy and size; skips without the package.
fn each_of_the_package(
    weight: &str,
    policies: &str,
    sizes: &str,
    compare: &mut dyn FnMut(&Dense, &str, Size, u64, u64),
) {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.oracleGeneral.bin");
    let requests = requests();
    write_oracle(&trace, &requests);
    let mut dense = Dense::from_objects(requests.iter().copied(), &Default::default()).unwrap();
    dense.look_ahead().unwrap();
    let output = Command::new(&python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_libcachesim.py"))
        .arg(&trace)
        .args([weight, policies, sizes, "14"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let fields: Vec<_> = line.split(' ').collect();
        let [amount, requests, misses] = [1, 2, 3].map(|at| fields[at].parse().unwrap());
        let size = if weight == "bytes" { Size::Bytes(amount) } else { Size::Objects(amount) };
        compare(&dense, fields[0], size, requests, misses);
        compared += 1;
    }
    assert_eq!(compared, policies.split(',').count() * sizes.split(',').count());
}

#[test]
fn misses_are_those_of_libcachesim() {
    // Left out, where the package departs from the papers (docs/history/lab.md tells how): LIRS, and 2Q by bytes.
    for (weight, policies, sizes) in [
        ("objects", "lru,fifo,lfu,clock,sieve,s3-fifo,2q,arc,belady", "30,100,333,1500"),
        ("bytes", "lru,fifo,lfu,clock,sieve,s3-fifo,arc,belady", "65536,262144,1048576,3000000"),
    ] {
        each_of_the_package(weight, policies, sizes, &mut |dense, policy, size, requests, misses| {
            // Of S3-FIFO the package has the variant that fills its main queue first.
            let ours = if policy == "s3-fifo" { "s3-fifo:fill=1" } else { policy };
            let choice: Choice = ours.parse().unwrap();
            let ours = run(dense, &choice, size).unwrap();
            assert_eq!((ours.requests, ours.misses()), (requests, misses), "{policy} {size}");
        });
    }
}

/// What is drawn is drawn otherwise, so the mean over five seeds is compared.
#[test]
fn policies_that_draw_miss_as_often_as_libcachesims() {
    for (weight, sizes) in [("objects", "100,333,1500"), ("bytes", "262144,1048576")] {
        each_of_the_package(weight, "random,hyperbolic,lhd", sizes, &mut |dense, policy, size, _, misses| {
            let choices = with_seeds(&[policy.parse().unwrap()], 5);
            let outcomes: Vec<_> = choices.iter().map(|choice| run(dense, choice, size).unwrap()).collect();
            let ours = &over_seeds(&choices, &outcomes)[0];
            assert_eq!(ours.seeds, 5);
            let apart = ours.mean_misses / misses as f64 - 1.0;
            assert!(apart.abs() < 0.01, "{policy} {size}: {} and {misses}", ours.mean_misses);
        });
    }
}
