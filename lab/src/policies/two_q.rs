// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! 2Q, the full version (Johnson and Shasha, "2Q: a low overhead high performance buffer management replacement algorithm",
//! VLDB 1994, section 2.2).

use crate::policy::{share, Descriptor, Parameter, Policy, Request, Table, ABSENT};

const IN: u8 = 1;
const OUT: u8 = 2;
const MAIN: u8 = 3;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "2q",
    source: "Johnson and Shasha, VLDB 1994",
    parameters: &[
        Parameter {
            name: "in",
            default: 0.25,
            least: 0.001,
            greatest: 0.999,
            meaning: "Kin, share of the first-in queue",
        },
        Parameter {
            name: "out",
            default: 0.5,
            least: 0.0,
            greatest: 10.0,
            meaning: "Kout, ghosts relative to the cache",
        },
    ],
    needs_future: false,
    bytes_per_object: Table::<3>::BYTES_PER_OBJECT,
    build: |capacity, parameters| {
        Box::new(TwoQ {
            capacity,
            first: share(capacity, parameters[0]),
            ghosts: (capacity as f64 * parameters[1]) as u64,
            table: Table::default(),
        })
    },
};

struct TwoQ {
    capacity: u64,
    first: u64,
    ghosts: u64,
    table: Table<3>,
}

impl TwoQ {
    #[inline(always)]
    fn evict(&mut self) {
        // By bytes the main queue can be empty while the first queue is below its share; by objects it cannot.
        let main = if self.table.weight(IN) > self.first { None } else { self.table.back(MAIN) };
        if let Some(victim) = main {
            self.table.remove(victim);
            return;
        }
        let Some(victim) = self.table.back(IN) else { return };
        let size = self.table.size(victim);
        self.table.remove(victim);
        if size <= self.ghosts {
            while self.table.weight(OUT) + size > self.ghosts {
                let Some(oldest) = self.table.back(OUT) else { break };
                self.table.remove(oldest);
            }
            self.table.push_front(OUT, victim, size);
        }
    }
}

impl Policy for TwoQ {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<3>::slot(request.id);
        let place = self.table.place(slot);
        match place {
            MAIN => {
                self.table.refresh(slot);
                return true;
            }
            // A second access soon after the first is correlated with it and tells nothing (section 2.2).
            IN => return true,
            OUT => self.table.remove(slot),
            _ => {}
        }
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        while self.used() + size > self.capacity {
            self.evict();
        }
        self.table.push_front(if place == OUT { MAIN } else { IN }, slot, request.size);
        false
    }

    #[inline(always)]
    fn used(&self) -> u64 {
        self.table.weight(IN) + self.table.weight(MAIN)
    }

    fn contains(&self, id: u32) -> bool {
        !matches!(self.table.place_of(id), ABSENT | OUT)
    }
}
