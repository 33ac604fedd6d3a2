// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! CLOCK, or second chance (Corbató, "A paging experiment with the Multics system", MIT Project MAC report M-384, 1968).

use crate::policy::{Descriptor, Parameter, Policy, Request, Table, ABSENT};

/// The ring, cut open at the hand: the back is under the hand, the front is what it passed last.
const RING: u8 = 1;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "clock",
    source: "Corbató, MIT Project MAC M-384, 1968",
    parameters: &[Parameter {
        name: "bits",
        default: 1.0,
        least: 1.0,
        greatest: 7.0,
        meaning: "bits of the reference counter",
    }],
    needs_future: false,
    bytes_per_object: Table::<1>::BYTES_PER_OBJECT,
    build: |capacity, parameters| {
        Box::new(Clock { capacity, most: ((1u32 << parameters[0] as u32) - 1) as u8, table: Table::default() })
    },
};

struct Clock {
    capacity: u64,
    most: u8,
    table: Table<1>,
}

impl Policy for Clock {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<1>::slot(request.id);
        if self.table.place(slot) != ABSENT {
            let count = self.table.count(slot);
            if count < self.most {
                self.table.set_count(slot, count + 1);
            }
            return true;
        }
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        while self.table.weight(RING) + size > self.capacity {
            let Some(hand) = self.table.back(RING) else { break };
            match self.table.count(hand) {
                0 => self.table.remove(hand),
                count => {
                    self.table.set_count(hand, count - 1);
                    self.table.refresh(hand);
                }
            }
        }
        self.table.push_front(RING, slot, request.size);
        self.table.set_count(slot, 0);
        false
    }

    fn used(&self) -> u64 {
        self.table.weight(RING)
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT
    }
}
