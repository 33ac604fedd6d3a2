// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Replay of the eCache: what holds for every way of choosing regions, on random traces small enough to try everything.

use std::collections::HashMap;

use fovea_lab::ecache::{beam, orders, replay, Alike, Base, Device, Event, Key, RegionPolicy, Trace, Worth};
use proptest::prelude::*;

/// A trace as a page cache above makes it: what is got is above, what is put was above; devices allocate in turn.
fn trace() -> impl Strategy<Value = Trace> {
    let step = prop_oneof![
        12 => (0..30u32).prop_map(|page| (0u8, page)),
        2 => (0..3u32).prop_map(|device| (1, device)),
        1 => Just((2, 0)),
    ];
    (prop::collection::vec(step, 1..150), 2..8usize).prop_map(|(steps, above)| {
        let sizes = [4, 3, 2];
        let devices = sizes.map(|frames| Device { name: format!("d{frames}"), frames }).to_vec();
        let pages = (0..30).map(|page| Key { object: page / 7, index: page }).collect();
        let mut trace = Trace { name: "random".into(), devices, pages, events: Vec::new() };
        let (mut upper, mut held): (Vec<u32>, [bool; 3]) = (Vec::new(), [false; 3]);
        for (what, which) in steps {
            match what {
                0 if !upper.contains(&which) => {
                    trace.events.push(Event::Get(which));
                    upper.push(which);
                    if upper.len() > above {
                        trace.events.push(Event::Put(upper.remove(0)));
                    }
                }
                1 => {
                    let device = which as u8;
                    let is_held = &mut held[which as usize];
                    let frames = sizes[which as usize];
                    trace.events.push(if *is_held { Event::Free { device } } else { Event::Alloc { device, frames } });
                    *is_held = !*is_held;
                }
                2 => trace.events.push(Event::Second),
                _ => {}
            }
        }
        trace
    })
}

/// Those that give a device its region and move no page.
fn plain() -> Vec<RegionPolicy> {
    let mut all =
        vec![RegionPolicy::Random(7), RegionPolicy::Count, RegionPolicy::Lru, RegionPolicy::Aged, RegionPolicy::Greedy];
    all.push(RegionPolicy::Static(vec![0, 1, 2]));
    all
}

/// Most hits from an event on with these pages cached, by trying every page that could go.
fn best_hits(trace: &Trace, known: &mut HashMap<(usize, Vec<u32>), u64>, at: usize, cached: Vec<u32>) -> u64 {
    let Some(event) = trace.events.get(at) else { return 0 };
    if let Some(&hits) = known.get(&(at, cached.clone())) {
        return hits;
    }
    let held: u32 = trace
        .devices
        .iter()
        .enumerate()
        .map(|(d, device)| {
            let last = trace.events[..=at].iter().rev().find(
                |e| matches!(e, Event::Alloc { device, .. } | Event::Free { device } if usize::from(*device) == d),
            );
            if matches!(last, Some(Event::Alloc { .. })) {
                device.frames
            } else {
                0
            }
        })
        .sum();
    let room = (9 - held) as usize;
    let mut after = cached.clone();
    let mut hits = 0;
    match *event {
        Event::Put(page) => {
            after.push(page);
            after.sort_unstable();
        }
        Event::Get(page) => {
            after.retain(|&p| p != page);
            hits = u64::from(after.len() < cached.len());
        }
        _ => {}
    }
    let rest = choices(&after, room).into_iter().map(|kept| best_hits(trace, known, at + 1, kept)).max().unwrap_or(0);
    known.insert((at, cached), hits + rest);
    hits + rest
}

