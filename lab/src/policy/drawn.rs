// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Cached objects to draw candidates from: what policies need that look at a few objects and evict the worst of them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::places::Places;
use super::Parameter;

/// The objects in a cache, in no order, and the randomness to draw from them.
pub struct Drawn {
    cached: Vec<u32>,
    places: Places,
    random: ChaCha8Rng,
}

impl Drawn {
    /// Memory per object.
    pub const BYTES_PER_OBJECT: usize = Places::BYTES_PER_OBJECT;

    /// The parameter that decides what is drawn; results name it under this name.
    pub const SEED: Parameter =
        Parameter { name: "seed", default: 1.0, least: 0.0, greatest: 4294967295.0, meaning: "decides what is drawn" };

    /// Nothing cached.
    pub fn new(seed: f64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed as u64);
        Drawn { cached: Vec::new(), places: Places::default(), random }
    }

    /// Makes room for ids below `ids`.
    pub fn ensure_ids(&mut self, ids: u32) {
        self.places.ensure_ids(ids);
    }

    /// Whether it is cached.
    #[inline]
    pub fn contains(&self, id: u32) -> bool {
        self.places.contains(id)
    }

    /// Weight of all that are.
    #[inline]
    pub fn used(&self) -> u64 {
        self.places.used()
    }

    /// Weight of one that is.
    #[inline]
    pub fn size(&self, id: u32) -> u64 {
        self.places.size(id)
    }

    /// How many are.
    pub fn count(&self) -> usize {
        self.cached.len()
    }

    /// Adds one that is not cached.
    #[inline]
    pub fn insert(&mut self, id: u32, size: u64) {
        self.places.insert(id, size, self.cached.len());
        self.cached.push(id);
    }

    /// Takes out one that is; the last takes its place.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        let at = self.places.remove(id);
        self.cached.swap_remove(at);
        if let Some(&moved) = self.cached.get(at) {
            self.places.set(moved, at);
        }
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
        mut score: impl FnMut(u32, u64) -> S,
    ) -> Option<(u32, S)> {
        let mut best: Option<(u32, S)> = None;
        let all = self.cached.len() <= samples;
        for at in 0..samples.min(self.cached.len()) {
            let at = if all { at } else { self.random.gen_range(0..self.cached.len()) };
            let id = self.cached[at];
            let score = score(id, self.places.size(id));
            if best.as_ref().is_none_or(|best| score > best.1) {
                best = Some((id, score));
            }
        }
        best
    }
}
