// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! SIEVE (Zhang et al., "SIEVE is simpler than LRU", NSDI 2024): as CLOCK, but survivors keep their place in the queue.

use crate::policy::{Descriptor, Policy, Request, Slot, Table, ABSENT};

const QUEUE: u8 = 1;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "sieve",
    source: "Zhang et al., NSDI 2024",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Table::<1>::BYTES_PER_OBJECT,
    build: |capacity, _| Box::new(Sieve { capacity, hand: None, table: Table::default() }),
};

struct Sieve {
    capacity: u64,
    /// Where the next search begins; `None` for the back.
    hand: Option<Slot>,
    table: Table<1>,
}

impl Sieve {
    fn evict(&mut self) {
        let mut at = self.hand.or_else(|| self.table.back(QUEUE));
        while let Some(slot) = at {
            let next = self.table.towards_front(slot);
            if self.table.count(slot) == 0 {
                self.table.remove(slot);
                self.hand = next;
                return;
            }
            self.table.set_count(slot, 0);
            at = next.or_else(|| self.table.back(QUEUE));
        }
    }
}

impl Policy for Sieve {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<1>::slot(request.id);
        if self.table.place(slot) != ABSENT {
            self.table.set_count(slot, 1);
            return true;
        }
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        while self.table.weight(QUEUE) + size > self.capacity {
            self.evict();
        }
        self.table.push_front(QUEUE, slot, request.size);
        self.table.set_count(slot, 0);
        false
    }

    fn used(&self) -> u64 {
        self.table.weight(QUEUE)
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT
    }
}
