// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The test of dm-aciom (`main.rs`) in the virtual phone, whole and with each of its safeties left out. Skipped, with a word, where
//! QEMU, the kernel or a compiler is missing. `FOVEA_ACIOM_SECONDS` is for how long each phase has load; `FOVEA_TEST_KERNEL` as in the torture test.

use std::time::Duration;

use fovea_phone::{Cache, Phone, Result};
use fovea_scenario::{Lacks, Plan};
use fovea_tests::phones::{chosen_kernel, logs, unless_missing, Ended, Guest, Turn, Which, EXT4_TOOLS};

const MODULES: [&str; 4] = ["dm-mod", "dm-flakey", "dm-log-writes", "null_blk"];
/// What other file systems need, which the debug kernel has not.
const MORE_MODULES: [&str; 2] = ["xfs", "btrfs"];
const MORE_TOOLS: [(&str, &str); 4] =
    [("mkfs.xfs", "xfsprogs"), ("xfs_repair", "xfsprogs"), ("mkfs.btrfs", "btrfs-progs"), ("btrfs", "btrfs-progs")];

/// And what is put above a disk.
const ABOVE_MODULES: [&str; 6] = ["dm-crypt", "xts", "ecb", "algif_skcipher", "dm-snapshot", "btrfs"];
const ABOVE_TOOLS: [(&str, &str); 5] = [
    ("cryptsetup", "cryptsetup-bin"),
    ("lvm", "lvm2"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("btrfs", "btrfs-progs"),
    ("dmsetup", "dmsetup"),
];

const ABOVE: &str = "cases=hook,luks,lvm,btrfs-two";
const USES: &str = "cases=resized,told,gone,over-loop,unloaded";
const SLEEP: &str = "cases=sleep";
/// A scheduler below, which takes more requests than the disk does and sorts them. On Linux 6.1 it is built in.
const DEADLINE: [&str; 2] = ["cases=fair", "scheduler=mq-deadline"];
/// As many CPUs as it reads on (`million.rs`).
const MILLION: (&str, u32) = ("cases=million", 8);
const OTHERS: &str = "cases=xfs,btrfs,ecache-below,ecache-above";

fn plan(words: &[String], exact: bool) -> Plan {
    let mut kernel_args: Vec<String> = [
        "loglevel=4",
        "nosoftlockup",
        "sysctl.kernel.hung_task_timeout_secs=30",
        "rcupdate.rcu_cpu_stall_suppress=1",
        // For dm-ecache beside it.
        "memmap=32M$0x10000000",
    ]
    .map(String::from)
    .to_vec();
    kernel_args.extend(words.iter().map(|word| format!("fovea.aciom.{word}")));
    let cpus = if exact { 1 } else { 2 };
    let memory_bytes = (512 << 20) + if chosen_kernel().is_debug() { 256 << 20 } else { 0 };
    Plan { lacks: Lacks { kernel_args, ..Lacks::default() }, exact, ..Plan::bare("aciom", memory_bytes, cpus) }
}

fn phone(broken: Option<&str>, words: &[&str], which: &Which) -> Result<Phone> {
    let (mut modules, mut tools) = (MODULES.to_vec(), EXT4_TOOLS.to_vec());
    if words.contains(&OTHERS) {
        modules.extend(MORE_MODULES);
        tools.extend(MORE_TOOLS);
    }
    if words.contains(&ABOVE) {
        modules.extend(ABOVE_MODULES);
        tools.extend(ABOVE_TOOLS);
    }
    if words.contains(&USES) {
        modules.push("loop");
    }
    if words.contains(&DEADLINE[1]) && !which.is_oldest() {
        modules.push("mq-deadline");
    }
    let guest = Guest {
        program: env!("CARGO_BIN_EXE_aciom"),
        modules: &modules,
        own_modules: &["dm-aciom", "dm-ecache"],
        broken,
        tools: &tools,
    };
    let cache = Cache::open()?;
    guest.phone(&cache, which.find(&cache)?)
}

fn boot(broken: Option<&str>, words: &[&str], exact: bool) -> Option<Ended> {
    let _turn = Turn::wait();
    let which = chosen_kernel();
    let mut phone = unless_missing(phone(broken, words, &which))?;
    if words.contains(&SLEEP) {
        // It takes CPUs off and on.
        phone = phone.by_turns();
    }
    if words.contains(&MILLION.0) {
        phone = phone.with_exact_cpus(MILLION.1);
    }
    let folder = tempfile::tempdir().unwrap();
    let results = logs("FOVEA_ACIOM_LOGS", folder.path());
    let mut words: Vec<String> = words.iter().map(ToString::to_string).collect();
    if let Ok(seconds) = std::env::var("FOVEA_ACIOM_SECONDS") {
        words.push(format!("seconds={seconds}"));
    }
    let ended = Ended::of(&phone, &plan(&words, exact), &results, Duration::from_secs(900 * which.slowness()));
    Some(ended)
}

#[test]
fn no_block_is_ever_wrong_and_no_request_lost() {
    if let Some(ended) = boot(None, &[], false) {
        ended.passes(50);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_file_is_wrong_on_other_file_systems_and_beside_the_cache() {
    if let Some(ended) = boot(None, &[OTHERS], false) {
        ended.lines("ok ").iter().for_each(|line| println!("{line}"));
        ended.passes(16);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_file_is_wrong_on_luks_lvm_and_btrfs_over_two_volumes() {
    if let Some(ended) = boot(None, &[ABOVE], false) {
        ended.lines("ok ").iter().for_each(|line| println!("{line}"));
        ended.passes(16);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_wrong_where_a_volume_is_resized_told_and_unloaded_in_use() {
    if let Some(ended) = boot(None, &[USES], false) {
        ended.lines("ok ").iter().for_each(|line| println!("{line}"));
        ended.passes(14);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_wrong_after_going_to_sleep_with_requests_held() {
    if let Some(ended) = boot(None, &[SLEEP], false) {
        ended.lines("ok ").iter().for_each(|line| println!("{line}"));
        ended.passes(3);
    }
}

/// In exact mode, where an instruction is a nanosecond: the figures of docs/results/disk.md.
#[test]
#[ignore = "long: some minutes of an emulated CPU"]
fn a_player_misses_nothing_beside_a_copy() {
    if let Some(ended) = boot(None, &["measure=1", "seconds=20"], true) {
        ended.lines("     ").iter().for_each(|line| println!("{line}"));
        ended.passes(2);
    }
}

#[test]
fn a_request_costs_at_most_2000_instructions() {
    if let Some(ended) = boot(None, &["cost=1"], true) {
        ["ok ", "     "].iter().flat_map(|mark| ended.lines(mark)).for_each(|line| println!("{line}"));
        ended.passes(5);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_read_at_more_than_3_percent_over_dm_linear_by_eight_cpus() {
    if let Some(ended) = boot(None, &[MILLION.0], true) {
        ended.lines("ok ").iter().for_each(|line| println!("{line}"));
        ended.passes(3);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_read_as_cheaply_where_all_take_the_lock() {
    unfair("lock", &[MILLION.0]);
}

/// A module without one safety must fail, and by wrong content.
fn control(broken: &str) {
    if let Some(ended) = boot(Some(broken), &["seconds=4"], false) {
        ended.fails(broken);
    }
}

/// In exact mode, where the host's load is nobody's: by a module without one of the rules, a reader waits for seconds, or reads dearly.
fn unfair(broken: &str, words: &[&str]) {
    if let Some(ended) = boot(Some(broken), words, true) {
        ended.fails(broken);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_fairly_read_where_writes_go_first() {
    unfair("reads", &DEADLINE[..1]);
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_fairly_read_where_write_back_never_waits() {
    unfair("pressure", &DEADLINE[..1]);
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_fairly_read_where_swap_is_held() {
    unfair("swap", &DEADLINE[..1]);
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_unfairly_read_above_mq_deadline() {
    if let Some(ended) = boot(None, &DEADLINE, true) {
        ended.lines("ok ").iter().for_each(|line| println!("{line}"));
        ended.passes(16);
    }
}

#[test]
#[ignore = "long: make torture-aciom"]
fn no_block_is_fairly_read_above_mq_deadline_where_writes_go_first() {
    unfair("reads", &DEADLINE);
}

#[test]
fn nobody_waits_for_long_beside_a_player() {
    if let Some(ended) = boot(None, &["cases=fair"], true) {
        ended.lines("ok ").iter().for_each(|line| println!("{line}"));
        ended.passes(16);
    }
}

#[test]
fn a_module_that_drops_flushes_fails() {
    control("flush");
}

#[test]
fn a_module_that_loses_what_it_holds_at_a_suspend_fails() {
    control("lost");
}

#[test]
fn a_module_that_keeps_errors_to_itself_fails() {
    control("error");
}

/// Of the core's: what an app has queued when its class changes is never seen again.
#[test]
fn a_module_that_drops_a_queue_fails() {
    control("drop");
}
