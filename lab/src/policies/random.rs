// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Random replacement (Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966): any
//! object goes, each as likely as the others, whatever its size.

use crate::policy::{Descriptor, Drawn, Policy, Request};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "random",
    source: "Belady, IBM Systems Journal 5(2), 1966",
    parameters: &[Drawn::SEED],
    needs_future: false,
    bytes_per_object: Drawn::BYTES_PER_OBJECT,
    build: |capacity, parameters| Box::new(Random { capacity, cached: Drawn::new(parameters[0]) }),
};

struct Random {
    capacity: u64,
    cached: Drawn,
}

impl Policy for Random {
    fn ensure_ids(&mut self, ids: u32) {
        self.cached.ensure_ids(ids);
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        if self.cached.contains(id) {
            return true;
        }
        if size > self.capacity {
            return false;
        }
        while self.cached.used() + size > self.capacity {
            let Some((victim, _)) = self.cached.greatest(1, |_, _| 0) else { break };
            self.cached.remove(victim);
        }
        self.cached.insert(id, size);
        false
    }

    fn used(&self) -> u64 {
        self.cached.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.cached.contains(id)
    }
}
