// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! BeladySize, Hyperbolic and LHD: caches that draw candidates. They draw as the fast ones do, from a plain vector.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Asked, Reference};

#[derive(Clone)]
pub struct Object {
    id: u32,
    size: u64,
    entered: usize,
    requests: u64,
    next: usize,
    /// Of LHD: the last request, the ages at the last two hits, whether it is spared.
    last: u64,
    ages: [u64; 2],
    spared: bool,
}

impl Object {
    fn new(asked: Asked, now: usize) -> Self {
        let next = asked.next.unwrap_or(usize::MAX);
        Object { id: asked.id, size: asked.size, entered: now, requests: 1, next, last: 0, ages: [0; 2], spared: false }
    }
}

fn weight(cached: &[Object]) -> u64 {
    cached.iter().map(|o| o.size).sum()
}

/// Places of the candidates: all if there are no more than are to be drawn.
fn candidates(random: &mut ChaCha8Rng, cached: usize, samples: usize) -> Vec<usize> {
    match cached <= samples {
        true => (0..cached).collect(),
        false => (0..samples).map(|_| random.gen_range(0..cached)).collect(),
    }
}

pub enum Worst {
    SizeTimesDistance,
    RequestsByTime,
    RequestsByTimeAndSize,
}

pub struct Drawing {
    capacity: u64,
    samples: usize,
    worst: Worst,
    now: usize,
    cached: Vec<Object>,
    random: ChaCha8Rng,
}

impl Drawing {
    pub fn new(capacity: u64, samples: usize, seed: u64, worst: Worst) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Drawing { capacity, samples, worst, now: 0, cached: Vec::new(), random }
    }

    fn badness(&self, object: &Object) -> f64 {
        let age = (self.now - object.entered) as f64;
        match self.worst {
            Worst::SizeTimesDistance => object.size as f64 * (object.next - self.now) as f64,
            Worst::RequestsByTime => age / object.requests as f64,
            Worst::RequestsByTimeAndSize => age * object.size as f64 / object.requests as f64,
        }
    }
}

impl Reference for Drawing {
    fn access(&mut self, asked: Asked) -> bool {
        let there = self.cached.iter().position(|o| o.id == asked.id);
        let dead = matches!(self.worst, Worst::SizeTimesDistance) && asked.next.is_none();
        if let Some(at) = there {
            self.cached[at].requests += 1;
            self.cached[at].next = asked.next.unwrap_or(usize::MAX);
            if dead {
                self.cached.swap_remove(at);
            }
        } else if !dead && asked.size <= self.capacity {
            while weight(&self.cached) + asked.size > self.capacity {
                let mut victim: Option<usize> = None;
                for at in candidates(&mut self.random, self.cached.len(), self.samples) {
                    if victim.is_none_or(|v| self.badness(&self.cached[at]) > self.badness(&self.cached[v])) {
                        victim = Some(at);
                    }
                }
                self.cached.swap_remove(victim.unwrap());
            }
            self.cached.push(Object::new(asked, self.now));
        }
        self.now += 1;
        there.is_some()
    }

    fn resident(&self) -> Vec<u32> {
        self.cached.iter().map(|o| o.id).collect()
    }
}

/// Of LHD, as tests set it: few candidates, models and ages, so that short traces reach all of it.
pub struct Lhd {
    capacity: u64,
    samples: usize,
    period: u64,
    ages: u64,
    shift: u32,
    now: u64,
    models: u32,
    /// Counts of cached objects at each model, and how much each weighs.
    counts: Vec<(f64, f64)>,
    victims: f64,
    budget: i64,
    suspects: Vec<u32>,
    /// Hits and evictions by class and age, where there are any.
    events: BTreeMap<(usize, u64), [f64; 2]>,
    densities: BTreeMap<(usize, u64), f64>,
    cached: Vec<Object>,
    random: ChaCha8Rng,
}

