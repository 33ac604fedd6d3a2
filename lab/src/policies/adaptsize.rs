// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! AdaptSize (Berger, Sitaraman and Harchol-Balter, "AdaptSize: orchestrating the hot object memory cache in a content delivery network",
//! USENIX NSDI 2017): LRU behind a draw that lets an object of size s in with probability e^(-s/c). Every so many requests a Markov
//! model of the cache (section 3.2, by Che's approximation) says for which c most requests hit, and that one is used.
//!
//! As the authors' simulator does: c begins at 32 KiB; counts of requests are smoothed (0.3 of the old ones, 0.7 of the new), objects below
//! 0.1 are forgotten; nothing is chosen before the objects seen are three times the cache; c is looked for at 4, 64, 1024, … bytes, and
//! then by golden sections around the best. Unlike that, which approximates the model's last formula by a quotient of polynomials, the
//! formula itself is used.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::policy::{Descriptor, Drawn, Parameter, Policy, Request, Table, ABSENT};

const QUEUE: u8 = 1;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "adaptsize",
    source: "Berger et al., NSDI 2017",
    parameters: &[
        Parameter {
            name: "period",
            default: 500_000.0,
            least: 1.0,
            greatest: 1e12,
            meaning: "requests between choices of c",
        },
        Drawn::SEED,
    ],
    needs_future: false,
    bytes_per_object: Table::<1>::BYTES_PER_OBJECT + std::mem::size_of::<Seen>(),
    build: |capacity, parameters| {
        let period = parameters[0] as u64;
        Box::new(AdaptSize {
            capacity,
            period,
            left: period,
            c: 32_768.0,
            random: ChaCha8Rng::seed_from_u64(parameters[1] as u64),
            seen: Vec::new(),
            seen_weight: 0,
            table: Table::default(),
        })
    },
};

/// What is known of an object; nothing is if both counts are 0.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Requests, smoothed, up to the last choice.
    smoothed: f64,
    /// Requests since then.
    recent: u32,
    size: u64,
}

impl Seen {
    fn is_known(&self) -> bool {
        self.recent > 0 || self.smoothed > 0.0
    }
}

struct AdaptSize {
    capacity: u64,
    period: u64,
    /// Requests until the next choice.
    left: u64,
    c: f64,
    random: ChaCha8Rng,
    seen: Vec<Seen>,
    /// Of all known objects.
    seen_weight: u64,
    table: Table<1>,
}

/// Rates and sizes of the objects that the model is of.
struct Model {
    capacity: f64,
    objects: Vec<(f64, f64)>,
}

/// Steps towards the time for which an object stays in the cache.
const STEPS: usize = 10;
/// Golden sections.
const SECTIONS: usize = 15;
const GOLDEN: f64 = 0.618_033_988_749_895;

impl Model {
    /// The share of the time for which an object is in the cache that stays for `time` after its last request and is let in with `admitted`;
    /// which is its hit ratio too.
    fn present(rate: f64, admitted: f64, time: f64) -> f64 {
        let odds = admitted * (rate * time).exp_m1();
        // Past every float it is there always.
        if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
    }

    /// Requests that hit, of those counted, if c is 2^`log2`.
    fn hits(&self, log2: f64) -> f64 {
        let admitted = |size: f64| (-size / log2.exp2()).exp();
        let flow: f64 = self.objects.iter().map(|&(rate, size)| rate * admitted(size) * size).sum();
        if flow <= 0.0 {
            return 0.0;
        }
        let mut time = self.capacity / flow;
        for _ in 0..STEPS {
            let held: f64 =
                self.objects.iter().map(|&(rate, size)| size * Self::present(rate, admitted(size), time)).sum();
            if held <= 0.0 || time > 1e70 {
                break;
            }
            time *= self.capacity / held;
        }
        self.objects.iter().map(|&(rate, size)| rate * Self::present(rate, admitted(size), time)).sum()
    }

    /// The logarithm of the c for which most requests hit.
    fn best(&self) -> f64 {
        let (mut low, mut high) = (0.0, self.capacity.log2());
        let (mut best, mut hits) = (high, 0.0);
        let mut log2 = 2.0;
        while log2 < high {
            let found = self.hits(log2);
            if found > hits {
                (best, hits) = (log2, found);
            }
            log2 += 4.0;
        }
        // Two places within the range, the second in the larger part beside the best.
        let (mut left, mut right) = match high - best > best - low {
            true => (best, best + (1.0 - GOLDEN) * (high - best)),
            false => (low + GOLDEN * (best - low), best),
        };
        let (mut left_hits, mut right_hits) = (self.hits(left), self.hits(right));
        for _ in 0..SECTIONS {
            if right_hits > left_hits {
                (low, left, left_hits) = (left, right, right_hits);
                right = GOLDEN * left + (1.0 - GOLDEN) * high;
                right_hits = self.hits(right);
            } else {
                (high, right, right_hits) = (right, left, left_hits);
                left = GOLDEN * right + (1.0 - GOLDEN) * low;
                left_hits = self.hits(left);
            }
        }
        if left_hits > right_hits { left } else { right }
    }
}

impl AdaptSize {
    fn see(&mut self, id: u32, size: u64) {
        self.left -= 1;
        if self.left == 0 {
            self.left = match self.seen_weight <= self.capacity.saturating_mul(3) {
                true => (self.period / 50).max(1),
                false => {
                    self.choose();
                    self.period
                }
            };
        }
        let seen = &mut self.seen[id as usize];
        self.seen_weight = self.seen_weight - if seen.is_known() { seen.size } else { 0 } + size;
        (seen.recent, seen.size) = (seen.recent.saturating_add(1), size);
    }

    fn choose(&mut self) {
        let mut objects = Vec::new();
        for seen in &mut self.seen {
            if !seen.is_known() {
                continue;
            }
            let recent = f64::from(std::mem::take(&mut seen.recent));
            seen.smoothed = if seen.smoothed > 0.0 { 0.3 * seen.smoothed + 0.7 * recent } else { recent };
            if seen.smoothed < 0.1 {
                self.seen_weight -= seen.size;
                seen.smoothed = 0.0;
            } else {
                objects.push((seen.smoothed, seen.size as f64));
            }
        }
        self.c = Model { capacity: self.capacity as f64, objects }.best().exp2();
    }
}

impl Policy for AdaptSize {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
        self.seen.resize(self.seen.len().max(ids as usize), Seen::default());
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        self.see(id, size);
        let slot = Table::<1>::slot(id);
        if self.table.place(slot) != ABSENT {
            self.table.refresh(slot);
            return true;
        }
        let admitted = self.random.gen::<f64>() < (-(size as f64) / self.c).exp();
        if !admitted || size > self.capacity {
            return false;
        }
        while self.table.weight(QUEUE) + size > self.capacity {
            let Some(victim) = self.table.back(QUEUE) else { break };
            self.table.remove(victim);
        }
        self.table.push_front(QUEUE, slot, size);
        false
    }

    fn used(&self) -> u64 {
        self.table.weight(QUEUE)
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT
    }
}
