// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Replay's speed beside libcachesim's, in one run on the same requests: `taskset -c 0 cargo bench -p fovea-lab`.
//!
//! Needs the public traces (`$FOVEA_TRACES`, else `../shared/traces` beside the repository) and a python with the package
//! (`$FOVEA_LIBCACHESIM_PYTHON`), libcachesim's C program `cachesim` (`$FOVEA_CACHESIM`), or both; without either only our own speed is
//! printed. `FOVEA_BENCH_REQUESTS` sets the length. Times are CPU times, the least of `FOVEA_BENCH_ROUNDS` (3); of the C program
//! they are those of the whole process, in hundredths of a second.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use fovea_lab::{
    dense::{Dense, DenseOptions},
    import::{parse_bytes, ImportOptions},
    policy::Choice,
    replay::run,
    Size,
};

/// Also the default of `FOVEA_BENCH_POLICIES`.
const POLICIES: &str = "lru,sieve,s3-fifo,arc,fifo,clock,2q,belady";
/// Cache sizes, in thousandths of the distinct objects.
const SHARES_PERMILLE: [u64; 3] = [1, 10, 100];

/// CPU time of this thread, which other programs on the machine do not add to.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("/proc is mounted");
    let ns: u64 = text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number of nanoseconds");
    ns as f64 / 1e9
}

/// (misses, CPU seconds) of one replay by libcachesim, the better of its default hash table and one that fits the trace.
fn theirs(python: &str, trace: &Path, policy: &str, size: u64) -> Option<(u64, f64)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_libcachesim.py");
    let one = |hashpower: &str| -> Option<(u64, f64)> {
        let arguments = ["objects", policy, &size.to_string(), hashpower].map(str::to_owned);
        let output = Command::new(python).arg(&script).arg(trace).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let fields: Vec<_> = text.split_whitespace().collect();
        Some((fields.get(3)?.parse().ok()?, fields.get(4)?.parse().ok()?))
    };
    let results = [one("24"), one("16")];
    results.into_iter().flatten().min_by(|a, b| a.1.total_cmp(&b.1))
}

/// CPU time of the programs that were waited for.
fn children_cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("/proc is mounted");
    // After the name, which may contain anything: state is the third field, cutime the 16th, cstime the 17th.
    let fields: Vec<_> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = [13, 14].iter().filter_map(|&at| fields.get(at)?.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// (misses, CPU seconds) of one replay by libcachesim's C program.
fn c_program(program: &str, trace: &Path, policy: &str, size: u64, requests: f64) -> Option<(u64, f64)> {
    let policy = match policy {
        "s3-fifo" => "S3FIFO".to_owned(),
        "2q" => "TwoQ".to_owned(),
        other => other.to_uppercase(),
    };
    let before = children_cpu_s();
    let output = Command::new(program)
        .arg(trace)
        .args(["oracleGeneralBin", &policy, &size.to_string(), "--ignore-obj-size=1", "--num-thread=1"])
        .current_dir(trace.parent()?)
        .output()
        .ok()?;
    let spent = children_cpu_s() - before;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ratio: f64 = text.rsplit("miss ratio ").next()?.split(',').next()?.parse().ok()?;
    Some(((ratio * requests).round() as u64, spent))
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = std::env::var_os("FOVEA_TRACES").map_or_else(|| root.join("../shared/traces"), PathBuf::from);
    let path = folder.join("cloudPhysicsIO.oracleGeneral.bin");
    let Ok(bytes) = std::fs::read(&path) else {
        println!("SKIPPED: no {}; set FOVEA_TRACES to the folder of the public traces", path.display());
        return;
    };
    let wanted: u64 = std::env::var("FOVEA_BENCH_REQUESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000_000);
    let format = "oracle-general".parse().expect("a known format");
    let (records, _) = parse_bytes(format, &bytes, &ImportOptions::default()).expect("the trace is good");
    let repeat = wanted.div_ceil(records.len() as u64);
    let objects: Vec<_> = records.iter().map(|r| (r.object, r.size_bytes.unwrap_or(1) as u32)).collect();
    let all = (0..repeat).flat_map(|_| objects.iter().copied());
    let started = cpu_s();
    let mut dense = Dense::from_objects(all, &DenseOptions::default()).expect("the trace is good");
    let interning = cpu_s() - started;
    dense.look_ahead().expect("memory");
    let rounds: usize = std::env::var("FOVEA_BENCH_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let policies = std::env::var("FOVEA_BENCH_POLICIES").unwrap_or_else(|_| POLICIES.into());
    let python = std::env::var("FOVEA_LIBCACHESIM_PYTHON").ok();
    let program = std::env::var("FOVEA_CACHESIM").ok();
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let long = scratch.path().join("long.bin");
    if python.is_some() || program.is_some() {
        std::fs::write(&long, bytes.repeat(repeat as usize)).expect("room for the long trace");
    }
    let requests = dense.requests() as f64;
    println!("{requests} requests, {} objects; interned once in {interning:.3} s", dense.footprint().objects);
    println!("policy    objects  ours Mreq/s  libcachesim Mreq/s  ratio  ratio with our interning  misses  cachesim Mreq/s  ratio");
    for permille in SHARES_PERMILLE {
        let size = dense.footprint().objects * permille / 1000;
        for policy in policies.split(',') {
            // Of S3-FIFO the package has the variant that fills its main queue first.
            let ours = if python.is_some() && policy == "s3-fifo" { "s3-fifo:fill=1" } else { policy };
            let choice: Choice = ours.parse().expect("a known policy");
            let (mut ours_s, mut theirs_s, mut misses, mut their_misses) = (f64::MAX, f64::MAX, 0, None);
            let (mut c_s, mut c_misses) = (f64::MAX, None);
            for _ in 0..rounds {
                let started = cpu_s();
                let outcome = run(&dense, &choice, Size::Objects(size)).expect("a good size");
                ours_s = ours_s.min(cpu_s() - started);
                misses = outcome.misses();
                if let Some((count, seconds)) = python.as_ref().and_then(|p| theirs(p, &long, policy, size)) {
                    theirs_s = theirs_s.min(seconds);
                    their_misses = Some(count);
                }
                let c = program.as_ref().and_then(|p| c_program(p, &long, policy, size, requests));
                if let Some((count, seconds)) = c {
                    c_s = c_s.min(seconds);
                    c_misses = Some(count);
                }
            }
            let ours = requests / ours_s / 1e6;
            print!("{policy:8} {size:8} {ours:12.1}");
            match their_misses {
                Some(count) => {
                    let same = if count == misses { "equal" } else { "differ" };
                    let (ratio, whole) = (theirs_s / ours_s, theirs_s / (ours_s + interning));
                    print!(" {:19.1} {ratio:6.1} {whole:25.1}  {same}", requests / theirs_s / 1e6);
                }
                None => print!("                   -      -                         -  {misses}"),
            }
            if let Some(count) = c_misses {
                // It prints four digits of the miss ratio.
                let same = if (count as f64 - misses as f64).abs() <= requests / 10_000.0 { "equal" } else { "differ" };
                print!(" {:16.1} {:6.1}  {same}", requests / c_s / 1e6, c_s / ours_s);
            }
            println!();
        }
    }
}
