// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! CLOCK-Pro (Jiang, Chen and Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement", USENIX ATC 2005): hot and cold objects
//! in one clock, with cold ones that were evicted and are in their test period. What is asked for during its test period becomes hot.
//! Three hands: the cold one looks for a victim, the hot one turns hot objects cold, the test one ends test periods.
//!
//! The clock is a list that is cut open at the hot hand: the back is under that hand, the front is the paper's list head, and what the hot
//! hand passes comes to the front. Where the paper is silent: the target of cold objects begins at the whole cache, so that all begin
//! as cold ones; a cold object that was asked for after its test period begins a new one at the list head.

use crate::policy::{Descriptor, Policy, Request, Slot, Table, ABSENT};

const CLOCK: u8 = 1;

/// Bits of an object, in the table's small number.
const HOT: u8 = 1;
const RESIDENT: u8 = 2;
const TEST: u8 = 4;
const REFERENCED: u8 = 8;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "clock-pro",
    source: "Jiang et al., USENIX ATC 2005",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Table::<1>::BYTES_PER_OBJECT,
    build: |capacity, _| {
        Box::new(ClockPro {
            capacity,
            cold_target: capacity,
            hot: 0,
            cold: 0,
            evicted: 0,
            cold_hand: None,
            test_hand: None,
            clock: Table::default(),
        })
    },
};

struct ClockPro {
    capacity: u64,
    /// Weight that the cold objects in the cache should have.
    cold_target: u64,
    /// Weights: hot objects, cold ones in the cache, those that were evicted in their test period.
    hot: u64,
    cold: u64,
    evicted: u64,
    /// Where a hand is; at the back if none.
    cold_hand: Option<Slot>,
    test_hand: Option<Slot>,
    clock: Table<1>,
}

impl ClockPro {
    fn is(&self, slot: Slot, bits: u8) -> bool {
        self.clock.count(slot) & bits == bits
    }

    fn set(&mut self, slot: Slot, bits: u8) {
        self.clock.set_count(slot, bits);
    }

    /// No hand stays on an object that leaves its place.
    fn leave(&mut self, slot: Slot) {
        let next = self.clock.towards_front(slot);
        for hand in [&mut self.cold_hand, &mut self.test_hand] {
            if *hand == Some(slot) {
                *hand = next;
            }
        }
    }

    fn move_to_front(&mut self, slot: Slot) {
        self.leave(slot);
        self.clock.refresh(slot);
    }

    fn remove(&mut self, slot: Slot) {
        self.leave(slot);
        self.clock.remove(slot);
    }

    /// The first object from a hand on, around the clock, that has all bits of `with` and none of `without`. There must be one.
    fn find(&self, hand: Option<Slot>, with: u8, without: u8) -> Option<Slot> {
        let mut at = hand.or(self.clock.back(CLOCK))?;
        while self.clock.count(at) & (with | without) != with {
            at = self.clock.towards_front(at).or(self.clock.back(CLOCK))?;
        }
        Some(at)
    }

    /// A test period was of use, or ended without a request.
    fn adjust(&mut self, size: u64, of_use: bool) {
        self.cold_target = match of_use {
            true => (self.cold_target + size).min(self.capacity),
            false => self.cold_target.saturating_sub(size).max(1),
        };
    }

    fn end_test(&mut self, slot: Slot) {
        if !self.is(slot, TEST) {
            return;
        }
        let size = self.clock.size(slot);
        self.adjust(size, self.is(slot, REFERENCED));
        if self.is(slot, RESIDENT) {
            self.set(slot, self.clock.count(slot) & !TEST);
        } else {
            self.evicted -= size;
            self.remove(slot);
        }
    }

    /// Turns one hot object cold, and stops at the next hot one.
    fn run_hot_hand(&mut self) {
        let mut turned = false;
        while let Some(slot) = self.clock.back(CLOCK).filter(|_| self.hot > 0) {
            match self.clock.count(slot) {
                bits if bits & HOT == 0 => {
                    self.end_test(slot);
                    if self.clock.place(slot) == CLOCK {
                        self.move_to_front(slot);
                    }
                }
                _ if turned => return,
                bits if bits & REFERENCED != 0 => {
                    self.set(slot, bits & !REFERENCED);
                    self.move_to_front(slot);
                }
                _ => {
                    let size = self.clock.size(slot);
                    (self.hot, self.cold) = (self.hot - size, self.cold + size);
                    self.set(slot, RESIDENT);
                    self.move_to_front(slot);
                    turned = true;
                }
            }
        }
    }

    fn limit_hot(&mut self) {
        while self.hot > 0 && self.hot > self.capacity - self.cold_target {
            self.run_hot_hand();
        }
    }

    fn run_test_hand(&mut self) {
        let Some(slot) = self.find(self.test_hand, TEST, 0) else { return };
        self.test_hand = self.clock.towards_front(slot);
        self.end_test(slot);
    }

    /// Looks at one cold object: it leaves the cache, or it was asked for.
    fn run_cold_hand(&mut self) {
        while self.cold == 0 {
            self.run_hot_hand();
        }
        let Some(slot) = self.find(self.cold_hand, RESIDENT, HOT) else { return };
        self.cold_hand = self.clock.towards_front(slot);
        let size = self.clock.size(slot);
        let (in_test, asked) = (self.is(slot, TEST), self.is(slot, REFERENCED));
        match (asked, in_test) {
            (true, true) => {
                (self.hot, self.cold) = (self.hot + size, self.cold - size);
                self.set(slot, RESIDENT | HOT);
                self.move_to_front(slot);
                self.adjust(size, true);
                self.limit_hot();
            }
            (true, false) => {
                self.set(slot, RESIDENT | TEST);
                self.move_to_front(slot);
            }
            (false, true) => {
                (self.cold, self.evicted) = (self.cold - size, self.evicted + size);
                self.set(slot, TEST);
                while self.evicted > self.capacity {
                    self.run_test_hand();
                }
            }
            (false, false) => {
                self.cold -= size;
                self.remove(slot);
            }
        }
    }
}

impl Policy for ClockPro {
    fn ensure_ids(&mut self, ids: u32) {
        self.clock.ensure_ids(ids);
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        let slot = Table::<1>::slot(id);
        if self.contains(id) {
            self.set(slot, self.clock.count(slot) | REFERENCED);
            return true;
        }
        if size > self.capacity {
            return false;
        }
        let in_test = self.clock.place(slot) != ABSENT;
        if in_test {
            let old = self.clock.size(slot);
            self.evicted -= old;
            self.remove(slot);
            self.adjust(size, true);
        }
        while self.used() + size > self.capacity {
            self.run_cold_hand();
        }
        self.clock.push_front(CLOCK, slot, size);
        if in_test {
            self.hot += size;
            self.set(slot, RESIDENT | HOT);
            self.limit_hot();
        } else {
            self.cold += size;
            self.set(slot, RESIDENT | TEST);
        }
        false
    }

    fn used(&self) -> u64 {
        self.hot + self.cold
    }

    fn contains(&self, id: u32) -> bool {
        self.clock.place_of(id) != ABSENT && self.is(Table::<1>::slot(id), RESIDENT)
    }
}
