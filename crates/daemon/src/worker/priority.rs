// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! When the loop runs before everybody: while somebody waits for memory, and beyond that only for what root's own clients
//! wait for, within a budget. What any user can bring about (cgroups, streams, inhibitors) is done as one among all.

use fovea_apps::limits::REALTIME_MS_PER_S;
use rustix::time::{clock_gettime, ClockId};

/// Time since the last word of pressure in which more may follow: the trigger fires once in half a second at most.
const PRESSED_NS: u64 = 2_000_000_000;

/// A second's worth is what can be saved up.
const FULL_NS: u64 = REALTIME_MS_PER_S as u64 * 1_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// What may be spent, and when the kernel has called last.
#[derive(Debug)]
pub(super) struct RealTime {
    pressed_ns: Option<u64>,
    left_ns: u64,
    filled_ns: u64,
    began_ns: Option<u64>,
    /// There is no trigger that could call: memory that is short stands for the call.
    polls_memory: bool,
    short: bool,
}

impl RealTime {
    pub(super) fn new(polls_memory: bool, now_ns: u64) -> RealTime {
        RealTime { pressed_ns: None, left_ns: FULL_NS, filled_ns: now_ns, began_ns: None, polls_memory, short: false }
    }

    /// The kernel says that somebody waits for memory.
    pub(super) fn pressure(&mut self, now_ns: u64) {
        self.pressed_ns = Some(now_ns);
    }

    /// Whether memory was short at the turn that ended.
    pub(super) fn turned(&mut self, short: bool) {
        self.short = short;
    }

    /// Whether somebody waits for memory, or did a moment ago.
    pub(super) fn is_pressed(&self, now_ns: u64) -> bool {
        (self.polls_memory && self.short)
            || self.pressed_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < PRESSED_NS)
    }

    /// Whether what is to be done now goes before everybody; `for_root` if only root can have brought it about.
    pub(super) fn begin(&mut self, for_root: bool, now_ns: u64) -> bool {
        let since_ns = now_ns.saturating_sub(self.filled_ns);
        self.left_ns = (self.left_ns + since_ns.min(SECOND_NS) * FULL_NS / SECOND_NS).min(FULL_NS);
        self.filled_ns = now_ns;
        let is_pressed = self.is_pressed(now_ns);
        let goes_first = is_pressed || (for_root && self.left_ns > 0);
        self.began_ns = (goes_first && !is_pressed).then(cpu_ns);
        goes_first
    }

    /// It is done.
    pub(super) fn end(&mut self) {
        if let Some(began_ns) = self.began_ns.take() {
            self.spend(cpu_ns().saturating_sub(began_ns));
        }
    }

    fn spend(&mut self, took_ns: u64) {
        self.left_ns = self.left_ns.saturating_sub(took_ns);
    }
}

fn cpu_ns() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as u64 * SECOND_NS + spent.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_brings_about_is_never_real_time_unless_memory_is_waited_for() {
        let mut real_time = RealTime::new(false, 0);
        assert!(!real_time.begin(false, 0));
        real_time.pressure(SECOND_NS);
        assert!(real_time.begin(false, SECOND_NS) && real_time.begin(false, 2 * SECOND_NS));
        assert!(!real_time.begin(false, SECOND_NS + PRESSED_NS));
        let mut polls_memory = RealTime::new(true, 0);
        assert!(!polls_memory.begin(false, 0));
        polls_memory.turned(true);
        assert!(polls_memory.begin(false, 0), "nobody calls, and memory is short");
        real_time.turned(true);
        assert!(!real_time.begin(false, SECOND_NS + PRESSED_NS), "whoever is called waits for the call");
    }

    #[test]
    fn a_flood_of_focuses_uses_its_budget_up_and_pressure_does_not() {
        let mut real_time = RealTime::new(false, 0);
        assert!(real_time.begin(true, 0));
        real_time.spend(FULL_NS);
        assert!(!real_time.begin(true, 0));
        assert!(real_time.begin(true, SECOND_NS / 10), "some of it is back");
        real_time.spend(FULL_NS / 10);
        assert!(!real_time.begin(true, SECOND_NS / 10));
        real_time.pressure(SECOND_NS / 10);
        for _ in 0..1000 {
            assert!(real_time.begin(false, SECOND_NS / 10));
            real_time.end();
        }
        assert!(real_time.begin(true, 10 * SECOND_NS), "saved up to a second's worth and no more");
        real_time.spend(FULL_NS);
        assert!(!real_time.begin(true, 10 * SECOND_NS));
    }
}
