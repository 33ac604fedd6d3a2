// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LIRS (Jiang and Zhang, "LIRS: an efficient low inter-reference recency set replacement policy", SIGMETRICS 2002,
//! section 3.3), with the stack bounded: past `stack` times the cache, the oldest ghosts are forgotten.

use crate::policy::{share, Descriptor, Parameter, Policy, Request, Slot, Table, ABSENT};

/// The stack S, in one table: front is its top.
const STACK: u8 = 1;

/// The queue Q of resident HIR objects, in the other table; what was in Q and is a ghost now is in `GHOSTS`, oldest at the back.
const QUEUE: u8 = 1;
const GHOSTS: u8 = 2;

/// Marks LIR objects, in the stack's count.
const LIR: u8 = 1;
const HIR: u8 = 0;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lirs",
    source: "Jiang and Zhang, SIGMETRICS 2002",
    parameters: &[
        Parameter {
            name: "hir",
            default: 0.01,
            least: 0.0001,
            greatest: 0.9,
            meaning: "share of resident HIR objects",
        },
        Parameter {
            name: "stack",
            default: 2.0,
            least: 1.0,
            greatest: 1000.0,
            meaning: "the stack's bound, in caches",
        },
    ],
    needs_future: false,
    bytes_per_object: Table::<1>::BYTES_PER_OBJECT + Table::<2>::BYTES_PER_OBJECT,
    build: |capacity, parameters| {
        Box::new(Lirs {
            capacity,
            most_lir: capacity - share(capacity, parameters[0]),
            most_stack: (capacity as f64 * parameters[1]) as u64,
            lir: 0,
            stack: Table::default(),
            queue: Table::default(),
        })
    },
};

struct Lirs {
    capacity: u64,
    most_lir: u64,
    most_stack: u64,
    /// Weight of the LIR objects.
    lir: u64,
    stack: Table<1>,
    queue: Table<2>,
}

fn in_queue(slot: Slot) -> Slot {
    Table::<2>::slot(Table::<1>::id(slot))
}

fn in_stack(slot: Slot) -> Slot {
    Table::<1>::slot(Table::<2>::id(slot))
}

impl Lirs {
    /// Stack pruning: the bottom of the stack is a LIR object.
    fn prune(&mut self) {
        while let Some(bottom) = self.stack.back(STACK) {
            if self.stack.count(bottom) == LIR {
                return;
            }
            self.stack.remove(bottom);
            if self.queue.place(in_queue(bottom)) == GHOSTS {
                self.queue.remove(in_queue(bottom));
            }
        }
    }

    /// The LIR object at the bottom becomes a resident HIR object at the queue's end.
    fn demote(&mut self) -> bool {
        let Some(bottom) = self.stack.back(STACK) else { return false };
        let size = self.stack.size(bottom);
        self.stack.remove(bottom);
        self.stack.set_count(bottom, HIR);
        self.lir -= size;
        self.queue.push_front(QUEUE, in_queue(bottom), size);
        self.prune();
        true
    }

    /// Makes an object of the stack LIR, and others HIR in its stead.
    fn promote(&mut self, slot: Slot) {
        let size = self.stack.size(slot);
        self.stack.refresh(slot);
        self.stack.set_count(slot, LIR);
        self.lir += size;
        self.prune();
        while self.lir > self.most_lir && self.demote() {}
    }

    /// The queue's first leaves the cache; if it is in the stack it stays there as a ghost.
    fn evict(&mut self) {
        if self.queue.weight(QUEUE) == 0 && !self.demote() {
            return;
        }
        let Some(first) = self.queue.back(QUEUE) else { return };
        if self.stack.place(in_stack(first)) == ABSENT {
            self.queue.remove(first);
        } else {
            self.queue.move_to(GHOSTS, first);
        }
    }

    fn bound_stack(&mut self) {
        while self.stack.weight(STACK) > self.most_stack {
            let Some(oldest) = self.queue.back(GHOSTS) else { return };
            self.queue.remove(oldest);
            self.stack.remove(in_stack(oldest));
        }
    }
}

impl Policy for Lirs {
    fn ensure_ids(&mut self, ids: u32) {
        self.stack.ensure_ids(ids);
        self.queue.ensure_ids(ids);
    }

    #[inline(always)]
    fn access(&mut self, request: Request) -> bool {
        let (slot, queued) = (Table::<1>::slot(request.id), Table::<2>::slot(request.id));
        let stacked = self.stack.place(slot) != ABSENT;
        if stacked && self.stack.count(slot) == LIR {
            self.stack.refresh(slot);
            self.prune();
            return true;
        }
        if self.queue.place(queued) == QUEUE {
            if stacked {
                self.queue.remove(queued);
                self.promote(slot);
            } else {
                self.queue.refresh(queued);
                self.stack.push_front(STACK, slot, self.queue.size(queued));
                self.stack.set_count(slot, HIR);
                self.prune();
                self.bound_stack();
            }
            return true;
        }
        let size = request.size;
        if size > self.capacity {
            return false;
        }
        // The object itself may be a ghost, and making room may forget it.
        while self.used() + size > self.capacity {
            self.evict();
        }
        let ghost = self.stack.place(slot) != ABSENT;
        if ghost {
            if self.queue.place(queued) == GHOSTS {
                self.queue.remove(queued);
            }
            self.stack.remove(slot);
        }
        self.stack.push_front(STACK, slot, request.size);
        self.stack.set_count(slot, HIR);
        if ghost || self.lir + size <= self.most_lir {
            self.promote(slot);
        } else {
            self.queue.push_front(QUEUE, queued, request.size);
            self.prune();
        }
        self.bound_stack();
        false
    }

    #[inline(always)]
    fn used(&self) -> u64 {
        self.lir + self.queue.weight(QUEUE)
    }

    fn contains(&self, id: u32) -> bool {
        let lir = self.stack.place_of(id) != ABSENT && self.stack.count(Table::<1>::slot(id)) == LIR;
        lir || self.queue.place_of(id) == QUEUE
    }
}
