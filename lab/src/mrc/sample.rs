// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Samples of a trace's objects with all their requests (Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015), and
//! small caches on them (Waldspurger et al., "Cache modeling and optimization using miniature simulations", USENIX ATC 2017).

use super::stack::Curve;
use crate::{
    dense::{Dense, DenseOptions, CHUNK_REQUESTS},
    policy::Choice,
    replay::run,
    Capacity, Error, Result, Size, Weight,
};

/// All requests for some of the objects.
pub(super) struct Sample {
    /// Nothing, if no object was drawn.
    dense: Option<Dense>,
    rate: f64,
    /// Requests of the whole trace.
    requests: u64,
}

/// Spreads numbers that follow one another (Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn spread(id: u32) -> u32 {
    let mut z = u64::from(id).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

impl Sample {
    /// The sample number `at`, of a share `rate` of the objects; two numbers' samples have no object in common.
    pub fn take(dense: &Dense, rate: f64, at: usize) -> Result<Sample> {
        let width = rate * f64::from(u32::MAX);
        let (from, to) = ((width * at as f64) as u32, (width * (at + 1) as f64) as u32);
        let failed = |e| Error::io(&std::env::temp_dir(), e, "the temporary file is lost; run again");
        let (ids, sizes, _) = dense.columns();
        let (mut id_scratch, mut size_scratch, mut drawn) = (Vec::new(), Vec::new(), Vec::new());
        let mut time_scratch = Vec::new();
        let mut start = 0;
        while start < dense.requests() {
            dense.stop().check()?;
            let count = CHUNK_REQUESTS.min((dense.requests() - start) as usize);
            let ids = ids.chunk(start, count, &mut id_scratch).map_err(failed)?;
            let sizes = sizes.chunk(start, count, &mut size_scratch).map_err(failed)?;
            let times = dense.times().map(|times| times.chunk(start, count, &mut time_scratch)).transpose();
            let times = times.map_err(failed)?;
            drawn.extend(
                ids.iter()
                    .zip(sizes)
                    .enumerate()
                    .filter(|(_, (&id, _))| (from..to).contains(&spread(id)))
                    .map(|(at, (&id, &size))| (u64::from(id), size, times.map_or(0, |times| times[at]))),
            );
            start += count as u64;
        }
        let sampled = match drawn.is_empty() {
            true => None,
            false => {
                let (times, stop) = (dense.times().is_some(), dense.stop().clone());
                Some(Dense::from_timed(drawn, &DenseOptions { times, stop, ..DenseOptions::default() })?)
            }
        };
        Ok(Sample { dense: sampled, rate, requests: dense.requests() })
    }

    /// Misses, of the requests that the sample should have.
    fn ratio(&self, misses: f64) -> f64 {
        (misses / (self.requests as f64 * self.rate)).min(1.0)
    }

    /// LRU's miss ratio from stack distances, which are those of the whole trace times the rate.
    pub fn stack_miss_ratio(&self, capacity: Capacity) -> Result<f64> {
        let Some(dense) = &self.dense else { return Ok(0.0) };
        let curve = Curve::of(dense)?;
        let misses = curve.miss_ratio(capacity.amount as f64 * self.rate) * curve.requests() as f64;
        Ok(self.ratio(misses))
    }

    /// A policy's miss ratio in a cache that is smaller by the rate.
    pub fn miniature_miss_ratio(mut self, choice: &Choice, capacity: Capacity) -> Result<f64> {
        let Some(dense) = &mut self.dense else { return Ok(0.0) };
        if choice.policy.needs_future {
            dense.look_ahead()?;
        }
        let amount = ((capacity.amount as f64 * self.rate).round() as u64).max(1);
        let size = match capacity.weight {
            Weight::Objects => Size::Objects(amount),
            Weight::Bytes => Size::Bytes(amount),
        };
        let choice = Choice { hooks: choice.hooks.scaled(self.rate), ..choice.clone() };
        let misses = run(dense, &choice, size)?.misses();
        Ok(self.ratio(misses as f64))
    }
}
