// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Parts of traces, and traces for other simulators.

use std::{collections::BTreeMap, fs, path::Path};

use fovea_lab::{
    dense::DenseOptions,
    export, filter, import, replay,
    replay::Counting,
    store::{Reader, Writer},
    Filter, ImportOptions, Op, Record, ReplayOptions,
};
use proptest::prelude::*;

fn all(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open(path).unwrap();
    std::iter::from_fn(|| reader.batch().unwrap()).flatten().collect()
}

fn write(path: &Path, records: &[Record]) {
    let mut writer = Writer::create(path).unwrap();
    records.iter().for_each(|record| writer.push(record.clone()).unwrap());
    writer.finish(&BTreeMap::from([("a".to_owned(), "b".to_owned())])).unwrap();
}

fn record(time_s: u64, app: &str, op: Op, object: u64, page: u64, pages: u64) -> Record {
    Record {
        time_ns: time_s * 1_000_000_000,
        app: app.into(),
        importance: None,
        op,
        space: "disk:x".into(),
        object,
        offset_bytes: page * 4096,
        length_bytes: pages * 4096,
        write: false,
        sync: false,
        size_bytes: (op == Op::Object).then_some(pages * 4096),
    }
}

fn outcomes(trace: &Path) -> Vec<(u64, u64, u64)> {
    let options = ReplayOptions {
        trace: trace.to_owned(),
        policies: ["lru", "belady", "s3-fifo"].map(|p| p.parse().unwrap()).to_vec(),
        sizes: ["10%", "30%B"].map(|s| s.parse().unwrap()).to_vec(),
        dense: DenseOptions::default(),
        counting: Counting::default(),
    };
    let report = replay(&options, |_, _, _| {}).unwrap();
    report.outcomes.iter().map(|o| (o.requests, o.hits, o.hit_weight)).collect()
}

fn import_to(input: &Path, output: &Path) {
    let options = ImportOptions { input: input.into(), output: output.into(), ..ImportOptions::default() };
    assert_eq!(import(&options, |_, _| {}).unwrap().format, "oracle-general");
}

/// oracleGeneral from (time in s, object, size), the next access by looking through all that follow.
fn oracle_general(requests: &[(u32, u64, u32)]) -> Vec<u8> {
    let record = |(at, &(time_s, object, size)): (usize, &(u32, u64, u32))| {
        let next = requests[at + 1..].iter().position(|r| r.1 == object).map_or(-1, |d| (at + 2 + d) as i64);
        [&time_s.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    requests.iter().enumerate().flat_map(record).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn what_was_imported_is_exported_to_the_byte(
        objects in prop::collection::vec((any::<u64>().prop_map(|o| o % 20 * (u64::MAX / 20)), 1..1u32 << 20), 1..200),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [first, trace, second, again] = ["a.bin", "a.parquet", "b.bin", "b.parquet"].map(|name| folder.path().join(name));
        let requests: Vec<_> = objects.iter().enumerate().map(|(at, &(o, s))| (at as u32 / 3, o, s)).collect();
        fs::write(&first, oracle_general(&requests)).unwrap();
        import_to(&first, &trace);
        prop_assert_eq!(export(&trace, &second, &DenseOptions::default(), false, |_, _| {}).unwrap(), requests.len() as u64);
        prop_assert!(fs::read(&second).unwrap() == fs::read(&first).unwrap());
        import_to(&second, &again);
        prop_assert_eq!(all(&again), all(&trace));
    }
}

/// Object and next access of a record.
fn fields(record: &[u8]) -> (u64, i64) {
    (u64::from_le_bytes(record[4..12].try_into().unwrap()), i64::from_le_bytes(record[16..].try_into().unwrap()))
}

/// The next request for the same object by looking through all that follow.
fn next_access(requests: &[(u64, i64)], at: usize) -> i64 {
    let behind = requests[at + 1..].iter().position(|r| r.0 == requests[at].0);
    behind.map_or(-1, |distance| (at + 2 + distance) as i64)
}

#[test]
fn pages_and_recordings_replay_the_same_from_their_export() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = folder.path().join("blocks.parquet");
    let of = |at: u64| {
        record(at / 9, "mail", if at % 31 == 0 { Op::Discard } else { Op::Block }, at % 2, at * at % 77, at % 5)
    };
    write(&blocks, &(0..3000).map(of).collect::<Vec<_>>());
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    for trace in [blocks, samples.join("sqlite.parquet"), samples.join("git.parquet")] {
        let [exported, again] = ["x.bin", "x.parquet"].map(|name| folder.path().join(name));
        let requests = export(&trace, &exported, &DenseOptions::default(), true, |_, _| {}).unwrap();
        assert_eq!(fs::metadata(&exported).unwrap().len(), 24 * requests);
        let requests: Vec<_> = fs::read(&exported).unwrap().chunks_exact(24).map(fields).collect();
        let looked_for: Vec<_> = (0..requests.len()).map(|at| next_access(&requests, at)).collect();
        assert!(requests.iter().map(|r| r.1).eq(looked_for), "next accesses of {}", trace.display());
        import_to(&exported, &again);
        assert_eq!(outcomes(&again), outcomes(&trace), "{}", trace.display());
    }
}

#[test]
fn a_time_without_room_is_told_and_no_file_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, exported] = ["t.parquet", "t.bin"].map(|name| folder.path().join(name));
    write(&trace, &[record(1 << 33, "", Op::Object, 1, 0, 1), record((1 << 33) + 5, "", Op::Object, 1, 0, 1)]);
    let error = export(&trace, &exported, &DenseOptions::default(), false, |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("record 1: its time") && error.contains("--from-start"), "{error}");
    assert!(!exported.exists());
    export(&trace, &exported, &DenseOptions::default(), true, |_, _| {}).unwrap();
    assert_eq!(fs::read(&exported).unwrap(), oracle_general(&[(0, 1, 4096), (5, 1, 4096)]));
}

