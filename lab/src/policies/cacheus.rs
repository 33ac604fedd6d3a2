// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Cacheus (Rodriguez et al., "Learning cache replacement with CACHEUS", USENIX FAST 2021): LeCaR's two experts replaced by SR-LRU, an
//! LRU that keeps scans apart (section 4.3), and CR-LFU, an LFU that evicts the most recently used of equally frequent objects (4.3),
//! with a learning rate that follows the hit rate (section 4.2, algorithm 2).
//!
//! SR-LRU: new objects enter R; a hit there moves to S; what S has no room for goes to the front of R, demoted. A demoted object
//! that is hit shows S too small; a new one found in SR-LRU's history, R. Each moves the border by the other kind's count over its own.
//!
//! Where the paper is silent, the authors' program decides: histories of half a cache each, R begins with a hundredth, an object from a
//! history enters S. The period of the learning rate is the objects in the cache at the first eviction, with which it begins; an
//! object from a history comes back with its count and one more, as in LeCaR; borders move by the object's size.

#[path = "cacheus/rate.rs"]
mod rate;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::policy::{share, Descriptor, Drawn, Policy, Ranked, Request, Slot, Table};
use rate::Rate;

const S: u8 = 1;
const R: u8 = 2;
const LRU_HISTORY: u8 = 3;
const LFU_HISTORY: u8 = 4;

/// Flags: S had no room for it; first seen when the cache was full.
const DEMOTED: u8 = 1;
const NEW: u8 = 2;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "cacheus",
    source: "Rodriguez et al., USENIX FAST 2021",
    parameters: &[Drawn::SEED],
    needs_future: false,
    bytes_per_object: Table::<4>::BYTES_PER_OBJECT + <Ranked>::BYTES_PER_OBJECT + 4,
    build: |capacity, parameters| {
        let r_limit = share(capacity, 0.01).min(capacity);
        Box::new(Cacheus {
            capacity,
            s_limit: capacity - r_limit,
            random: ChaCha8Rng::seed_from_u64(parameters[0] as u64),
            lru_weight: 0.5,
            rate: None,
            now: 0,
            resident: 0,
            demoted: 0,
            new: 0,
            known: Vec::new(),
            table: Table::default(),
            frequent: Ranked::default(),
        })
    },
};

struct Cacheus {
    capacity: u64,
    s_limit: u64,
    random: ChaCha8Rng,
    lru_weight: f64,
    /// From the first eviction on.
    rate: Option<Rate>,
    now: u64,
    resident: u64,
    /// Demoted objects in the cache.
    demoted: u64,
    /// New objects in SR-LRU's history.
    new: u64,
    /// Requests for each object in the cache or a history.
    known: Vec<u32>,
    table: Table<4>,
    /// The cached ones, by requests.
    frequent: Ranked,
}

/// The quotient rounded, at least 1.
fn step(of: u64, by: u64) -> u64 {
    let by = by.max(1);
    ((2 * of + by) / (2 * by)).max(1)
}

impl Cacheus {
    fn cached(&self) -> u64 {
        self.table.weight(S) + self.table.weight(R)
    }

    fn flag(&self, slot: Slot, flag: u8) -> bool {
        self.table.count(slot) & flag != 0
    }

    fn set(&mut self, slot: Slot, flag: u8, on: bool) {
        let rest = self.table.count(slot) & !flag;
        self.table.set_count(slot, if on { rest | flag } else { rest });
    }

    fn learn(&mut self, lru_was_wrong: bool) {
        let Some(rate) = &self.rate else { return };
        let factor = (-rate.value()).exp();
        let (lru, lfu) = match lru_was_wrong {
            true => (self.lru_weight * factor, 1.0 - self.lru_weight),
            false => (self.lru_weight, (1.0 - self.lru_weight) * factor),
        };
        self.lru_weight = (lru / (lru + lfu)).clamp(0.01, 0.99);
    }

    fn grow_s(&mut self, size: u64) {
        self.s_limit = (self.s_limit + step(self.new, self.demoted) * size).min(self.capacity - 1);
    }

    fn grow_r(&mut self, size: u64) {
        let r_limit = self.capacity - self.s_limit + step(self.demoted, self.new) * size;
        self.s_limit = self.capacity - r_limit.min(self.capacity - 1);
    }

    /// Demotes what S has no room for.
    fn limit_s(&mut self, room: u64) {
        while self.table.weight(S) + room > self.s_limit {
            let Some(last) = self.table.back(S) else { break };
            self.table.move_to(R, last);
            if !self.flag(last, DEMOTED) {
                self.set(last, DEMOTED, true);
                self.demoted += 1;
            }
        }
    }

