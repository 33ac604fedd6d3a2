// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Replays a trace on the eCache core under one policy that chooses regions.

use fovea_core::{Choice, Config, ECache, FrameState, Key, Policy, Region, Request};

use super::{
    bound::bound,
    policy::{Base, PROTECT_PERCENT},
    selective, Event, RegionPolicy, Trace, Worth,
};
use crate::{Error, Result};

/// The counts of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Gets.
    pub gets: u64,
    /// Gets that found their page.
    pub hits: u64,
    /// Mean share of frames that held a page, sampled every second, percent.
    pub utilisation_percent: f64,
    /// Allocations.
    pub allocs: u64,
    /// Cached pages that allocations took.
    pub discarded: u64,
    /// Pages that were salvaged from a device's region.
    pub salvaged: u64,
    /// Most pages that were salvaged at one allocation.
    pub most_salvaged: u64,
}

impl Outcome {
    /// Pages read from storage.
    pub fn misses(&self) -> u64 {
        self.gets - self.hits
    }
}

/// What later events do with pages, for policies that know the future.
pub(super) struct Future {
    /// For each put: the event that next gets the page; [`NOT`] if the page is flushed or put again
    /// before.
    next: Vec<u32>,
    /// Puts less gets before each event. The difference between two events is how many frames are
    /// taken from the LRU end between them.
    demand: Vec<i32>,
    /// For each put: whether the page was put before. This needs no future.
    returned: Vec<bool>,
}

const NOT: u32 = u32::MAX;

impl Future {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut next = vec![NOT; trace.events.len()];
        let mut named = vec![NOT; trace.pages.len()];
        let mut demand = Vec::with_capacity(trace.events.len());
        let mut put_before = vec![false; trace.pages.len()];
        let mut returned = vec![false; trace.events.len()];
        let mut sum = 0;
        for (at, event) in trace.events.iter().enumerate() {
            if let Event::Put(page) = *event {
                returned[at] = std::mem::replace(&mut put_before[page as usize], true);
            }
            demand.push(sum);
            sum += match event {
                Event::Put(_) => 1,
                Event::Get(_) => -1,
                _ => 0,
            };
        }
        for (at, event) in trace.events.iter().enumerate().rev() {
            match *event {
                Event::Put(page) => {
                    next[at] = named[page as usize];
                    // Put again before it was got: it was not in the cache any more.
                    named[page as usize] = NOT;
                }
                Event::Get(page) => named[page as usize] = at as u32,
                Event::FlushPage(page) | Event::FlushFile(page) => named[page as usize] = NOT,
                _ => {}
            }
        }
        Future { next, demand, returned }
    }
}

/// The cache, its counters, and what policies have to know of its pages.
#[derive(Clone)]
pub(super) struct Machine {
    pub(super) core: ECache,
    pub(super) hits: u64,
    pub(super) gets: u64,
    cached_seconds: u64,
    seconds: u64,
    most_salvaged: u64,
    saved: u64,
    /// For each page: whether its last get was a hit.
    returned: Vec<bool>,
    /// For each frame: the event that put its page. Empty unless the policy knows the future.
    pub(super) put_at: Vec<u32>,
}

fn defect(trace: &Trace, at: usize, what: impl std::fmt::Display) -> Error {
    Error::Content {
        path: trace.name.clone(),
        place: format!("event {}", at + 1),
        what: what.to_string(),
        mend: "a trace allocates within its reservations, and frees before it allocates again".into(),
    }
}

impl Machine {
    pub(super) fn new(trace: &Trace, config: &Config, knows_future: bool) -> Result<Self> {
        let core = ECache::new(config).map_err(|e| Error::Usage(format!("{}: {e}", trace.name)))?;
        let frames = if knows_future { core.frames() as usize } else { 0 };
        Ok(Machine {
            core,
            hits: 0,
            gets: 0,
            cached_seconds: 0,
            seconds: 0,
            most_salvaged: 0,
            saved: 0,
            returned: vec![false; trace.pages.len()],
            put_at: vec![NOT; frames],
        })
    }

    fn key(trace: &Trace, page: u32) -> Key {
        trace.pages[page as usize]
    }

    /// Plays an event; an allocation is played by the policy.
    pub(super) fn step(&mut self, trace: &Trace, at: usize) {
        match trace.events[at] {
            Event::Put(page) => {
                if let Some(put) = self.core.put_page(Self::key(trace, page), self.returned[page as usize]) {
                    if let Some(put_at) = self.put_at.get_mut(put.frame as usize) {
                        *put_at = at as u32;
                    }
                }
            }
            Event::Get(page) => {
                self.gets += 1;
                let hit = self.core.get(Self::key(trace, page)).is_some();
                self.hits += u64::from(hit);
                self.returned[page as usize] = hit;
            }
            Event::FlushPage(page) => drop(self.core.flush_page(Self::key(trace, page))),
            Event::FlushFile(page) => drop(self.core.flush_object(Self::key(trace, page).object)),
            Event::Free { device } => self.core.free(u32::from(device)),
            Event::Second => {
                self.seconds += 1;
                self.cached_seconds += self.core.counters().cached_frames;
            }
            Event::Alloc { .. } => {}
        }
    }

