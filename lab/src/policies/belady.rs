// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Belady's MIN: evicts what is needed furthest in the future (IBM Systems Journal 1966). Optimal for objects of one size.

use std::cmp::Reverse;

use crate::policy::{Descriptor, Policy, Ranked, Request, NEVER};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "belady",
    source: "Belady, IBM Systems Journal 5(2), 1966",
    parameters: &[],
    needs_future: true,
    bytes_per_object: Ranked::<Reverse<u64>>::BYTES_PER_OBJECT,
    build: |capacity, _| Box::new(Belady { capacity, now: 0, objects: Ranked::default() }),
};

/// After all requests that come.
const DEAD: u64 = 1 << 63;

struct Belady {
    capacity: u64,
    now: u64,
    /// By their next requests, furthest first; before them those that are never needed again, the newest of these first.
    objects: Ranked<Reverse<u64>>,
}

impl Policy for Belady {
    fn ensure_ids(&mut self, ids: u32) {
        self.objects.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, Request { id, size, next_distance, .. }: Request) -> bool {
        self.now += 1;
        let next = Reverse(match next_distance {
            NEVER => DEAD + self.now,
            distance => self.now + u64::from(distance),
        });
        if self.objects.contains(id) {
            self.objects.change(id, next);
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
        self.objects.insert(id, size, next);
        false
    }

    fn used(&self) -> u64 {
        self.objects.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.objects.contains(id)
    }
}
