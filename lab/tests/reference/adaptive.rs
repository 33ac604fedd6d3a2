// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! S3-FIFO, 2Q and ARC.

use std::collections::HashMap;

use super::{Asked, Queue, Reference};

/// S3-FIFO, SOSP 2023, algorithm 1; with `fill`, new objects go to the main queue while the small one is full and nothing was
/// ever evicted.
pub struct S3Fifo {
    capacity: u64,
    fill: bool,
    evicted: bool,
    small_share: u64,
    ghost_share: u64,
    small: Queue,
    main: Queue,
    ghost: Queue,
    accesses: HashMap<u32, u32>,
}

impl S3Fifo {
    pub fn new(capacity: u64, fill: bool) -> Self {
        S3Fifo {
            capacity,
            fill,
            evicted: false,
            small_share: (capacity / 10).max(1),
            ghost_share: capacity * 9 / 10,
            small: Queue::default(),
            main: Queue::default(),
            ghost: Queue::default(),
            accesses: HashMap::new(),
        }
    }

    fn evict_small(&mut self) {
        while let Some((id, size)) = self.small.oldest() {
            if self.accesses[&id] > 1 {
                self.accesses.insert(id, 0);
                self.main.add((id, size));
            } else {
                if size <= self.ghost_share {
                    while self.ghost.weight() + size > self.ghost_share {
                        self.ghost.oldest();
                    }
                    self.ghost.add((id, size));
                }
                return;
            }
        }
    }

    fn evict_main(&mut self) {
        while let Some((id, size)) = self.main.oldest() {
            match self.accesses[&id] {
                0 => return,
                count => {
                    self.accesses.insert(id, count - 1);
                    self.main.add((id, size));
                }
            }
        }
    }
}

impl Reference for S3Fifo {
    fn access(&mut self, asked: Asked) -> bool {
        if self.small.has(asked.id) || self.main.has(asked.id) {
            let count = self.accesses[&asked.id];
            self.accesses.insert(asked.id, (count + 1).min(3));
            return true;
        }
        let ghost = self.ghost.take(asked.id).is_some();
        if asked.size > self.small_share {
            return false;
        }
        while self.small.weight() + self.main.weight() + asked.size > self.capacity {
            self.evicted = true;
            let main_is_over = self.main.weight() > self.capacity - self.small_share;
            if main_is_over || self.small.0.is_empty() {
                self.evict_main();
            } else {
                self.evict_small();
            }
        }
        let small_is_full = self.small.weight() >= self.small_share;
        let early = self.fill && !self.evicted && small_is_full;
        let queue = if ghost || early { &mut self.main } else { &mut self.small };
        queue.add((asked.id, asked.size));
        self.accesses.insert(asked.id, 0);
        false
    }

    fn resident(&self) -> Vec<u32> {
        [self.small.ids(), self.main.ids()].concat()
    }
}

/// 2Q, VLDB 1994, section 2.2, Kin 25 % and Kout 50 % as section 3.2 recommends.
pub struct TwoQ {
    capacity: u64,
    kin: u64,
    kout: u64,
    a1in: Queue,
    a1out: Queue,
    am: Queue,
}

impl TwoQ {
    pub fn new(capacity: u64) -> Self {
        TwoQ {
            capacity,
            kin: (capacity / 4).max(1),
            kout: capacity / 2,
            a1in: Queue::default(),
            a1out: Queue::default(),
            am: Queue::default(),
        }
    }

    fn reclaim_for(&mut self, size: u64) {
        while self.a1in.weight() + self.am.weight() + size > self.capacity {
            if self.a1in.weight() > self.kin || self.am.0.is_empty() {
                let Some(out) = self.a1in.oldest() else { return };
                if out.1 <= self.kout {
                    while self.a1out.weight() + out.1 > self.kout {
                        self.a1out.oldest();
                    }
                    self.a1out.add(out);
                }
            } else {
                self.am.oldest();
            }
        }
    }
}

impl Reference for TwoQ {
    fn access(&mut self, asked: Asked) -> bool {
        if let Some(object) = self.am.take(asked.id) {
            self.am.add(object);
            return true;
        }
        if self.a1in.has(asked.id) {
            return true;
        }
        let remembered = self.a1out.take(asked.id).is_some();
        if asked.size <= self.capacity {
            self.reclaim_for(asked.size);
            let queue = if remembered { &mut self.am } else { &mut self.a1in };
            queue.add((asked.id, asked.size));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        [self.a1in.ids(), self.am.ids()].concat()
    }
}

/// ARC, FAST 2003, figure 4; by bytes its steps are repeated until there is room.
pub struct Arc {
    c: u64,
    p: f64,
    t1: Queue,
    t2: Queue,
    b1: Queue,
    b2: Queue,
}

impl Arc {
    pub fn new(c: u64) -> Self {
        Arc { c, p: 0.0, t1: Queue::default(), t2: Queue::default(), b1: Queue::default(), b2: Queue::default() }
    }

    fn replace(&mut self, in_b2: bool) {
        let t1 = self.t1.weight() as f64;
        if !self.t1.0.is_empty() && ((in_b2 && t1 == self.p) || t1 > self.p) || self.t2.0.is_empty() {
            let out = self.t1.oldest().expect("the cache is full");
            self.b1.add(out);
        } else {
            let out = self.t2.oldest().expect("the cache is full");
            self.b2.add(out);
        }
    }

    fn full(&self, size: u64) -> bool {
        self.t1.weight() + self.t2.weight() + size > self.c
    }
}

impl Reference for Arc {
    fn access(&mut self, asked: Asked) -> bool {
        let Asked { id, size, .. } = asked;
        // Case I.
        if let Some(object) = self.t1.take(id).or_else(|| self.t2.take(id)) {
            self.t2.add(object);
            return true;
        }
        let (b1, b2) = (self.b1.weight() as f64, self.b2.weight() as f64);
        let fits = size <= self.c;
        if self.b1.has(id) {
            // Case II.
            let delta = if b1 >= b2 { 1.0 } else { b2 / b1 };
            self.p = (self.p + delta).min(self.c as f64);
            self.b1.take(id);
            while fits && self.full(size) {
                self.replace(false);
            }
            if fits {
                self.t2.add((id, size));
            }
        } else if self.b2.has(id) {
            // Case III.
            let delta = if b2 >= b1 { 1.0 } else { b1 / b2 };
            self.p = (self.p - delta).max(0.0);
            self.b2.take(id);
            while fits && self.full(size) {
                self.replace(true);
            }
            if fits {
                self.t2.add((id, size));
            }
        } else if fits {
            // Case IV.
            while self.full(size) {
                let l1 = self.t1.weight() + self.b1.weight();
                let l2 = self.t2.weight() + self.b2.weight();
                if l1 + size > self.c {
                    if self.b1.oldest().is_some() {
                        self.replace(false);
                    } else {
                        self.t1.oldest();
                    }
                } else {
                    if l1 + l2 >= 2 * self.c {
                        self.b2.oldest();
                    }
                    self.replace(false);
                }
            }
            self.t1.add((id, size));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        [self.t1.ids(), self.t2.ids()].concat()
    }
}
