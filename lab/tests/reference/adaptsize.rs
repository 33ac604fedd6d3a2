// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! AdaptSize.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Asked, Queue, Reference};

/// All requests since the last choice, and the smoothed counts before.
pub struct AdaptSize {
    capacity: u64,
    period: u64,
    next: u64,
    now: u64,
    c: f64,
    queue: Queue,
    recent: Vec<u32>,
    smoothed: BTreeMap<u32, f64>,
    sizes: BTreeMap<u32, u64>,
    random: ChaCha8Rng,
}

impl AdaptSize {
    pub fn new(capacity: u64, period: u64, seed: u64) -> Self {
        AdaptSize {
            capacity,
            period,
            next: period,
            now: 0,
            c: 32768.0,
            queue: Queue::default(),
            recent: Vec::new(),
            smoothed: BTreeMap::new(),
            sizes: BTreeMap::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn known(&self) -> std::collections::BTreeSet<u32> {
        self.recent.iter().chain(self.smoothed.keys()).copied().collect()
    }

    /// Probability that an object is in the cache.
    fn inside(rate: f64, size: f64, c: f64, time: f64) -> f64 {
        let odds = (-size / c).exp() * (rate * time).exp_m1();
        if odds.is_infinite() || odds.is_nan() {
            return 1.0;
        }
        odds / (1.0 + odds)
    }

    fn model(&self, log2: f64) -> f64 {
        let (c, room) = (log2.exp2(), self.capacity as f64);
        let objects: Vec<(f64, f64)> = self.smoothed.iter().map(|(id, &rate)| (rate, self.sizes[id] as f64)).collect();
        let flow: f64 = objects.iter().map(|&(rate, size)| rate * (-size / c).exp() * size).sum();
        if flow <= 0.0 {
            return 0.0;
        }
        let mut time = room / flow;
        for _ in 0..10 {
            let held: f64 = objects.iter().map(|&(rate, size)| size * Self::inside(rate, size, c, time)).sum();
            if held <= 0.0 || time > 1e70 {
                break;
            }
            time *= room / held;
        }
        objects.iter().map(|&(rate, size)| rate * Self::inside(rate, size, c, time)).sum()
    }

    fn choose(&mut self) {
        for id in self.known() {
            let recent = self.recent.iter().filter(|&&r| r == id).count() as f64;
            let rate = self.smoothed.get(&id).map_or(recent, |old| 0.3 * old + 0.7 * recent);
            self.smoothed.insert(id, rate);
        }
        self.recent.clear();
        self.smoothed.retain(|_, rate| *rate >= 0.1);
        let g = 0.618_033_988_749_895;
        // The four places of a golden section search: the ends of the range and two within.
        let mut places = [0.0, 0.0, 0.0, (self.capacity as f64).log2()];
        let mut best = (places[3], 0.0);
        for log2 in (0..).map(|step| 2.0 + 4.0 * f64::from(step)).take_while(|&log2| log2 < places[3]) {
            let hits = self.model(log2);
            if hits > best.1 {
                best = (log2, hits);
            }
        }
        (places[1], places[2]) = if places[3] - best.0 > best.0 - places[0] {
            (best.0, best.0 + (1.0 - g) * (places[3] - best.0))
        } else {
            (places[0] + g * (best.0 - places[0]), best.0)
        };
        for _ in 0..15 {
            if self.model(places[2]) > self.model(places[1]) {
                places = [places[1], places[2], g * places[2] + (1.0 - g) * places[3], places[3]];
            } else {
                places = [places[0], g * places[1] + (1.0 - g) * places[0], places[1], places[2]];
            }
        }
        let first = self.model(places[1]) > self.model(places[2]);
        self.c = (if first { places[1] } else { places[2] }).exp2();
    }
}

impl Reference for AdaptSize {
    fn access(&mut self, asked: Asked) -> bool {
        self.now += 1;
        if self.now == self.next {
            let seen: u64 = self.known().iter().map(|id| self.sizes[id]).sum();
            let enough = seen > 3 * self.capacity;
            if enough {
                self.choose();
            }
            self.next += if enough { self.period } else { (self.period / 50).max(1) };
        }
        self.recent.push(asked.id);
        self.sizes.insert(asked.id, asked.size);
        if let Some(object) = self.queue.take(asked.id) {
            self.queue.add(object);
            return true;
        }
        let drawn: f64 = self.random.gen();
        if drawn < (-(asked.size as f64) / self.c).exp() && asked.size <= self.capacity {
            while self.queue.weight() + asked.size > self.capacity {
                self.queue.oldest();
            }
            self.queue.add((asked.id, asked.size));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.queue.ids()
    }
}
