// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Cached objects to draw candidates from: what policies need that look at a few objects and evict the worst of them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Parameter;

const OUT: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Object {
    /// Among the cached ones.
    at: u32,
    size: u32,
}

/// The objects in a cache, in no order, and the randomness to draw from them.
pub struct Drawn {
    cached: Vec<u32>,
    objects: Vec<Object>,
    used: u64,
    random: ChaCha8Rng,
}

impl Drawn {
    /// Memory per object.
    pub const BYTES_PER_OBJECT: usize = std::mem::size_of::<Object>();

    /// The parameter that decides what is drawn; results name it under this name.
    pub const SEED: Parameter =
        Parameter { name: "seed", default: 1.0, least: 0.0, greatest: 4294967295.0, meaning: "decides what is drawn" };

    /// Nothing cached.
    pub fn new(seed: f64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed as u64);
        Drawn { cached: Vec::new(), objects: Vec::new(), used: 0, random }
    }

    /// Makes room for ids below `ids`.
    pub fn ensure_ids(&mut self, ids: u32) {
        if ids as usize > self.objects.len() {
            self.objects.resize(ids as usize, Object { at: OUT, size: 0 });
        }
    }

    /// Whether it is cached.
    #[inline]
    pub fn contains(&self, id: u32) -> bool {
        self.objects.get(id as usize).is_some_and(|object| object.at != OUT)
    }

    /// Weight of all that are.
    #[inline]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Weight of one that is.
    #[inline]
    pub fn size(&self, id: u32) -> u32 {
        self.objects[id as usize].size
    }

    /// How many are.
    pub fn count(&self) -> usize {
        self.cached.len()
    }

    /// Adds one that is not cached.
    #[inline]
    pub fn insert(&mut self, id: u32, size: u32) {
        self.objects[id as usize] = Object { at: self.cached.len() as u32, size };
        self.cached.push(id);
        self.used += u64::from(size);
    }

    /// Takes out one that is; the last takes its place.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        let Object { at, size } = std::mem::replace(&mut self.objects[id as usize], Object { at: OUT, size: 0 });
        self.cached.swap_remove(at as usize);
        if let Some(&moved) = self.cached.get(at as usize) {
            self.objects[moved as usize].at = at;
        }
        self.used -= u64::from(size);
    }

    /// A number below `below`.
    pub fn below(&mut self, below: u32) -> u32 {
        self.random.gen_range(0..below)
    }

    /// The candidate for which `score` is greatest, the first of equal ones: of `samples` that are drawn, each from all, or of all
    /// if no more are cached.
    #[inline]
    pub fn greatest<S: PartialOrd>(
        &mut self,
        samples: usize,
        mut score: impl FnMut(u32, u32) -> S,
    ) -> Option<(u32, S)> {
        let mut best: Option<(u32, S)> = None;
        let all = self.cached.len() <= samples;
        for at in 0..samples.min(self.cached.len()) {
            let at = if all { at } else { self.random.gen_range(0..self.cached.len()) };
            let id = self.cached[at];
            let score = score(id, self.objects[id as usize].size);
            if best.as_ref().is_none_or(|best| score > best.1) {
                best = Some((id, score));
            }
        }
        best
    }
}
