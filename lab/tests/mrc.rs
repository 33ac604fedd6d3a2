// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Miss-ratio curves: stack distances against whole simulations, to the request; estimates within the error they state.

use std::path::Path;

use fovea_lab::{
    dense::{Dense, DenseOptions},
    mrc::{mrc, points, Curve, Method, MrcOptions, Point},
    policy::Choice,
    replay::run,
    Size,
};
use proptest::prelude::*;

fn options(policies: &[&str]) -> MrcOptions {
    MrcOptions {
        trace: Default::default(),
        policies: policies.iter().map(|name| name.parse::<Choice>().unwrap()).collect(),
        sizes: Vec::new(),
        rate: 0.01,
        exact: false,
        shards: false,
        threads: 2,
        dense: DenseOptions::default(),
    }
}

fn dense(objects: impl IntoIterator<Item = u64>) -> Dense {
    Dense::from_objects(objects.into_iter().map(|object| (object, 1u32)), &DenseOptions::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn stack_distances_give_what_lru_misses_at_every_size(
        objects in prop::collection::vec(prop_oneof![3 => 0..6u64, 2 => 6..40u64, 1 => 40..90u64], 1..600),
    ) {
        let dense = dense(objects);
        let curve = Curve::of(&dense).unwrap();
        let lru: Choice = "lru".parse().unwrap();
        for size in 1..=dense.footprint().objects + 2 {
            prop_assert_eq!(curve.misses(size), run(&dense, &lru, Size::Objects(size)).unwrap().misses());
        }
    }
}

/// Objects by Zipf's law with exponent 0.7, and scans.
fn skewed(requests: u64, objects: u64) -> Dense {
    let mut state = 3u64;
    dense((0..requests).map(|at| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = (state >> 11) as f64 / (1u64 << 53) as f64;
        match at % 10_000 < 500 {
            true => objects + at,
            false => (objects as f64 * draw.powf(1.0 / 0.3)) as u64,
        }
    }))
}

fn by_policy(found: &[Point], policy: &str) -> Vec<Point> {
    found.iter().filter(|p| p.policy == policy).cloned().collect()
}

#[test]
fn estimates_are_within_a_point_or_two_and_say_so() {
    let dense = skewed(400_000, 40_000);
    let sizes: Vec<Size> = [500, 1000, 2000, 4000, 8000, 16_000].map(Size::Objects).to_vec();
    let policies = ["lru", "sieve", "s3-fifo", "arc"];
    let exact = points(&dense, &MrcOptions { exact: true, ..options(&policies) }, &sizes, |_, _| {}).unwrap();
    let shards = MrcOptions { shards: true, rate: 0.05, ..options(&policies) };
    let found = points(&dense, &shards, &sizes, |_, _| {}).unwrap();
    let mut outside = 0;
    for policy in policies {
        let (is, estimated) = (by_policy(&exact, policy), by_policy(&found, policy));
        let method = if policy == "lru" { Method::Shards } else { Method::Miniature };
        let errors: Vec<f64> = is.iter().zip(&estimated).map(|(a, b)| (a.miss_ratio - b.miss_ratio).abs()).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 0.02, "{policy}: wrong by {mean} on average");
        outside += errors.iter().zip(&estimated).filter(|(error, point)| **error > point.error + 0.005).count();
        assert!(estimated.iter().all(|p| p.method == method && p.rate >= 0.05 && p.error < 0.06), "{estimated:?}");
    }
    // Twice the standard error of four samples holds some 86 of 100 times.
    assert!(outside <= found.len() / 5, "{outside} of {} are further off than they say", found.len());
    let again = points(&dense, &MrcOptions { threads: 1, ..shards }, &sizes, |_, _| {}).unwrap();
    assert_eq!(found, again, "whatever the threads");
}

#[test]
fn on_the_shipped_traces_curves_are_exact_or_say_how_far_off_they_are() {
    for name in ["sqlite", "python", "git"] {
        let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(format!("{name}.parquet"));
        let usual = MrcOptions { trace: trace.clone(), ..options(&["lru", "sieve", "belady"]) };
        let found = mrc(&usual, |_, _| {}).unwrap();
        let exact = mrc(&MrcOptions { exact: true, ..usual.clone() }, |_, _| {}).unwrap();
        for (a, b) in found.points.iter().zip(&exact.points) {
            assert!((a.miss_ratio - b.miss_ratio).abs() <= a.error + 1e-12, "{name}: {a:?} {b:?}");
            if a.policy == "lru" {
                assert_eq!((a.method, a.error), (Method::StackDistance, 0.0));
            }
        }
        let last = found.points.iter().rfind(|p| p.policy == "lru").unwrap();
        let dense = Dense::open(&trace, &DenseOptions::default(), |_| {}).unwrap();
        let first_requests = dense.footprint().objects as f64 / dense.requests() as f64;
        assert_eq!(last.miss_ratio, first_requests, "{name}: all of it fits");
        // SHARDS: a tenth of a few hundred objects in each sample.
        let sizes: Vec<Size> = [25, 50, 75].map(|p| Size::Objects(dense.footprint().objects * p / 100)).to_vec();
        let shards = MrcOptions { shards: true, rate: 0.2, ..options(&["lru"]) };
        let curve = Curve::of(&dense).unwrap();
        for point in points(&dense, &shards, &sizes, |_, _| {}).unwrap() {
            let is = curve.misses(point.capacity.amount) as f64 / dense.requests() as f64;
            assert!((point.miss_ratio - is).abs() <= point.error + 0.02, "{name}: {is} {point:?}");
        }
        assert_eq!(found.document.inputs[0].name, format!("{name}.parquet"));
    }
}

#[test]
fn bad_rates_are_refused() {
    for rate in [0.0, -1.0, 1.5, f64::NAN] {
        let error = mrc(&MrcOptions { rate, ..options(&["lru"]) }, |_, _| {}).err().unwrap();
        assert_eq!(error.exit_code(), 2);
    }
}
