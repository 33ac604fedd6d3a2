// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! ARC (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, figure 4).
//!
//! T1 and B1 are kept as the one list L1 that they are in the paper, with an edge between them, so that the least recent of T1
//! becomes the most recent of B1 without a link being touched; so are T2 and B2.
//!
//! For speed, two things: every case of figure 4 names its list, so that in the compiled loop each is code of its own with fixed
//! addresses; and p, a fraction, is compared with by two whole numbers that change only when p does.

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
        Box::new(Arc {
            capacity,
            target: 0.0,
            gives_from: gives_from(0.0),
            table: Table::default(),
            tops: <[Top; 2]>::default(),
        })
    },
};

/// The part of L1 or L2 that is in the cache: T1 or T2.
#[derive(Default)]
struct Top {
    weight: u64,
    /// The least recent.
    edge: Option<Slot>,
}

struct Arc {
    capacity: u64,
    /// The paper's p: what T1 should weigh.
    target: f64,
    /// Of [`gives_from`] p.
    gives_from: [u64; 2],
    table: Table<2>,
    tops: [Top; 2],
}

/// From which weight on T1 gives the victim: after a hit in B2 if it weighs p or more, else if more than p; never if empty.
#[inline(always)]
fn gives_from(target: f64) -> [u64; 2] {
    [(target as u64).saturating_add(1), (target.ceil() as u64).max(1)]
}

impl Arc {
    #[inline(always)]
    fn top(&mut self, list: u8) -> &mut Top {
        &mut self.tops[list as usize - 1]
    }

    /// Weight of B1 or B2.
    #[inline(always)]
    fn ghosts(&self, list: u8) -> u64 {
        self.table.weight(list) - self.tops[list as usize - 1].weight
    }

    #[inline(always)]
    fn push(&mut self, list: u8, slot: Slot, size: u64) {
        self.table.push_front(list, slot, size);
        self.table.set_count(slot, RESIDENT);
        let top = self.top(list);
        top.weight += size;
        top.edge.get_or_insert(slot);
    }

    /// Takes a resident object out of T1 or T2; it is still in the list.
    #[inline(always)]
    fn leave_top(&mut self, list: u8, slot: Slot) {
        let (size, more_recent) = (self.table.size(slot), self.table.towards_front(slot));
        let top = self.top(list);
        top.weight -= size;
        if top.edge == Some(slot) {
            top.edge = more_recent;
        }
    }

    /// Takes a resident object out of its list.
    #[inline(always)]
    fn take(&mut self, list: u8, slot: Slot) {
        self.leave_top(list, slot);
        self.table.remove_from(list, slot);
    }

    /// Forgets the oldest ghost of B1 or B2; whether there was one.
    #[inline(always)]
    fn forget(&mut self, list: u8) -> bool {
        if self.ghosts(list) == 0 {
            return false;
        }
        if let Some(oldest) = self.table.back(list) {
            self.table.remove_from(list, oldest);
        }
        true
    }

    /// The least recent of T1 or T2 becomes a ghost.
    #[inline(always)]
    fn evict(&mut self, list: u8) {
        if let Some(victim) = self.top(list).edge {
            self.leave_top(list, victim);
            self.table.set_count(victim, GHOST);
        }
    }

    /// The paper's REPLACE.
    #[inline(always)]
    fn replace(&mut self, hit_b2: bool) {
        let gives_from = self.gives_from[usize::from(hit_b2)];
        if self.top(L1).weight >= gives_from || self.top(L2).weight == 0 {
            self.evict(L1);
        } else {
            self.evict(L2);
        }
    }

    /// Case I: a hit in T1 or T2.
    #[inline(always)]
    fn hit(&mut self, list: u8, slot: Slot) -> bool {
        let size = self.table.size(slot);
        self.take(list, slot);
        self.push(L2, slot, size);
        true
    }

    /// Cases II and III: the object is a ghost of B1 or B2.
    #[inline(always)]
    fn ghost_hit(&mut self, list: u8, slot: Slot, size: u64) -> bool {
        let (b1, b2) = (self.ghosts(L1) as f64, self.ghosts(L2) as f64);
        self.target = if list == L1 {
            (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64)
        } else {
            (self.target - (b1 / b2).max(1.0)).max(0.0)
        };
        self.gives_from = gives_from(self.target);
        self.table.remove_from(list, slot);
        if size <= self.capacity {
            while self.used() + size > self.capacity {
                self.replace(list == L2);
            }
            self.push(L2, slot, size);
        }
        false
    }

    /// Case IV: the object is in none of the lists.
    #[inline(always)]
    fn miss(&mut self, slot: Slot, size: u64) -> bool {
        if size <= self.capacity {
            while self.used() + size > self.capacity {
                self.make_room(size);
            }
            self.push(L1, slot, size);
        }
        false
    }

    /// With objects of size 1 this is the paper's to the letter.
    #[inline(always)]
    fn make_room(&mut self, size: u64) {
        let first = self.table.weight(L1);
        if first + size > self.capacity {
            if self.forget(L1) {
                self.replace(false);
            } else if let Some(victim) = self.top(L1).edge {
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
    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        let slot = Table::<2>::slot(id);
        match (self.table.place(slot), self.table.count(slot)) {
            (ABSENT, _) => self.miss(slot, size),
            (L1, RESIDENT) => self.hit(L1, slot),
            (_, RESIDENT) => self.hit(L2, slot),
            (L1, _) => self.ghost_hit(L1, slot, size),
            _ => self.ghost_hit(L2, slot, size),
        }
    }

    #[inline(always)]
    fn used(&self) -> u64 {
        self.tops[0].weight + self.tops[1].weight
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT && self.table.count(Table::<2>::slot(id)) == RESIDENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn t1_gives_the_victim_when_the_paper_says(
            target in prop_oneof![(0..20u32).prop_map(f64::from), 0.0..20.0],
            t1 in 0..25u64,
            hit_b2: bool,
        ) {
            let weight = t1 as f64;
            let paper = t1 > 0 && ((hit_b2 && weight == target) || weight > target);
            prop_assert_eq!(t1 >= gives_from(target)[usize::from(hit_b2)], paper);
        }
    }

    #[test]
    fn a_target_beyond_all_numbers_does_not_overflow() {
        assert_eq!(gives_from(u64::MAX as f64), [u64::MAX; 2]);
    }
}
