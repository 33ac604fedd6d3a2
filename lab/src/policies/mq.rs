// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! MQ (Zhou, Philbin and Li, "The Multi-Queue replacement algorithm for second level buffer caches", USENIX ATC 2001, figure 5): LRU
//! queues by the logarithm of an object's count of requests. An object that is not asked for during its lifetime goes down a queue; the
//! least of the lowest queue is evicted, and a queue of evicted ones remembers their counts.
//!
//! The lifetime is to be the trace's peak temporal distance, which the paper measures. Here it is a parameter, as a multiple of the
//! objects in the cache, so that a sample of a trace ages as the trace does. Its default is the paper's length of the queue of evicted
//! ones: a choice.

use crate::policy::{Descriptor, Parameter, Policy, Request, Slot, Table};

/// Queues at most; the paper's number.
const QUEUES: u8 = 8;
/// The list of evicted objects, behind the queues.
const OUT: u8 = QUEUES + 1;
const LISTS: usize = OUT as usize;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "mq",
    source: "Zhou et al., USENIX ATC 2001",
    parameters: &[
        Parameter { name: "queues", default: 8.0, least: 1.0, greatest: 8.0, meaning: "queues" },
        Parameter { name: "out", default: 4.0, least: 0.0, greatest: 100.0, meaning: "size of the queue of evicted ones" },
        Parameter {
            name: "life",
            default: 4.0,
            least: 0.0,
            greatest: 1e6,
            meaning: "requests until an object goes down a queue, for each object in the cache",
        },
    ],
    needs_future: false,
    bytes_per_object: Table::<LISTS>::BYTES_PER_OBJECT + 12,
    build: |capacity, parameters| {
        Box::new(Mq {
            capacity,
            queues: parameters[0] as u8,
            out: (capacity as f64 * parameters[1]) as u64,
            life: parameters[2],
            now: 0,
            resident: 0,
            used: 0,
            requests: Vec::new(),
            expires: Vec::new(),
            table: Table::default(),
        })
    },
};

struct Mq {
    capacity: u64,
    queues: u8,
    out: u64,
    life: f64,
    now: u64,
    /// Objects in the cache, and their weight.
    resident: u64,
    used: u64,
    /// Requests for each object that is cached or remembered.
    requests: Vec<u32>,
    /// When each cached object goes down a queue.
    expires: Vec<u64>,
    table: Table<LISTS>,
}

impl Mq {
    fn expiry(&self) -> u64 {
        self.now + (self.life * self.resident as f64) as u64
    }

    fn evict(&mut self) -> bool {
        let Some(victim) = (1..=self.queues).find_map(|queue| self.table.back(queue)) else { return false };
        let size = self.table.size(victim);
        self.resident -= 1;
        self.used -= size;
        if size > self.out {
            self.table.remove(victim);
            return true;
        }
        while self.table.weight(OUT) + size > self.out {
            let Some(oldest) = self.table.back(OUT) else { break };
            self.table.remove(oldest);
        }
        self.table.move_to(OUT, victim);
        true
    }

    /// To the queue of its count.
    fn enqueue(&mut self, id: u32, slot: Slot, size: u64) {
        let requests = &mut self.requests[id as usize];
        *requests = requests.saturating_add(1);
        let queue = (requests.ilog2() as u8).min(self.queues - 1) + 1;
        self.table.push_front(queue, slot, size);
        self.expires[id as usize] = self.expiry();
    }

    /// Of each queue the least recently used goes down if its lifetime is over.
    fn adjust(&mut self) {
        self.now += 1;
        for queue in 2..=self.queues {
            let Some(last) = self.table.back(queue) else { continue };
            let id = Table::<LISTS>::id(last) as usize;
            if self.expires[id] < self.now {
                self.table.move_to(queue - 1, last);
                self.expires[id] = self.expiry();
            }
        }
    }
}

impl Policy for Mq {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
        self.requests.resize(self.requests.len().max(ids as usize), 0);
        self.expires.resize(self.expires.len().max(ids as usize), 0);
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        let slot = Table::<LISTS>::slot(id);
        let hit = self.contains(id);
        if hit {
            let size = self.table.size(slot);
            self.table.remove(slot);
            self.enqueue(id, slot, size);
        } else if size <= self.capacity {
            while self.used + size > self.capacity && self.evict() {}
            // The eviction may have pushed it out of what is remembered.
            match self.table.place(slot) {
                OUT => self.table.remove(slot),
                _ => self.requests[id as usize] = 0,
            }
            self.resident += 1;
            self.used += size;
            self.enqueue(id, slot, size);
        }
        self.adjust();
        hit
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn contains(&self, id: u32) -> bool {
        (1..=QUEUES).contains(&self.table.place_of(id))
    }
}
