// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Finished cells of a sweep that is not yet whole: a line of JSON each, so that an interrupted sweep goes on where it was.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::{
    dense::{Dense, DenseOptions},
    replay::{Counting, Interval, Outcome},
    store::checksum_of,
    Error, Result, Weight,
};

/// One policy at one size on one trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The trace's name.
    pub trace: String,
    /// The policy and its parameters.
    pub policy: String,
    /// The size as asked for.
    pub size: String,
    /// The size on this trace.
    pub capacity: u64,
    /// Whether capacity and weights count bytes, not objects.
    pub by_bytes: bool,
    /// Distinct objects of the trace.
    pub footprint_objects: u64,
    /// Their bytes.
    pub footprint_bytes: u64,
    /// Requests.
    pub requests: u64,
    /// Of them, served from the cache.
    pub hits: u64,
    /// Weight of all requests.
    pub request_weight: u64,
    /// Weight of those served from the cache.
    pub hit_weight: u64,
    /// Requests before those that are counted.
    #[serde(default, skip_serializing_if = "none")]
    pub warm_up_requests: u64,
    /// The same by interval, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
}

fn none(count: &u64) -> bool {
    *count == 0
}

impl Cell {
    /// What came of a replay of the trace of that name.
    pub fn new(trace: &str, outcome: &Outcome, dense: &Dense) -> Self {
        Cell {
            trace: trace.into(),
            policy: outcome.policy.clone(),
            size: outcome.size.clone(),
            capacity: outcome.capacity.amount,
            by_bytes: outcome.capacity.weight == Weight::Bytes,
            footprint_objects: dense.footprint().objects,
            footprint_bytes: dense.footprint().bytes,
            requests: outcome.requests,
            hits: outcome.hits,
            request_weight: outcome.request_weight,
            hit_weight: outcome.hit_weight,
            warm_up_requests: outcome.warm_up_requests,
            intervals: outcome.intervals.clone(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    #[serde(flatten)]
    cell: Cell,
}

/// What makes a cell's trace the same: the file's content, how it is made dense, what is counted, and the program.
pub fn trace_key(content: u64, dense: &DenseOptions, counting: &Counting) -> String {
    let counted: Vec<_> = counting.options().iter().map(|(name, value)| format!("/{name}={value}")).collect();
    format!("{content:016x}/{}/{}/{}{}", dense.shape(), dense.repeat.max(1), program(), counted.concat())
}

/// The running program, by its content: a commit does not tell what else was edited when it was built.
fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| match checksum_of(Path::new("/proc/self/exe")) {
        Ok(content) => format!("{content:016x}/{}", env!("FOVEA_LAB_SOURCES")),
        // A program that cannot be told from others takes nothing over.
        Err(_) => format!("{}/{:?}", std::process::id(), std::time::SystemTime::now()),
    })
}

/// Whether this process got the lock; a file system that has none lets everybody in.
fn lock(file: &File) -> bool {
    !matches!(flock(file, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK))
}

/// The journal.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    cells: HashMap<(String, String, String), Cell>,
    kept: usize,
}

impl Drop for Journal {
    /// Unlocks it by name: a child that another thread is just starting holds a copy of the descriptor, and by that the lock.
    fn drop(&mut self) {
        // Then it ends with the file at the latest.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Journal {
    /// Opens the journal of an interrupted sweep, or starts one. A last line that was cut short is dropped.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, e, "nothing was computed yet; make room and run the sweep again");
        let mut file = loop {
            let file =
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(failed)?;
            if !lock(&file) {
                return Err(Error::Usage(format!(
                    "{}: another sweep writes there; wait for its end, or name another --output",
                    path.display()
                )));
            }
            // The one before may have ended, and removed its journal, between the two.
            let (ours, there) = (file.metadata().map_err(failed)?, std::fs::metadata(path));
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
                break file;
            }
        };
        let (mut cells, mut length) = (HashMap::new(), 0);
        if file.metadata().map_err(failed)?.is_file() {
            let mut text = Vec::new();
            file.read_to_end(&mut text).map_err(failed)?;
            for line in text.split_inclusive(|&b| b == b'\n') {
                let whole = line.ends_with(b"\n").then(|| serde_json::from_slice::<Line>(line).ok()).flatten();
                let Some(Line { key, cell }) = whole else { break };
                length += line.len() as u64;
                cells.insert((key, cell.policy.clone(), cell.size.clone()), cell);
            }
            file.set_len(length).map_err(failed)?;
            file.seek(SeekFrom::Start(length)).map_err(failed)?;
        }
        let kept = cells.len();
        Ok(Journal { path: path.to_owned(), file, length, cells, kept })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A finished cell, under the name that the trace has now.
    pub(super) fn take(&mut self, key: &str, trace: &str, policy: &str, size: &str) -> Option<Cell> {
        let cell = self.cells.remove(&(key.to_owned(), policy.to_owned(), size.to_owned()))?;
        Some(Cell { trace: trace.into(), ..cell })
    }

    /// Keeps a cell. If that fails the journal is cut back to whole lines.
    pub(super) fn append(&mut self, key: &str, cell: &Cell) -> Result<()> {
        let mut line = serde_json::to_vec(&Line { key: key.into(), cell: cell.clone() }).expect("a cell serialises");
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line).and_then(|()| self.file.sync_data()) {
            let restored = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            // Whatever else fails now, the next start drops a line cut short.
            drop(restored);
            let mend = format!(
                "the results are partial: {} finished cells are kept there; make room and run the same sweep again to go on",
                self.kept
            );
            return Err(Error::io(&self.path, error, &mend));
        }
        self.length += line.len() as u64;
        self.kept += 1;
        Ok(())
    }

    pub(super) fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(|e| Error::io(&self.path, e, "remove it by hand"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(policy: &str) -> Cell {
        Cell {
            trace: "t".into(),
            policy: policy.into(),
            size: "10".into(),
            capacity: 10,
            by_bytes: false,
            footprint_objects: 1,
            footprint_bytes: 1,
            requests: 2,
            hits: 1,
            request_weight: 2,
            hit_weight: 1,
            warm_up_requests: 0,
            intervals: Vec::new(),
        }
    }

    #[test]
    fn whole_lines_survive_and_a_cut_one_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal = Journal::open(&path).unwrap();
        journal.append("k", &cell("lru")).unwrap();
        journal.append("k", &cell("fifo")).unwrap();
        drop(journal);
        let text = std::fs::read(&path).unwrap();
        for cut in 0..text.len() {
            std::fs::write(&path, &text[..cut]).unwrap();
            let mut journal = Journal::open(&path).unwrap();
            let lines = text[..cut].iter().filter(|&&b| b == b'\n').count();
            assert_eq!(journal.kept, lines, "cut at {cut}");
            journal.append("k", &cell("arc")).unwrap();
            let copy_of_a_child = journal.file.try_clone().unwrap();
            drop(journal);
            let mut again = Journal::open(&path).unwrap();
            assert_eq!(again.kept, lines + 1);
            assert_eq!(again.take("k", "t", "arc", "10"), Some(cell("arc")));
            assert_eq!(again.take("other", "t", "lru", "10"), None);
            drop(copy_of_a_child);
        }
    }
}
