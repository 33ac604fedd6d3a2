// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The recordings of real programs in `samples/`: what they hold, and their replay against a slow and obvious LRU list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fovea_lab::store::Reader;
use fovea_lab::{info, replay, FileNote, Op, Record, ReplayOptions, Requests, Size, PAGE_BYTES};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name)
}

fn records(path: &Path) -> (Vec<Record>, BTreeMap<String, String>) {
    let mut reader = Reader::open(path).unwrap();
    let notes = reader.notes();
    (std::iter::from_fn(|| reader.batch().unwrap()).flatten().collect(), notes)
}

/// Misses of a list of pages, from the records as they stand: reads up to the end of the file, and faults.
fn slow_lru(records: &[Record], notes: &BTreeMap<String, String>, capacity_pages: usize) -> (u64, u64) {
    let sizes: BTreeMap<(String, u64), u64> =
        FileNote::all(notes).into_iter().filter_map(|f| Some(((f.space, f.object), f.size_bytes?))).collect();
    let (mut list, mut requests, mut misses) = (Vec::new(), 0, 0);
    for r in records.iter().filter(|r| matches!(r.op, Op::PageGet | Op::PageFault)) {
        let mut end = r.offset_bytes + r.length_bytes;
        if let Some(&size) = sizes.get(&(r.space.to_string(), r.object)).filter(|&&size| size > r.offset_bytes) {
            end = end.min(size);
        }
        for page in r.offset_bytes / PAGE_BYTES..end.div_ceil(PAGE_BYTES) {
            requests += 1;
            let key = (r.space.clone(), r.object, page);
            match list.iter().position(|known| *known == key) {
                Some(at) => drop(list.remove(at)),
                None => misses += 1,
            }
            list.push(key);
            if list.len() > capacity_pages {
                list.remove(0);
            }
        }
    }
    (requests, misses)
}

/// Records by operation, requests, and misses of LRU with 256 KiB, 1 MiB and all the memory there is.
fn holds(name: &str, operations: &[(&str, u64)], requests: u64, misses: [u64; 3]) {
    let path = sample(name);
    assert!(path.metadata().unwrap().len() < 200_000, "{name}: samples are small");
    let found = info(&path, |_, _| {}).unwrap();
    let (all, notes) = records(&path);
    let expected: BTreeMap<String, u64> = operations.iter().map(|&(op, n)| (op.to_owned(), n)).collect();
    let sizes = [256 << 10, 1 << 20, 1 << 30];
    let slow: Vec<_> = sizes.iter().map(|size| slow_lru(&all, &notes, (size / PAGE_BYTES) as usize)).collect();
    let policies = ["lru", "sieve", "s3-fifo", "belady"].map(|policy| policy.parse().unwrap()).to_vec();
    let options = ReplayOptions {
        trace: path,
        policies,
        sizes: sizes.map(Size::Bytes).to_vec(),
        dense: Default::default(),
        counting: Default::default(),
    };
    let report = replay(&options, |_, _, _| {}).unwrap();
    println!("{name}: {:?} {} {slow:?}", found.operations, found.requests);
    assert_eq!(found.operations, expected, "{name}");
    assert_eq!(found.requests, requests, "{name}");
    assert_eq!(slow, misses.map(|misses| (requests, misses)), "{name}");
    let lru: Vec<u64> = report.outcomes.iter().step_by(4).map(|outcome| outcome.misses()).collect();
    assert_eq!(lru, misses, "{name}");
    for at_size in report.outcomes.chunks(4) {
        assert!(at_size.iter().all(|outcome| outcome.misses() >= at_size[3].misses()), "{name}: Belady is the least");
    }
    assert_eq!(found.footprint_objects, misses[2], "{name}");
    assert_eq!(notes["fovea.record.lost-events"], "0", "{name}");
    assert_eq!(notes["fovea.record.partial"], "false", "{name}");
    assert!(found.backwards == 0 && found.files.keys().any(|file| file.starts_with("/mnt/data/")), "{name}");
    // What the page cache is asked may be added, and so may what is below it.
    let with_map = Requests::of(&notes, Some(&[Op::PageGet, Op::PageFault, Op::PageMap]));
    let mapped = all.iter().filter(|r| with_map.takes(r)).count()
        - all.iter().filter(|r| Requests::of(&notes, None).takes(r)).count();
    assert_eq!(mapped as u64, expected["page-map"], "{name}");
}

#[test]
fn python() {
    let operations = [
        ("block", 357),
        ("page-add", 3064),
        ("page-delete", 153),
        ("page-fault", 162),
        ("page-get", 4071),
        ("page-map", 329),
    ];
    holds("python.parquet", &operations, 4406, [382, 382, 382]);
}

#[test]
fn git() {
    let operations = [("block", 675), ("page-add", 1935), ("page-fault", 452), ("page-get", 19), ("page-map", 1462)];
    holds("git.parquet", &operations, 471, [455, 455, 455]);
}

#[test]
fn sqlite() {
    let operations = [
        ("block", 403),
        ("page-add", 1702),
        ("page-delete", 32),
        ("page-fault", 68),
        ("page-get", 1318),
        ("page-map", 169),
    ];
    holds("sqlite.parquet", &operations, 1386, [1339, 969, 498]);
}
