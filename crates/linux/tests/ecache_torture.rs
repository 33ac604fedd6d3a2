// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The torture test of dm-ecache (`examples/torture`) in the virtual phone, whole and with each of its safeties left out. Skipped,
//! with a word, where QEMU, the kernel or a compiler is missing.
//!
//! `FOVEA_TORTURE_OPERATIONS=1000000 cargo test --release -p fovea-linux --test ecache_torture` (`make torture`) is the long one.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fovea_phone::kmod::{build, Sources};
use fovea_phone::{fetch, with_libraries, Cache, Error, FailureReason, Phone, Programs, Progress, RunOptions};
use fovea_scenario::{Lacks, Plan};

/// One phone at a time: each wants more CPUs than most hosts have.
static ONE: Mutex<()> = Mutex::new(());

const MODULES: [&str; 4] = ["dm-mod", "dm-delay", "dm-flakey", "null_blk"];

/// What a boot left behind.
struct Ended {
    reason: Option<FailureReason>,
    console: String,
}

impl Ended {
    fn lines(&self, mark: &str) -> Vec<&str> {
        self.console.lines().filter(|line| line.starts_with(mark)).collect()
    }
}

/// Cargo builds the examples before it runs tests, beside the folder this very test is in.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/torture")
}

fn plan(words: &[String]) -> Plan {
    // The carve-outs of `examples/torture/main.rs`, and movable memory that can be taken offline in blocks of 128 MiB.
    let mut kernel_args: Vec<String> = [
        "memmap=12M$0x10000000",
        "memmap=4M$0x12000000",
        "movablecore=384M",
        // Reading the carve-outs through /dev/mem.
        "iomem=relaxed",
        // Thousands of errors that are meant are not for the console; the log is watched from within.
        "loglevel=3",
        // A loaded host stops virtual CPUs for long.
        "nosoftlockup",
        "rcupdate.rcu_cpu_stall_suppress=1",
    ]
    .map(String::from)
    .to_vec();
    kernel_args.extend(words.iter().map(|word| format!("fovea.torture.{word}")));
    Plan { lacks: Lacks { kernel_args, ..Lacks::default() }, ..Plan::bare("torture", 768 << 20, 4) }
}

/// A phone with the torture program and the module, or what is missing for one.
fn phone(dir: &Path, module: Option<Option<&str>>) -> Result<Phone, Error> {
    let cache = Cache::open()?;
    let missing = |what: &str, mend: &str| Error::Missing { what: what.into(), mend: mend.into() };
    let kernel = fetch::cached(&cache)?.ok_or_else(|| missing("no kernel in the cache", "`make fetch` gets one"))?;
    let torture = program();
    if !torture.exists() {
        return Err(missing("the torture program is not built", "run all of `cargo test -p fovea-linux`"));
    }
    let mut own = Vec::new();
    if let Some(broken) = module {
        let sources = Sources::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
        let built = build(&cache, &kernel, &sources, broken, &Progress::quiet())?;
        own.extend([built.file("dm-ecache")?, built.file("ecache-selftest")?]);
    }
    // It needs no other static program; the image wants three.
    let small = dir.join("small");
    std::fs::copy(fetch::busybox(&cache, &Progress::quiet())?, &small).unwrap();
    let programs = Programs { init: torture, fovea: small.clone(), busybox: small };
    let phone = Phone::prepare(&cache, kernel, &programs, &MODULES, &own, &Progress::quiet())?;
    let mend = "apt-get install e2fsprogs";
    let mut files = with_libraries("mkfs.ext4", mend)?;
    files.extend(with_libraries("e2fsck", mend)?);
    phone.with_files(&files)
}

