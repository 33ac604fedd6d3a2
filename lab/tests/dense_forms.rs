// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Dense forms that are kept on disk, and foreign traces that are replayed as they are: the same misses as without.

use std::{
    fs,
    path::{Path, PathBuf},
};

use fovea_lab::{
    dense::DenseOptions, import, policy, replay, store::Writer, ImportOptions, Names, Op, Record, ReplayOptions,
};

const RECORDS: u64 = 5000;

/// Objects, pages and what a replay leaves out, in several namespaces.
fn records() -> Vec<Record> {
    let mut state = 11u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut names = Names::default();
    let spaces = ["disk:a", "disk:b", "object", "file:8:1"];
    let mut record = |time_ns| {
        let space = draw(4);
        let op = match (space, draw(40)) {
            (2, _) => Op::Object,
            (3, _) => Op::PageGet,
            (_, 0) => Op::Discard,
            (_, 1) => Op::Flush,
            _ => Op::Block,
        };
        Record {
            time_ns,
            app: names.share(["", "mail", "film"][draw(3) as usize]),
            importance: None,
            op,
            space: names.share(spaces[space as usize]),
            object: if space < 2 { 0 } else { draw(90) },
            offset_bytes: draw(60) * 2048,
            length_bytes: draw(4) * 3000,
            write: draw(3) == 0,
            sync: draw(2) == 0,
            size_bytes: (space == 2).then(|| 100 + draw(900)),
        }
    };
    (0..RECORDS).map(&mut record).collect()
}

fn written(path: &Path, records: &[Record]) -> PathBuf {
    let mut writer = Writer::create(path).unwrap();
    records.iter().for_each(|record| writer.push(record.clone()).unwrap());
    writer.finish(&Default::default()).unwrap();
    path.to_owned()
}

fn options(trace: &Path, dense: DenseOptions) -> ReplayOptions {
    let policies = ["lru", "sieve", "belady"].map(|p| p.parse::<policy::Choice>().unwrap()).to_vec();
    let sizes = ["5%", "200", "40kB"].map(|s| s.parse().unwrap()).to_vec();
    ReplayOptions { trace: trace.to_owned(), policies, sizes, dense, counting: Default::default() }
}

/// Everything that came out, in words.
fn outcome(trace: &Path, dense: DenseOptions) -> String {
    let report = replay(&options(trace, dense), |_, _, _| {}).unwrap();
    let cells: Vec<_> = report
        .outcomes
        .iter()
        .map(|o| (&o.policy, &o.size, o.requests, o.hits, o.request_weight, o.hit_weight))
        .collect();
    format!("{:?} {:?} {cells:?}", report.footprint, report.left_out)
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join(".fovea-dense"));
    entries.map_or(Vec::new(), |entries| entries.map(|e| e.unwrap().path()).collect())
}

fn keeping() -> DenseOptions {
    DenseOptions { keep_requests: Some(0), ..DenseOptions::default() }
}

fn without() -> DenseOptions {
    DenseOptions { keep_requests: None, ..DenseOptions::default() }
}

#[test]
fn a_kept_form_gives_what_the_trace_gives() {
    let folder = tempfile::tempdir().unwrap();
    let trace = written(&folder.path().join("t.parquet"), &records());
    for (n, shape) in [
        DenseOptions::default(),
        DenseOptions { reads_only: true, ..DenseOptions::default() },
        DenseOptions { ops: Some(vec![Op::Object]), ..DenseOptions::default() },
        DenseOptions { column_memory_bytes: 64, ..DenseOptions::default() },
        DenseOptions { repeat: 3, ..DenseOptions::default() },
    ]
    .into_iter()
    .enumerate()
    {
        let expected = outcome(&trace, DenseOptions { keep_requests: None, ..shape.clone() });
        // The first makes the form or takes that of an earlier shape, the second takes it.
        for _ in 0..2 {
            assert_eq!(outcome(&trace, DenseOptions { keep_requests: Some(0), ..shape.clone() }), expected);
        }
        assert_eq!(kept(folder.path()).len(), [1, 2, 3, 3, 3][n], "how it is held and repeated is not its shape");
    }
}

