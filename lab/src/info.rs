// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a trace file holds.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::Arc,
};

use serde::Serialize;

use crate::{
    dense::{Dense, DenseOptions},
    file_notes::{FileNote, FILES_KEY},
    import::Jumps,
    store::Reader,
    Requests, Result,
};

/// What a trace file holds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TraceInfo {
    /// Records.
    pub records: u64,
    /// Time of the earliest record.
    pub first_ns: u64,
    /// Time of the latest record.
    pub last_ns: u64,
    /// Records earlier than the one before them.
    pub backwards: u64,
    /// Where time jumps ahead.
    #[serde(skip_serializing_if = "Jumps::is_none")]
    pub jumps: Jumps,
    /// Records that write.
    pub writes: u64,
    /// Records that somebody waits for.
    pub syncs: u64,
    /// Bytes of all records.
    pub bytes: u64,
    /// Records by operation.
    pub operations: BTreeMap<String, u64>,
    /// Records by namespace.
    pub spaces: BTreeMap<String, u64>,
    /// Records by app; the empty name is those without one.
    pub apps: BTreeMap<String, u64>,
    /// Requests that a replay makes of the trace.
    pub requests: u64,
    /// Distinct objects or pages among them.
    pub footprint_objects: u64,
    /// Their bytes.
    pub footprint_bytes: u64,
    /// Records of the page cache by file, of a recording; by number where no name was found.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, u64>,
    /// Notes of the importer or the recorder, without the table of files.
    pub notes: BTreeMap<String, String>,
}

/// Reads a trace file through and tells what it holds; `progress` is told (records read, of).
///
/// # Errors
/// If the file cannot be read or is no trace file.
pub fn info(trace: &Path, progress: impl Fn(u64, u64)) -> Result<TraceInfo> {
    let mut reader = Reader::open(trace)?;
    let total = 2 * reader.records();
    let mut info = TraceInfo { notes: reader.notes(), first_ns: u64::MAX, ..TraceInfo::default() };
    let files = FileNote::all(&info.notes);
    info.notes.remove(FILES_KEY);
    let mut by_file: HashMap<(Arc<str>, u64), u64> = HashMap::new();
    let mut before_ns = 0;
    while let Some(batch) = reader.batch()? {
        for record in &batch {
            info.records += 1;
            info.first_ns = info.first_ns.min(record.time_ns);
            info.last_ns = info.last_ns.max(record.time_ns);
            info.backwards += u64::from(record.time_ns < before_ns);
            info.jumps.look(info.records, before_ns, record.time_ns);
            before_ns = record.time_ns;
            info.writes += u64::from(record.write);
            info.syncs += u64::from(record.sync);
            if !files.is_empty() && record.space.starts_with("file:") {
                *by_file.entry((record.space.clone(), record.object)).or_default() += 1;
            }
            info.bytes = info.bytes.saturating_add(record.length_bytes);
            for (counts, name) in [
                (&mut info.operations, record.op.name()),
                (&mut info.spaces, &*record.space),
                (&mut info.apps, &*record.app),
            ] {
                match counts.get_mut(name) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(name.to_owned(), 1);
                    }
                }
            }
        }
        progress(info.records, total);
    }
    info.first_ns = info.first_ns.min(info.last_ns);
    for file in files {
        // Two numbers may have had the same name, one after the other.
        let Some(count) = by_file.remove(&(file.space.as_str().into(), file.object)) else { continue };
        let name = file.path.unwrap_or_else(|| format!("{} {}", file.space, file.object));
        *info.files.entry(name).or_default() += count;
    }
    let requests = Requests::of(&info.notes, None);
    if info.operations.keys().any(|op| op.parse().is_ok_and(|op| requests.takes_op(op))) {
        let dense = Dense::open(trace, &DenseOptions::default(), |records| progress(info.records + records, total))?;
        info.requests = dense.requests();
        info.footprint_objects = dense.footprint().objects;
        info.footprint_bytes = dense.footprint().bytes;
    }
    Ok(info)
}
