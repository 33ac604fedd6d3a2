// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! QD-LP-FIFO (Yang et al., "FIFO can be better than LRU: the power of lazy promotion and quick demotion", HotOS 2023): a small FIFO
//! queue that objects leave soon, unless they were asked for again, for a main queue that is a CLOCK of two bits; those that left
//! are remembered, and come back into the main queue. Each queue has its own capacity.

use crate::policy::{share, Descriptor, Parameter, Policy, Request, Table};

const PROBATION: u8 = 1;
const MAIN: u8 = 2;
const GHOST: u8 = 3;

/// Two bits.
const MOST: u8 = 3;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "qdlp-fifo",
    source: "Yang et al., HotOS 2023",
    parameters: &[Parameter {
        name: "probation",
        default: 0.1,
        least: 0.001,
        greatest: 0.999,
        meaning: "share of the probationary queue",
    }],
    needs_future: false,
    bytes_per_object: Table::<3>::BYTES_PER_OBJECT,
    build: |capacity, parameters| {
        let probation = share(capacity, parameters[0]);
        Box::new(QdlpFifo { probation, main: capacity - probation, table: Table::default() })
    },
};

struct QdlpFifo {
    probation: u64,
    /// Capacity of the main queue, and of what is remembered.
    main: u64,
    table: Table<3>,
}

impl QdlpFifo {
    /// Puts an object into the main queue, if it is not larger than that.
    fn promote(&mut self, id: u32, size: u32) {
        let slot = Table::<3>::slot(id);
        if u64::from(size) > self.main {
            return;
        }
        while self.table.weight(MAIN) + u64::from(size) > self.main {
            let Some(last) = self.table.back(MAIN) else { break };
            match self.table.count(last) {
                0 => self.table.remove(last),
                count => {
                    self.table.set_count(last, count - 1);
                    self.table.refresh(last);
                }
            }
        }
        self.table.push_front(MAIN, slot, size);
        self.table.set_count(slot, 0);
    }

    fn leave_probation(&mut self) -> bool {
        let Some(last) = self.table.back(PROBATION) else { return false };
        let (size, asked) = (self.table.size(last), self.table.count(last) > 0);
        self.table.remove(last);
        if asked {
            self.promote(Table::<3>::id(last), size);
        } else if u64::from(size) <= self.main {
            while self.table.weight(GHOST) + u64::from(size) > self.main {
                let Some(oldest) = self.table.back(GHOST) else { break };
                self.table.remove(oldest);
            }
            self.table.push_front(GHOST, last, size);
        }
        true
    }
}

impl Policy for QdlpFifo {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<3>::slot(request.id);
        let place = self.table.place(slot);
        if place == PROBATION || place == MAIN {
            self.table.count_hit(slot, MOST);
            return true;
        }
        if place == GHOST {
            self.table.remove(slot);
            self.promote(request.id, request.size);
            return false;
        }
        let size = u64::from(request.size);
        if size <= self.probation {
            while self.table.weight(PROBATION) + size > self.probation && self.leave_probation() {}
            self.table.push_front(PROBATION, slot, request.size);
            self.table.set_count(slot, 0);
        }
        false
    }

    fn used(&self) -> u64 {
        self.table.weight(PROBATION) + self.table.weight(MAIN)
    }

    fn contains(&self, id: u32) -> bool {
        matches!(self.table.place_of(id), PROBATION | MAIN)
    }
}
