// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sweeps: the same result whatever the threads, resumed or not, and what a full disk leaves.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use fovea_lab::{import, policy, replay, sweep, Error, ImportOptions, ReplayOptions, SweepOptions, SweepReport};

/// A trace with loops, hot objects and different sizes, from a fixed recurrence.
fn trace(folder: &Path, name: &str, seed: u64) -> PathBuf {
    let mut state = seed;
    let mut text = String::from("time_s,id,size\n");
    for time in 0..4000u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = state >> 33;
        let id = if draw % 3 == 0 { time % 150 } else { draw % 7 * (draw % 41) };
        text += &format!("{time},{id},{}\n", id % 13 * 100 + 1);
    }
    let input = folder.join(format!("{name}.csv"));
    fs::write(&input, text).unwrap();
    let output = folder.join(format!("{name}.parquet"));
    import(&ImportOptions { input, output: output.clone(), ..ImportOptions::default() }, |_, _| {}).unwrap();
    output
}

fn options(folder: &Path, output: &str, threads: usize) -> SweepOptions {
    SweepOptions {
        traces: vec![trace(folder, "a", 1), trace(folder, "b", 2)],
        policies: policy::all(),
        sizes: ["10", "50%", "5%B", "20kB"].map(|s| s.parse().unwrap()).to_vec(),
        output: folder.join(output),
        threads: Some(threads),
        dense: Default::default(),
        counting: Default::default(),
    }
}

fn files(options: &SweepOptions) -> (Vec<u8>, Vec<u8>) {
    let read = |suffix: &str| fs::read(format!("{}{suffix}", options.output.display())).unwrap();
    (read(".json"), read(".parquet"))
}

#[test]
fn results_do_not_depend_on_the_threads_nor_on_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let one = options(folder.path(), "one", 1);
    let lines = Mutex::new(Vec::new());
    let journal = folder.path().join("one.partial.jsonl");
    // The journal as an interruption would leave it, at every step.
    let report = sweep(&one, |_, _| lines.lock().unwrap().push(fs::read(&journal).unwrap())).unwrap();
    assert_eq!(report.cells.len(), 2 * 4 * policy::ALL.len());
    assert!(!journal.exists());
    let expected = files(&one);
    for threads in [2, 4] {
        let more = options(folder.path(), "more", threads);
        sweep(&more, |_, _| {}).unwrap();
        assert_eq!(files(&more), expected, "{threads} threads");
    }
    let lines = lines.into_inner().unwrap();
    for interrupted in [&lines[0], &lines[5], &lines[lines.len() / 2], lines.last().unwrap()] {
        let resumed = options(folder.path(), "resumed", 2);
        let cut = [interrupted.as_slice(), b"{\"key\":\"half a li"].concat();
        fs::write(folder.path().join("resumed.partial.jsonl"), cut).unwrap();
        let report = sweep(&resumed, |_, _| {}).unwrap();
        assert_eq!(report.resumed, interrupted.iter().filter(|&&b| b == b'\n').count());
        assert_eq!(files(&resumed), expected);
    }
}

/// What came of a sweep, its journal, and what that held when the last cell was finished.
fn swept(options: &SweepOptions) -> (SweepReport, PathBuf, Vec<u8>) {
    let journal = options.output.with_extension("partial.jsonl");
    let last = Mutex::new(Vec::new());
    let report = sweep(options, |_, _| *last.lock().unwrap() = fs::read(&journal).unwrap()).unwrap();
    (report, journal, last.into_inner().unwrap())
}

#[test]
fn a_changed_trace_is_computed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let sweep_options = SweepOptions {
        traces: vec![trace(folder.path(), "a", 1)],
        sizes: vec!["10".parse().unwrap()],
        ..options(folder.path(), "out", 1)
    };
    let (_, journal, whole) = swept(&sweep_options);
    fs::write(journal, whole).unwrap();
    trace(folder.path(), "a", 3);
    assert_eq!(sweep(&sweep_options, |_, _| {}).unwrap().resumed, 0);
}

