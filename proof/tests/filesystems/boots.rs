// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! dm-ecache under every file system, and in every situation in which it once served wrong data (`main.rs`), in the virtual
//! phone; and modules without the safety that each of these is the guard of, which must fail. Skipped, with a word, where QEMU, the
//! kernel, a compiler or a file system's program is missing; where `CI` is set, or `FOVEA_PHONES=required`, that is a failure.
//!
//! `FOVEA_FILESYSTEMS_CASES=all cargo test --release -p fovea-tests --test ecache_filesystems` (`make torture-fs`) is the long one.
//! `FOVEA_FILESYSTEMS_SECONDS` is how long fsx goes on at least, on each file system. `FOVEA_TEST_KERNEL=6.1` boots that kernel (`make torture-6.1`), `pc` the one that knows more file systems.

use std::collections::BTreeSet;
use std::time::Duration;

use fovea_phone::{Cache, FailureReason, Phone, Result};
use fovea_scenario::{Lacks, Plan};
use fovea_tests::phones::{chosen_kernel, logs, unless_missing, Ended, Guest, Turn, Which};

const MODULES: [&str; 24] = [
    "dm-mod",
    "dm-delay",
    "dm-log-writes",
    "dm-crypt",
    "dm-raid",
    "dm-snapshot",
    "dm-thin-pool",
    "ext4",
    "raid1",
    "null_blk",
    "loop",
    "xfs",
    "btrfs",
    "erofs",
    "squashfs",
    "nls_cp437",
    "nls_ascii",
    "vfat",
    "exfat",
    "ntfs3",
    "udf",
    "overlay",
    "xts",
    "cts",
];

/// What only a PC's kernel has, or has as modules, and the programs for it.
const PC_MODULES: [&str; 4] = ["crc32c_generic", "crc32_generic", "f2fs", "jfs"];
const PC_TOOLS: [(&str, &str); 4] =
    [("mkfs.f2fs", "f2fs-tools"), ("fsck.f2fs", "f2fs-tools"), ("mkfs.jfs", "jfsutils"), ("fsck.jfs", "jfsutils")];

/// What the oldest and the newest kernel of clouds are built without: the latter has another driver of NTFS. A case that needs one fails there if
/// it is asked for.
const ONLY_IN_STOCK: [&str; 1] = ["ntfs3"];

