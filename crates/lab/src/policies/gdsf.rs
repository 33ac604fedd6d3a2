// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Greedy-Dual-Size with frequency (Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy", HP
//! Laboratories HPL-98-69, 1998), with the same cost for every object: the one with the least age + requests / size goes, and its sum
//! becomes the age. As in libCacheSim the quotient is scaled by a million, and of equal ones the one whose last request is longest
//! ago goes.

use crate::policy::{Descriptor, Policy, Ranked, Request};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "gdsf",
    source: "Cherkasova, HP Laboratories HPL-98-69, 1998",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Ranked::BYTES_PER_OBJECT + 4,
    build: |capacity, _| Box::new(Gdsf { capacity, age: 0.0, now: 0, counts: Vec::new(), objects: Ranked::default() }),
};

const SCALE: f64 = 1.0e6;

struct Gdsf {
    capacity: u64,
    age: f64,
    now: u64,
    /// Requests of each cached object since it came in.
    counts: Vec<u32>,
    objects: Ranked,
}

impl Gdsf {
    /// Numbers that are not negative are in the order of their bits.
    fn rank(&self, count: u32, size: u32) -> (u64, u64) {
        ((self.age + f64::from(count) * SCALE / f64::from(size)).to_bits(), self.now)
    }
}

impl Policy for Gdsf {
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
            let count = *count;
            self.objects.change(id, self.rank(count, self.objects.size(id)));
            return true;
        }
        if u64::from(size) > self.capacity {
            return false;
        }
        while self.objects.used() + u64::from(size) > self.capacity {
            let Some((_, (bits, _))) = self.objects.pop() else { break };
            self.age = f64::from_bits(bits);
        }
        self.counts[id as usize] = 1;
        self.objects.insert(id, size, self.rank(1, size));
        false
    }

    fn used(&self) -> u64 {
        self.objects.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.objects.contains(id)
    }
}
