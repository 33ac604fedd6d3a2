// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the disk can do, and what a completion says of it.

use super::{Error, Model, Rate, Request, Stage, MAX_RATE, SECOND};
use crate::aciom::Class;

impl Model {
    /// Says what the disk can do.
    ///
    /// # Errors
    /// Beyond the greatest rate.
    pub fn set_cmax(&mut self, cmax: u64, now_ns: u64) -> Result<(), Error> {
        if cmax > MAX_RATE {
            return Err(Error::Invalid);
        }
        self.tick(now_ns);
        self.measures = cmax == 0;
        self.cmax = cmax;
        self.rates = [Rate { epoch_ns: self.now_ns, bytes: 0 }; 2];
        self.window_bytes = self.window_bytes.min(self.window_cap());
        Ok(())
    }

    pub(super) fn pipe_bytes(&self) -> u64 {
        let Some(base) = self.base_ns.iter().flatten().min() else { return 0 };
        let bytes = ((self.cmax >> 8) * (*base).min(1 << 28)) >> 22;
        bytes + bytes / 4
    }

    pub(super) fn window_cap(&self) -> u64 {
        match self.cmax {
            0 => 128 << 10,
            cmax => (cmax / 128).max(2 * self.pipe_bytes()).max(4096),
        }
    }

    pub(super) fn measure(&mut self, request: &Request) {
        if request.size_bytes > 0 {
            self.measure_one(0, request.size_bytes, Some(self.now_ns - request.dispatched_ns));
        }
    }

    /// What completed elsewhere since the last such call: bytes, and the least latency of one.
    pub fn observe(&mut self, bytes: u64, latency_ns: Option<u64>, now_ns: u64) {
        self.tick(now_ns);
        self.measure_one(1, bytes.min(MAX_RATE), latency_ns);
    }

    fn measure_one(&mut self, which: usize, bytes: u64, latency_ns: Option<u64>) {
        if self.measures {
            let rate = &mut self.rates[which];
            let passed = self.now_ns - rate.epoch_ns;
            rate.bytes = (rate.bytes + bytes).min(MAX_RATE);
            if passed >= 1 << 27 {
                if passed < 1 << 28 {
                    let found = rate.bytes * (SECOND >> 8) / (passed >> 8);
                    self.cmax = self.cmax.max(found.min(MAX_RATE));
                }
                *rate = Rate { epoch_ns: self.now_ns, bytes: 0 };
            }
        }
        if let Some(latency) = latency_ns {
            self.remember_latency(latency.max(1));
        }
        self.window_bytes = self.window_bytes.min(self.window_cap());
    }

    fn remember_latency(&mut self, latency: u64) {
        if self.now_ns - self.base_epoch_ns >= 1 << 32 {
            self.base_ns = [self.base_ns[1], Some(latency)];
            self.base_epoch_ns = self.now_ns;
        } else {
            self.base_ns[1] = Some(self.base_ns[1].map_or(latency, |least| least.min(latency)));
        }
    }

    /// A dispatched request has come to its end; whether it was one.
    pub fn complete(&mut self, id: u64, now_ns: u64) -> bool {
        let Some(at) = self.flying.iter().position(|r| r.id == id) else { return false };
        self.tick(now_ns);
        let request = self.flying.remove(at);
        let now = self.now_ns;
        self.counters.completed += 1;
        self.counters.late += u64::from(request.class == Class::TimeSensitive && now > request.due_ns);
        self.record(&request);
        self.measure(&request);
        let taken = now - request.arrival_ns;
        let allowed = request.due_ns - request.arrival_ns;
        if request.counted {
            self.slack = 2 * taken <= allowed;
            if 4 * taken > 3 * allowed && request.dispatched_ns >= self.cut_ns {
                self.window_bytes = (self.window_bytes / 2).max(4096);
                self.cut_ns = now;
                self.counters.cuts += 1;
            }
        } else if self.is_limited() && self.waiting.iter().any(|r| matches!(r.stage, Stage::Ready(_) | Stage::Held)) {
            if self.window_bytes < self.pipe_bytes() {
                self.window_bytes += request.size_bytes;
            } else if self.slack {
                self.window_bytes += request.size_bytes / 8;
            }
            self.window_bytes = self.window_bytes.min(self.window_cap());
        }
        true
    }
}