/// All ways to keep `room` of some pages, all of them if there is room.
fn choices(pages: &[u32], room: usize) -> Vec<Vec<u32>> {
    if pages.len() <= room {
        return vec![pages.to_vec()];
    }
    let fewer =
        (0..pages.len()).map(|gone| pages.iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, &p)| p).collect());
    let mut all: Vec<Vec<u32>> = fewer.flat_map(|left: Vec<u32>| choices(&left, room)).collect();
    all.sort();
    all.dedup();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_policy_accounts_for_every_request(trace in trace()) {
        let mut policies = plain();
        policies.extend(orders(3).into_iter().map(RegionPolicy::Static));
        policies.extend([RegionPolicy::Salvage(Base::Aged, 2), RegionPolicy::Salvage(Base::Count, u32::MAX)]);
        policies.extend([Worth::Future, Worth::Returned].map(RegionPolicy::Selective));
        policies.extend([RegionPolicy::Protected(0), RegionPolicy::Protected(u32::MAX), RegionPolicy::Belady]);
        for policy in policies {
            let outcome = replay(&trace, &policy).unwrap();
            prop_assert_eq!(outcome.gets, trace.gets(), "{}", policy);
            prop_assert_eq!(outcome.allocs, trace.allocs(), "{}", policy);
            prop_assert!(outcome.hits <= outcome.gets && outcome.utilisation_percent <= 100.0, "{}", policy);
            prop_assert!(outcome.salvaged <= outcome.discarded, "{}: {:?}", policy, outcome);
        }
    }

    #[test]
    fn nobody_hits_more_than_the_bound(trace in trace()) {
        let mut policies = plain();
        policies.extend([RegionPolicy::Salvage(Base::Aged, u32::MAX), RegionPolicy::Selective(Worth::Future)]);
        policies.extend([RegionPolicy::Protected(0), RegionPolicy::Protected(u32::MAX)]);
        let most = replay(&trace, &RegionPolicy::Belady).unwrap().hits;
        for policy in policies {
            let hits = replay(&trace, &policy).unwrap().hits;
            prop_assert!(hits <= most, "{} hits {}, the bound says {}", policy, hits, most);
        }
        // And it is reached, by trying everything on the little that can be tried.
        let little = Trace { events: trace.events[..trace.events.len().min(24)].to_vec(), ..trace };
        let most = replay(&little, &RegionPolicy::Belady).unwrap().hits;
        prop_assert_eq!(most, best_hits(&little, &mut HashMap::new(), 0, Vec::new()));
    }

    #[test]
    fn an_undisturbed_cache_is_an_lru_list_of_all_frames(trace in trace()) {
        let mut list: Vec<u32> = Vec::new();
        let mut hits = 0;
        for event in &trace.events {
            match *event {
                Event::Get(page) => if let Some(at) = list.iter().position(|&p| p == page) {
                    list.remove(at);
                    hits += 1;
                },
                Event::Put(page) => {
                    list.insert(0, page);
                    list.truncate(9);
                }
                _ => {}
            }
        }
        prop_assert_eq!(replay(&trace, &RegionPolicy::Undisturbed).unwrap().hits, hits);
    }

    #[test]
    fn salvage_without_a_budget_loses_the_least_recently_put(trace in trace()) {
        // What is left is what an LRU list would keep that shrinks to the frames that no device has.
        let mut list: Vec<u32> = Vec::new();
        let (mut room, mut hits) = (9, 0);
        for event in &trace.events {
            match *event {
                Event::Get(page) => if let Some(at) = list.iter().position(|&p| p == page) {
                    list.remove(at);
                    hits += 1;
                },
                Event::Put(page) => list.insert(0, page),
                Event::Alloc { frames, .. } => room -= frames as usize,
                Event::Free { device } => room += trace.devices[usize::from(device)].frames as usize,
                _ => {}
            }
            list.truncate(room);
        }
        for base in [Base::Aged, Base::Count, Base::Lru] {
            prop_assert_eq!(replay(&trace, &RegionPolicy::Salvage(base, u32::MAX)).unwrap().hits, hits);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With room for every branch the search leaves nothing out: nobody who moves no page does better, and a narrow one no more.
    #[test]
    fn the_search_with_room_for_all_finds_the_best(trace in trace()) {
        let best = beam(&trace, 3000, Alike::State).unwrap().hits;
        for (width, alike) in [(1, Alike::State), (4, Alike::State), (4, Alike::Kind)] {
            prop_assert!(beam(&trace, width, alike).unwrap().hits <= best);
        }
        // Like the search, these take the lowest of several empty regions.
        for policy in [RegionPolicy::Count, RegionPolicy::Aged, RegionPolicy::Greedy] {
            let hits = replay(&trace, &policy).unwrap().hits;
            prop_assert!(hits <= best, "{} hits {}, the search {}", policy, hits, best);
        }
    }
}
