// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Every policy of the registry against its slow reference, and the properties that any cache has.

mod reference;

use std::collections::BTreeSet;

use fovea_lab::policy::{self, Request, NEVER};
use proptest::prelude::*;
use reference::Asked;

/// Requests with a skew, so that there are hits, promotions and ghosts; each object may change its size.
fn requests(sizes: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = Vec<(u32, u32)>> {
    let id = prop_oneof![3 => 0..8u32, 3 => 8..30u32, 1 => 30..80u32];
    prop::collection::vec((id, sizes), 1..400)
}

fn with_future(requests: &[(u32, u32)], unit: u64) -> Vec<Asked> {
    let next = |at: usize| requests[at + 1..].iter().position(|r| r.0 == requests[at].0).map(|d| at + 1 + d);
    (0..requests.len())
        .map(|at| Asked { id: requests[at].0, size: u64::from(requests[at].1) * unit, next: next(at) })
        .collect()
}

/// Policies with other parameters than the defaults: others draw more, or learn sooner.
const VARIANTS: [&str; 11] = [
    "s3-fifo:fill=1",
    "belady-size:sample=4:seed=7",
    "hyperbolic:sample=5",
    "hyperbolic:by-size=1",
    "lhd:sample=3:period=6:ages=24:shift=2:seed=9",
    "lecar:seed=5",
    "cacheus:seed=5",
    "random:seed=6",
    "mq:queues=3:out=1:life=1",
    "mq:queues=4:out=0:life=0",
    "adaptsize:period=40:seed=3",
];

fn check(requests: &[(u32, u32)], capacity: u64, unit: u64) -> Result<(), TestCaseError> {
    let (asked, capacity) = (with_future(requests, unit), capacity * unit);
    let others = VARIANTS.iter().map(|text| text.parse().unwrap());
    for choice in policy::all().into_iter().chain(others) {
        let name = &*choice.to_string();
        let mut cache = choice.build(capacity);
        let mut slow = reference::of(name, capacity);
        let mut seen = BTreeSet::new();
        let ids = requests.iter().map(|r| r.0).max().unwrap_or(0) + 1;
        cache.ensure_ids(ids);
        for (at, &one) in asked.iter().enumerate() {
            let was_there = cache.contains(one.id);
            let next_distance = one.next.map_or(NEVER, |next| (next - at) as u32);
            let hit = cache.access(Request { id: one.id, size: one.size, next_distance, time_ns: 0 });
            prop_assert_eq!(hit, was_there, "{} request {}: a hit is an object that was there", name, at);
            prop_assert!(!hit || seen.contains(&one.id), "{} request {}: hit before the first request", name, at);
            prop_assert!(cache.used() <= capacity, "{} request {}: over capacity", name, at);
            seen.insert(one.id);
            if let Some(slow) = &mut slow {
                prop_assert_eq!(hit, slow.access(one), "{} request {} of object {}", name, at, one.id);
                for id in slow.resident() {
                    prop_assert!(cache.contains(id), "{} request {}: {} is missing", name, at, id);
                }
                if name != "belady" {
                    let resident = slow.resident().len();
                    let held = (0..ids).filter(|&id| cache.contains(id)).count();
                    prop_assert_eq!(held, resident, "{} request {}", name, at);
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn by_objects_all_agree_with_their_references(requests in requests(1..=1), capacity in 1..60u64) {
        check(&requests, capacity, 1)?;
    }

    #[test]
    fn by_bytes_all_agree_with_their_references(requests in requests(1..=9), capacity in 1..300u64) {
        check(&requests, capacity, 1)?;
    }

    /// A size has 48 bits: objects of 4 GiB and more are as good as others.
    #[test]
    fn by_bytes_beyond_32_bits_all_agree_with_their_references(requests in requests(1..=9), capacity in 1..300u64) {
        check(&requests, capacity, (1 << 32) + 1)?;
    }

    #[test]
    fn none_beats_belady_by_objects(requests in requests(1..=1), capacity in 1..60u64) {
        let asked = with_future(&requests, 1);
        let mut hits = Vec::new();
        for choice in policy::all() {
            let mut cache = choice.build(capacity);
            cache.ensure_ids(80);
            let count = asked.iter().enumerate().filter(|(at, one)| {
                let next_distance = one.next.map_or(NEVER, |next| (next - at) as u32);
                cache.access(Request { id: one.id, size: 1, next_distance, time_ns: 0 })
            }).count();
            hits.push((count, choice.policy.name));
        }
        let best = hits.iter().find(|h| h.1 == "belady").unwrap().0;
        // What is asked for once more does not have to make room here for what never is again, as it does in Belady's.
        prop_assert!(hits.iter().all(|h| h.0 <= best || h.1 == "belady-size"), "{hits:?}");
        prop_assert!(hits.iter().all(|h| h.0 >= best || h.1 != "belady-size"), "{hits:?}");
    }
}

#[test]
fn every_policy_has_a_reference() {
    for policy in policy::ALL {
        assert!(reference::of(policy.name, 10).is_some(), "{}", policy.name);
    }
    for name in
        ["lru", "fifo", "clock", "sieve", "s3-fifo", "2q", "arc", "lirs", "belady", "slru", "lru-2", "gdsf", "lecar"]
    {
        assert!(policy::ALL.iter().any(|p| p.name == name), "{name}");
    }
}
