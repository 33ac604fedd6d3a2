// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What no cache can exceed: Belady's rule in an exclusive cache whose pages may lie anywhere.
//!
//! When a page has to go, it is the one whose next get is farthest; a device takes frames and no particular ones. So neither another order of
//! eviction nor another choice of regions hits more.

use std::collections::{BinaryHeap, HashMap};

use super::{Event, Outcome, Trace};

/// Never got again, or gone before.
const NEVER: u32 = u32::MAX;

/// For each event that puts a page: the event that gets it, if it is still the same page then.
fn next_gets(trace: &Trace) -> Vec<u32> {
    let mut next = vec![NEVER; trace.events.len()];
    let mut file_gone: HashMap<u64, u32> = HashMap::new();
    // The next get of a page, which counts if its file is not gone before.
    let mut got = vec![NEVER; trace.pages.len()];
    for (at, event) in trace.events.iter().enumerate().rev() {
        match *event {
            Event::Put(page) => {
                let gone = file_gone.get(&trace.pages[page as usize].object).copied().unwrap_or(NEVER);
                next[at] = if got[page as usize] < gone { got[page as usize] } else { NEVER };
            }
            Event::Get(page) => got[page as usize] = at as u32,
            Event::FlushPage(page) => got[page as usize] = NEVER,
            Event::FlushFile(page) => drop(file_gone.insert(trace.pages[page as usize].object, at as u32)),
            _ => {}
        }
    }
    next
}

/// Runs the bound.
pub fn bound(trace: &Trace) -> Outcome {
    let next = next_gets(trace);
    let all: u64 = trace.devices.iter().map(|d| u64::from(d.frames)).sum();
    let mut held = vec![0_u64; trace.devices.len()];
    // By the next get; entries of pages that have left are passed over.
    let mut farthest: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    let mut cached: HashMap<u32, u32> = HashMap::new();
    let mut outcome = Outcome::default();
    let (mut seconds, mut cached_seconds) = (0_u64, 0_u64);
    for (at, event) in trace.events.iter().enumerate() {
        match *event {
            // A page that nobody will get takes a frame for nothing.
            Event::Put(page) if next[at] != NEVER => {
                cached.insert(page, next[at]);
                farthest.push((next[at], page));
            }
            Event::Put(page) | Event::FlushPage(page) => drop(cached.remove(&page)),
            Event::Get(page) => {
                outcome.gets += 1;
                outcome.hits += u64::from(cached.remove(&page).is_some());
            }
            Event::FlushFile(page) => {
                let object = trace.pages[page as usize].object;
                cached.retain(|&page, _| trace.pages[page as usize].object != object);
            }
            Event::Alloc { device, frames } => {
                held[usize::from(device)] = u64::from(frames);
                outcome.allocs += 1;
            }
            Event::Free { device } => held[usize::from(device)] = 0,
            Event::Second => {
                seconds += 1;
                cached_seconds += cached.len() as u64;
            }
        }
        let room = all - held.iter().sum::<u64>();
        while cached.len() as u64 > room {
            let Some((next, page)) = farthest.pop() else { break };
            if cached.get(&page) == Some(&next) {
                cached.remove(&page);
                outcome.discarded += u64::from(matches!(event, Event::Alloc { .. }));
            }
        }
    }
    let samples = seconds * all;
    if samples > 0 {
        outcome.utilisation_percent = 100.0 * cached_seconds as f64 / samples as f64;
    }
    outcome
}
