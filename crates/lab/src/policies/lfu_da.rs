// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LFU with dynamic aging (Arlitt et al., "Evaluating content management techniques for web proxy caches", ACM SIGMETRICS Performance
//! Evaluation Review 27(4), 2000): the object with the least count of requests plus age goes, and its sum becomes the age. An object
//! takes the age of its last request. Of equal ones the one whose last request is longest ago goes.

use crate::policy::{Descriptor, Policy, Ranked, Request};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lfu-da",
    source: "Arlitt et al., SIGMETRICS PER 27(4), 2000",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Ranked::BYTES_PER_OBJECT + 4,
    build: |capacity, _| Box::new(LfuDa { capacity, age: 0, now: 0, counts: Vec::new(), objects: Ranked::default() }),
};

struct LfuDa {
    capacity: u64,
    age: u64,
    now: u64,
    /// Requests of each cached object since it came in.
    counts: Vec<u32>,
    objects: Ranked,
}

impl Policy for LfuDa {
    fn ensure_ids(&mut self, ids: u32) {
        self.objects.ensure_ids(ids);
        self.counts.resize(self.counts.len().max(ids as usize), 0);
    }

    fn access(&mut self, request: Request) -> bool {
        let Request { id, size, .. } = request;
        self.now += 1;
        let count = &mut self.counts[id as usize];
        if self.objects.contains(id) {
            *count = count.saturating_add(1);
            self.objects.change(id, (self.age + u64::from(*count), self.now));
            return true;
        }
        if u64::from(size) > self.capacity {
            return false;
        }
        *count = 1;
        while self.objects.used() + u64::from(size) > self.capacity {
            let Some((_, (sum, _))) = self.objects.pop() else { break };
            self.age = sum;
        }
        self.objects.insert(id, size, (self.age + 1, self.now));
        false
    }

    fn used(&self) -> u64 {
        self.objects.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.objects.contains(id)
    }
}
