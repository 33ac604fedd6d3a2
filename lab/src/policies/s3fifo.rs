// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1).
//!
//! With `fill=1` a cache that has never evicted anything fills its main queue directly once the small one is full, as the authors'
//! Python package does.

use crate::policy::{share, Descriptor, Parameter, Policy, Request, Table, ABSENT};

const SMALL: u8 = 1;
const MAIN: u8 = 2;
const GHOST: u8 = 3;

/// Two bits count accesses (section 4.1).
const MOST: u8 = 3;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "s3-fifo",
    source: "Yang et al., SOSP 2023",
    parameters: &[
        Parameter { name: "small", default: 0.1, least: 0.001, greatest: 0.999, meaning: "share of the small queue" },
        Parameter {
            name: "ghost",
            default: 0.9,
            least: 0.0,
            greatest: 10.0,
            meaning: "ghost queue, relative to the cache",
        },
        Parameter {
            name: "threshold",
            default: 2.0,
            least: 1.0,
            greatest: 3.0,
            meaning: "accesses to enter the main queue",
        },
        Parameter {
            name: "fill",
            default: 0.0,
            least: 0.0,
            greatest: 1.0,
            meaning: "1: fill the main queue directly until the first eviction",
        },
    ],
    needs_future: false,
    bytes_per_object: Table::<3>::BYTES_PER_OBJECT,
    build: |capacity, parameters| {
        let small = share(capacity, parameters[0]);
        Box::new(S3Fifo {
            capacity,
            small,
            main: capacity - small,
            ghost: (capacity as f64 * parameters[1]) as u64,
            threshold: parameters[2] as u8,
            filling: parameters[3] >= 0.5,
            table: Table::default(),
        })
    },
};

struct S3Fifo {
    capacity: u64,
    small: u64,
    main: u64,
    ghost: u64,
    threshold: u8,
    /// Nothing has been evicted yet, and new objects may go to the main queue directly.
    filling: bool,
    table: Table<3>,
}

impl S3Fifo {
    #[inline(always)]
    fn evict(&mut self) {
        self.filling = false;
        if self.table.weight(MAIN) > self.main || self.table.weight(SMALL) == 0 {
            self.evict_main();
        } else {
            self.evict_small();
        }
    }

    #[inline(always)]
    fn evict_small(&mut self) {
        while let Some(victim) = self.table.back(SMALL) {
            if self.table.count(victim) < self.threshold {
                let size = self.table.size(victim);
                self.table.remove(victim);
                if size <= self.ghost {
                    while self.table.weight(GHOST) + size > self.ghost {
                        let Some(oldest) = self.table.back(GHOST) else { break };
                        self.table.remove(oldest);
                    }
                    self.table.push_front(GHOST, victim, size);
                }
                return;
            }
            self.table.move_to(MAIN, victim);
            self.table.set_count(victim, 0);
        }
    }

    #[inline(always)]
    fn evict_main(&mut self) {
        while let Some(victim) = self.table.back(MAIN) {
            match self.table.count(victim) {
                0 => return self.table.remove(victim),
                count => {
                    self.table.set_count(victim, count - 1);
                    self.table.refresh(victim);
                }
            }
        }
    }
}

impl Policy for S3Fifo {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<3>::slot(request.id);
        let place = self.table.place(slot);
        if place == SMALL || place == MAIN {
            self.table.count_hit(slot, MOST);
            return true;
        }
        if place == GHOST {
            self.table.remove(slot);
        }
        let size = request.size;
        if size > self.small {
            return false;
        }
        while self.used() + size > self.capacity {
            self.evict();
        }
        let to_main = place == GHOST || (self.filling && self.table.weight(SMALL) >= self.small);
        let list = if to_main { MAIN } else { SMALL };
        self.table.push_front(list, slot, request.size);
        self.table.set_count(slot, 0);
        false
    }

    #[inline(always)]
    fn used(&self) -> u64 {
        self.table.weight(SMALL) + self.table.weight(MAIN)
    }

    fn contains(&self, id: u32) -> bool {
        !matches!(self.table.place_of(id), ABSENT | GHOST)
    }
}