impl Lhd {
    pub fn new(capacity: u64, [samples, period, ages, shift, seed]: [u64; 5]) -> Self {
        Lhd {
            capacity,
            samples: samples as usize,
            period,
            ages,
            shift: shift as u32,
            now: 0,
            models: 0,
            counts: Vec::new(),
            victims: 0.0,
            budget: (capacity as f64 * 0.01) as i64,
            suspects: Vec::new(),
            events: BTreeMap::new(),
            densities: BTreeMap::new(),
            cached: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn cell(&self, object: &Object) -> (usize, u64) {
        let mut sum = object.ages[0] + object.ages[1];
        let mut class = if sum == 0 { 15 } else { 0 };
        while sum < self.ages && class < 15 {
            sum *= 2;
            class += 1;
        }
        (class, ((self.now - object.last) >> self.shift).min(self.ages - 1))
    }

    fn rank(&self, object: &Object) -> f64 {
        let cell = self.cell(object);
        if cell.1 == self.ages - 1 {
            return f64::MIN;
        }
        // Before the first model the younger are worth more.
        let first = (16 + cell.0 + 1) as f64 / (cell.1 + 1) as f64;
        self.densities.get(&cell).unwrap_or(&first) / object.size as f64 + if object.spared { 1.0 } else { 0.0 }
    }

    fn evict(&mut self) {
        let samples = if self.models > 50 { self.samples } else { self.samples.min(8) };
        let mut looked_at = candidates(&mut self.random, self.cached.len(), samples);
        for slot in 0..8 {
            // A slot holds the newest of every eighth suspect.
            let suspect = (0..self.suspects.len()).rev().find(|n| n % 8 == slot).map(|n| self.suspects[n]);
            looked_at.extend(self.cached.iter().position(|o| Some(o.id) == suspect));
        }
        let mut victim = looked_at[0];
        for at in looked_at {
            if self.rank(&self.cached[at]) < self.rank(&self.cached[victim]) {
                victim = at;
            }
        }
        self.victims = 0.9 * self.victims + (1.0 - 0.9) * self.rank(&self.cached[victim]);
        let cell = self.cell(&self.cached[victim]);
        self.events.entry(cell).or_default()[1] += 1.0;
        let gone = self.cached.swap_remove(victim);
        self.budget += if gone.spared { gone.size as i64 } else { 0 };
    }

    fn model(&mut self) {
        self.events.values_mut().flatten().for_each(|count| *count *= 0.9);
        self.counts.iter_mut().for_each(|(count, mass)| (*count, *mass) = (*count * 0.9, *mass * 0.9));
        self.counts.push((self.cached.len() as f64, 1.0));
        if self.models == 5 || self.models == 25 {
            let (count, mass) = self.counts.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let mut shift = 1;
            while f64::from(1 << shift) < count / mass / (0.01 * self.ages as f64) {
                shift += 1;
            }
            self.rescale(shift);
            self.counts.iter_mut().for_each(|(count, mass)| (*count, *mass) = (*count * 8.0, *mass * 8.0));
        }
        for (class, age) in (0..16).flat_map(|class| (0..self.ages).map(move |age| (class, age))) {
            let count = |at| self.events.get(&at).copied().unwrap_or_default();
            let from = |first: u64| (first..self.ages).rev().map(move |age| (class, age));
            let events = |at| count(at)[0] + count(at)[1];
            let hits: f64 = from(age).map(|at| count(at)[0]).sum();
            let time: f64 = from(age).map(|at| from(at.1).map(events).sum::<f64>()).sum();
            let density = if from(age).map(events).sum::<f64>() > 1e-5 { hits / time } else { 0.0 };
            self.densities.insert((class, age), density);
        }
        self.models += 1;
    }

    fn rescale(&mut self, shift: u32) {
        let last = self.ages - 1;
        let mut scaled: BTreeMap<(usize, u64), [f64; 2]> = BTreeMap::new();
        for (&(class, age), counts) in &self.events {
            // Times that the old age stood for, in steps of the finer of the two ages.
            let finer = shift.min(self.shift);
            let steps = 1u64 << (self.shift - finer);
            for step in 0..if age == last { 1 } else { steps } {
                let time = (age * steps + step) << finer;
                let to = if age == last { last } else { (time >> shift).min(last) };
                let share = if age == last { 1.0 } else { steps as f64 };
                for (sum, count) in scaled.entry((class, to)).or_default().iter_mut().zip(counts) {
                    *sum += count / share;
                }
            }
        }
        (self.events, self.shift) = (scaled, shift);
    }
}

impl Reference for Lhd {
    fn access(&mut self, asked: Asked) -> bool {
        let there = self.cached.iter().position(|o| o.id == asked.id);
        if there.is_some() || asked.size <= self.capacity {
            let at = there.unwrap_or_else(|| {
                while weight(&self.cached) + asked.size > self.capacity {
                    self.evict();
                }
                self.cached.push(Object { ages: [0, self.ages], ..Object::new(asked, 0) });
                self.cached.len() - 1
            });
            let mut object = self.cached[at].clone();
            if there.is_some() {
                let cell = self.cell(&object);
                self.events.entry(cell).or_default()[0] += 1.0;
                self.budget += if object.spared { object.size as i64 } else { 0 };
                object.ages = [cell.1, object.ages[0]];
            }
            let drawn = self.random.gen_range(0..32u32) == 0;
            object.spared = drawn && self.budget > 0 && self.models < 50;
            self.budget -= if object.spared { object.size as i64 } else { 0 };
            object.last = self.now;
            if there.is_none() && !drawn && self.rank(&object) < self.victims {
                self.suspects.push(object.id);
            }
            self.cached[at] = object;
        }
        self.now += 1;
        if self.now % self.period == 0 {
            self.model();
        }
        there.is_some()
    }

    fn resident(&self) -> Vec<u32> {
        self.cached.iter().map(|o| o.id).collect()
    }
}
