// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LeCaR (Vietri et al., "Driving cache replacement with ML-based LeCaR", HotStorage 2018): LRU and LFU as two experts; each eviction
//! is one's, drawn by their weights (algorithm 1), and goes into that one's history. A request for an object in a history makes its
//! expert's weight smaller, by e^(-0.45 d^t) where t requests passed since the eviction and d = 0.005^(1/N) (algorithm 2; dividing
//! the one and multiplying the other are the same once the weights are made to sum to 1).
//!
//! Where the paper is silent, the authors' program decides: a history holds half of what the cache does, an object in it keeps its
//! count of requests, what both experts would evict goes into none, and no weight falls below 0.01. N is the objects in the cache. Of
//! equally frequent objects the one whose last request is longest ago goes.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::policy::{Descriptor, Drawn, Parameter, Policy, Ranked, Request, Slot, Table};

const CACHE: u8 = 1;
const LRU_HISTORY: u8 = 2;
const LFU_HISTORY: u8 = 3;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lecar",
    source: "Vietri et al., HotStorage 2018",
    parameters: &[
        Parameter { name: "rate", default: 0.45, least: 0.0, greatest: 10.0, meaning: "learning rate" },
        Parameter { name: "history", default: 0.5, least: 0.0, greatest: 10.0, meaning: "size of each history" },
        Drawn::SEED,
    ],
    needs_future: false,
    bytes_per_object: Table::<3>::BYTES_PER_OBJECT + <Ranked>::BYTES_PER_OBJECT + 12,
    build: |capacity, parameters| {
        Box::new(LeCaR {
            capacity,
            rate: parameters[0],
            history: (capacity as f64 * parameters[1]) as u64,
            random: ChaCha8Rng::seed_from_u64(parameters[2] as u64),
            lru_weight: 0.5,
            now: 0,
            resident: 0,
            known: Vec::new(),
            evicted: Vec::new(),
            table: Table::default(),
            frequent: Ranked::default(),
        })
    },
};

struct LeCaR {
    capacity: u64,
    rate: f64,
    history: u64,
    random: ChaCha8Rng,
    /// LRU's; LFU's is what is left of 1.
    lru_weight: f64,
    now: u64,
    resident: u64,
    /// Requests for each object in the cache or a history.
    known: Vec<u32>,
    /// When each object in a history was evicted.
    evicted: Vec<u64>,
    table: Table<3>,
    /// The cached ones, by requests.
    frequent: Ranked,
}

impl LeCaR {
    fn learn(&mut self, id: u32, from: u8) {
        let discount = 0.005f64.powf(1.0 / self.resident.max(1) as f64);
        let passed = self.now - self.evicted[id as usize];
        let factor = (-self.rate * discount.powf(passed as f64)).exp();
        let (lru, lfu) = match from {
            LRU_HISTORY => (self.lru_weight * factor, 1.0 - self.lru_weight),
            _ => (self.lru_weight, (1.0 - self.lru_weight) * factor),
        };
        self.lru_weight = (lru / (lru + lfu)).clamp(0.01, 0.99);
    }

    fn remember(&mut self, slot: Slot, list: u8) {
        let size = self.table.size(slot);
        while size <= self.history && self.table.weight(list) + size > self.history {
            let Some(oldest) = self.table.back(list) else { break };
            self.table.remove(oldest);
        }
        match size <= self.history {
            true => self.table.move_to(list, slot),
            false => self.table.remove(slot),
        }
    }

    fn evict(&mut self) -> bool {
        let (Some(lru), Some(lfu)) = (self.table.back(CACHE), self.frequent.least()) else { return false };
        let by_lru = self.random.gen::<f64>() < self.lru_weight;
        let lfu = Table::<3>::slot(lfu);
        let victim = if by_lru { lru } else { lfu };
        let id = Table::<3>::id(victim);
        self.frequent.remove(id);
        self.resident -= 1;
        self.evicted[id as usize] = self.now;
        match (lru == lfu, by_lru) {
            (true, _) => self.table.remove(victim),
            (false, true) => self.remember(victim, LRU_HISTORY),
            (false, false) => self.remember(victim, LFU_HISTORY),
        }
        true
    }
}

impl Policy for LeCaR {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
        self.frequent.ensure_ids(ids);
        self.known.resize(self.known.len().max(ids as usize), 0);
        self.evicted.resize(self.evicted.len().max(ids as usize), 0);
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        self.now += 1;
        let slot = Table::<3>::slot(id);
        let place = self.table.place(slot);
        let known = &mut self.known[id as usize];
        if place == CACHE {
            *known = known.saturating_add(1);
            let rank = (u64::from(*known), self.now);
            self.table.refresh(slot);
            self.frequent.change(id, rank);
            return true;
        }
        if size > self.capacity {
            return false;
        }
        if matches!(place, LRU_HISTORY | LFU_HISTORY) {
            *known = known.saturating_add(1);
            self.learn(id, place);
            self.table.remove(slot);
        } else {
            *known = 1;
        }
        while self.table.weight(CACHE) + size > self.capacity && self.evict() {}
        self.table.push_front(CACHE, slot, size);
        self.frequent.insert(id, size, (u64::from(self.known[id as usize]), self.now));
        self.resident += 1;
        false
    }

    fn used(&self) -> u64 {
        self.table.weight(CACHE)
    }

    fn contains(&self, id: u32) -> bool {
        self.table.place_of(id) == CACHE
    }
}
