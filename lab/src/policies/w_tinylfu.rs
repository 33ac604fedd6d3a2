// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! W-TinyLFU (Einziger, Friedman and Manes, "TinyLFU: A highly efficient cache admission policy", ACM Transactions on Storage 13(4),
//! 2017): a small LRU window, and behind it a segmented LRU that takes an object only if it was asked for more often than the one
//! that would have to go. Counts go up to 15 and are halved after ten times as many requests as the cache holds objects. They are
//! kept per object here, not in a sketch: no two objects share a count.

use crate::policy::{share, Descriptor, Parameter, Policy, Request, Slot, Table, ABSENT};

const WINDOW: u8 = 1;
const PROBATION: u8 = 2;
const PROTECTED: u8 = 3;

const MOST: u8 = 15;
/// Requests between halvings, for each object in the cache.
const SAMPLE: u64 = 10;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "w-tinylfu",
    source: "Einziger et al., ACM TOS 13(4), 2017",
    parameters: &[
        Parameter { name: "window", default: 0.01, least: 0.001, greatest: 0.999, meaning: "share of the window" },
        Parameter {
            name: "protected",
            default: 0.8,
            least: 0.0,
            greatest: 1.0,
            meaning: "protected segment, of what is not the window",
        },
    ],
    needs_future: false,
    bytes_per_object: Table::<3>::BYTES_PER_OBJECT + 1,
    build: |capacity, parameters| {
        let window = share(capacity, parameters[0]);
        let main = capacity - window;
        Box::new(WTinyLfu {
            window,
            main,
            protected: (main as f64 * parameters[1]) as u64,
            resident: 0,
            asked: 0,
            counts: Vec::new(),
            table: Table::default(),
        })
    },
};

struct WTinyLfu {
    window: u64,
    main: u64,
    protected: u64,
    /// Objects in the cache.
    resident: u64,
    /// Requests since the last halving.
    asked: u64,
    counts: Vec<u8>,
    table: Table<3>,
}

impl WTinyLfu {
    fn count(&mut self, id: u32) {
        let count = &mut self.counts[id as usize];
        *count = (*count + 1).min(MOST);
        self.asked += 1;
        if self.asked >= SAMPLE * self.resident.max(1) {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.asked = 0;
        }
    }

    fn drop(&mut self, slot: Slot) {
        self.table.remove(slot);
        self.resident -= 1;
    }

    /// What leaves the window goes in behind it, if it was asked for more often than each that has to go for it.
    fn leave_window(&mut self) -> bool {
        let Some(candidate) = self.table.back(WINDOW) else { return false };
        let size = self.table.size(candidate);
        let count = self.counts[Table::<3>::id(candidate) as usize];
        while size <= self.main && self.table.weight(PROBATION) + self.table.weight(PROTECTED) + size > self.main {
            let Some(victim) = self.table.back(PROBATION).or_else(|| self.table.back(PROTECTED)) else { break };
            if count <= self.counts[Table::<3>::id(victim) as usize] {
                self.drop(candidate);
                return true;
            }
            self.drop(victim);
        }
        match size <= self.main {
            true => self.table.move_to(PROBATION, candidate),
            false => self.drop(candidate),
        }
        true
    }
}

impl Policy for WTinyLfu {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
        self.counts.resize(self.counts.len().max(ids as usize), 0);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        self.count(request.id);
        let slot = Table::<3>::slot(request.id);
        match self.table.place(slot) {
            PROBATION => {
                self.table.promote(PROTECTED, self.protected, slot, PROBATION);
                return true;
            }
            WINDOW | PROTECTED => {
                self.table.refresh(slot);
                return true;
            }
            _ => {}
        }
        let size = request.size;
        // Larger than the window, it is a candidate at once.
        if size > self.window.max(self.main) {
            return false;
        }
        self.table.push_front(WINDOW, slot, request.size);
        self.resident += 1;
        while self.table.weight(WINDOW) > self.window && self.leave_window() {}
        false
    }

    fn used(&self) -> u64 {
        [WINDOW, PROBATION, PROTECTED].iter().map(|&list| self.table.weight(list)).sum()
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) != ABSENT
    }
}
