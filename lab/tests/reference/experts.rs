// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LeCaR and Cacheus: two experts, and weights that say who decides.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Asked, Reference};

#[derive(Clone)]
struct Object {
    id: u32,
    size: u64,
    count: u32,
    /// The last request, and the eviction.
    last: usize,
    evicted: usize,
    demoted: bool,
    new: bool,
}

type List = Vec<Object>;

fn weight(list: &List) -> u64 {
    list.iter().map(|o| o.size).sum()
}

fn take(list: &mut List, id: u32) -> Option<Object> {
    let at = list.iter().position(|o| o.id == id)?;
    Some(list.remove(at))
}

fn blame(weights: &mut [f64; 2], expert: usize, factor: f64) {
    weights[expert] *= factor;
    let lru = (weights[0] / (weights[0] + weights[1])).clamp(0.01, 0.99);
    *weights = [lru, 1.0 - lru];
}

fn remember(history: &mut List, limit: u64, object: Object) {
    if object.size <= limit {
        while weight(history) + object.size > limit {
            history.remove(0);
        }
        history.push(object);
    }
}

/// Lists are oldest first; histories LRU's and LFU's.
pub struct LeCaR {
    capacity: u64,
    now: usize,
    weights: [f64; 2],
    cached: List,
    histories: [List; 2],
    random: ChaCha8Rng,
}

impl LeCaR {
    pub fn new(capacity: u64, seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        LeCaR { capacity, now: 0, weights: [0.5; 2], cached: Vec::new(), histories: Default::default(), random }
    }
}

impl Reference for LeCaR {
    fn access(&mut self, asked: Asked) -> bool {
        self.now += 1;
        if let Some(mut object) = take(&mut self.cached, asked.id) {
            (object.count, object.last) = (object.count + 1, self.now);
            self.cached.push(object);
            return true;
        }
        if asked.size > self.capacity {
            return false;
        }
        let mut count = 1;
        for expert in 0..2 {
            if let Some(object) = take(&mut self.histories[expert], asked.id) {
                count = object.count + 1;
                let discount = 0.005f64.powf(1.0 / self.cached.len().max(1) as f64);
                let regret = discount.powf((self.now - object.evicted) as f64);
                blame(&mut self.weights, expert, (-0.45 * regret).exp());
            }
        }
        while weight(&self.cached) + asked.size > self.capacity {
            let lfu = self.cached.iter().min_by_key(|o| (o.count, o.last)).unwrap().id;
            let lru = self.cached[0].id;
            let expert = if self.random.gen::<f64>() < self.weights[0] { 0 } else { 1 };
            let mut victim = take(&mut self.cached, [lru, lfu][expert]).unwrap();
            victim.evicted = self.now;
            if lru != lfu {
                remember(&mut self.histories[expert], self.capacity / 2, victim);
            }
        }
        let (id, size, last) = (asked.id, asked.size, self.now);
        self.cached.push(Object { id, size, count, last, evicted: 0, demoted: false, new: false });
        false
    }

    fn resident(&self) -> Vec<u32> {
        self.cached.iter().map(|o| o.id).collect()
    }
}

/// The learning rate, with each period's rate and hit rate kept from the first on.
struct Rate {
    period: usize,
    rates: Vec<f64>,
    hit_rates: Vec<f64>,
    requests: Vec<bool>,
    idle: u32,
    worse: u32,
}