#[test]
fn the_form_is_what_is_read_and_short_traces_keep_none() {
    let folder = tempfile::tempdir().unwrap();
    let trace = written(&folder.path().join("t.parquet"), &records());
    outcome(&trace, DenseOptions::default());
    assert_eq!(kept(folder.path()).len(), 0, "{RECORDS} records are few");
    outcome(&trace, keeping());
    let form = kept(folder.path()).remove(0);
    let before = fs::metadata(&form).unwrap().modified().unwrap();
    outcome(&trace, keeping());
    assert_eq!(fs::metadata(&form).unwrap().modified().unwrap(), before, "taken, and not made again");
}

#[test]
fn a_stale_or_damaged_form_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let all = records();
    let trace = written(&folder.path().join("t.parquet"), &all);
    let expected = outcome(&trace, keeping());
    let form = kept(folder.path()).remove(0);
    let good = fs::read(&form).unwrap();
    let (mut place, mut wrong) = (3, Vec::new());
    for _ in 0..60 {
        place = place * 7_919 % (8 * good.len());
        let mut bytes = good.clone();
        bytes[place / 8] ^= 1 << (place % 8);
        wrong.push(bytes);
        place += 1;
    }
    wrong.extend([good[..good.len() / 2].to_vec(), Vec::new(), vec![0; 100]]);
    for bytes in wrong {
        fs::write(&form, bytes).unwrap();
        assert_eq!(outcome(&trace, keeping()), expected);
        assert_eq!(fs::read(&form).unwrap(), good, "and put in its place");
    }
    written(&trace, &all[..4000]);
    assert_eq!(outcome(&trace, keeping()), outcome(&trace, without()), "another trace under the name");
    assert_eq!(kept(folder.path()), [form], "the old one is gone");
}

#[test]
fn a_foreign_trace_is_replayed_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let rows = records().into_iter().map(|r| format!("{},{},{}\n", r.time_ns, r.object, r.offset_bytes + 1));
    let csv = "time_s,id,size\n".to_owned() + &rows.collect::<String>();
    let input = folder.path().join("t.csv");
    fs::write(&input, &csv).unwrap();
    let packed = folder.path().join("t.csv.zst");
    fs::write(&packed, zstd::encode_all(csv.as_bytes(), 1).unwrap()).unwrap();
    let output = folder.path().join("t.parquet");
    import(&ImportOptions { input: input.clone(), output: output.clone(), ..ImportOptions::default() }, |_, _| {})
        .unwrap();
    let expected = outcome(&output, without());
    for dense in [without(), keeping(), keeping()] {
        assert_eq!(outcome(&input, dense.clone()), expected);
        assert_eq!(outcome(&packed, dense), expected);
    }
    assert_eq!(kept(folder.path()).len(), 2);
    fs::write(&input, "time_s,id,size\n9,1,1\n8,1,1\n").unwrap();
    let error = replay(&options(&input, keeping()), |_, _, _| {}).unwrap_err().to_string();
    assert!(error.contains("line 3: time goes back") && error.contains("import with --order sort"), "{error}");
    fs::write(&input, "no trace at all").unwrap();
    let error = replay(&options(&input, keeping()), |_, _, _| {}).unwrap_err().to_string();
    assert!(error.contains("looks like no format known here") && error.contains("trace import --format"), "{error}");
}

#[test]
fn a_flipped_bit_of_a_trace_is_refused_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let trace = written(&folder.path().join("t.parquet"), &records());
    let good = fs::read(&trace).unwrap();
    let bits = 8 * good.len();
    let mut state = 5usize;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 20) % bits
    };
    // Anywhere, and every bit of the footer's last 40 bytes and of the magic numbers.
    let places = (0..60).map(|_| draw()).chain(0..32).chain(bits - 320..bits).collect::<Vec<_>>();
    for place in places {
        let mut bytes = good.clone();
        bytes[place / 8] ^= 1 << (place % 8);
        fs::write(&trace, bytes).unwrap();
        let error = replay(&options(&trace, keeping()), |_, _, _| {}).err();
        let line = error.unwrap_or_else(|| panic!("bit {place} of {bits} makes no difference")).to_string();
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    let key = good.windows(20).position(|w| w == b"fovea.trace.checksum").unwrap();
    for place in 8 * (key - 2)..8 * (key + 44) {
        let mut bytes = good.clone();
        bytes[place / 8] ^= 1 << (place % 8);
        fs::write(&trace, bytes).unwrap();
        assert!(replay(&options(&trace, keeping()), |_, _, _| {}).is_err(), "bit {place}, at the checksum");
    }
    fs::write(&trace, good).unwrap();
    replay(&options(&trace, keeping()), |_, _, _| {}).unwrap();
}
