// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Objects that expire by the trace's clock, from the trace file to the misses; and traces that have no clock.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use fovea_lab::{
    dense::{Dense, DenseOptions},
    mrc::{mrc, MrcOptions},
    policy::Choice,
    replay::run,
    store::Writer,
    sweep, Names, Op, Record, Size, SweepOptions, FORMAT_KEY,
};
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

fn written(path: &Path, requests: &[(u64, u64)], format: &str) -> PathBuf {
    let mut names = Names::default();
    let mut writer = Writer::create(path).unwrap();
    for &(time_ns, object) in requests {
        let (app, space) = (names.share(""), names.share("object"));
        let (op, size_bytes) = (Op::Object, Some(1 + object % 5));
        let (importance, offset_bytes, length_bytes, write, sync) = (None, 0, 1, false, false);
        let record =
            Record { time_ns, app, importance, op, space, object, offset_bytes, length_bytes, write, sync, size_bytes };
        writer.push(record).unwrap();
    }
    writer.finish(&BTreeMap::from([(FORMAT_KEY.to_owned(), format.to_owned())])).unwrap();
    path.to_owned()
}

/// Hits of a cache that holds everything: an object is fresh for `ttl_ns` after it was fetched.
fn hits(requests: impl Iterator<Item = (u64, u64)>, ttl_ns: u64) -> u64 {
    let (mut fetched, mut hits) = (BTreeMap::<u64, u64>::new(), 0);
    for (time_ns, object) in requests {
        match fetched.get(&object) {
            Some(&at_ns) if time_ns < at_ns + ttl_ns => hits += 1,
            _ => {
                fetched.insert(object, time_ns);
            }
        }
    }
    hits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn times_reach_the_policy_as_they_stand_in_the_trace(
        gaps in prop::collection::vec((prop_oneof![0..3 * S, 0..9000 * S], 0..12u64), 2..200),
        ttl_s in prop_oneof![1..20u64, 1000..20_000u64],
        repeat in 1..4u64,
    ) {
        // Within a second there is no telling a clock from numbers.
        let mut now_ns = 7 * S;
        let requests: Vec<_> =
            gaps.iter().map(|&(gap_ns, object)| { now_ns += gap_ns + S; (now_ns, object) }).collect();
        let span_ns = now_ns - requests[0].0;
        let folder = tempfile::tempdir().unwrap();
        let trace = written(&folder.path().join("t.parquet"), &requests, "csv");
        let choice: Choice = format!("lru:ttl-s={ttl_s}").parse().unwrap();
        let all = (0..repeat).flat_map(|pass| requests.iter().map(move |r| (r.0 + pass * span_ns, r.1)));
        let expected = hits(all, ttl_s * S);
        for column_memory_bytes in [1 << 20, 64] {
            for keep_requests in [None, Some(0), Some(0)] {
                let options = DenseOptions { repeat, column_memory_bytes, keep_requests, ..DenseOptions::default() };
                let dense = Dense::open(&trace, &options.with_needs_of(std::slice::from_ref(&choice)), |_| {}).unwrap();
                prop_assert_eq!(run(&dense, &choice, Size::Objects(100)).unwrap().hits, expected);
                prop_assert_eq!(run(&dense, &choice, Size::Bytes(1000)).unwrap().hits, expected);
                let timeless = Dense::open(&trace, &options, |_| {}).unwrap();
                let error = run(&timeless, &choice, Size::Objects(100)).unwrap_err().to_string();
                prop_assert!(error.contains("needs the trace's times"), "{}", error);
            }
        }
        let forms = fs::read_dir(folder.path().join(".fovea-dense")).unwrap().count();
        prop_assert_eq!(forms, 2, "with times and without");
    }
}

#[test]
fn a_trace_without_times_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let numbered: Vec<_> = (0..500).map(|at| (at, at % 7)).collect();
    let sparse: Vec<_> = (0..500).map(|at| (at * 1000, at % 7)).collect();
    let constant = vec![(3 * S, 1); 500];
    let lines = (0..500).map(|at| format!("{}\n", at % 7)).collect::<String>();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("lines.txt"), lines).unwrap();
    let of_lines = "none: its 500 records are within 499 ns";
    for (trace, what) in [
        (written(&path("numbered.parquet"), &numbered, "csv"), of_lines),
        (written(&path("sparse.parquet"), &sparse, "ids"), "a trace of format ids has none"),
        (written(&path("made.parquet"), &sparse, "synthetic"), "a trace of format synthetic has none"),
        (written(&path("constant.parquet"), &constant, "csv"), "none: its 500 records are within 0 ns"),
        (path("lines.txt"), of_lines),
    ] {
        let options = SweepOptions {
            traces: vec![trace.clone()],
            policies: ["lru", "lru:ttl-s=30"].map(|p| p.parse().unwrap()).to_vec(),
            sizes: vec![Size::Objects(5)],
            output: path("out"),
            threads: Some(1),
            dense: DenseOptions::default(),
            counting: Default::default(),
        };
        let error = sweep(&options, |_, _| {}).unwrap_err().to_string();
        let place = format!("{}: its times: ", trace.display());
        assert!(error.starts_with(&place) && error.contains(what), "{error}");
        assert!(error.ends_with("with ttl and not ttl-s") && error.lines().count() == 1, "{error}");
        let timeless = SweepOptions { policies: vec!["lru:ttl=30".parse().unwrap()], ..options };
        assert_eq!(sweep(&timeless, |_, _| {}).unwrap().cells.len(), 1);
    }
    let sparse = written(&path("clock.parquet"), &sparse, "csv");
    let options = DenseOptions { times: true, ..DenseOptions::default() };
    assert!(Dense::open(&sparse, &options, |_| {}).is_ok(), "a record a microsecond is a clock");
}

#[test]
fn a_clock_that_goes_back_makes_nothing_older() {
    let options = DenseOptions { times: true, ..DenseOptions::default() };
    let requests = [(1, 1, 50 * S), (1, 1, 10 * S), (1, 1, 59 * S), (1, 1, 60 * S)];
    let dense = Dense::from_timed(requests, &options).unwrap();
    let outcome = run(&dense, &"lru:ttl-s=10".parse().unwrap(), Size::Objects(1)).unwrap();
    assert_eq!(outcome.hits, 2, "only the last has expired");
}

#[test]
fn a_sample_has_the_trace_s_clock() {
    let folder = tempfile::tempdir().unwrap();
    let requests: Vec<_> = (0..40_000u64).map(|at| (at * S / 10, at * at % 20_011 % 5000)).collect();
    let trace = written(&folder.path().join("t.parquet"), &requests, "csv");
    let of = |exact| MrcOptions {
        trace: trace.clone(),
        policies: vec!["lru:ttl-s=600".parse().unwrap()],
        sizes: vec![Size::Objects(4000)],
        rate: 0.2,
        exact,
        shards: false,
        threads: 1,
        dense: DenseOptions::default(),
    };
    let point = |exact| mrc(&of(exact), |_, _| {}).unwrap().points.remove(0);
    let (estimated, is) = (point(false), point(true));
    assert!((estimated.miss_ratio - is.miss_ratio).abs() <= estimated.error + 0.02, "{estimated:?} {is:?}");
    let whole = run(
        &Dense::open(&trace, &DenseOptions::default(), |_| {}).unwrap(),
        &"lru".parse().unwrap(),
        Size::Objects(4000),
    );
    assert!(is.miss_ratio > whole.unwrap().misses() as f64 / 40_000.0 + 0.1, "objects do expire: {is:?}");
}
