// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LIRS, SIGMETRICS 2002, section 3.3.

use super::{Asked, Reference};

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Lir,
    ResidentHir,
    Ghost,
}

/// The stack and the queue hold ids only; what an object is stands in one place.
pub struct Lirs {
    capacity: u64,
    llirs: u64,
    stack_bound: u64,
    /// Bottom first.
    stack: Vec<u32>,
    /// Front first.
    queue: Vec<u32>,
    /// In the order in which they left the cache.
    ghosts: Vec<u32>,
    objects: Vec<(u32, u64, State)>,
}

impl Lirs {
    pub fn new(capacity: u64) -> Self {
        Lirs {
            capacity,
            llirs: capacity - (capacity / 100).max(1),
            stack_bound: 2 * capacity,
            stack: Vec::new(),
            queue: Vec::new(),
            ghosts: Vec::new(),
            objects: Vec::new(),
        }
    }

    fn state(&self, id: u32) -> Option<State> {
        self.objects.iter().find(|o| o.0 == id).map(|o| o.2)
    }

    fn set(&mut self, id: u32, state: State) {
        self.objects.iter_mut().find(|o| o.0 == id).expect("known").2 = state;
    }

    fn size(&self, id: u32) -> u64 {
        self.objects.iter().find(|o| o.0 == id).expect("known").1
    }

    fn weight(&self, state: State) -> u64 {
        self.objects.iter().filter(|o| o.2 == state).map(|o| o.1).sum()
    }

    fn forget(&mut self, id: u32) {
        self.objects.retain(|o| o.0 != id);
        self.ghosts.retain(|&g| g != id);
        self.stack.retain(|&s| s != id);
    }

    fn raise(&mut self, id: u32) {
        self.stack.retain(|&s| s != id);
        self.stack.push(id);
    }

    fn enqueue(&mut self, id: u32) {
        self.queue.retain(|&q| q != id);
        self.queue.push(id);
    }

    fn prune(&mut self) {
        while let Some(&bottom) = self.stack.first() {
            match self.state(bottom) {
                Some(State::Lir) => return,
                Some(State::Ghost) => self.forget(bottom),
                _ => {
                    self.stack.remove(0);
                }
            }
        }
    }

    fn bottom_becomes_hir(&mut self) -> bool {
        let Some(&bottom) = self.stack.first() else { return false };
        assert_eq!(self.state(bottom), Some(State::Lir), "a pruned stack has a LIR object at its bottom");
        self.set(bottom, State::ResidentHir);
        self.stack.remove(0);
        self.enqueue(bottom);
        self.prune();
        true
    }

    fn becomes_lir(&mut self, id: u32) {
        self.set(id, State::Lir);
        self.queue.retain(|&q| q != id);
        self.raise(id);
        self.prune();
        while self.weight(State::Lir) > self.llirs && self.bottom_becomes_hir() {}
    }

    fn free_one(&mut self) {
        if self.queue.is_empty() {
            assert!(self.bottom_becomes_hir());
        }
        let front = self.queue.remove(0);
        if self.stack.contains(&front) {
            self.set(front, State::Ghost);
            self.ghosts.push(front);
        } else {
            self.forget(front);
        }
    }

    fn bound_stack(&mut self) {
        while self.stack.iter().map(|&s| self.size(s)).sum::<u64>() > self.stack_bound {
            let Some(&oldest) = self.ghosts.first() else { return };
            self.forget(oldest);
        }
    }
}

impl Reference for Lirs {
    fn access(&mut self, Asked { id, size, .. }: Asked) -> bool {
        match self.state(id) {
            Some(State::Lir) => {
                self.raise(id);
                self.prune();
                return true;
            }
            Some(State::ResidentHir) => {
                if self.stack.contains(&id) {
                    self.becomes_lir(id);
                } else {
                    self.raise(id);
                    self.enqueue(id);
                    self.prune();
                    self.bound_stack();
                }
                return true;
            }
            _ => {}
        }
        if size > self.capacity {
            return false;
        }
        while self.weight(State::Lir) + self.weight(State::ResidentHir) + size > self.capacity {
            self.free_one();
        }
        let was_ghost = self.state(id) == Some(State::Ghost);
        self.forget(id);
        self.objects.push((id, size, State::ResidentHir));
        self.raise(id);
        if was_ghost || self.weight(State::Lir) + size <= self.llirs {
            self.becomes_lir(id);
        } else {
            self.enqueue(id);
            self.prune();
        }
        self.bound_stack();
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.objects.iter().filter(|o| o.2 != State::Ghost).map(|o| o.0).collect()
    }
}
