// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LRU-2 (O'Neil, O'Neil and Weikum, "The LRU-K page replacement algorithm for database disk buffering", SIGMOD 1993): the object whose
//! last request but one is longest ago goes; first those that had one request only, the least recently used of them. What is known
//! of an object outlives its stay in the cache for good (the paper's retained information period is endless), and no requests
//! count as one for being near (its correlated reference period is 0).

use crate::policy::{Descriptor, Policy, Ranked, Request};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lru-2",
    source: "O'Neil et al., SIGMOD 1993",
    parameters: &[],
    needs_future: false,
    bytes_per_object: <Ranked>::BYTES_PER_OBJECT + 8,
    build: |capacity, _| Box::new(Lru2 { capacity, now: 0, last: Vec::new(), objects: Ranked::default() }),
};

struct Lru2 {
    capacity: u64,
    /// Requests so far; the first one's number is 1.
    now: u64,
    /// Each object's last request; 0 for none.
    last: Vec<u64>,
    objects: Ranked,
}

impl Policy for Lru2 {
    fn ensure_ids(&mut self, ids: u32) {
        self.objects.ensure_ids(ids);
        self.last.resize(self.last.len().max(ids as usize), 0);
    }

    fn access(&mut self, request: Request) -> bool {
        let Request { id, size, .. } = request;
        self.now += 1;
        // The last request but one, for 0 is before all others; then the last.
        let rank = (std::mem::replace(&mut self.last[id as usize], self.now), self.now);
        if self.objects.contains(id) {
            self.objects.change(id, rank);
            return true;
        }
        if size > self.capacity {
            return false;
        }
        while self.objects.used() + size > self.capacity {
            if self.objects.pop().is_none() {
                break;
            }
        }
        self.objects.insert(id, size, rank);
        false
    }

    fn used(&self) -> u64 {
        self.objects.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.objects.contains(id)
    }
}