/// Boots it; `None`, with a word, if this machine cannot.
fn torture(module: Option<Option<&str>>, words: &[String], timeout_s: u64) -> Option<Ended> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let phone = match phone(dir.path(), module) {
        Ok(phone) => phone,
        Err(e) if e.is_missing() => {
            println!("skipped: {e}");
            return None;
        }
        Err(e) => panic!("{e}\n{}", e.details().join("\n")),
    };
    let results = std::env::var_os("FOVEA_TORTURE_LOGS").map_or_else(|| dir.path().join("results"), PathBuf::from);
    let options = RunOptions { timeout: Duration::from_secs(timeout_s), results };
    let (reason, logs) = match phone.run(&plan(words), &options, &Progress::quiet(), |_| ()) {
        Ok(outcome) => (None, outcome.logs),
        Err(Error::Boot(failure)) => (Some(failure.reason.clone()), failure.logs.clone()),
        Err(e) => panic!("{e}"),
    };
    let console = std::fs::read_to_string(logs.join("console.log")).unwrap();
    Some(Ended { reason, console })
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn passes(ended: &Ended, checks: usize) {
    let failures = ended.lines("FAIL");
    assert!(ended.reason.is_none() && failures.is_empty(), "{:?}\n{failures:#?}\n{}", ended.reason, ended.console);
    // That the program came to its end, and not merely to a silent one.
    assert!(ended.lines("ok ").len() >= checks, "{} checks only:\n{}", ended.lines("ok ").len(), ended.console);
    for line in ended.lines("ok   soak").iter().chain(&ended.lines("     pool")) {
        println!("{line}");
    }
}

#[test]
fn the_torture_itself_raises_no_false_alarm() {
    let words = ["kind=linear".to_owned(), "operations=6000".to_owned()];
    if let Some(ended) = torture(None, &words, 900) {
        passes(&ended, 15);
    }
}

#[test]
fn no_block_is_ever_wrong() {
    let operations = number("FOVEA_TORTURE_OPERATIONS", 30_000);
    let words = [
        format!("operations={operations}"),
        format!("sequences={}", number("FOVEA_TORTURE_SEQUENCES", 500)),
        format!("seed={}", number("FOVEA_TORTURE_SEED", 1)),
    ];
    if let Some(ended) = torture(Some(None), &words, 900 + operations / 100) {
        passes(&ended, 60);
    }
}

#[test]
fn memory_taken_from_the_running_system_serves_as_well() {
    let words = ["carveouts=contig:12M,contig:4M", "refusals=0", "operations=6000", "sequences=200"].map(String::from);
    if let Some(ended) = torture(Some(None), &words, 900) {
        passes(&ended, 35);
    }
}

/// A module without one safety must fail, and by wrong content.
fn control(broken: &str) {
    let words = ["operations=8000", "sequences=50", "stop=1"].map(String::from);
    let Some(ended) = torture(Some(Some(broken)), &words, 900) else { return };
    let wrong = ended.lines("FAIL wrong content");
    assert!(
        matches!(ended.reason, Some(FailureReason::Plan(_))) && !wrong.is_empty(),
        "without {broken} the module survives: {:?}\n{:#?}\n{}",
        ended.reason,
        ended.lines("FAIL"),
        ended.console
    );
    println!("without {broken}: {}", wrong[0]);
}

#[test]
fn a_module_that_misses_writes_fails() {
    control("write");
}

/// Neither told of moves nor looking whose a page is.
#[test]
fn a_module_that_misses_migration_fails() {
    control("migration");
}

/// Not told of moves, but looking: pages that moved are lost to the cache, and none is wrong.
#[test]
fn a_module_that_is_not_told_of_migration_does_no_harm() {
    let words = ["operations=4000", "sequences=50", "blind=1"].map(String::from);
    if let Some(ended) = torture(Some(Some("blind")), &words, 900) {
        passes(&ended, 55);
    }
}

#[test]
fn a_module_that_takes_truncated_pages_fails() {
    control("truncated");
}

#[test]
fn a_module_that_takes_reads_beside_direct_writes_fails() {
    control("direct");
}

#[test]
fn a_module_that_salvages_too_late_fails() {
    control("late");
}
