// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! QD-LP-FIFO (Yang et al., "FIFO can be better than LRU: the power of lazy promotion and quick demotion", HotOS 2023): a small FIFO
//! queue that objects leave soon, unless they were asked for again, for a main queue that is a CLOCK of two bits; those that left
//! are remembered, and come back into the main queue.
//!
//! Where the paper is silent, the authors' program (libCacheSim) decides: nothing leaves while there is room, so the small queue has
//! what the main queue has not filled yet; no object larger than the small queue's share is let in.

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
        let ghost = share(capacity, 1.0 - parameters[0]);
        Box::new(QdlpFifo { capacity, probation, main: capacity - probation, ghost, table: Table::default() })
    },
};

struct QdlpFifo {
    capacity: u64,
    /// The small queue's share.
    probation: u64,
    /// The main queue's.
    main: u64,
    /// Capacity of what is remembered.
    ghost: u64,
    table: Table<3>,
}

impl QdlpFifo {
    /// Gives the oldest of the main queue their second chances, and evicts the first that has none.
    fn leave_main(&mut self) -> bool {
        while let Some(last) = self.table.back(MAIN) {
            match self.table.count(last) {
                0 => {
                    self.table.remove(last);
                    return true;
                }
                count => {
                    self.table.set_count(last, count - 1);
                    self.table.refresh(last);
                }
            }
        }
        false
    }

    /// Puts an object into the main queue, if it is not larger than that.
    fn promote(&mut self, id: u32, size: u64) {
        let slot = Table::<3>::slot(id);
        if size > self.main {
            return;
        }
        while self.table.weight(MAIN) + size > self.main && self.leave_main() {}
        self.table.push_front(MAIN, slot, size);
        self.table.set_count(slot, 0);
    }

    fn leave_probation(&mut self) -> bool {
        let Some(last) = self.table.back(PROBATION) else { return false };
        let (size, asked) = (self.table.size(last), self.table.count(last) > 0);
        self.table.remove(last);
        if asked {
            self.promote(Table::<3>::id(last), size);
        } else if size <= self.ghost {
            while self.table.weight(GHOST) + size > self.ghost {
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
        }
        let size = request.size;
        if size > self.probation {
            return false;
        }
        while self.used() + size > self.capacity && (self.leave_probation() || self.leave_main()) {}
        if place == GHOST {
            self.promote(request.id, request.size);
        } else {
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
