// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Warm-up and intervals: pieces of the same replay, which sum up to the whole.

use std::sync::Mutex;

use fovea_lab::{
    dense::{Dense, DenseOptions, CHUNK_REQUESTS},
    policy::Choice,
    replay::{run, run_counted, Counting, Outcome, WarmUp},
    sweep,
    synthetic::{make, Synthetic},
    Size, SweepOptions, Weight,
};
use proptest::prelude::*;

/// Hits and hit weight of every request, from a replay of each beginning of the trace: slow, and nothing of it knows of intervals.
fn of_prefix(objects: &[(u64, u32)], choice: &Choice, size: Size) -> (u64, u64, u64) {
    if objects.is_empty() {
        return (0, 0, 0);
    }
    let mut dense = Dense::from_objects(objects.iter().copied(), &DenseOptions::default()).unwrap();
    dense.look_ahead().unwrap();
    let outcome = run(&dense, choice, size).unwrap();
    (outcome.hits, outcome.hit_weight, outcome.request_weight)
}

fn sums(outcome: &Outcome) -> [u64; 4] {
    outcome
        .intervals
        .iter()
        .fold([0; 4], |s, i| [s[0] + i.requests, s[1] + i.hits, s[2] + i.request_weight, s[3] + i.hit_weight])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn intervals_are_the_differences_of_longer_and_longer_replays(
        objects in prop::collection::vec((0..30u64, 1..9u32), 2..150),
        skip in 0..100usize,
        interval in 1..60u64,
        by_bytes in any::<bool>(),
    ) {
        let size = if by_bytes { Size::Bytes(60) } else { Size::Objects(12) };
        let warm_up = skip.min(objects.len() - 1);
        let dense = Dense::from_objects(objects.clone(), &DenseOptions::default()).unwrap();
        for policy in ["lru", "s3-fifo", "lecar", "lru:ttl=20:admit-probability=0.8"] {
            let choice: Choice = policy.parse().unwrap();
            let counting = Counting { warm_up: WarmUp::Requests(warm_up as u64), interval: Some(interval) };
            let found = run_counted(&dense, &choice, size, &counting).unwrap();
            let mut first = warm_up;
            for piece in &found.intervals {
                prop_assert_eq!(piece.first_request, first as u64);
                let end = objects.len().min(first + interval as usize);
                let (before, after) = (of_prefix(&objects[..first], &choice, size), of_prefix(&objects[..end], &choice, size));
                prop_assert_eq!(piece.requests, (end - first) as u64);
                prop_assert_eq!(piece.hits, after.0 - before.0);
                prop_assert_eq!(piece.hit_weight, after.1 - before.1);
                prop_assert_eq!(piece.request_weight, after.2 - before.2);
                first = end;
            }
            prop_assert_eq!(first, objects.len(), "all are counted");
            prop_assert_eq!(sums(&found), [found.requests, found.hits, found.request_weight, found.hit_weight]);
            prop_assert_eq!((found.requests, found.warm_up_requests), ((objects.len() - warm_up) as u64, warm_up as u64));
        }
    }
}

#[test]
fn without_a_warm_up_all_is_as_it_was_also_past_a_chunk() {
    let requests = 2 * CHUNK_REQUESTS as u64 + 77;
    let objects = (0..requests).map(|at| (at * at % 4001 * (at % 3), 1 + (at % 7) as u32));
    let mut dense = Dense::from_objects(objects, &DenseOptions::default()).unwrap();
    dense.look_ahead().unwrap();
    for choice in ["lru", "arc", "belady", "lru:ttl=900"].map(|p| p.parse::<Choice>().unwrap()) {
        let whole = run(&dense, &choice, Size::Objects(300)).unwrap();
        assert!(whole.intervals.is_empty() && whole.warm_up_requests == 0);
        for interval in [CHUNK_REQUESTS as u64, 50_000, requests, 3 * requests] {
            let counting = Counting { warm_up: WarmUp::Share(0.0), interval: Some(interval) };
            let pieces = run_counted(&dense, &choice, Size::Objects(300), &counting).unwrap();
            assert_eq!((pieces.hits, pieces.requests), (whole.hits, whole.requests), "{choice}");
            assert_eq!(sums(&pieces), [whole.requests, whole.hits, whole.request_weight, whole.hit_weight], "{choice}");
            assert_eq!(pieces.intervals.len() as u64, requests.div_ceil(interval));
            assert_eq!(pieces.capacity.weight, Weight::Objects);
        }
        let half = Counting { warm_up: WarmUp::Share(0.5), interval: None };
        let half = run_counted(&dense, &choice, Size::Objects(300), &half).unwrap();
        assert_eq!((half.requests, half.warm_up_requests), (requests - requests / 2, requests / 2));
        assert_eq!(half.figures()["warm_up_requests"], (requests / 2) as f64);
    }
}

