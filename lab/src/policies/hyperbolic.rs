// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Hyperbolic caching (Blankstein, Sen and Freedman, "Hyperbolic caching: flexible caching for web applications", USENIX ATC 2017): an
//! object's priority is its requests since it came in, over the time since then in requests (section 2, n / t); of 64 that are
//! drawn the least goes. With `by-size` the priority is divided by the size as well, which is the paper's cost per space (section 3).

use crate::policy::{Descriptor, Drawn, Parameter, Policy, Request};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "hyperbolic",
    source: "Blankstein et al., USENIX ATC 2017",
    parameters: &[
        Parameter { name: "sample", default: 64.0, least: 1.0, greatest: 1e6, meaning: "candidates for an eviction" },
        Parameter { name: "by-size", default: 0.0, least: 0.0, greatest: 1.0, meaning: "1: requests by time and size" },
        Drawn::SEED,
    ],
    needs_future: false,
    bytes_per_object: Drawn::BYTES_PER_OBJECT + 16,
    build: |capacity, parameters| {
        Box::new(Hyperbolic {
            capacity,
            samples: parameters[0] as usize,
            by_size: parameters[1] >= 0.5,
            now: 0,
            known: Vec::new(),
            cached: Drawn::new(parameters[2]),
        })
    },
};

#[derive(Clone, Copy, Default)]
struct Known {
    entered: u64,
    requests: u64,
}

struct Hyperbolic {
    capacity: u64,
    samples: usize,
    by_size: bool,
    now: u64,
    known: Vec<Known>,
    cached: Drawn,
}

impl Policy for Hyperbolic {
    fn ensure_ids(&mut self, ids: u32) {
        self.cached.ensure_ids(ids);
        self.known.resize(self.known.len().max(ids as usize), Known::default());
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        self.now += 1;
        if self.cached.contains(id) {
            self.known[id as usize].requests += 1;
            return true;
        }
        if size > self.capacity {
            return false;
        }
        while self.cached.used() + size > self.capacity {
            let (now, known, by_size) = (self.now, &self.known, self.by_size);
            // Time over requests, so that the least priority is the greatest score.
            let score = |id: u32, size: u64| {
                let Known { entered, requests } = known[id as usize];
                (now - entered) as f64 * if by_size { size as f64 } else { 1.0 } / requests as f64
            };
            let Some((victim, _)) = self.cached.greatest(self.samples, score) else { break };
            self.cached.remove(victim);
        }
        self.cached.insert(id, size);
        self.known[id as usize] = Known { entered: self.now, requests: 1 };
        false
    }

    fn used(&self) -> u64 {
        self.cached.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.cached.contains(id)
    }
}