#[test]
fn a_trace_is_not_written_over_by_what_is_made_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, link] = ["t.parquet", "link.parquet"].map(|name| folder.path().join(name));
    write(&trace, &[record(1, "", Op::Object, 1, 0, 1)]);
    std::os::unix::fs::symlink(&trace, &link).unwrap();
    let before = fs::read(&trace).unwrap();
    for output in [&trace, &link] {
        let options = ImportOptions { input: trace.clone(), output: output.clone(), ..ImportOptions::default() };
        for error in [
            filter(&trace, output, &Filter { sample: Some(0.5), ..Filter::default() }, |_, _| {}).unwrap_err(),
            export(&trace, output, &DenseOptions::default(), true, |_, _| {}).unwrap_err(),
            import(&options, |_, _| {}).unwrap_err(),
        ] {
            assert!(error.to_string().ends_with("is read, and would be written over; name another output"), "{error}");
        }
    }
    assert_eq!(fs::read(&trace).unwrap(), before);
}

#[test]
fn a_filter_keeps_what_is_asked_for_and_the_notes() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, part] = ["t.parquet", "p.parquet"].map(|name| folder.path().join(name));
    let ops = [Op::Object, Op::Block, Op::PageGet, Op::Flush];
    let of = |at: u64| {
        record(100 + at, ["mail", "maps", ""][at as usize % 3], ops[at as usize % 4], at % 50, at % 90, at % 7)
    };
    let records: Vec<_> = (0..1000).map(of).collect();
    write(&trace, &records);
    let check = |what: Filter, keeps: &dyn Fn(&Record) -> bool| {
        filter(&trace, &part, &what, |_, _| {}).unwrap();
        let expected: Vec<_> = records.iter().filter(|r| keeps(r)).cloned().collect();
        assert!(!expected.is_empty() && expected.len() < records.len());
        assert_eq!(all(&part), expected, "{what:?}");
    };
    let at_ns = |s: u64| Some(s * 1_000_000_000);
    let range = |r: &Record| (110_000_000_000..250_000_000_000).contains(&r.time_ns);
    check(Filter { from_ns: at_ns(10), to_ns: at_ns(150), ..Filter::default() }, &range);
    check(Filter { ops: Some(vec![Op::Block, Op::Flush]), ..Filter::default() }, &|r| {
        matches!(r.op, Op::Block | Op::Flush)
    });
    check(Filter { apps: Some(vec!["maps".into(), String::new()]), ..Filter::default() }, &|r| *r.app != *"mail");
    let notes = Reader::open(&part).unwrap().notes();
    assert_eq!((notes["a"].as_str(), notes["fovea.trace.filter"].as_str()), ("b", "apps=maps,"));
    for (what, why) in [
        (Filter::default(), "nothing to filter by"),
        (Filter { from_ns: at_ns(2), to_ns: at_ns(2), ..Filter::default() }, "no time in it"),
        (Filter { sample: Some(0.0), ..Filter::default() }, "take a share above 0"),
        (Filter { apps: Some(vec!["none".into()]), ..Filter::default() }, "none of its 1000 records passes apps=none"),
    ] {
        let untouched = fs::read(&part).unwrap();
        let error = filter(&trace, &part, &what, |_, _| {}).unwrap_err().to_string();
        assert!(error.contains(why) && error.lines().count() == 1, "{error}");
        assert_eq!(fs::read(&part).unwrap(), untouched);
    }
}

/// Every page and object asked for, in order.
fn touched(records: &[Record]) -> Vec<(u64, Op, u64, u64)> {
    let pages = |r: &Record| match r.op {
        Op::Object => 0..1,
        _ => r.offset_bytes / 4096..(r.offset_bytes + r.length_bytes) / 4096,
    };
    records.iter().flat_map(|r| pages(r).map(|page| (r.time_ns, r.op, r.object, page)).collect::<Vec<_>>()).collect()
}

#[test]
fn a_sample_has_all_requests_for_some_objects_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, part] = ["t.parquet", "p.parquet"].map(|name| folder.path().join(name));
    let of = |at: u64| {
        record(at, "", if at % 2 == 0 { Op::Object } else { Op::Block }, at * 7 % 1000 / 2, at * at % 5000, at % 9 + 1)
    };
    let records: Vec<_> = (0..6000).map(of).collect();
    write(&trace, &records);
    let whole = touched(&records);
    let key = |&(_, op, object, page): &(u64, Op, u64, u64)| (op, object, page);
    let mut samples = Vec::new();
    for seed in [1, 2] {
        filter(&trace, &part, &Filter { sample: Some(0.25), seed, ..Filter::default() }, |_, _| {}).unwrap();
        let sampled = touched(&all(&part));
        let drawn: std::collections::BTreeSet<_> = sampled.iter().map(key).collect();
        let expected: Vec<_> = whole.iter().filter(|t| drawn.contains(&key(t))).copied().collect();
        assert_eq!(sampled, expected, "all requests of each that was drawn");
        let distinct: std::collections::BTreeSet<_> = whole.iter().map(key).collect();
        let share = drawn.len() as f64 / distinct.len() as f64;
        assert!((share - 0.25).abs() < 0.02, "{share}");
        samples.push(drawn);
    }
    assert_ne!(samples[0], samples[1], "the seed decides");
}
