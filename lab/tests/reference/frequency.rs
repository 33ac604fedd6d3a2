// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LFU, random replacement and MQ.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Asked, Queue, Reference};

/// Objects with their counts, the last asked for at the end.
pub struct Lfu {
    pub capacity: u64,
    pub cached: Vec<(u32, u64, u32)>,
}

impl Reference for Lfu {
    fn access(&mut self, asked: Asked) -> bool {
        if let Some(at) = self.cached.iter().position(|o| o.0 == asked.id) {
            let (id, size, count) = self.cached.remove(at);
            self.cached.push((id, size, count + 1));
            return true;
        }
        if asked.size <= self.capacity {
            while self.cached.iter().map(|o| o.1).sum::<u64>() + asked.size > self.capacity {
                // The first of the least.
                let least = self.cached.iter().map(|o| o.2).min().unwrap();
                let at = self.cached.iter().position(|o| o.2 == least).unwrap();
                self.cached.remove(at);
            }
            self.cached.push((asked.id, asked.size, 1));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.cached.iter().map(|o| o.0).collect()
    }
}

pub struct Random {
    capacity: u64,
    cached: Vec<(u32, u64)>,
    random: ChaCha8Rng,
}

impl Random {
    pub fn new(capacity: u64, seed: u64) -> Self {
        Random { capacity, cached: Vec::new(), random: ChaCha8Rng::seed_from_u64(seed) }
    }
}

impl Reference for Random {
    fn access(&mut self, asked: Asked) -> bool {
        if self.cached.iter().any(|o| o.0 == asked.id) {
            return true;
        }
        if asked.size <= self.capacity {
            while self.cached.iter().map(|o| o.1).sum::<u64>() + asked.size > self.capacity {
                // Of one there is nothing to draw.
                let at = if self.cached.len() > 1 { self.random.gen_range(0..self.cached.len()) } else { 0 };
                self.cached.swap_remove(at);
            }
            self.cached.push((asked.id, asked.size));
        }
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.cached.iter().map(|o| o.0).collect()
    }
}

/// The paper's figure 5, with as many queues as there are.
pub struct Mq {
    capacity: u64,
    out_capacity: u64,
    life: u64,
    now: u64,
    queues: Vec<Queue>,
    out: Queue,
    counts: BTreeMap<u32, u32>,
    expires: BTreeMap<u32, u64>,
}

impl Mq {
    pub fn new(capacity: u64, queues: usize, out: u64, life: u64) -> Self {
        Mq {
            capacity,
            out_capacity: capacity * out,
            life,
            now: 0,
            queues: vec![Queue::default(); queues],
            out: Queue::default(),
            counts: BTreeMap::new(),
            expires: BTreeMap::new(),
        }
    }

    fn expiry(&self) -> u64 {
        self.now + self.life * self.resident().len() as u64
    }
}

impl Reference for Mq {
    fn access(&mut self, asked: Asked) -> bool {
        let found = self.queues.iter_mut().find_map(|queue| queue.take(asked.id));
        let object = match found {
            Some(object) => Some(object),
            None if asked.size > self.capacity => None,
            None => {
                while self.queues.iter().map(Queue::weight).sum::<u64>() + asked.size > self.capacity {
                    let victim = self.queues.iter_mut().find_map(Queue::oldest).unwrap();
                    self.out.add(victim);
                    // One that is larger than all that is remembered pushes nobody out.
                    if victim.1 > self.out_capacity {
                        self.out.take(victim.0);
                    }
                    while self.out.weight() > self.out_capacity {
                        self.out.oldest();
                    }
                }
                if self.out.take(asked.id).is_none() {
                    self.counts.insert(asked.id, 0);
                }
                Some((asked.id, asked.size))
            }
        };
        if let Some(object) = object {
            let count = self.counts.entry(object.0).or_default();
            *count += 1;
            let mut queue = 0;
            while 2u32 << queue <= *count && queue + 1 < self.queues.len() {
                queue += 1;
            }
            self.queues[queue].add(object);
            self.expires.insert(object.0, self.expiry());
        }
        self.now += 1;
        for queue in 1..self.queues.len() {
            let Some(&head) = self.queues[queue].0.first() else { continue };
            if self.expires[&head.0] < self.now {
                self.queues[queue].oldest();
                self.queues[queue - 1].add(head);
                self.expires.insert(head.0, self.expiry());
            }
        }
        found.is_some()
    }

    fn resident(&self) -> Vec<u32> {
        self.queues.iter().flat_map(Queue::ids).collect()
    }
}
