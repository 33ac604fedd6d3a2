// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is ready: reads before writes, and writes not too late.

use super::{Model, Request, Stage, PATIENCE_NS};
use crate::aciom::Class;

impl Model {
    pub(super) fn has_ready(&self) -> bool {
        self.waiting.iter().any(|r| matches!(r.stage, Stage::Ready(_)))
    }

    /// Of what is ready, the first read or the first write.
    pub(super) fn first_ready(&self, write: bool) -> Option<usize> {
        let order = |at: &usize| match self.waiting[*at].stage {
            Stage::Ready(order) if self.waiting[*at].write == write => order,
            _ => u64::MAX,
        };
        (0..self.waiting.len()).min_by_key(order).filter(|at| order(at) < u64::MAX)
    }

    /// Of what is ready, that which goes next.
    pub(super) fn next_ready(&self) -> Option<usize> {
        let [reads, writes] = self.ahead;
        let due = reads >= 2 * (writes + (self.cmax / 64).max(1));
        let waited = self.now_ns - self.writes_since_ns >= PATIENCE_NS;
        match (self.first_ready(false), self.first_ready(true)) {
            (Some(_), Some(write)) if due || waited || self.write_turn => Some(write),
            (read, write) => read.or(write),
        }
    }

    /// Bytes that wait to be written: of bursty apps, or of plain ones.
    pub(super) fn write_bytes(&self, bursty: bool) -> u64 {
        let of = |r: &&Request| r.is_bounded() && (r.class == Class::Bursty) == bursty;
        self.waiting.iter().filter(of).map(|r| r.size_bytes).sum()
    }

    /// Whether another write of this class ought to wait before it arrives.
    pub fn writes_full(&self, class: Class, awaited: bool) -> bool {
        let bound = (self.cmax / 8).max(1 << 20) * if awaited { 8 } else { 1 };
        let full = self.write_bytes(class == Class::Bursty) >= bound;
        self.is_limited() && class != Class::TimeSensitive && full
    }

    /// One that was ready has gone.
    pub(super) fn leave_ready(&mut self, request: &Request) {
        self.ready_since_ns = self.now_ns;
        if request.write {
            self.writes_since_ns = self.now_ns;
        }
        match [self.first_ready(false), self.first_ready(true)] {
            [Some(_), Some(_)] => self.ahead[usize::from(request.write)] += request.size_bytes.max(1),
            _ => self.ahead = [0; 2],
        }
        let passed_a_read = request.write && self.first_ready(false).is_some();
        self.counters.write_turns += u64::from(passed_a_read);
        let [reads, writes] = self.ahead;
        let catches_up = if request.write { reads > 2 * writes } else { self.write_turn };
        self.write_turn = self.ahead != [0; 2] && catches_up;
        if !self.has_ready() {
            self.turn_bytes = 0;
        }
    }
}
