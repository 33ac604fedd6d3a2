// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How long requests took, from all that ever completed.

use super::{Model, Request};
use crate::aciom::{Class, Latency};

/// The end of the bucket that a latency is in: an eighth of its power of two, or 1024 ns.
fn rounded(ns: u64) -> u64 {
    let units = ns >> 10;
    if units >> 26 > 0 {
        return u64::MAX;
    }
    let step = (units.checked_ilog2().unwrap_or(0)).saturating_sub(3);
    ((units >> step) + 1) << (step + 10)
}

impl Model {
    pub(super) fn record(&mut self, request: &Request) {
        let taken = self.now_ns - request.arrival_ns;
        self.taken_ns[request.class as usize].push(taken);
        if request.class != Class::TimeSensitive {
            self.counters.longest_wait_ns = self.counters.longest_wait_ns.max(taken);
        }
    }

    pub(super) fn latency(&self, class: usize) -> Latency {
        let mut taken = self.taken_ns[class].clone();
        taken.sort_unstable();
        let Some(&worst_ns) = taken.last() else { return Latency::default() };
        let of = |percent: usize| rounded(taken[(taken.len() * percent).div_ceil(100) - 1]).min(worst_ns);
        Latency { p50_ns: of(50), p99_ns: of(99), worst_ns }
    }
}
