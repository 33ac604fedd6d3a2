// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! ARC (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, figure 4).
//!
//! T1 and B1 are kept as the one list L1 that they are in the paper, with an edge between them, so that the least recent of T1
//! becomes the most recent of B1 without a link being touched; so are T2 and B2.

use crate::policy::{Descriptor, Policy, Request, Slot, Table, ABSENT};

const L1: u8 = 1;
const L2: u8 = 2;

/// Marks ghosts, in the table's count.
const RESIDENT: u8 = 0;
const GHOST: u8 = 1;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "arc",
    source: "Megiddo and Modha, FAST 2003",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Table::<2>::BYTES_PER_OBJECT,
    build: |capacity, _| {
        Box::new(Arc { capacity, target: 0.0, table: Table::default(), edges: [None; 2], ghosts: [0; 2] })
    },
};

struct Arc {
    capacity: u64,
    /// The paper's p: what T1 should weigh.
    target: f64,
    table: Table<2>,
    /// The least recent resident object of each list.
    edges: [Option<Slot>; 2],
    /// What B1 and B2 weigh.
    ghosts: [u64; 2],
}

impl Arc {
    /// Weight of T1 or T2.
    #[inline(always)]
    fn resident(&self, list: u8) -> u64 {
        self.table.weight(list) - self.ghosts[list as usize - 1]
    }

    #[inline(always)]
    fn push(&mut self, list: u8, slot: Slot, size: u32) {
        self.table.push_front(list, slot, size);
        self.table.set_count(slot, RESIDENT);
        self.edges[list as usize - 1].get_or_insert(slot);
    }

    /// Takes a resident object out of its list.
    #[inline(always)]
    fn take(&mut self, list: u8, slot: Slot) {
        if self.edges[list as usize - 1] == Some(slot) {
            self.edges[list as usize - 1] = self.table.towards_front(slot);
        }
        self.table.remove(slot);
    }

    /// Forgets the oldest ghost of B1 or B2; whether there was one.
    #[inline(always)]
    fn forget(&mut self, list: u8) -> bool {
        if self.ghosts[list as usize - 1] == 0 {
            return false;
        }
        if let Some(oldest) = self.table.back(list) {
            self.ghosts[list as usize - 1] -= u64::from(self.table.size(oldest));
            self.table.remove(oldest);
        }
        true
    }

    /// The paper's REPLACE.
    #[inline(always)]
    fn replace(&mut self, hit_b2: bool) {
        let first = self.resident(L1);
        let over = first as f64 > self.target || (hit_b2 && first as f64 == self.target);
        let list = if (first > 0 && over) || self.resident(L2) == 0 { L1 } else { L2 };
        let at = list as usize - 1;
        if let Some(victim) = self.edges[at] {
            self.edges[at] = self.table.towards_front(victim);
            self.table.set_count(victim, GHOST);
            self.ghosts[at] += u64::from(self.table.size(victim));
        }
    }

    /// Case IV: makes room for an object in none of the lists. With objects of size 1 this is the paper's to the letter.
    #[inline(always)]
    fn make_room(&mut self, size: u64) {
        let first = self.table.weight(L1);
        if first + size > self.capacity {
            if self.forget(L1) {
                self.replace(false);
            } else if let Some(victim) = self.edges[0] {
                self.take(L1, victim);
            }
        } else {
            if first + self.table.weight(L2) >= self.capacity.saturating_mul(2) {
                self.forget(L2);
            }
            self.replace(false);
        }
    }
}

impl Policy for Arc {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let slot = Table::<2>::slot(request.id);
        let place = self.table.place(slot);
        let ghost = place != ABSENT && self.table.count(slot) == GHOST;
        if place != ABSENT && !ghost {
            let size = self.table.size(slot);
            self.take(place, slot);
            self.push(L2, slot, size);
            return true;
        }
        let size = u64::from(request.size);
        if ghost {
            let (b1, b2) = (self.ghosts[0] as f64, self.ghosts[1] as f64);
            self.target = if place == L1 {
                (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64)
            } else {
                (self.target - (b1 / b2).max(1.0)).max(0.0)
            };
            self.ghosts[place as usize - 1] -= u64::from(self.table.size(slot));
            self.table.remove(slot);
        }
        if size > self.capacity {
            return false;
        }
        while self.used() + size > self.capacity {
            if ghost {
                self.replace(place == L2);
            } else {
                self.make_room(size);
            }
        }
        self.push(if ghost { L2 } else { L1 }, slot, request.size);
        false
    }

    #[inline(always)]
    fn used(&self) -> u64 {
        self.resident(L1) + self.resident(L2)
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT && self.table.count(Table::<2>::slot(id)) == RESIDENT
    }
}
