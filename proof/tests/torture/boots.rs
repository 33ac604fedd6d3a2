// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The torture test of dm-ecache (`main.rs`) in the virtual phone, whole and with each of its safeties left out. Skipped,
//! with a word, where QEMU, the kernel or a compiler is missing.
//!
//! `FOVEA_TORTURE_OPERATIONS=1000000 cargo test --release -p fovea-tests --test ecache_torture` (`make torture`) is the long one. Another
//! kernel is named by `FOVEA_TEST_KERNEL`: `6.1` (`make torture-6.1`) or `debug` (`make torture-debug`). `FOVEA_TEST_KERNEL_ARGS` are further words for its command
//! line.

use std::time::Duration;

use fovea_phone::{Cache, Phone, Result};
use fovea_scenario::{Lacks, Plan};
use fovea_tests::phones::{chosen_kernel, logs, unless_missing, Ended, Guest, Turn, Which, EXT4_TOOLS};

const MODULES: [&str; 4] = ["dm-mod", "dm-delay", "dm-flakey", "null_blk"];

/// As many readers as CPUs.
const READERS: &str = "readers=8";

fn plan(words: &[String], which: &Which) -> Plan {
    // The carve-outs of `main.rs`, and movable memory that can be taken offline in blocks of 128 MiB.
    let mut kernel_args: Vec<String> = [
        "memmap=12M$0x10000000",
        "memmap=4M$0x12000000",
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
    kernel_args.extend(
        std::env::var("FOVEA_TEST_KERNEL_ARGS").iter().flat_map(|line| line.split_ascii_whitespace()).map(String::from),
    );
    kernel_args.extend(words.iter().map(|word| format!("fovea.torture.{word}")));
    let (mut memory_bytes, mut movable_bytes) = (768 << 20, 384 << 20);
    if which.is_debug() {
        // Shadow memory, quarantine and records of all that is allocated; much of it at boot, from the upper end, which is the movable one.
        memory_bytes += 768 << 20;
        movable_bytes += 384 << 20;
        // Its configuration keeps programs from writing to what is mounted; this one compares.
        kernel_args.extend(["fovea.torture.debug=1", "bdev_allow_write_mounted=1"].map(String::from));
    }
    kernel_args.push(format!("movablecore={movable_bytes}"));
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let cpus = if has(READERS) { 8 } else { 4 };
    Plan {
        lacks: Lacks { kernel_args, ..Lacks::default() },
        exact: has("exact=1"),
        ..Plan::bare("torture", memory_bytes, cpus)
    }
}

/// A phone with the torture program and the module, or what is missing for one.
fn phone(module: Option<Option<&str>>, which: &Which) -> Result<Phone> {
    let own_modules: &[&str] = if module.is_some() { &["dm-ecache", "contig-heap", "ecache-selftest"] } else { &[] };
    let broken = module.flatten();
    let guest =
        Guest { program: env!("CARGO_BIN_EXE_torture"), modules: &MODULES, own_modules, broken, tools: &EXT4_TOOLS };
    let cache = Cache::open()?;
    guest.phone(&cache, which.find(&cache)?)
}

/// Boots it; `None`, with a word, if this machine cannot.
fn torture(module: Option<Option<&str>>, words: &[String], timeout_s: u64) -> Option<Ended> {
    let _turn = Turn::wait();
    let which = chosen_kernel();
    let phone = unless_missing(phone(module, &which))?;
    let folder = tempfile::tempdir().unwrap();
    let results = logs("FOVEA_TORTURE_LOGS", folder.path());
    Some(Ended::of(&phone, &plan(words, &which), &results, Duration::from_secs(timeout_s * which.slowness())))
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn passes(ended: &Ended, checks: usize) {
    ended.passes(checks);
    for line in ended.lines("ok   soak").iter().chain(&ended.lines("     pool")) {
        println!("{line}");
    }
}

#[test]
#[ignore = "long: make torture"]
fn the_torture_itself_raises_no_false_alarm() {
    let words = ["kind=linear".to_owned(), "operations=6000".to_owned()];
    if let Some(ended) = torture(None, &words, 900) {
        passes(&ended, 15);
    }
}

#[test]
fn no_block_is_ever_wrong() {
    let operations = number("FOVEA_TORTURE_OPERATIONS", 12_000);
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
    control_with(broken, &[]);
}

fn control_with(broken: &str, more: &[&str]) {
    let words = ["operations=8000", "sequences=50", "stop=1", "refusals=0"];
    let words: Vec<String> = words.iter().chain(more).map(ToString::to_string).collect();
    let Some(ended) = torture(Some(Some(broken)), &words, 900) else { return };
    ended.fails(broken);
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
    let words = ["operations=4000", "sequences=50", "blind=1", "refusals=0"].map(String::from);
    if let Some(ended) = torture(Some(Some("blind")), &words, 900) {
        passes(&ended, 30);
    }
}

/// As on a kernel without function tracing.
#[test]
fn a_module_that_follows_no_moves_does_no_harm() {
    let words = ["operations=4000", "sequences=50", "follow=0", "refusals=0"].map(String::from);
    if let Some(ended) = torture(Some(None), &words, 900) {
        passes(&ended, 30);
    }
}

/// There it is the look at what is put that keeps it right.
#[test]
fn a_module_that_neither_follows_moves_nor_verifies_fails() {
    control_with("verify", &["follow=0"]);
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
fn a_module_that_does_not_look_at_what_is_under_way_to_the_core_fails() {
    control("batch");
}

#[test]
fn a_module_that_salvages_too_late_fails() {
    control("late");
}

#[test]
fn a_module_that_serves_what_a_frame_holds_now_fails() {
    control("damaged");
}

#[test]
fn a_module_that_reads_broken_memory_fails() {
    control("poison");
}

#[test]
fn a_module_that_gives_memory_away_while_it_is_copied_fails() {
    control("pinned");
}

/// Nobody may be unloaded under his buffers. It ends before anything is called that is gone.
#[test]
fn modules_that_their_buffers_do_not_hold_fail() {
    let words = ["phases=0", "operations=100", "sequences=50", "stop=1", "refusals=0"].map(String::from);
    let Some(ended) = torture(Some(Some("unheld")), &words, 900) else { return };
    let failures = ended.lines("FAIL");
    assert!(ended.reason.is_some(), "{}", ended.console);
    assert!(
        failures.iter().any(|line| line.contains("unloading contig_heap under")),
        "{failures:#?}\n{}",
        ended.console
    );
}

/// Loads that fault, as a machine check has them do, retire frames and do no other harm.
#[test]
fn a_module_whose_frames_fault_reads_from_disk() {
    let words = ["phases=0", "operations=3000", "sequences=50", "faulty=1", "refusals=0"].map(String::from);
    if let Some(ended) = torture(Some(Some("fault")), &words, 900) {
        passes(&ended, 30);
    }
}

/// What the control of copies has besides, and what must do no harm by itself.
#[test]
#[ignore = "long: make torture"]
fn a_module_whose_copies_take_long_does_no_harm() {
    let words = ["operations=8000", "sequences=50"].map(String::from);
    if let Some(ended) = torture(Some(Some("slow")), &words, 900) {
        passes(&ended, 60);
    }
}

/// Where an instruction is a nanosecond, on one CPU: how many there are at most with interrupts off, in all that the test does.
#[test]
#[ignore = "long: make torture"]
fn nobody_keeps_interrupts_off_for_long() {
    let words = ["operations=6000", "sequences=200", "exact=1"].map(String::from);
    if let Some(ended) = torture(Some(None), &words, 1800) {
        passes(&ended, 60);
        for line in ended.lines("ok   interrupts come in time") {
            println!("{line}");
        }
    }
}

/// What the locks cost who reads cached files of two volumes: on eight CPUs, and counted in instructions on one.
#[test]
#[ignore = "long: make torture"]
fn readers_seldom_meet_at_the_pools_lock() {
    for more in [&[][..], &["exact=1"]] {
        let words: Vec<String> = [READERS, "refusals=0"].iter().chain(more).map(ToString::to_string).collect();
        if let Some(ended) = torture(Some(None), &words, 900) {
            passes(&ended, 8);
            for line in ended.lines("ok   8 readers") {
                println!("{line}");
            }
        }
    }
}