    fn remove_from_history(&mut self, slot: Slot, list: u8) {
        self.table.remove(slot);
        if list == LRU_HISTORY && self.flag(slot, NEW) {
            self.new -= 1;
        }
    }

    fn remember(&mut self, slot: Slot, list: u8) {
        let (size, history) = (self.table.size(slot), self.capacity / 2);
        if size > history {
            return self.table.remove(slot);
        }
        while self.table.weight(list) + size > history {
            let Some(oldest) = self.table.back(list) else { break };
            self.remove_from_history(oldest, list);
        }
        self.table.move_to(list, slot);
        if list == LRU_HISTORY && self.flag(slot, NEW) {
            self.new += 1;
        }
    }

    fn evict(&mut self) -> bool {
        let lru = self.table.back(R).or_else(|| self.table.back(S));
        let (Some(lru), Some(lfu)) = (lru, self.frequent.least()) else { return false };
        if self.rate.is_none() {
            self.rate = Some(Rate::new(self.resident));
        }
        let by_lru = self.random.gen::<f64>() < self.lru_weight;
        let lfu = Table::<4>::slot(lfu);
        let victim = if by_lru { lru } else { lfu };
        if self.flag(victim, DEMOTED) {
            self.demoted -= 1;
            self.set(victim, DEMOTED, false);
        }
        self.frequent.remove(Table::<4>::id(victim));
        self.resident -= 1;
        match (lru == lfu, by_lru) {
            (true, _) => self.table.remove(victim),
            (false, true) => self.remember(victim, LRU_HISTORY),
            (false, false) => self.remember(victim, LFU_HISTORY),
        }
        true
    }

    fn hit(&mut self, slot: Slot, place: u8) {
        if place == S {
            return self.table.refresh(slot);
        }
        let size = self.table.size(slot);
        if self.flag(slot, DEMOTED) {
            self.grow_s(size);
            self.set(slot, DEMOTED, false);
            self.demoted -= 1;
        }
        self.limit_s(size);
        self.table.move_to(S, slot);
    }

    fn enter(&mut self, slot: Slot, list: u8, size: u64, new: bool) {
        self.table.push_front(list, slot, size);
        self.table.set_count(slot, if new { NEW } else { 0 });
        let id = Table::<4>::id(slot);
        self.frequent.insert(id, size, (u64::from(self.known[id as usize]), !self.now));
        self.resident += 1;
    }

    fn miss(&mut self, slot: Slot, place: u8, size: u64) {
        let (id, weight) = (Table::<4>::id(slot) as usize, size);
        let came_back = matches!(place, LRU_HISTORY | LFU_HISTORY);
        self.known[id] = if came_back { self.known[id].saturating_add(1) } else { 1 };
        if came_back {
            self.remove_from_history(slot, place);
            if place == LRU_HISTORY && self.flag(slot, NEW) {
                self.grow_r(weight);
            }
            self.learn(place == LRU_HISTORY);
        } else if self.table.weight(S) + weight <= self.s_limit && self.table.weight(R) == 0 {
            return self.enter(slot, S, size, false);
        }
        let r_has_room = self.table.weight(R) + weight <= self.capacity - self.s_limit;
        let new = self.cached() + weight > self.capacity || !r_has_room;
        while self.cached() + weight > self.capacity && self.evict() {}
        self.enter(slot, if came_back { S } else { R }, size, new && !came_back);
        self.limit_s(0);
    }
}

impl Policy for Cacheus {
    fn ensure_ids(&mut self, ids: u32) {
        self.table.ensure_ids(ids);
        self.frequent.ensure_ids(ids);
        self.known.resize(self.known.len().max(ids as usize), 0);
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        self.now += 1;
        let slot = Table::<4>::slot(id);
        let place = self.table.place(slot);
        let hit = matches!(place, S | R);
        if let Some(rate) = &mut self.rate {
            rate.request(hit, &mut self.random);
        }
        if hit {
            let known = &mut self.known[id as usize];
            *known = known.saturating_add(1);
            self.frequent.change(id, (u64::from(*known), !self.now));
            self.hit(slot, place);
        } else if size <= self.capacity {
            self.miss(slot, place, size);
        }
        hit
    }

    fn used(&self) -> u64 {
        self.cached()
    }

    fn contains(&self, id: u32) -> bool {
        matches!(self.table.place_of(id), S | R)
    }
}
