// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Compression ahead of need in the engine: nobody looks until an app's turn comes, and nothing is under way meanwhile.

use crate::engine_tests::{bench, close, focus, Bench, SECOND_NS};
use fovea_client::protocol::Request;

const MB: u64 = 1 << 20;

/// A device with its screen on and CPUs that idle; `mail` was left for `game` at second 1.
fn idle(available_mb: u64) -> Bench {
    let mut b = bench(&[("mail", 10), ("game", 10)]);
    b.device.0.borrow_mut().memory.available_bytes = available_mb * MB;
    b.engine.attends(20, "sway", 0);
    for name in ["mail", "game"] {
        b.engine.handle_from(Some(20), focus(name), SECOND_NS);
    }
    b
}

impl Bench {
    fn swapped_pages(&self, name: &str) -> u64 {
        self.device.0.borrow().apps[&format!("apps/{name}")].swap_pages
    }

    /// A turn, the CPUs having been idle until then; when the next is due.
    fn idle_turn(&mut self, at_ns: u64) -> Option<u64> {
        self.device.0.borrow_mut().cpu.idle_ns = at_ns * 64;
        self.engine.turn(at_ns).unwrap().wake_at_ns
    }
}

#[test]
fn the_daemon_sleeps_until_an_apps_turn_comes_compresses_it_and_sleeps_again() {
    let mut b = idle(60);
    b.run(SECOND_NS, 20 * SECOND_NS);
    assert!(b.done("freeze apps/mail"), "the debounce is over");
    assert_eq!(b.idle_turn(21 * SECOND_NS), Some(301 * SECOND_NS));
    assert!(!b.status().busy, "nothing is under way");
    let mut at_ns = 301 * SECOND_NS;
    for _ in 0..100 {
        match b.idle_turn(at_ns) {
            Some(next_ns) => at_ns = next_ns.max(at_ns + 50_000_000),
            None => break,
        }
    }
    assert_eq!(b.swapped_pages("mail"), 10 * 256 / 2, "all that compresses");
    assert_eq!(b.swapped_pages("game"), 0);
    assert_eq!(b.idle_turn(at_ns + SECOND_NS), None, "then it sleeps");
}

#[test]
fn where_memory_is_plentiful_it_sleeps_and_reads_nobodys_size() {
    let mut b = idle(200);
    b.run(SECOND_NS, 20 * SECOND_NS);
    b.device.0.borrow_mut().done.clear();
    assert_eq!(b.idle_turn(4000 * SECOND_NS), None);
    assert_eq!(b.device.0.borrow().done, [""; 0]);
    b.device.0.borrow_mut().memory.available_bytes = 60 * MB;
    b.idle_turn(4001 * SECOND_NS);
    assert!(b.swapped_pages("mail") > 0, "the next look finds that it is not any more");
}

#[test]
fn with_the_screen_off_closed_apps_are_compressed_and_open_ones_left_alone() {
    let mut b = bench(&[("mail", 10), ("game", 10)]);
    b.engine.handle(focus("mail"), 0);
    b.engine.handle(close("mail"), 0);
    b.engine.handle(focus("game"), 0);
    b.engine.handle(Request::Screen { on: false }, SECOND_NS);
    b.run(SECOND_NS, 60 * SECOND_NS);
    let state = b.device.0.borrow();
    assert_eq!(state.apps["apps/mail"].swap_pages, 10 * 256 / 2);
    assert_eq!(state.apps["apps/game"].swap_pages, 0);
    drop(state);
    assert_eq!(b.engine.turn(61 * SECOND_NS).unwrap().wake_at_ns, None, "then it sleeps");
    assert_eq!(b.actions().iter().filter(|a| *a == "compress").count(), 1, "one line for the whole");
}

#[test]
fn a_closed_app_that_the_user_came_back_to_is_left_alone_while_a_large_one_can_start() {
    let swapped = |available_mb: u64| {
        let mut b = bench(&[("mail", 10), ("game", 10)]);
        b.device.0.borrow_mut().memory.available_bytes = available_mb * MB;
        for app in ["mail", "game", "mail"] {
            b.engine.handle(focus(app), 0);
            b.engine.handle(close(app), 0);
        }
        b.engine.handle(Request::Screen { on: false }, SECOND_NS);
        b.run(SECOND_NS, 60 * SECOND_NS);
        ["mail", "game"].map(|app| b.swapped_pages(app) > 0)
    };
    assert_eq!(swapped(100), [false, true]);
    assert_eq!(swapped(50), [true, true]);
}

#[test]
fn with_the_screen_on_compression_waits_for_an_idle_cpu() {
    let mut b = bench(&[("mail", 10)]);
    b.engine.handle(close("mail"), 0);
    {
        let mut state = b.device.0.borrow_mut();
        (state.memory.free_bytes, state.memory.file_bytes) = (15 * MB, 10 * MB);
    }
    let compressed = |b: &Bench| b.done("compress apps/mail");
    b.engine.turn(SECOND_NS).unwrap();
    assert!(!compressed(&b), "busy since boot");
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    b.device.0.borrow_mut().cpu.idle_ns = 20_000_000 * cpus;
    b.engine.turn(SECOND_NS + 50_000_000).unwrap();
    assert!(!compressed(&b), "idle for 20 of 50 ms");
    b.device.0.borrow_mut().cpu.idle_ns += 50_000_000 * cpus;
    b.engine.turn(SECOND_NS + 100_000_000).unwrap();
    assert!(compressed(&b));
}

#[test]
fn screen_on_stops_compression_at_once() {
    let mut b = bench(&[("mail", 100)]);
    b.engine.handle(Request::Home {}, 0);
    b.engine.handle(close("mail"), 0);
    b.engine.handle(Request::Screen { on: false }, 0);
    b.engine.turn(1).unwrap();
    let after_one = b.device.0.borrow().apps["apps/mail"].swap_pages;
    assert_eq!(after_one, 256);
    b.engine.handle(Request::Screen { on: true }, 2);
    b.run(3, 9 * SECOND_NS);
    assert_eq!(b.device.0.borrow().apps["apps/mail"].swap_pages, after_one);
}

#[test]
fn what_is_compressed_in_a_shortage_is_sized_in_full_once_and_again_when_it_changes_by_itself() {
    let mut b = idle(60);
    b.device.0.borrow_mut().done.clear();
    let look = |b: &mut Bench, quarter: u64| {
        {
            let memory = &mut b.device.0.borrow_mut().memory;
            (memory.free_bytes, memory.file_bytes) = (20 * MB, 30 * MB);
            memory.psi_some_total_us = Some(quarter * 9000);
        }
        b.engine.pressure();
        b.idle_turn(quarter * SECOND_NS / 4);
        b.device.0.borrow().done.iter().filter(|d| *d == "usage apps/mail").count()
    };
    let sized = [120, 121, 122, 123].map(|quarter| look(&mut b, quarter));
    assert!(b.swapped_pages("mail") > 3 * 256, "batch after batch");
    assert_eq!(sized, [1; 4]);
    b.device.0.borrow_mut().apps.get_mut("apps/mail").unwrap().anon_pages += 2 * MB / 4096;
    assert_eq!(look(&mut b, 124), 2, "a charge that is off by more than a megabyte");
}
