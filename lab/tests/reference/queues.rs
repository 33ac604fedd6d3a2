// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LRU, FIFO, CLOCK, SIEVE and Belady.

use super::{Asked, Queue, Reference};

pub struct Lru {
    pub capacity: u64,
    pub queue: Queue,
}

impl Reference for Lru {
    fn access(&mut self, asked: Asked) -> bool {
        if let Some(object) = self.queue.take(asked.id) {
            self.queue.add(object);
            return true;
        }
        if asked.size <= self.capacity {
            while self.queue.weight() + asked.size > self.capacity {
                self.queue.oldest();
            }
            self.queue.add((asked.id, asked.size));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.queue.ids()
    }
}

pub struct Fifo {
    pub capacity: u64,
    pub queue: Queue,
}

impl Reference for Fifo {
    fn access(&mut self, asked: Asked) -> bool {
        if self.queue.has(asked.id) {
            return true;
        }
        if asked.size <= self.capacity {
            while self.queue.weight() + asked.size > self.capacity {
                self.queue.oldest();
            }
            self.queue.add((asked.id, asked.size));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.queue.ids()
    }
}

/// A real clock: pages in a circle, a hand that moves over them, a new page goes in just behind the hand.
pub struct Clock {
    pub capacity: u64,
    pub ring: Vec<(u32, u64, bool)>,
    pub hand: usize,
}

impl Reference for Clock {
    fn access(&mut self, asked: Asked) -> bool {
        if let Some(page) = self.ring.iter_mut().find(|p| p.0 == asked.id) {
            page.2 = true;
            return true;
        }
        if asked.size > self.capacity {
            return false;
        }
        while self.ring.iter().map(|p| p.1).sum::<u64>() + asked.size > self.capacity {
            self.hand %= self.ring.len();
            if self.ring[self.hand].2 {
                self.ring[self.hand].2 = false;
                self.hand += 1;
            } else {
                self.ring.remove(self.hand);
            }
        }
        let behind = self.hand.min(self.ring.len());
        self.ring.insert(behind, (asked.id, asked.size, false));
        self.hand = behind + 1;
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.ring.iter().map(|p| p.0).collect()
    }
}

/// The paper's algorithm 1. The queue's head, where objects come in, is the vector's end.
pub struct Sieve {
    pub capacity: u64,
    pub queue: Vec<(u32, u64, bool)>,
    pub hand: Option<u32>,
}

impl Sieve {
    fn evict(&mut self) {
        let mut at = match self.hand {
            Some(id) => self.queue.iter().position(|o| o.0 == id).expect("the hand points at a cached object"),
            None => 0,
        };
        while self.queue[at].2 {
            self.queue[at].2 = false;
            at = if at + 1 == self.queue.len() { 0 } else { at + 1 };
        }
        self.hand = self.queue.get(at + 1).map(|o| o.0);
        self.queue.remove(at);
    }
}

impl Reference for Sieve {
    fn access(&mut self, asked: Asked) -> bool {
        if let Some(object) = self.queue.iter_mut().find(|o| o.0 == asked.id) {
            object.2 = true;
            return true;
        }
        if asked.size <= self.capacity {
            while self.queue.iter().map(|o| o.1).sum::<u64>() + asked.size > self.capacity {
                self.evict();
            }
            self.queue.push((asked.id, asked.size, false));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.queue.iter().map(|o| o.0).collect()
    }
}

pub struct Belady {
    pub capacity: u64,
    pub objects: Vec<(u32, u64, Option<usize>)>,
}

impl Reference for Belady {
    fn access(&mut self, asked: Asked) -> bool {
        if let Some(object) = self.objects.iter_mut().find(|o| o.0 == asked.id) {
            object.2 = asked.next;
            return true;
        }
        if asked.size <= self.capacity {
            while self.objects.iter().map(|o| o.1).sum::<u64>() + asked.size > self.capacity {
                let furthest =
                    self.objects.iter().max_by_key(|o| o.2.unwrap_or(usize::MAX)).expect("something is cached").0;
                self.objects.retain(|o| o.0 != furthest);
            }
            self.objects.push((asked.id, asked.size, asked.next));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        // Which of the objects that never come again is still there is nobody's business.
        self.objects.iter().filter(|o| o.2.is_some()).map(|o| o.0).collect()
    }
}
