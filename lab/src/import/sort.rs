// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sorting records by time in constant memory: sorted runs in temporary trace files, merged at the end.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    store::{Reader, Writer},
    Error, Record, Result,
};

/// Records of a run: about 100 MB.
const RUN_RECORDS: usize = 1 << 20;

/// Runs merged at a time, which bounds open files and memory: each holds one row group.
const MERGE_RUNS: usize = 16;

/// A sorter. Records of the same time stay in the order they came.
pub struct Sorter {
    folder: PathBuf,
    run_records: usize,
    run: Vec<Record>,
    runs: Vec<PathBuf>,
    written: usize,
    scratch: Option<TempDir>,
}

impl Sorter {
    /// Sorts beside the file that will be written.
    pub fn new(output: &Path) -> Self {
        Self::with_runs_of(output, RUN_RECORDS)
    }

    fn with_runs_of(output: &Path, run_records: usize) -> Self {
        let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        Sorter { folder, run_records, run: Vec::new(), runs: Vec::new(), written: 0, scratch: None }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// If a run cannot be written.
    pub fn push(&mut self, record: Record) -> Result<()> {
        self.run.push(record);
        if self.run.len() < self.run_records {
            return Ok(());
        }
        let mut run = std::mem::take(&mut self.run);
        run.sort_by_key(|r| r.time_ns);
        let path = self.next_path()?;
        let mut writer = Writer::create(&path)?;
        for record in run.drain(..) {
            writer.push(record)?;
        }
        writer.finish(&BTreeMap::new())?;
        self.run = run;
        self.runs.push(path);
        Ok(())
    }

    fn next_path(&mut self) -> Result<PathBuf> {
        if self.scratch.is_none() {
            let made = tempfile::Builder::new().prefix(".fovea-sort-").tempdir_in(&self.folder);
            self.scratch = Some(made.map_err(|e| Error::io(&self.folder, e, "make room and import again"))?);
        }
        self.written += 1;
        let folder = self.scratch.as_ref().map_or(Path::new("."), TempDir::path);
        Ok(folder.join(format!("run-{}", self.written)))
    }

    /// Gives all records, sorted.
    ///
    /// # Errors
    /// If a run cannot be read, or the sink fails.
    pub fn finish(mut self, sink: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        self.run.sort_by_key(|r| r.time_ns);
        while self.runs.len() > MERGE_RUNS {
            // Neighbours only, so that records of the same time keep their order.
            let mut merged = Vec::new();
            for group in std::mem::take(&mut self.runs).chunks(MERGE_RUNS) {
                let path = self.next_path()?;
                let mut writer = Writer::create(&path)?;
                merge(group, Vec::new(), &mut |record| writer.push(record))?;
                writer.finish(&BTreeMap::new())?;
                for run in group {
                    std::fs::remove_file(run).map_err(|e| Error::io(run, e, "make room and import again"))?;
                }
                merged.push(path);
            }
            self.runs = merged;
        }
        merge(&self.runs, std::mem::take(&mut self.run), sink)
    }
}

struct Run {
    reader: Option<Reader>,
    batch: std::vec::IntoIter<Record>,
}

impl Run {
    fn next(&mut self) -> Result<Option<Record>> {
        loop {
            if let Some(record) = self.batch.next() {
                return Ok(Some(record));
            }
            match self.reader.as_mut().map(Reader::batch).transpose()?.flatten() {
                Some(batch) => self.batch = batch.into_iter(),
                None => return Ok(None),
            }
        }
    }
}

fn merge(paths: &[PathBuf], last: Vec<Record>, sink: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
    let mut runs = Vec::new();
    for path in paths {
        runs.push(Run { reader: Some(Reader::open(path)?), batch: Vec::new().into_iter() });
    }
    runs.push(Run { reader: None, batch: last.into_iter() });
    let mut heads: Vec<Option<Record>> = Vec::new();
    let mut queue = BinaryHeap::new();
    for (at, run) in runs.iter_mut().enumerate() {
        let head = run.next()?;
        queue.extend(head.as_ref().map(|r| Reverse((r.time_ns, at))));
        heads.push(head);
    }
    while let Some(Reverse((_, at))) = queue.pop() {
        let next = runs[at].next()?;
        queue.extend(next.as_ref().map(|r| Reverse((r.time_ns, at))));
        if let Some(record) = std::mem::replace(&mut heads[at], next) {
            sink(record)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn runs_merge_to_a_stable_sort(times in prop::collection::vec(0..20u64, 0..200)) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::with_runs_of(&folder.path().join("out"), 5);
            for (object, &time_ns) in times.iter().enumerate() {
                sorter
                    .push(Record {
                        time_ns,
                        app: "".into(),
                        importance: None,
                        op: Op::Object,
                        space: "object".into(),
                        object: object as u64,
                        offset_bytes: 0,
                        length_bytes: 1,
                        write: false,
                        sync: false,
                        size_bytes: Some(1),
                    })
                    .unwrap();
            }
            let mut sorted = Vec::new();
            sorter.finish(&mut |record| { sorted.push((record.time_ns, record.object)); Ok(()) }).unwrap();
            let mut expected: Vec<_> = times.iter().enumerate().map(|(object, &time)| (time, object as u64)).collect();
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }
}
