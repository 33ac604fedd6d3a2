// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! States that come back in the same boot: hibernation and suspend that are not gone through with, and their steps up to those that
//! `pm_test` stops at, where the kernel has it. (A phone in QEMU 7.2 that really sleeps does not come back: from suspend to idle for want
//! of something that wakes it, and from suspend to RAM by way of a reset.)

use std::fs;
use std::path::Path;

use fovea_tests::content::Contents;
use fovea_tests::raw::Pages;
use fovea_tests::report::Report;

use crate::device::Held;
use crate::stack::{load_module, open_direct, swap_off, swap_on, write_file, Outcome, Stack};
use crate::work::{Work, SEED};
use crate::Options;

const PM_TEST: &str = "/sys/power/pm_test";

pub fn all(options: &Options, report: &Report) -> Outcome<()> {
    load_module(options)?;
    let stack = Stack::build(options)?;
    stack.make_file_system()?;
    let contents = Contents::new(SEED);
    let mut work = Work::begin(&stack, &contents, options, report)?;

    swap_on()?;
    if Path::new("/proc/lockdep_stats").exists() {
        // Linux 6.12's NVMe driver, woken, takes a lock that its interrupts' set-up takes while it frees memory; so does it without the module
        // (`sleep_itself`). lockdep says it once, and then no more of anything.
        work.expect_log(&["possible circular locking dependency", "Call Trace"]);
    }
    once("an image that is read back at once", &mut work, options, report, |_| hibernate("test_resume"))?;
    swap_off()?;
    once("hibernation without swap", &mut work, options, report, |_| refused(hibernate("shutdown")))?;
    // The kernel shows where the thread is that it could not freeze.
    work.expect_log(&["Call Trace"]);
    once("hibernation that does not begin", &mut work, options, report, |stack| {
        cannot_freeze(stack, || hibernate("shutdown"))
    })?;
    work.expect_log(&["Call Trace"]);
    once("suspend that does not begin", &mut work, options, report, |stack| {
        cannot_freeze(stack, || write_file("/sys/power/state", "mem"))
    })?;
    steps(&mut work, options, report)?;
    drop(work);
    stack.take_away(options)
}

/// Goes through one state with a full cache and a buffer in use, and looks at everything.
fn once(
    what: &str,
    work: &mut Work,
    options: &Options,
    report: &Report,
    enter: impl FnOnce(&Stack) -> Outcome<()>,
) -> Outcome<()> {
    println!("     {what}");
    work.renew();
    let held = Held::new(options)?;
    work.fill_cache()?;
    let stack = work.stack;
    let entered = work.through(|| enter(stack));
    report.check(what, entered.is_ok(), format_args!("{entered:?}"));
    held.tell(what);
    work.check(what)?;
    held.finish(what, report)
}

fn hibernate(how: &str) -> Outcome<()> {
    write_file("/sys/power/disk", how)?;
    write_file("/sys/power/state", "disk")
}

/// What must not work.
fn refused(done: Outcome<()>) -> Outcome<()> {
    match done {
        Ok(()) => Err("it was not refused".into()),
        Err(e) => {
            println!("     refused: {e}");
            Ok(())
        }
    }
}

/// A thread that waits for a disk cannot be frozen, so the kernel gives up.
fn cannot_freeze(stack: &Stack, enter: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    write_file("/sys/power/pm_freeze_timeout", "500")?;
    let node = stack.stopped()?;
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut page = Pages::new(1);
            open_direct(&node).map(|file| std::os::unix::fs::FileExt::read_at(&file, page.bytes(1), 0))
        });
        while !waits_for_disk() {
            std::thread::yield_now();
        }
        let done = refused(enter());
        let let_go = stack.let_go();
        done.and(let_go)
    });
    write_file("/sys/power/pm_freeze_timeout", "20000")?;
    stack.remove_stopped()?;
    done
}

/// Whether a thread of ours is in the uninterruptible sleep of a direct read.
fn waits_for_disk() -> bool {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.map(|task| task.path()).any(|task| {
        let state = fs::read_to_string(task.join("stat")).unwrap_or_default();
        let stack = fs::read_to_string(task.join("stack")).unwrap_or_default();
        state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('D')) && stack.contains("blkdev")
    })
}

/// Where the kernel has `pm_test`: each step of suspend and of hibernation, and back from there.
fn steps(work: &mut Work, options: &Options, report: &Report) -> Outcome<()> {
    if !Path::new(PM_TEST).exists() {
        println!("     this kernel has no pm_test");
        return Ok(());
    }
    for level in ["freezer", "devices", "platform", "processors", "core"] {
        for state in ["mem", "disk"] {
            let what = format!("{state} up to {level}");
            once(&what, work, options, report, |_| {
                write_file(PM_TEST, level)?;
                write_file("/sys/power/disk", "platform")?;
                write_file("/sys/power/state", state)?;
                write_file(PM_TEST, "none")
            })?;
        }
    }
    Ok(())
}
