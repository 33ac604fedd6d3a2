// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Least hit density (Beckmann, Chen and Cidon, "LHD: improving cache hit rate by maximizing hit density", NSDI 2018): of candidates that
//! are drawn the one goes that is expected to bring the fewest hits for the space and the time it will take. The expectation comes from
//! hits and evictions counted by age, in 16 classes by an object's last two ages at a hit (section 4.3), worked out anew every
//! million requests (equation 8), the counts before decaying by 0.9.
//!
//! Section 5's details, and the authors' program where it is silent: ages are coarse, and made so that they fit after 5 and after 25
//! times of working out; 8 candidates are drawn before the fiftieth, so that it learns sooner; the last 8 objects that came in and
//! looked bad are candidates too; and one in 32 requests' objects is spared, in a hundredth of the cache, to see what becomes of it.
//! Of fewer cached objects than candidates each is looked at once. Apps are not told apart: all are that program's app 1, and so the
//! classes are worth 17 to 32 over the age until the first model, and not 1 to 16.

#[path = "lhd/class.rs"]
mod class;

use crate::policy::{Descriptor, Drawn, Parameter, Policy, Request};
use class::{Class, CLASSES};

const ADMISSIONS: usize = 8;
const EARLY_SAMPLES: usize = 8;
const EARLY: u32 = 50;
const SPARED_ONE_IN: u32 = 32;
const DECAY: f64 = 0.9;
/// Coarse ages an object's stay should span at least.
const TOLERANCE: f64 = 0.01;
const NOBODY: u32 = u32::MAX;

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lhd",
    source: "Beckmann et al., NSDI 2018",
    parameters: &[
        Parameter { name: "sample", default: 32.0, least: 1.0, greatest: 1e6, meaning: "candidates for an eviction" },
        Parameter {
            name: "period",
            default: 1048576.0,
            least: 1.0,
            greatest: 1e12,
            meaning: "requests between models",
        },
        Parameter { name: "ages", default: 20000.0, least: 4.0, greatest: 1e6, meaning: "ages told apart" },
        Parameter { name: "shift", default: 10.0, least: 0.0, greatest: 30.0, meaning: "bits of an age dropped first" },
        Drawn::SEED,
    ],
    needs_future: false,
    bytes_per_object: Drawn::BYTES_PER_OBJECT + std::mem::size_of::<Tag>(),
    build: |capacity, parameters| {
        let ages = parameters[2] as usize;
        Box::new(Lhd {
            capacity,
            samples: parameters[0] as usize,
            period: parameters[1] as u64,
            ages: ages as u64,
            shift: parameters[3] as u32,
            now: 0,
            models: 0,
            mean_count: 0.0,
            mean_mass: 0.0,
            victims: 0.0,
            budget: (capacity as f64 * 0.01) as i64,
            suspects: [NOBODY; ADMISSIONS],
            next_suspect: 0,
            classes: (0..CLASSES).map(|class| Class::new(class, ages)).collect(),
            tags: Vec::new(),
            cached: Drawn::new(parameters[4]),
        })
    },
};

#[derive(Clone, Copy, Default)]
struct Tag {
    /// Number of the last request.
    last: u64,
    /// Ages at the last two hits.
    ages: [u32; 2],
    spared: bool,
}

struct Lhd {
    capacity: u64,
    samples: usize,
    period: u64,
    ages: u64,
    shift: u32,
    now: u64,
    /// Times the densities were worked out.
    models: u32,
    mean_count: f64,
    mean_mass: f64,
    /// Mean density of what was evicted.
    victims: f64,
    /// Space left for spared objects.
    budget: i64,
    suspects: [u32; ADMISSIONS],
    next_suspect: usize,
    classes: Vec<Class>,
    tags: Vec<Tag>,
    cached: Drawn,
}

/// Of two ages at hits: the doublings until their sum is the greatest age.
fn class_of(tag: &Tag, ages: u64) -> usize {
    let sum = u64::from(tag.ages[0]) + u64::from(tag.ages[1]);
    if sum == 0 {
        return CLASSES - 1;
    }
    (0..CLASSES - 1).find(|&doublings| sum << doublings >= ages).unwrap_or(CLASSES - 1)
}

fn density(classes: &[Class], tag: &Tag, size: u64, age: u64, ages: u64) -> f64 {
    if age == ages - 1 {
        return f64::MIN;
    }
    classes[class_of(tag, ages)].density(age as usize) / size as f64 + f64::from(u8::from(tag.spared))
}

