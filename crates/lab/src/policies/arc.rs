// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! ARC (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, figure 4).

use crate::policy::{Descriptor, Policy, Request, Table, ABSENT};

const T1: u8 = 1;
const T2: u8 = 2;
const B1: u8 = 3;
const B2: u8 = 4;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "arc",
    source: "Megiddo and Modha, FAST 2003",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Table::<4>::BYTES_PER_OBJECT,
    build: |capacity, _| Box::new(Arc { capacity, target: 0.0, table: Table::default() }),
};

struct Arc {
    capacity: u64,
    /// The paper's p: what T1 should weigh.
    target: f64,
    table: Table<4>,
}

impl Arc {
    /// The paper's REPLACE.
    #[inline(always)]
    fn replace(&mut self, hit_b2: bool) {
        let first = self.table.weight(T1);
        let over = first as f64 > self.target || (hit_b2 && first as f64 == self.target);
        let (from, to) = if (first > 0 && over) || self.table.weight(T2) == 0 { (T1, B1) } else { (T2, B2) };
        if let Some(victim) = self.table.back(from) {
            self.table.move_to(to, victim);
        }
    }

    /// Case IV: makes room for an object in none of the lists. With objects of size 1 this is the paper's to the letter.
    #[inline(always)]
    fn make_room(&mut self, size: u64) {
        let (t1, b1) = (self.table.weight(T1), self.table.weight(B1));
        if t1 + b1 + size > self.capacity {
            match self.table.back(B1) {
                Some(oldest) => {
                    self.table.remove(oldest);
                    self.replace(false);
                }
                None => {
                    if let Some(victim) = self.table.back(T1) {
                        self.table.remove(victim);
                    }
                }
            }
        } else {
            if t1 + b1 + self.table.weight(T2) + self.table.weight(B2) >= self.capacity.saturating_mul(2) {
                if let Some(oldest) = self.table.back(B2) {
                    self.table.remove(oldest);
                }
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
        let slot = Table::<4>::slot(request.id);
        let place = self.table.place(slot);
        if place == T2 {
            self.table.refresh(slot);
            return true;
        }
        if place == T1 {
            self.table.move_to(T2, slot);
            return true;
        }
        let size = u64::from(request.size);
        if place != ABSENT {
            let (b1, b2) = (self.table.weight(B1) as f64, self.table.weight(B2) as f64);
            self.target = if place == B1 {
                (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64)
            } else {
                (self.target - (b1 / b2).max(1.0)).max(0.0)
            };
            self.table.remove(slot);
        }
        if size > self.capacity {
            return false;
        }
        while self.used() + size > self.capacity {
            if place == ABSENT {
                self.make_room(size);
            } else {
                self.replace(place == B2);
            }
        }
        self.table.push_front(if place == ABSENT { T1 } else { T2 }, slot, request.size);
        false
    }

    #[inline(always)]
    fn used(&self) -> u64 {
        self.table.weight(T1) + self.table.weight(T2)
    }

    fn contains(&self, id: u32) -> bool {
        matches!(self.table.place_of(id), T1 | T2)
    }
}
