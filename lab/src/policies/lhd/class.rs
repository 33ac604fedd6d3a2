// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A class of objects of LHD: what became of them by age, and what is to be expected from that.

/// Classes of objects.
pub(super) const CLASSES: usize = 16;
/// The app that the authors' program takes objects for of which it knows none.
const APP: usize = 1;

/// What became of a class' objects by age, the last of which stands for all that are greater.
pub(super) struct Class {
    hits: Vec<f64>,
    evictions: Vec<f64>,
    /// Of each age; none before the first model.
    densities: Vec<f64>,
    /// What it is worth until then: its number, from 1, among all apps'.
    first: f64,
}

impl Class {
    pub(super) fn new(class: usize, ages: usize) -> Self {
        let first = (APP * CLASSES + class + 1) as f64;
        Class { hits: vec![0.0; ages], evictions: vec![0.0; ages], densities: Vec::new(), first }
    }

    /// Before the first model the younger, and those hit sooner, are worth more.
    pub(super) fn density(&self, age: usize) -> f64 {
        self.densities.get(age).copied().unwrap_or(self.first / (age + 1) as f64)
    }

    pub(super) fn count_hit(&mut self, age: usize) {
        self.hits[age] += 1.0;
    }

    pub(super) fn count_eviction(&mut self, age: usize) {
        self.evictions[age] += 1.0;
    }

    pub(super) fn decay(&mut self, by: f64) {
        self.hits.iter_mut().chain(&mut self.evictions).for_each(|count| *count *= by);
    }

    /// Hits to be expected at this age or later, over the time until then, in one pass from the oldest.
    pub(super) fn work_out(&mut self) {
        let (mut hits, mut events, mut time) = (0.0, 0.0, 0.0);
        self.densities.resize(self.hits.len(), 0.0);
        for age in (0..self.hits.len()).rev() {
            hits += self.hits[age];
            events += self.hits[age] + self.evictions[age];
            time += events;
            self.densities[age] = if events > 1e-5 { hits / time } else { 0.0 };
        }
    }

    /// Ages lose `after` bits instead of `before`.
    pub(super) fn rescale(&mut self, before: u32, after: u32) {
        let last = self.hits.len() - 1;
        for counts in [&mut self.hits, &mut self.evictions] {
            let old = std::mem::replace(counts, vec![0.0; last + 1]);
            counts[last] = old[last];
            for (age, count) in old[..last].iter().enumerate() {
                match after.checked_sub(before) {
                    Some(more) => counts[age >> more] += count,
                    None => {
                        let fewer = before - after;
                        let part = count / f64::from(1u32 << fewer);
                        (0..1usize << fewer).for_each(|i| counts[((age << fewer) + i).min(last)] += part);
                    }
                }
            }
        }
    }
}
