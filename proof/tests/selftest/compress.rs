// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Paging out and reading ahead.

use std::io::Write;

use fovea_linux::device_traits::*;
use fovea_linux::{CompressCursor, CompressOutcome};

use crate::child::{map, mix, Child, Content, Order, PAGE};
use crate::Bench;

/// Pages that may stay behind: those that another CPU has just put into its batch for the LRU lists cannot be isolated from them.
const BATCHED: u64 = 32;

/// Compresses an app to the end in calls of `pages`, and adds the calls up.
pub fn to_the_end(bench: &mut Bench, cgroup: &str, pages: u64) -> (CompressOutcome, u32) {
    let mut sum = CompressOutcome::default();
    let mut cursor = CompressCursor::default();
    for calls in 1..10_000 {
        let outcome = bench.system.compress(cgroup, cursor, pages, 500).expect("compress");
        if outcome.swapped_pages > pages || outcome.scanned_pages > 16 * pages + 31 {
            bench.check("the bounds of a call", false, format!("{pages} asked: {outcome:?}"));
        }
        sum.swapped_pages += outcome.swapped_pages;
        sum.scanned_pages += outcome.scanned_pages;
        sum.incompressible_pages += outcome.incompressible_pages;
        sum.sample_permille = outcome.sample_permille;
        match outcome.next {
            Some(next) => cursor = next,
            None => return (sum, calls),
        }
    }
    bench.check("the cursor comes to an end", false, format!("{cursor:?}"));
    (sum, 0)
}

pub fn run(bench: &mut Bench) {
    contents(bench);
    shared_locked_and_sparse(bench);
    prefetch(bench);
    changing_under_us(bench);
}

fn contents(bench: &mut Bench) {
    for (name, mix, calls_of) in [
        ("compressible", mix(100, 0), 2048),
        ("zero", mix(0, 100), 2048),
        ("random", mix(0, 0), 2048),
        ("mixed", mix(50, 20), 2048),
        ("mixed, 32 at a time", mix(50, 20), 32),
        ("mixed, 7 at a time", mix(50, 20), 7),
    ] {
        let (cgroup, folder) = bench.cgroup();
        let content = Content::new(2048, mix);
        let mut child = Child::app(&folder, content);
        bench.system.set_frozen(&cgroup, true).expect("freeze");
        let before = bench.system.usage(&cgroup).expect("usage");
        let (outcome, calls) = to_the_end(bench, &cgroup, calls_of);
        let after = bench.system.usage(&cgroup).expect("usage");
        bench.system.set_frozen(&cgroup, false).expect("thaw");
        // The child's own small heap and stack may go along, in windows that hold little else.
        let (expected, slack) = (content.compressible_pages(), 64);
        let swapped = (expected.saturating_sub(BATCHED)..=expected + slack).contains(&outcome.swapped_pages);
        bench.check(
            &format!("{name}: what compresses leaves, and only that"),
            swapped,
            format!("{expected} expected, {outcome:?} in {calls} calls"),
        );
        let random = content.pages as u64 - expected;
        let kept = (random..=random + slack).contains(&outcome.incompressible_pages);
        bench.check(&format!("{name}: what does not stays"), kept, outcome.incompressible_pages);
        let moved = before.anon_bytes.saturating_sub(after.anon_bytes) / PAGE as u64;
        let agrees = moved.abs_diff(outcome.swapped_pages) <= 64 && after.processes == 1;
        bench.check(&format!("{name}: the cgroup's figures agree"), agrees, format!("{moved} pages less, {after:?}"));
        let (wrong, _) = child.tell(Order::Verify);
        bench.check(&format!("{name}: content"), wrong == 0, format!("{wrong} wrong pages"));
    }
}

fn shared_locked_and_sparse(bench: &mut Bench) {
    // A fork in another app shares the pages, as a zygote's children do.
    let (cgroup, folder) = bench.cgroup();
    let mut parent = Child::app(&folder, Content::new(1024, mix(100, 0)));
    let (pid, _) = parent.tell(Order::Fork);
    let outcome = bench.system.compress(&cgroup, CompressCursor::default(), 1024, 500).expect("compress");
    let left_alone = outcome.swapped_pages < 64 && outcome.scanned_pages < 128;
    bench.check("pages mapped twice are left alone", left_alone, format!("{outcome:?}"));
    let usage = bench.system.usage(&cgroup).expect("usage");
    bench.check("a forked child counts", usage.processes == 2, format!("{usage:?}"));
    // SAFETY: a process of ours.
    unsafe { libc::kill(pid as i32, libc::SIGKILL) };
    parent.end();

    let (cgroup, folder) = bench.cgroup();
    let mut locked = Child::app(&folder, Content::new(512, mix(100, 0)));
    let failed = locked.tell(Order::Lock).0;
    let outcome = bench.system.compress(&cgroup, CompressCursor::default(), 512, 500);
    let skipped = outcome.as_ref().is_ok_and(|o| o.swapped_pages == 0 && o.next.is_none());
    bench.check("locked memory is passed over", skipped && failed == 0, format!("{outcome:?}"));
    locked.end();

    let (cgroup, folder) = bench.cgroup();
    let content = Content { span_bytes: 256 << 30, ..Content::new(256, mix(100, 0)) };
    let mut sparse = Child::app(&folder, content);
    let outcome = bench.system.compress(&cgroup, CompressCursor::default(), 512, 500);
    let found = outcome.as_ref().is_ok_and(|o| o.swapped_pages + BATCHED >= 256 && o.next.is_none());
    bench.check("256 pages in 256 GiB of holes are found in one call", found, format!("{outcome:?}"));
    bench.check("sparse: content", sparse.tell(Order::Verify).0 == 0, "verified");
}

