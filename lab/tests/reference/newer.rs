// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! SLRU, LRU-2, LFU-DA, GDSF, QD-LP-FIFO and W-TinyLFU.

use std::collections::BTreeMap;

use super::{Asked, Queue, Reference};

fn part(capacity: u64, ratio: f64) -> u64 {
    ((capacity as f64 * ratio) as u64).max(1)
}

/// Protected and probationary segment, oldest first.
#[derive(Default)]
pub struct Segments {
    pub probation: Queue,
    pub protected: Queue,
}

impl Segments {
    fn weight(&self) -> u64 {
        self.probation.weight() + self.protected.weight()
    }

    fn hit(&mut self, id: u32, limit: u64) -> bool {
        let found = self.protected.take(id).or_else(|| self.probation.take(id));
        let Some(object) = found else { return false };
        self.protected.add(object);
        while self.protected.weight() > limit {
            let back = self.protected.oldest().unwrap();
            self.probation.add(back);
        }
        true
    }

    fn last(&self) -> Option<u32> {
        self.probation.0.first().or(self.protected.0.first()).map(|o| o.0)
    }

    fn evict(&mut self) {
        if self.probation.oldest().is_none() {
            self.protected.oldest();
        }
    }
}

pub struct Slru {
    pub capacity: u64,
    pub segments: Segments,
}

impl Reference for Slru {
    fn access(&mut self, asked: Asked) -> bool {
        if self.segments.hit(asked.id, part(self.capacity, 0.8)) {
            return true;
        }
        if asked.size <= self.capacity {
            while self.segments.weight() + asked.size > self.capacity {
                self.segments.evict();
            }
            self.segments.probation.add((asked.id, asked.size));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        [self.segments.probation.ids(), self.segments.protected.ids()].concat()
    }
}

/// The times of all requests for each object, for ever.
pub struct Lru2 {
    pub capacity: u64,
    pub times: BTreeMap<u32, Vec<usize>>,
    pub cached: Vec<(u32, u64)>,
    pub now: usize,
}

impl Reference for Lru2 {
    fn access(&mut self, asked: Asked) -> bool {
        self.now += 1;
        if asked.size > self.capacity && !self.cached.iter().any(|o| o.0 == asked.id) {
            self.times.entry(asked.id).or_default().push(self.now);
            return false;
        }
        let hit = self.cached.iter().any(|o| o.0 == asked.id);
        if !hit {
            while self.cached.iter().map(|o| o.1).sum::<u64>() + asked.size > self.capacity {
                let ago = |id: u32| {
                    let times = &self.times[&id];
                    // Never twice is longer ago than anything.
                    (times.len() >= 2).then(|| times[times.len() - 2]).map_or((0, times[times.len() - 1]), |t| (1, t))
                };
                let victim = self.cached.iter().map(|o| o.0).min_by_key(|&id| ago(id)).unwrap();
                self.cached.retain(|o| o.0 != victim);
            }
            self.cached.push((asked.id, asked.size));
        }
        self.times.entry(asked.id).or_default().push(self.now);
        hit
    }

