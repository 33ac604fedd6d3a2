// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Segmented LRU (Karedla, Love and Wherry, "Caching strategies to improve disk system performance", IEEE Computer 27(3), 1994): objects
//! come into a probationary segment, and at a hit into a protected one, whose least recently used go back to the probationary.

use crate::policy::{share, Descriptor, Parameter, Policy, Request, Table, ABSENT};

const PROBATION: u8 = 1;
const PROTECTED: u8 = 2;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "slru",
    source: "Karedla et al., IEEE Computer 27(3), 1994",
    parameters: &[Parameter {
        name: "protected",
        default: 0.8,
        least: 0.0,
        greatest: 1.0,
        meaning: "share of the protected segment",
    }],
    needs_future: false,
    bytes_per_object: Table::<2>::BYTES_PER_OBJECT,
    build: |capacity, parameters| {
        Box::new(Slru { capacity, protected: share(capacity, parameters[0]), table: Table::default() })
    },
};

struct Slru {
    capacity: u64,
    protected: u64,
    table: Table<2>,
}

impl Policy for Slru {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<2>::slot(request.id);
        match self.table.place(slot) {
            PROTECTED => {
                self.table.refresh(slot);
                return true;
            }
            PROBATION => {
                self.table.promote(PROTECTED, self.protected, slot, PROBATION);
                return true;
            }
            _ => {}
        }
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        while self.used() + size > self.capacity {
            let Some(victim) = self.table.back(PROBATION).or_else(|| self.table.back(PROTECTED)) else { break };
            self.table.remove(victim);
        }
        self.table.push_front(PROBATION, slot, request.size);
        false
    }

    #[inline(always)]
    fn used(&self) -> u64 {
        self.table.weight(PROBATION) + self.table.weight(PROTECTED)
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT
    }
}