    /// For each frame, whether its page will be got before it is evicted: until then no more frames
    /// are taken from the LRU end (puts less gets, each of which gives a frame back) than are free
    /// or lie before it in the list.
    pub(super) fn useful(&self, future: &Future, now: usize) -> Vec<bool> {
        let mut cached: Vec<(u32, u32)> = (0..self.core.frames())
            .filter(|&frame| self.core.state(frame) == Some(FrameState::Cached))
            .map(|frame| (self.put_at[frame as usize], frame))
            .collect();
        cached.sort_unstable();
        let free = self.core.counters().free_frames as i64;
        let mut useful = vec![false; self.core.frames() as usize];
        for (rank, (put_at, frame)) in cached.into_iter().enumerate() {
            let next = future.next[put_at as usize];
            if next != NOT {
                let demand = i64::from(future.demand[next as usize] - future.demand[now]);
                useful[frame as usize] = demand <= free + rank as i64;
            }
        }
        useful
    }

    /// For each frame, whether its page had been put before.
    fn returned(&self, future: &Future) -> Vec<bool> {
        self.put_at.iter().map(|&put_at| future.returned.get(put_at as usize).copied().unwrap_or(false)).collect()
    }

    /// Allocates the region whose frames cost least.
    pub(super) fn alloc_by_cost(
        &mut self,
        device: u8,
        frames: u32,
        cost: &mut dyn FnMut(u32) -> u32,
    ) -> Result<Region, fovea_core::Error> {
        let mut by_frame = |frame: u32, _: Key| cost(frame);
        self.core.alloc_with(Request {
            device: u32::from(device),
            size_frames: frames,
            choice: Choice::Cost(&mut by_frame),
            salvage_budget_pages: 0,
        })
    }

    fn alloc(&mut self, device: u8, frames: u32, policy: Policy, budget: u32) -> Result<(), fovea_core::Error> {
        self.core.alloc_with(Request {
            device: u32::from(device),
            size_frames: frames,
            choice: Choice::Policy(policy),
            salvage_budget_pages: budget,
        })?;
        if budget > 0 {
            let moved = std::iter::from_fn(|| self.core.salvage_next()).count() as u64;
            self.core.salvage_end();
            self.most_salvaged = self.most_salvaged.max(moved);
        }
        Ok(())
    }

    /// Counts pages that were put back.
    fn saved(&mut self, pages: u64) {
        self.saved += pages;
        self.most_salvaged = self.most_salvaged.max(pages);
    }

    pub(super) fn outcome(&self) -> Outcome {
        let counters = self.core.counters();
        let samples = self.seconds as f64 * f64::from(self.core.frames());
        Outcome {
            gets: self.gets,
            hits: self.hits,
            utilisation_percent: if samples > 0.0 { 100.0 * self.cached_seconds as f64 / samples } else { 0.0 },
            allocs: counters.allocs,
            discarded: counters.discarded,
            salvaged: counters.salvaged + self.saved,
            most_salvaged: self.most_salvaged,
        }
    }
}

/// Runs a trace under a policy.
///
/// # Errors
/// If the trace asks for more than its devices have reserved, or twice without freeing.
pub fn replay(trace: &Trace, policy: &RegionPolicy) -> Result<Outcome> {
    if *policy == RegionPolicy::Belady {
        return Ok(bound(trace));
    }
    let as_given: Vec<usize> = (0..trace.devices.len()).collect();
    let (order, seed) = match policy {
        RegionPolicy::Static(order) => (order, 1),
        RegionPolicy::Random(seed) => (&as_given, *seed),
        _ => (&as_given, 1),
    };
    let knows_pages = matches!(policy, RegionPolicy::Greedy | RegionPolicy::Selective(_));
    let mut config = trace.config(order, seed);
    if matches!(policy, RegionPolicy::Protected(_)) {
        config.protect_percent = PROTECT_PERCENT;
    }
    let mut machine = Machine::new(trace, &config, knows_pages)?;
    let future = knows_pages.then(|| Future::of(trace));
    for (at, event) in trace.events.iter().enumerate() {
        let Event::Alloc { device, frames } = *event else {
            if !(*policy == RegionPolicy::Undisturbed && matches!(event, Event::Free { .. })) {
                machine.step(trace, at);
            }
            continue;
        };
        let done = match (policy, &future) {
            (RegionPolicy::Undisturbed, _) => Ok(()),
            (RegionPolicy::Static(_), _) => machine.alloc(device, frames, Policy::Static, 0),
            (RegionPolicy::Random(_), _) => machine.alloc(device, frames, Policy::Random, 0),
            (RegionPolicy::Count, _) => machine.alloc(device, frames, Policy::Count, 0),
            (RegionPolicy::Lru, _) => machine.alloc(device, frames, Policy::Lru, 0),
            (RegionPolicy::Salvage(base, budget), _) => {
                let by = match base {
                    Base::Aged => Policy::Aged,
                    Base::Count => Policy::Count,
                    Base::Lru => Policy::Lru,
                };
                machine.alloc(device, frames, by, *budget)
            }
            (RegionPolicy::Protected(budget), _) => machine.alloc(device, frames, Policy::Aged, *budget),
            (RegionPolicy::Greedy, Some(future)) => {
                let useful = machine.useful(future, at);
                machine.alloc_by_cost(device, frames, &mut |f| u32::from(useful[f as usize])).map(drop)
            }
            (RegionPolicy::Selective(worth), Some(future)) => {
                let worth = match worth {
                    Worth::Future => machine.useful(future, at),
                    Worth::Returned => machine.returned(future),
                };
                let before = selective::snapshot(&machine);
                machine.alloc(device, frames, Policy::Aged, 0).map(|()| {
                    let saved = selective::save(&mut machine, &before, &worth);
                    machine.saved(saved);
                })
            }
            (RegionPolicy::Aged | RegionPolicy::Greedy | RegionPolicy::Selective(_) | RegionPolicy::Belady, _) => {
                machine.alloc(device, frames, Policy::Aged, 0)
            }
        };
        done.map_err(|e| defect(trace, at, e))?;
    }
    Ok(machine.outcome())
}