    fn resident(&self) -> Vec<u32> {
        self.cached.iter().map(|o| o.0).collect()
    }
}

/// An object with the age it took at its last request.
#[derive(Clone)]
pub struct Aged {
    id: u32,
    size: u64,
    count: u32,
    age: f64,
    last: usize,
}

/// LFU-DA where every object counts as of size one, and GDSF where it does not.
pub struct GreedyDual {
    pub capacity: u64,
    pub by_size: bool,
    pub cached: Vec<Aged>,
    pub age: f64,
    pub now: usize,
}

impl GreedyDual {
    fn priority(&self, object: &Aged) -> f64 {
        match self.by_size {
            true => object.age + f64::from(object.count) * 1.0e6 / object.size as f64,
            false => object.age + f64::from(object.count),
        }
    }
}

impl Reference for GreedyDual {
    fn access(&mut self, asked: Asked) -> bool {
        self.now += 1;
        let (age, now) = (self.age, self.now);
        if let Some(object) = self.cached.iter_mut().find(|o| o.id == asked.id) {
            object.count += 1;
            (object.age, object.last) = (age, now);
            return true;
        }
        if asked.size > self.capacity {
            return false;
        }
        while self.cached.iter().map(|o| o.size).sum::<u64>() + asked.size > self.capacity {
            let order = |a: &&Aged, b: &&Aged| self.priority(a).total_cmp(&self.priority(b)).then(a.last.cmp(&b.last));
            let victim = self.cached.iter().min_by(order).unwrap().clone();
            self.age = self.priority(&victim);
            self.cached.retain(|o| o.id != victim.id);
        }
        self.cached.push(Aged { id: asked.id, size: asked.size, count: 1, age: self.age, last: now });
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.cached.iter().map(|o| o.id).collect()
    }
}

/// Queues with the requests of each object since it came in, up to three.
#[derive(Default)]
pub struct Qdlp {
    pub capacity: u64,
    pub probation: Vec<(u32, u64, u8)>,
    pub main: Vec<(u32, u64, u8)>,
    pub ghost: Queue,
}

impl Qdlp {
    fn promote(&mut self, id: u32, size: u64, limit: u64) {
        if size > limit {
            return;
        }
        while self.main.iter().map(|o| o.1).sum::<u64>() + size > limit {
            self.clock();
        }
        self.main.push((id, size, 0));
    }

    fn clock(&mut self) {
        let mut first = self.main.remove(0);
        if first.2 > 0 {
            first.2 -= 1;
            self.main.push(first);
        }
    }
}

impl Reference for Qdlp {
    fn access(&mut self, asked: Asked) -> bool {
        let (small, remembered) = (part(self.capacity, 0.1), part(self.capacity, 0.9));
        let large = self.capacity - small;
        if let Some(object) = self.probation.iter_mut().chain(&mut self.main).find(|o| o.0 == asked.id) {
            object.2 = (object.2 + 1).min(3);
            return true;
        }
        let known = self.ghost.take(asked.id).is_some();
        if asked.size > small {
            return false;
        }
        while self.probation.iter().chain(&self.main).map(|o| o.1).sum::<u64>() + asked.size > self.capacity {
            if self.probation.is_empty() {
                self.clock();
                continue;
            }
            let (id, size, count) = self.probation.remove(0);
            if count > 0 {
                self.promote(id, size, large);
            } else if size <= remembered {
                while self.ghost.weight() + size > remembered {
                    self.ghost.oldest();
                }
                self.ghost.add((id, size));
            }
        }
        if known {
            self.promote(asked.id, asked.size, large);
        } else {
            self.probation.push((asked.id, asked.size, 0));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.probation.iter().chain(&self.main).map(|o| o.0).collect()
    }
}

#[derive(Default)]
pub struct WTinyLfu {
    pub capacity: u64,
    pub window: Queue,
    pub main: Segments,
    pub counts: BTreeMap<u32, u8>,
    pub asked: usize,
}

impl Reference for WTinyLfu {
    fn access(&mut self, asked: Asked) -> bool {
        let count = self.counts.entry(asked.id).or_default();
        *count = 15.min(*count + 1);
        self.asked += 1;
        if self.asked >= 10 * self.resident().len().max(1) {
            self.counts.values_mut().for_each(|count| *count /= 2);
            self.asked = 0;
        }
        let small = part(self.capacity, 0.01);
        let large = self.capacity - small;
        if let Some(object) = self.window.take(asked.id) {
            self.window.add(object);
            return true;
        }
        if self.main.hit(asked.id, (large as f64 * 0.8) as u64) {
            return true;
        }
        if asked.size > small.max(large) {
            return false;
        }
        self.window.add((asked.id, asked.size));
        while self.window.weight() > small {
            let candidate = self.window.oldest().unwrap();
            let mut admitted = candidate.1 <= large;
            while admitted && self.main.weight() + candidate.1 > large {
                let victim = self.main.last().unwrap();
                admitted = self.counts[&candidate.0] > self.counts[&victim];
                if admitted {
                    self.main.evict();
                }
            }
            if admitted {
                self.main.probation.add(candidate);
            }
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        [self.window.ids(), self.main.probation.ids(), self.main.protected.ids()].concat()
    }
}