/// Programs for the guest, and the package of each.
const TOOLS: [(&str, &str); 15] = [
    ("mkfs.ext4", "e2fsprogs"),
    ("e2fsck", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("xfs_repair", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("btrfs", "btrfs-progs"),
    ("mkfs.vfat", "dosfstools"),
    ("fsck.vfat", "dosfstools"),
    ("mkfs.exfat", "exfatprogs"),
    ("fsck.exfat", "exfatprogs"),
    ("mkfs.erofs", "erofs-utils"),
    ("mksquashfs", "squashfs-tools"),
    ("mkntfs", "ntfs-3g"),
    ("ntfsfix", "ntfs-3g"),
    ("mkudffs", "udftools"),
];

/// Each case that came to its end, and the first wrong content it found.
fn cases(console: &str) -> Vec<(&str, Option<&str>)> {
    let mut cases = Vec::new();
    let mut wrong = None;
    for line in console.lines() {
        if line.starts_with("FAIL wrong content") {
            wrong = wrong.or(Some(line));
        } else if let Some(rest) = line.strip_prefix("case name=") {
            cases.push((rest.split(' ').next().unwrap_or(rest), wrong.take()));
        }
    }
    cases
}

/// The programs in the folder that `make xfstests` has built.
fn xfstests() -> Vec<String> {
    let Some(folder) = std::env::var_os("FOVEA_XFSTESTS") else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("FOVEA_XFSTESTS: {folder:?}: {e}"));
    entries.flatten().map(|entry| entry.path().display().to_string()).collect()
}

fn plan(words: &[String]) -> Plan {
    let mut kernel_args: Vec<String> = [
        // The carve-outs of `main.rs`.
        "memmap=12M$0x10000000",
        "memmap=4M$0x12000000",
        // For bios of more than 256 pages; on the second node, since the first has the kernel, the image and all CPUs.
        "hugepages=1:36",
        // Errors that are meant are not for the console; the log is watched from within.
        "loglevel=3",
        // A loaded host stops virtual CPUs for long.
        "nosoftlockup",
        "rcupdate.rcu_cpu_stall_suppress=1",
    ]
    .map(String::from)
    .to_vec();
    kernel_args.extend(words.iter().map(|word| format!("fovea.filesystems.{word}")));
    // The disks are in its memory; those of xfstests are large.
    let memory_bytes = if xfstests().is_empty() { 480 << 20 } else { 800 << 20 };
    Plan { lacks: Lacks { kernel_args, ..Lacks::default() }, ..Plan::bare("filesystems", memory_bytes, 2) }
}

/// A phone with the program and the module, or what is missing for one.
fn phone(module: Option<Option<&str>>, which: &Which) -> Result<Phone> {
    let own_modules: &[&str] = if module.is_some() { &["dm-ecache"] } else { &[] };
    let broken = module.flatten();
    let cache = Cache::open()?;
    let (mut modules, mut tools) = (MODULES.to_vec(), TOOLS.to_vec());
    if which.is_pc() {
        modules.extend(PC_MODULES);
        tools.extend(PC_TOOLS);
    }
    if which.is_oldest() || which.is_newest() {
        modules.retain(|name| !ONLY_IN_STOCK.contains(name));
    }
    let built = xfstests();
    tools.extend(built.iter().map(|path| (path.as_str(), "what xfstests needs: make xfstests")));
    let program = env!("CARGO_BIN_EXE_filesystems");
    let guest = Guest { program, modules: &modules, own_modules, broken, tools: &tools };
    assert!(!which.is_debug(), "FOVEA_TEST_KERNEL=debug: its shadow memory does not fit here; use ecache_torture");
    Ok(guest.phone(&cache, which.find(&cache)?)?.with_nodes(2))
}

/// Boots it; `None`, with a word, if this machine cannot.
fn boot(module: Option<Option<&str>>, words: &[&str], timeout_s: u64) -> Option<Ended> {
    boot_on(&chosen_kernel(), module, words, timeout_s)
}

fn boot_on(which: &Which, module: Option<Option<&str>>, words: &[&str], timeout_s: u64) -> Option<Ended> {
    let _turn = Turn::wait();
    let phone = unless_missing(phone(module, which))?;
    let folder = tempfile::tempdir().unwrap();
    let results = logs("FOVEA_FILESYSTEMS_LOGS", folder.path());
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    Some(Ended::of(&phone, &plan(&words), &results, Duration::from_secs(timeout_s)))
}

/// A case of each kind, for the rehearsal of `make test`.
const REHEARSED: &str =
    "ext4-1k,erofs-4k-disabled,overlay-on-ext4,race-unaligned,truncate-2k,fsx-xfs,moved-without-ftrace";

/// What the two whole runs do, if nobody names other cases.
fn asked(cases: &str) -> String {
    let word = |name: &str, default: &str| std::env::var(format!("FOVEA_FILESYSTEMS_{name}")).unwrap_or(default.into());
    let numbers = [("operations", "400"), ("rounds", "12"), ("seconds", "0")]
        .map(|(name, default)| format!(" fovea.filesystems.{name}={}", word(&name.to_uppercase(), default)));
    format!("cases={}{}", word("CASES", cases), numbers.concat())
}

fn passes(ended: &Ended) {
    for line in ended.lines("case name=") {
        println!("{line}");
    }
    ended.passes(0);
    // That the program came to its end, and not merely to a silent one.
    assert!(!cases(&ended.console).is_empty(), "no case was run:\n{}", ended.console);
}

#[test]
#[ignore = "long: make torture-fs"]
fn the_cases_themselves_raise_no_false_alarm() {
    if let Some(ended) = boot(None, &["kind=linear", &asked(REHEARSED)], 7200) {
        passes(&ended);
    }
}

#[test]
fn every_file_system_is_right_on_the_module() {
    if let Some(ended) = boot(Some(None), &[&asked("short-file-systems")], 7200) {
        passes(&ended);
        let at_work = |line: &&str| !line.contains(" hits=0 ");
        let ext4 = ended.lines("case name=ext4-4k ");
        assert!(ext4.iter().all(at_work), "an idle cache proves nothing: {ext4:?}");
    }
}

/// In a boot of its own, beside the one above; which runs all that is asked for by name.
#[test]
fn what_was_wrong_once_is_right() {
    if std::env::var_os("FOVEA_FILESYSTEMS_CASES").is_some() {
        return;
    }
    if let Some(ended) = boot(Some(None), &[&asked("short-once-wrong")], 7200) {
        passes(&ended);
    }
}

/// The newest kernel that DKMS builds for has large folios where the stock one has none; `make torture-kernels` does the rest there.
const ON_THE_NEWEST: &str = "ext4-4k,punch-xfs,swapped-tables";

/// The newest kernel alone has such blocks in ext4, too.
#[test]
#[ignore = "long: make torture-fs"]
fn blocks_larger_than_pages_are_right() {
    if let Some(ended) = boot_on(&Which::Newest, Some(None), &["cases=large-blocks", "rounds=12"], 3600) {
        passes(&ended);
        let at_work = |line: &&str| !line.contains(" hits=0 ");
        let whole = ["xfs-16k", "ext4-16k"].map(|case| ended.lines(&format!("case name={case} ")));
        assert!(whole.iter().flatten().all(at_work), "an idle cache proves nothing: {whole:?}");
    }
}

#[test]
fn the_newest_kernel_of_the_table_is_booted() {
    let table = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kmod/kernels.txt")).unwrap();
    let newest = Which::all_of(&table).pop().expect("kmod/kernels.txt has no line");
    let words = [&format!("cases={ON_THE_NEWEST}"), "rounds=8", "stop=1"];
    if let Some(ended) = boot_on(&newest, Some(None), &words, 1800) {
        passes(&ended);
        let cases = ended.lines("case name=");
        let at_work = cases.iter().filter(|line| !line.contains(" hits=0 ")).count();
        assert!(at_work == ON_THE_NEWEST.split(',').count(), "an idle cache proves nothing: {cases:?}");
    }
}

/// A module without one safety must fail each of these, and by wrong content.
fn control(broken: &str, wanted: &[&str]) {
    let words = [&format!("cases={}", wanted.join(",")), "rounds=400"];
    let Some(ended) = boot(Some(Some(broken)), &words, 1800) else { return };
    for (case, wrong) in cases(&ended.console) {
        println!("without {broken}, {case}: {}", wrong.unwrap_or("right"));
    }
    let wrong = cases(&ended.console).into_iter().filter(|(_, wrong)| wrong.is_some());
    let caught: BTreeSet<&str> = wrong.map(|(case, _)| case).collect();
    let wanted: BTreeSet<&str> = wanted.iter().copied().collect();
    assert!(
        matches!(ended.reason, Some(FailureReason::Plan(_))) && caught == wanted,
        "without {broken} only {caught:?} of {wanted:?} fail by wrong content: {:?}\n{}",
        ended.reason,
        ended.console
    );
}

#[test]
fn a_module_that_does_not_verify_what_it_puts_fails() {
    control("verify", &["truncate-2k", "erofs-4k-disabled"]);
}

/// File systems were once listed whose pages change only where they are marked dirty.
#[test]
fn a_module_that_trusts_listed_file_systems_fails() {
    control("listed", &["punch-xfs"]);
}

/// Neither that, nor told of moves.
#[test]
fn a_module_that_misses_moves_fails() {
    control("migration", &["moved-without-ftrace"]);
}

#[test]
fn a_module_that_lets_requests_overlap_fails() {
    control("direct", &["race-unaligned", "race-discard"]);
}

/// fsync(2) would promise what is not so.
#[test]
fn a_module_that_swallows_flushes_fails() {
    control("flush", &["power-cut-ext4"]);
}