fn swap_cached_pages() -> u64 {
    let text = std::fs::read("/proc/meminfo").unwrap_or_default();
    fovea_linux::proc::kib_value(&text, b"SwapCached:").unwrap_or(0) / PAGE as u64
}

fn prefetch(bench: &mut Bench) {
    let mut cost = [(0, 0); 2];
    for ahead in [false, true] {
        let (cgroup, folder) = bench.cgroup();
        let mut child = Child::app(&folder, Content::new(2048, mix(100, 0)));
        to_the_end(bench, &cgroup, 2048);
        if ahead {
            let before = swap_cached_pages();
            let asked = bench.system.prefetch(&cgroup, None, 100).expect("prefetch");
            bench.check("prefetch keeps to its bound", asked == 100, asked);
            let asked = bench.system.prefetch(&cgroup, None, 1 << 20).expect("prefetch");
            let cached = swap_cached_pages().saturating_sub(before);
            bench.check("prefetch asks for what is out", asked + BATCHED >= 2048, asked);
            bench.check("what was asked for is in the swap cache", cached + BATCHED >= 2048, cached);
        }
        cost[usize::from(ahead)] = child.tell(Order::Touch);
        bench.check("prefetch: content", child.tell(Order::Verify).0 == 0, "verified");
    }
    let [cold, warm] = cost;
    bench.check(
        "touching prefetched pages is no major fault",
        warm.1 == 0 && cold.1 > 0,
        format!("{} and {}", cold.1, warm.1),
    );
    println!("     touch of a page: {} ns swapped, {} ns prefetched", cold.0 / 2048, warm.0 / 2048);
}

/// Apps that unmap, fork and die while they are worked on.
fn changing_under_us(bench: &mut Bench) {
    for round in 0..8u32 {
        let (cgroup, folder) = bench.cgroup();
        let mut child = Child::fork(&folder, |mut socket| {
            let bytes = 512 * PAGE;
            for turn in 0..20 * (round + 1) {
                let area = map(bytes);
                // SAFETY: mapped just now.
                unsafe { std::slice::from_raw_parts_mut(area, bytes) }.fill(turn as u8);
                if turn == 0 {
                    let _ = socket.write_all(&[0; 16]);
                }
                // SAFETY: our mapping, used no more.
                unsafe { libc::munmap(area.cast(), bytes) };
            }
        });
        child.wait_ready();
        let mut calls = 0;
        let mut failure = None;
        // Until it has ended by itself: the pidfd of a process in the cgroup is all we hold.
        while failure.is_none() && bench.system.usage(&cgroup).is_ok_and(|usage| usage.processes > 0) {
            failure = bench.system.compress(&cgroup, CompressCursor::default(), 512, 500).err();
            failure = failure.or(bench.system.prefetch(&cgroup, None, 512).err());
            calls += 1;
        }
        bench.check(
            "an app that unmaps and ends meanwhile is no error",
            failure.is_none(),
            format!("{calls} calls, {failure:?}"),
        );
    }
    forking(bench);
    let (cgroup, folder) = bench.cgroup();
    let child = Child::app(&folder, Content::new(512, mix(100, 0)));
    let first = bench.system.compress(&cgroup, CompressCursor::default(), 64, 500).expect("compress");
    child.end();
    let second = bench.system.compress(&cgroup, first.next.unwrap_or_default(), 64, 500);
    let quiet = second.as_ref().is_ok_and(|o| o.next.is_none() && o.swapped_pages == 0);
    bench.check("going on after its death does nothing", quiet && first.next.is_some(), format!("{second:?}"));
}

/// An app that forks, again and again, between the batches in which it is compressed: pages are private one time and shared the next.
fn forking(bench: &mut Bench) {
    let (cgroup, folder) = bench.cgroup();
    let mut parent = Child::app(&folder, Content::new(2048, mix(100, 0)));
    let mut cursor = CompressCursor::default();
    let (mut swapped, mut failure, mut born) = (0, None, Vec::new());
    for round in 0..16 {
        match bench.system.compress(&cgroup, cursor, 64, 500) {
            Ok(outcome) => {
                swapped += outcome.swapped_pages;
                cursor = outcome.next.unwrap_or_default();
            }
            Err(e) => failure = failure.or(Some(e)),
        }
        born.push(parent.tell(Order::Fork).0 as i32);
        if round % 3 == 0 {
            for pid in born.drain(..) {
                // SAFETY: a process of ours, whose parent does not reap, so that the PID is still its own.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
    }
    bench.check(
        "an app that forks meanwhile is no error",
        failure.is_none() && swapped > 0,
        format!("{swapped}, {failure:?}"),
    );
    let wrong = parent.tell(Order::Verify).0;
    bench.check("forking: content", wrong == 0, format!("{wrong} wrong pages"));
    let outcome = bench.system.kill(&cgroup).expect("kill");
    bench.check("forking: all of it can be killed", outcome.signalled as usize > born.len(), outcome.signalled);
}
