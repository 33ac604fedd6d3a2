// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Belady's MIN with an eye on sizes, as libCacheSim's BeladySize: the candidate goes whose size times the requests until its next one
//! is the greatest; what is never asked for again is not kept. No bound where sizes differ, but near the best that is known.

use crate::policy::{Descriptor, Drawn, Parameter, Policy, Request, NEVER};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "belady-size",
    source: "libCacheSim's BeladySize; after Belady, 1966",
    parameters: &[
        Parameter { name: "sample", default: 128.0, least: 1.0, greatest: 1e6, meaning: "candidates for an eviction" },
        Drawn::SEED,
    ],
    needs_future: true,
    bytes_per_object: Drawn::BYTES_PER_OBJECT + 8,
    build: |capacity, parameters| {
        let (samples, cached) = (parameters[0] as usize, Drawn::new(parameters[1]));
        Box::new(BeladySize { capacity, samples, now: 0, next: Vec::new(), cached })
    },
};

struct BeladySize {
    capacity: u64,
    samples: usize,
    now: u64,
    /// The number of each cached object's next request.
    next: Vec<u64>,
    cached: Drawn,
}

impl Policy for BeladySize {
    fn ensure_ids(&mut self, ids: u32) {
        self.cached.ensure_ids(ids);
        self.next.resize(self.next.len().max(ids as usize), 0);
    }

    fn access(&mut self, Request { id, size, next_distance, .. }: Request) -> bool {
        self.now += 1;
        let hit = self.cached.contains(id);
        if next_distance == NEVER {
            if hit {
                self.cached.remove(id);
            }
            return hit;
        }
        if !hit {
            if size > self.capacity {
                return false;
            }
            while self.cached.used() + size > self.capacity {
                let (now, next) = (self.now, &self.next);
                let score = |id: u32, size: u64| u128::from(size) * u128::from(next[id as usize] - now);
                let Some((victim, _)) = self.cached.greatest(self.samples, score) else { break };
                self.cached.remove(victim);
            }
            self.cached.insert(id, size);
        }
        self.next[id as usize] = self.now + u64::from(next_distance);
        hit
    }

    fn used(&self) -> u64 {
        self.cached.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.cached.contains(id)
    }
}
