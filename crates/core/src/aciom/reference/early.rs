// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is held goes before its time where no deadline needs the room.

use super::{Model, Stage, SECOND};
use crate::aciom::Class;

impl Model {
    /// Whether so many bytes, and then a request of each time-sensitive app, are done in three quarters of the shortest period. In 1/256 of
    /// a byte.
    fn has_room(&self, bytes: u64) -> bool {
        let sensitive = || self.active(Class::TimeSensitive);
        let period_ns = sensitive().map(|app| app.period_ns).min().unwrap_or(0).min(2 * SECOND);
        let needed: u128 = sensitive().map(|app| u128::from(app.mean_size)).sum();
        let worked = u128::from(self.cmax) * u128::from(period_ns >> 8);
        u128::from(bytes) * 256 + needed <= (worked - worked / 4) >> 14
    }

    /// How long the disk has to work on what is with it, `bytes` more, and then a request of each time-sensitive app; and the shortest of
    /// their periods, in which that ought to be done.
    pub fn worst_case_ns(&self, bytes: u64) -> (f64, f64) {
        let sensitive = || self.active(Class::TimeSensitive);
        let needed: f64 = sensitive().map(|app| app.mean_size as f64 / 256.0).sum();
        let period_ns = sensitive().map(|app| app.period_ns as f64).fold(f64::INFINITY, f64::min);
        ((self.in_flight_bytes() as f64 + bytes as f64 + needed) / self.cmax as f64 * 1e9, period_ns)
    }

    /// Size of the held request that is due first.
    pub fn first_held_bytes(&self) -> Option<u64> {
        self.first(Stage::Held).map(|at| self.waiting[at].size_bytes)
    }

    /// The held request that is due first, if it does no harm to let it go before it is.
    pub(super) fn early(&self) -> Option<usize> {
        let bytes = self.in_flight_bytes();
        let fits = |at: &usize| self.has_room(bytes + self.waiting[*at].size_bytes);
        self.first(Stage::Held).filter(|_| bytes == 0 || bytes < self.window_bytes).filter(fits)
    }

    /// What goes early is not charged for: all that its app has yet to come moves with it.
    pub(super) fn take_early(&mut self, at: usize) -> (u64, u64) {
        let (number, ahead_ns) = (self.waiting[at].app, self.waiting[at].release_ns - self.now_ns);
        for request in self.waiting.iter_mut().filter(|r| r.app == number && r.stage == Stage::Held) {
            request.release_ns -= ahead_ns;
        }
        if let Some(last) = self.apps.get_mut(&number).and_then(|app| app.last.as_mut()) {
            last.due_ns -= ahead_ns;
        }
        self.counters.early += 1;
        self.take(at)
    }
}
