// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Compression ahead of need in the engine: nobody looks until an app's turn comes, and nothing is under way meanwhile.

use crate::engine_tests::{bench, focus, Bench, SECOND_NS};

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
    let mut b = idle(100);
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
    b.device.0.borrow_mut().memory.available_bytes = 100 * MB;
    b.idle_turn(4001 * SECOND_NS);
    assert!(b.swapped_pages("mail") > 0, "the next look finds that it is not any more");
}
