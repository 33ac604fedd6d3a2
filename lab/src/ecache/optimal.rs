// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The best regions, with the whole trace known: eCache12's *Optimal*.
//!
//! A region that costs least now may be the wrong place for what comes next, so the best choice of one allocation is not the
//! best of all. All sequences of choices are too many (up to nine choices at each of hundreds of allocations). [`beam`] follows the
//! most promising ones side by side: at an allocation each kept cache would try each of its regions, and those are kept that have
//! the most hits so far and pages that will be hits. It is a search and no proof: what it finds is reachable, and something better may
//! exist. Where several regions are empty it takes the lowest.

use std::{
    collections::HashSet,
    hash::{Hash, Hasher},
};

use fovea_core::FrameState;

use super::{
    replay::{Future, Machine},
    Event, Outcome, Trace,
};
use crate::{Error, Result};

/// A cache that could be tried, and what would be had then.
struct Branch {
    parent: usize,
    first: u32,
    score: u64,
}

/// Regions a device could get: first frames, each once.
fn regions(machine: &Machine, device: u8) -> Vec<u32> {
    let device = u32::from(device);
    let mut firsts = machine.core.candidates(device).to_vec();
    firsts.extend(machine.core.slot(device).map(|slot| slot.first));
    firsts.sort_unstable();
    firsts.dedup();
    firsts
}

/// Which caches count as the same, so that only the first of them is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// Of the same score and fill, with the same places for devices: they fare alike, and a narrow search sees more with
    /// others in their place.
    Kind,
    /// With the same pages in the same frames since the same time. (The order of free frames is not looked at.)
    State,
}

fn signature(machine: &Machine, devices: usize, score: u64, alike: Alike) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for device in 0..devices as u32 {
        (machine.core.slot(device).map(|r| r.first), machine.core.held(device).map(|r| r.first)).hash(&mut hasher);
    }
    match alike {
        Alike::Kind => (score, machine.core.counters().cached_frames).hash(&mut hasher),
        Alike::State => {
            machine.hits.hash(&mut hasher);
            for (frame, put_at) in machine.put_at.iter().enumerate() {
                if machine.core.state(frame as u32) == Some(FrameState::Cached) {
                    (frame, put_at).hash(&mut hasher);
                }
            }
        }
    }
    hasher.finish()
}

/// The branches of all caches at an allocation, the most promising first.
fn branches(kept: &[Machine], future: &Future, at: usize, device: u8, frames: u32) -> Vec<Branch> {
    let mut all = Vec::new();
    for (parent, machine) in kept.iter().enumerate() {
        let mut sums = vec![0u64];
        for useful in machine.useful(future, at) {
            sums.push(sums[sums.len() - 1] + u64::from(useful));
        }
        let total = sums[sums.len() - 1];
        for first in regions(machine, device) {
            let end = (first as usize + frames as usize).min(sums.len() - 1);
            let lost = sums[end] - sums[first as usize];
            all.push(Branch { parent, first, score: machine.hits + total - lost });
        }
    }
    // Ties go to the earlier cache and the lower region, so that the search is the same on every machine.
    all.sort_by_key(|b| (std::cmp::Reverse(b.score), b.parent, b.first));
    all
}

/// The best outcome of a search that follows `width` caches.
///
/// # Errors
/// If the trace asks for more than its devices have reserved, or twice without freeing.
pub fn beam(trace: &Trace, width: usize, alike: Alike) -> Result<Outcome> {
    let as_given: Vec<usize> = (0..trace.devices.len()).collect();
    let future = Future::of(trace);
    let mut kept = vec![Machine::new(trace, &trace.config(&as_given, 1), true)?];
    for (at, event) in trace.events.iter().enumerate() {
        let Event::Alloc { device, frames } = *event else {
            kept.iter_mut().for_each(|machine| machine.step(trace, at));
            continue;
        };
        let mut next: Vec<Machine> = Vec::new();
        let mut seen = HashSet::new();
        for branch in branches(&kept, &future, at, device, frames) {
            if next.len() == width.max(1) {
                break;
            }
            let mut machine = kept[branch.parent].clone();
            let wanted = branch.first..branch.first + frames;
            let region = machine.alloc_by_cost(device, frames, &mut |f| u32::from(!wanted.contains(&f)));
            let region = region.map_err(|e| Error::Content {
                path: trace.name.clone(),
                place: format!("event {}", at + 1),
                what: e.to_string(),
                mend: "a trace allocates within its reservations, and frees before it allocates again".into(),
            })?;
            // The core refuses a region that another device needs; then it took another, which has a branch of its own. Of
            // several empty ones, which cost the same, it takes the lowest.
            if region.first != branch.first && !next.is_empty() {
                continue;
            }
            if seen.insert(signature(&machine, trace.devices.len(), branch.score, alike)) {
                next.push(machine);
            }
        }
        kept = next;
    }
    let best = kept.iter().max_by_key(|m| m.hits).map(Machine::outcome);
    Ok(best.unwrap_or_default())
}