#[test]
fn another_program_s_cells_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let sweep_options = SweepOptions {
        traces: vec![trace(folder.path(), "a", 1)],
        sizes: vec!["10".parse().unwrap()],
        ..options(folder.path(), "out", 1)
    };
    let (report, journal, whole) = swept(&sweep_options);
    // What the journal holds of a program is the content of its file.
    let mut content = fovea_lab::store::Checksum::default();
    content.add(&fs::read(std::env::current_exe().unwrap()).unwrap());
    let ours = format!("{:016x}", content.finish());
    let text = String::from_utf8(whole.clone()).unwrap();
    assert!(text.lines().all(|line| line.contains(&ours)), "{text}");
    // And the number of the sources, the core's C among them (tests/sources.rs).
    let (_, sources) = report.document.version.split_once('+').unwrap();
    assert!(text.lines().all(|line| line.contains(sources)), "{text}");
    for (journal_text, taken) in [
        (whole, report.cells.len()),
        (text.replace(&ours, "0123456789abcdef").into(), 0),
        (text.replace(sources, "0123456789abcdef").into(), 0),
    ] {
        fs::write(&journal, journal_text).unwrap();
        assert_eq!(sweep(&sweep_options, |_, _| {}).unwrap().resumed, taken);
    }
}

#[test]
fn two_sweeps_to_one_output_refuse_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let one = options(folder.path(), "one", 1);
    let refusals = Mutex::new(Vec::new());
    sweep(&one, |_, _| {
        let error = sweep(&one, |_, _| {}).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        refusals.lock().unwrap().push(error.to_string());
    })
    .unwrap();
    let refusals = refusals.into_inner().unwrap();
    assert!(!refusals.is_empty());
    assert!(refusals.iter().all(|line| line.contains("another sweep writes there")), "{refusals:?}");
    assert_eq!(sweep(&one, |_, _| {}).unwrap().resumed, 0, "and the next one may");
}

#[test]
fn results_tell_what_they_were_made_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = options(folder.path(), "one", 1);
    one.dense.reads_only = true;
    let document = sweep(&one, |_, _| {}).unwrap().document;
    let contents: Vec<_> = document.inputs.iter().map(|input| input.xxh64.as_str()).collect();
    assert_eq!(document.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), ["a.parquet", "b.parquet"]);
    assert!(contents[0] != contents[1] && contents.iter().all(|c| c.len() == 16), "{contents:?}");
    assert_eq!(document.options["reads_only"], "true");
    assert!(document.version.starts_with("0."), "{}", document.version);
    let replayed = replay(
        &ReplayOptions {
            trace: one.traces[0].clone(),
            policies: policy::all(),
            sizes: one.sizes,
            dense: one.dense,
            counting: Default::default(),
        },
        |_, _, _| {},
    );
    let replayed = replayed.unwrap().document();
    assert_eq!(replayed.inputs, document.inputs[..1]);
    assert_eq!((replayed.options, replayed.version), (document.options, document.version));
}

#[test]
fn a_full_disk_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let full = options(folder.path(), "full", 2);
    std::os::unix::fs::symlink("/dev/full", folder.path().join("full.partial.jsonl")).unwrap();
    let error = sweep(&full, |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    let line = error.to_string();
    assert!(
        line.contains("no space left") && line.contains("partial") && line.contains("run the same sweep again"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    assert!(!folder.path().join("full.json").exists(), "no half result under the name of a whole one");
}

#[test]
fn nonsense_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let good = options(folder.path(), "out", 1);
    let twice = vec![good.traces[0].clone(); 2];
    for (wrong, why) in [
        (SweepOptions { policies: Vec::new(), ..good.clone() }, "no policy named"),
        (SweepOptions { sizes: Vec::new(), ..good.clone() }, "no size named"),
        (SweepOptions { traces: Vec::new(), ..good.clone() }, "no trace named"),
        (SweepOptions { traces: twice, ..good.clone() }, "two traces are named a"),
        (SweepOptions { threads: Some(0), ..good.clone() }, "no thread to work"),
        (SweepOptions { policies: vec!["lru".parse().unwrap(); 2], ..good.clone() }, "policy lru: named twice"),
    ] {
        let error = sweep(&wrong, |_, _| {}).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().starts_with(why) || error.to_string().contains(why), "{error}");
    }
}