fn digits(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

impl Rate {
    fn new(period: usize) -> Self {
        let rates = vec![0.0, (2.0 * 2f64.ln() / period as f64).sqrt()];
        Rate { period, rates, hit_rates: vec![0.0], requests: Vec::new(), idle: 0, worse: 0 }
    }

    fn value(&self) -> f64 {
        *self.rates.last().unwrap()
    }

    fn request(&mut self, hit: bool, random: &mut ChaCha8Rng) {
        self.requests.push(hit);
        if self.requests.len() < self.period {
            return;
        }
        let hits = self.requests.drain(..).filter(|&hit| hit).count();
        let hit_rate = digits(hits as f64 / self.period as f64);
        let gain = digits(hit_rate - self.hit_rates.last().unwrap());
        let [.., before, rate] = self.rates[..] else { unreachable!() };
        let change = digits(rate) - digits(before);
        let next = if gain * change > 0.0 {
            (self.idle, self.worse) = (0, 0);
            (rate + rate * change.abs()).min(1.0)
        } else if gain * change < 0.0 {
            (self.idle, self.worse) = (0, 0);
            (rate - rate * change.abs()).max(0.001)
        } else if gain < 0.0 || (gain == 0.0 && hit_rate == 0.0) {
            self.idle += 1;
            self.worse += if gain < 0.0 { 1 } else { 0 };
            if self.idle == 10 {
                self.idle = 0;
                self.rates[1].clamp(0.001, 1.0)
            } else if gain == 0.0 {
                rate
            } else if self.worse >= 10 {
                self.worse = 0;
                self.rates[1].clamp(0.001, 1.0)
            } else if rate >= 1.0 {
                0.9
            } else if rate <= 0.001 {
                0.005
            } else if random.gen::<bool>() {
                (rate * 1.25).min(1.0)
            } else {
                (rate * 0.75).max(0.001)
            }
        } else {
            rate
        };
        self.rates.push(next);
        self.hit_rates.push(hit_rate);
    }
}

/// Lists are oldest first.
pub struct Cacheus {
    capacity: u64,
    s_limit: u64,
    now: usize,
    weights: [f64; 2],
    rate: Option<Rate>,
    s: List,
    r: List,
    histories: [List; 2],
    random: ChaCha8Rng,
}

impl Cacheus {
    pub fn new(capacity: u64, seed: u64) -> Self {
        Cacheus {
            capacity,
            s_limit: capacity - ((capacity as f64 * 0.01) as u64).max(1),
            now: 0,
            weights: [0.5; 2],
            rate: None,
            s: Vec::new(),
            r: Vec::new(),
            histories: Default::default(),
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn demoted(&self) -> f64 {
        self.s.iter().chain(&self.r).filter(|o| o.demoted).count() as f64
    }

    fn new_ones(&self) -> f64 {
        self.histories[0].iter().filter(|o| o.new).count() as f64
    }

    fn limit_s(&mut self, room: u64) {
        while weight(&self.s) + room > self.s_limit && !self.s.is_empty() {
            let object = self.s.remove(0);
            self.r.push(Object { demoted: true, ..object });
        }
    }

    fn evict(&mut self) {
        let lru = self.r.first().or(self.s.first()).unwrap().id;
        let all = self.s.iter().chain(&self.r);
        let lfu = all.clone().min_by_key(|o| (o.count, std::cmp::Reverse(o.last))).unwrap().id;
        if self.rate.is_none() {
            self.rate = Some(Rate::new(all.count()));
        }
        let expert = if self.random.gen::<f64>() < self.weights[0] { 0 } else { 1 };
        let id = [lru, lfu][expert];
        let victim = take(&mut self.s, id).or_else(|| take(&mut self.r, id)).unwrap();
        if lru != lfu {
            remember(&mut self.histories[expert], self.capacity / 2, Object { demoted: false, ..victim });
        }
    }

    fn miss(&mut self, Asked { id, size, .. }: Asked) {
        let mut object = Object { id, size, count: 1, last: self.now, evicted: 0, demoted: false, new: false };
        let mut came_back = false;
        for expert in 0..2 {
            let new_ones = |cache: &Self| cache.new_ones();
            if let Some(old) = take(&mut self.histories[expert], id) {
                came_back = true;
                object.count = old.count + 1;
                if expert == 0 && old.new {
                    let step = (self.demoted() / new_ones(self).max(1.0) + 0.5).floor().max(1.0) as u64 * size;
                    self.s_limit = self.s_limit.saturating_sub(step).max(1);
                }
                if let Some(rate) = &self.rate {
                    blame(&mut self.weights, expert, (-rate.value()).exp());
                }
            }
        }
        if !came_back && self.r.is_empty() && weight(&self.s) + size <= self.s_limit {
            return self.s.push(object);
        }
        let full = weight(&self.s) + weight(&self.r) + size > self.capacity;
        object.new = !came_back && (full || weight(&self.r) + size > self.capacity - self.s_limit);
        while weight(&self.s) + weight(&self.r) + size > self.capacity {
            self.evict();
        }
        if came_back { &mut self.s } else { &mut self.r }.push(object);
        self.limit_s(0);
    }
}

impl Reference for Cacheus {
    fn access(&mut self, asked: Asked) -> bool {
        self.now += 1;
        let hit = self.resident().contains(&asked.id);
        if let Some(rate) = &mut self.rate {
            rate.request(hit, &mut self.random);
        }
        for object in self.s.iter_mut().chain(&mut self.r).filter(|o| o.id == asked.id) {
            (object.count, object.last) = (object.count + 1, self.now);
        }
        if let Some(object) = take(&mut self.s, asked.id) {
            self.s.push(object);
        } else if let Some(at) = self.r.iter().position(|o| o.id == asked.id) {
            let size = self.r[at].size;
            if self.r[at].demoted {
                let step = (self.new_ones() / self.demoted() + 0.5).floor().max(1.0) as u64 * size;
                self.s_limit = (self.s_limit + step).min(self.capacity - 1);
            }
            let object = self.r.remove(at);
            self.limit_s(size);
            self.s.push(Object { demoted: false, ..object });
        } else if asked.size <= self.capacity {
            self.miss(asked);
        }
        hit
    }

    fn resident(&self) -> Vec<u32> {
        self.s.iter().chain(&self.r).map(|o| o.id).collect()
    }
}
