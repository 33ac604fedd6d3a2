// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Evicts by a rank made of a cache's age and an object's count of requests: the least goes, and its rank becomes the age, so that old
//! fame passes.

use super::{Policy, Ranked, Request};

/// A cache whose objects' ranks are `rank(age, count, size)`. Of equal ones the one whose last request is longest ago goes.
pub struct Aged<F> {
    capacity: u64,
    age: u64,
    now: u64,
    /// Requests of each cached object since it came in.
    counts: Vec<u32>,
    objects: Ranked,
    rank: F,
}

impl<F: Fn(u64, u32, u64) -> u64> Aged<F> {
    /// Memory per object.
    pub const BYTES_PER_OBJECT: usize = <Ranked>::BYTES_PER_OBJECT + 4;

    /// An empty cache.
    pub fn new(capacity: u64, rank: F) -> Self {
        Aged { capacity, age: 0, now: 0, counts: Vec::new(), objects: Ranked::default(), rank }
    }
}

impl<F: Fn(u64, u32, u64) -> u64 + Send> Policy for Aged<F> {
    fn ensure_ids(&mut self, ids: u32) {
        self.objects.ensure_ids(ids);
        self.counts.resize(self.counts.len().max(ids as usize), 0);
    }

    fn access(&mut self, request: Request) -> bool {
        let Request { id, size, .. } = request;
        self.now += 1;
        if self.objects.contains(id) {
            let count = &mut self.counts[id as usize];
            *count = count.saturating_add(1);
            self.objects.change(id, ((self.rank)(self.age, *count, self.objects.size(id)), self.now));
            return true;
        }
        if size > self.capacity {
            return false;
        }
        while self.objects.used() + size > self.capacity {
            let Some((_, (rank, _))) = self.objects.pop() else { break };
            self.age = rank;
        }
        self.counts[id as usize] = 1;
        self.objects.insert(id, size, ((self.rank)(self.age, 1, size), self.now));
        false
    }

    fn used(&self) -> u64 {
        self.objects.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.objects.contains(id)
    }
}