impl Lhd {
    fn age(&self, tag: &Tag) -> u64 {
        ((self.now - tag.last) >> self.shift).min(self.ages - 1)
    }

    fn victim(&mut self) -> Option<u32> {
        let samples = if self.models > EARLY { self.samples } else { self.samples.min(EARLY_SAMPLES) };
        let (now, shift, ages, tags, classes) = (self.now, self.shift, self.ages, &self.tags, &self.classes);
        let rank = |id: u32, size: u64| {
            let tag = &tags[id as usize];
            density(classes, tag, size, ((now - tag.last) >> shift).min(ages - 1), ages)
        };
        let (mut victim, worst) = self.cached.greatest(samples, |id, size| -rank(id, size))?;
        let mut least = -worst;
        for &id in self.suspects.iter().filter(|&&id| self.cached.contains(id)) {
            let rank = rank(id, self.cached.size(id));
            if rank < least {
                (victim, least) = (id, rank);
            }
        }
        self.victims = DECAY * self.victims + (1.0 - DECAY) * least;
        Some(victim)
    }

    fn evict(&mut self) -> bool {
        let Some(victim) = self.victim() else { return false };
        let tag = self.tags[victim as usize];
        let age = self.age(&tag);
        self.classes[class_of(&tag, self.ages)].count_eviction(age as usize);
        if tag.spared {
            self.budget += self.cached.size(victim) as i64;
        }
        self.cached.remove(victim);
        true
    }

    fn count_hit(&mut self, id: u32) {
        let tag = self.tags[id as usize];
        let age = self.age(&tag);
        self.classes[class_of(&tag, self.ages)].count_hit(age as usize);
        if tag.spared {
            self.budget += self.cached.size(id) as i64;
        }
        self.tags[id as usize].ages = [age as u32, tag.ages[0]];
    }

    fn end_request(&mut self) {
        self.now += 1;
        if self.now % self.period == 0 {
            self.classes.iter_mut().for_each(|class| class.decay(DECAY));
            self.fit_ages();
            self.classes.iter_mut().for_each(Class::work_out);
            self.models += 1;
        }
    }

    fn fit_ages(&mut self) {
        self.mean_count = self.mean_count * DECAY + self.cached.count() as f64;
        self.mean_mass = self.mean_mass * DECAY + 1.0;
        if self.models != 5 && self.models != 25 {
            return;
        }
        let wanted = self.mean_count / self.mean_mass / (TOLERANCE * self.ages as f64);
        let shift = (1..30).find(|&shift| f64::from(1u32 << shift) >= wanted).unwrap_or(30);
        let before = std::mem::replace(&mut self.shift, shift);
        self.classes.iter_mut().for_each(|class| class.rescale(before, shift));
        self.mean_count *= 8.0;
        self.mean_mass *= 8.0;
    }
}

impl Policy for Lhd {
    fn ensure_ids(&mut self, ids: u32) {
        self.cached.ensure_ids(ids);
        self.tags.resize(self.tags.len().max(ids as usize), Tag::default());
    }

    fn access(&mut self, Request { id, size, .. }: Request) -> bool {
        let hit = self.cached.contains(id);
        if hit {
            self.count_hit(id);
        } else {
            if size > self.capacity {
                self.end_request();
                return false;
            }
            while self.cached.used() + size > self.capacity && self.evict() {}
            self.cached.insert(id, size);
            self.tags[id as usize].ages = [0, self.ages as u32];
        }
        let size = self.cached.size(id);
        let spare = self.cached.below(SPARED_ONE_IN) == 0;
        let spared = spare && self.budget > 0 && self.models < EARLY;
        if spared {
            self.budget -= size as i64;
        }
        let tag = Tag { last: self.now, spared, ..self.tags[id as usize] };
        self.tags[id as usize] = tag;
        if !hit && !spare && density(&self.classes, &tag, size, 0, self.ages) < self.victims {
            self.suspects[self.next_suspect % ADMISSIONS] = id;
            self.next_suspect += 1;
        }
        self.end_request();
        hit
    }

    fn used(&self) -> u64 {
        self.cached.used()
    }

    fn contains(&self, id: u32) -> bool {
        self.cached.contains(id)
    }
}
