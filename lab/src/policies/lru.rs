// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Least recently used (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970).

use crate::policy::{Descriptor, Policy, Request, Table, ABSENT};

const QUEUE: u8 = 1;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lru",
    source: "Mattson et al., IBM Systems Journal 9(2), 1970",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Table::<1>::BYTES_PER_OBJECT,
    build: |capacity, _| Box::new(Lru { capacity, table: Table::default() }),
};

struct Lru {
    capacity: u64,
    table: Table<1>,
}

impl Policy for Lru {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<1>::slot(request.id);
        if self.table.place(slot) != ABSENT {
            self.table.refresh(slot);
            return true;
        }
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        while self.table.weight(QUEUE) + size > self.capacity {
            let Some(victim) = self.table.back(QUEUE) else { break };
            self.table.remove(victim);
        }
        self.table.push_front(QUEUE, slot, request.size);
        false
    }

    fn used(&self) -> u64 {
        self.table.weight(QUEUE)
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT
    }
}