#[test]
fn a_sweep_counts_so_too_and_takes_no_cell_that_was_counted_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.parquet");
    make(&Synthetic { requests: 5000, objects: 500, zipf: 0.9, once_percent: 5.0, seed: 1 }, &trace, |_| {}).unwrap();
    let counted = Counting { warm_up: WarmUp::Share(0.1), interval: Some(1000) };
    let options = SweepOptions {
        traces: vec![trace],
        policies: ["lru", "arc"].map(|p| p.parse().unwrap()).to_vec(),
        sizes: vec!["10%".parse().unwrap()],
        output: folder.path().join("out"),
        threads: Some(1),
        dense: DenseOptions::default(),
        counting: counted,
    };
    let journal = folder.path().join("out.partial.jsonl");
    let last = Mutex::new(Vec::new());
    let report = sweep(&options, |_, _| *last.lock().unwrap() = std::fs::read(&journal).unwrap()).unwrap();
    assert_eq!(report.document.options["warm_up"], "10%");
    assert_eq!(report.document.options["interval"], "1000");
    assert_eq!(report.document.intervals.len(), 2 * 5);
    for case in &report.document.cases {
        for figure in ["requests", "hits", "misses"] {
            let of = report.document.intervals.iter().filter(|i| i.configuration == case.configuration);
            assert_eq!(of.map(|i| i.figures[figure]).sum::<f64>(), case.figures[figure], "{figure}");
        }
    }
    let last = last.into_inner().unwrap();
    for (counting, resumed) in [
        (counted, 2),
        (Counting { interval: None, ..counted }, 0),
        (Counting { warm_up: WarmUp::Requests(499), ..counted }, 0),
        (Counting::default(), 0),
    ] {
        std::fs::write(&journal, &last).unwrap();
        let again = sweep(&SweepOptions { counting, ..options.clone() }, |_, _| {}).unwrap();
        assert_eq!(again.resumed, resumed, "{counting:?}");
        if resumed == 2 {
            assert_eq!(again.document, report.document);
        }
    }
}

#[test]
fn nonsense_is_one_line_that_says_what_to_take() {
    let dense = Dense::from_objects((0..200_000).map(|at| (at % 7, 1u32)), &DenseOptions::default()).unwrap();
    let lru: Choice = "lru".parse().unwrap();
    for (warm_up, interval, what) in [
        ("200000", None, "the trace has 200000 requests"),
        ("0", Some(0), "interval 0: no request in it"),
        ("0", Some(1), "take 2 requests or more"),
    ] {
        let counting = Counting { warm_up: warm_up.parse().unwrap(), interval };
        let error = run_counted(&dense, &lru, Size::Objects(3), &counting).unwrap_err();
        assert!(error.to_string().contains(what) && error.to_string().lines().count() == 1, "{error}");
        assert_eq!(error.exit_code(), 2);
    }
    for wrong in ["", "-1", "100%", "x", "nan%", "1.5"] {
        let error = wrong.parse::<WarmUp>().unwrap_err().to_string();
        assert!(error.contains("take a number of requests"), "{error}");
    }
}
