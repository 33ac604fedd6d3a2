// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Times to live and admission, before several policies, against plain references.

mod reference;

use std::collections::{BTreeMap, BTreeSet};

use fovea_lab::{
    dense::{Dense, DenseOptions},
    mrc::{points, Method, MrcOptions},
    policy::{Choice, Request, NEVER},
    replay::{run, seeds_of},
    Size,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use reference::{Asked, Reference};

/// What is asked for, by the book: sets and maps, nothing shared with the fast one.
struct Plain {
    cache: Box<dyn Reference>,
    ttl: Option<u64>,
    ttl_ns: Option<u64>,
    largest: Option<u64>,
    second: Option<usize>,
    seen: BTreeSet<u32>,
    probability: Option<(f64, ChaCha8Rng)>,
    /// The request, and the time, at which each was fetched.
    came: BTreeMap<u32, (u64, u64)>,
    now: u64,
}

impl Plain {
    fn access(&mut self, asked: Asked, time_ns: u64) -> bool {
        self.now += 1;
        let held = self.cache.resident().contains(&asked.id);
        if held {
            let (came, came_ns) = self.came[&asked.id];
            self.cache.access(asked);
            let fresh = self.ttl.is_none_or(|ttl| self.now < came + ttl)
                && self.ttl_ns.is_none_or(|ttl_ns| time_ns < came_ns + ttl_ns);
            if !fresh {
                self.came.insert(asked.id, (self.now, time_ns));
            }
            return fresh;
        }
        if self.largest.is_some_and(|largest| asked.size > largest) {
            return false;
        }
        if let Some(most) = self.second {
            if !self.seen.contains(&asked.id) {
                if self.seen.len() == most {
                    self.seen.clear();
                }
                self.seen.insert(asked.id);
                return false;
            }
        }
        if let Some((probability, random)) = &mut self.probability {
            if random.gen::<f64>() >= *probability {
                return false;
            }
        }
        self.cache.access(asked);
        self.came.insert(asked.id, (self.now, time_ns));
        false
    }
}

fn plain(policy: &str, capacity: u64) -> Plain {
    Plain {
        cache: reference::of(policy, capacity).unwrap(),
        ttl: None,
        ttl_ns: None,
        largest: None,
        second: None,
        seen: BTreeSet::new(),
        probability: None,
        came: BTreeMap::new(),
        now: 0,
    }
}

fn drawn(probability: f64, seed: u64) -> Option<(f64, ChaCha8Rng)> {
    Some((probability, ChaCha8Rng::seed_from_u64(seed)))
}

/// Times are a multiple of this, so that objects are asked for just as they expire, too.
const QUARTER_NS: u64 = 250_000_000;
const GAPS: std::ops::Range<u64> = 0..12;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn hooks_before_any_policy_do_as_their_references(
        requests in prop::collection::vec((prop_oneof![3 => 0..8u32, 2 => 8..40u32], 1..=9u64, GAPS), 1..300),
        capacity in 1..150u64,
        ttl in 1..60u64,
        quarters in 1..400u64,
        most in 1..30usize,
    ) {
        for policy in ["lru", "fifo", "sieve", "arc", "s3-fifo", "lirs", "gdsf", "lecar"] {
            let of = || plain(policy, capacity);
            let cases = [
                (String::new(), of()),
                (format!(":ttl={ttl}"), Plain { ttl: Some(ttl), ..of() }),
                (format!(":ttl-s={}", quarters as f64 / 4.0), Plain { ttl_ns: Some(quarters * QUARTER_NS), ..of() }),
                (":admit-size=4".into(), Plain { largest: Some(4), ..of() }),
                (format!(":admit-second={most}"), Plain { second: Some(most), ..of() }),
                (":admit-probability=0.3".into(), Plain { probability: drawn(0.3, 1), ..of() }),
                (
                    format!(":ttl={ttl}:ttl-s={}:admit-size=7:admit-second={most}:admit-probability=0.7:admit-seed=9", quarters as f64 / 4.0),
                    Plain {
                        ttl: Some(ttl),
                        ttl_ns: Some(quarters * QUARTER_NS),
                        largest: Some(7),
                        second: Some(most),
                        probability: drawn(0.7, 9),
                        ..of()
                    },
                ),
            ];
            for (hooks, mut slow) in cases {
                let choice: Choice = format!("{policy}{hooks}").parse().unwrap();
                let mut fast = choice.build(capacity);
                fast.ensure_ids(40);
                let mut time_ns = 1 << 33;
                for (at, &(id, size, gap)) in requests.iter().enumerate() {
                    time_ns += gap * QUARTER_NS;
                    let there = fast.contains(id);
                    let hit = fast.access(Request { id, size, next_distance: NEVER, time_ns });
                    prop_assert_eq!(hit, slow.access(Asked { id, size, next: None }, time_ns), "{} request {}", choice, at);
                    // By the clock of the request before it, what has expired by now was there.
                    prop_assert!(hit == there || (there && choice.hooks.needs_times()), "{} request {}", choice, at);
                    prop_assert!(fast.used() <= capacity);
                }
            }
        }
    }
}

fn dense() -> Dense {
    let objects = (0..20_000u64).map(|at| (if at % 3 == 0 { at } else { at * 7 % 500 }, 100 + at % 5));
    Dense::from_objects(objects, &DenseOptions::default()).unwrap()
}

#[test]
fn a_size_limit_where_all_weigh_the_same_is_refused() {
    let choice: Choice = "lru:admit-size=4096".parse().unwrap();
    let error = run(&dense(), &choice, Size::Objects(10)).unwrap_err().to_string();
    assert!(error.contains("admit-size needs sizes in bytes") && error.lines().count() == 1, "{error}");
    assert!(run(&dense(), &choice, Size::Bytes(10_000)).unwrap().hits > 0);
}

#[test]
fn curves_of_lru_behind_hooks_are_not_those_of_lru_and_its_seed_is_named() {
    let policies: Vec<Choice> =
        ["lru", "lru:ttl=100", "lru:admit-probability=0.5:admit-seed=3"].map(|p| p.parse().unwrap()).into();
    assert_eq!(seeds_of(&policies).unwrap().1, "lru:admit-probability=0.5:admit-seed=3 admit=3");
    let options = MrcOptions {
        trace: Default::default(),
        policies,
        sizes: Vec::new(),
        rate: 0.2,
        exact: false,
        shards: false,
        threads: 1,
        dense: DenseOptions::default(),
    };
    let found = points(&dense(), &options, &[Size::Objects(2000)], |_, _| {}).unwrap();
    assert_eq!(
        [found[0].method, found[1].method, found[2].method],
        [Method::StackDistance, Method::Miniature, Method::Miniature]
    );
    let exact = points(&dense(), &MrcOptions { exact: true, ..options }, &[Size::Objects(2000)], |_, _| {}).unwrap();
    for (estimated, is) in found.iter().zip(&exact) {
        assert!((estimated.miss_ratio - is.miss_ratio).abs() <= estimated.error + 0.02, "{estimated:?} {is:?}");
    }
}
