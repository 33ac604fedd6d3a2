// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A part of a trace as a trace of its own.

use std::{collections::BTreeMap, path::Path};

use crate::{
    dense::LONGEST_BYTES,
    output::distinct,
    store::{Checksum, Reader, Writer},
    Error, Op, Record, Result, PAGE_BYTES,
};

/// What is kept: what all of these keep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Records so many ns after the first record, or later.
    pub from_ns: Option<u64>,
    /// Records earlier than so many ns after the first record.
    pub to_ns: Option<u64>,
    /// Records of these operations.
    pub ops: Option<Vec<Op>>,
    /// Records of these apps.
    pub apps: Option<Vec<String>>,
    /// All requests for such a share of the objects and pages, drawn by a hash of their number.
    pub sample: Option<f64>,
    /// Decides which objects are drawn.
    pub seed: u64,
}

/// Key of the note that tells what was kept.
const KEY: &str = "fovea.trace.filter";

impl Filter {
    fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Usage(what));
        if *self == (Filter { seed: self.seed, ..Filter::default() }) {
            return wrong("nothing to filter by; name --from, --to, --ops, --apps or --sample".into());
        }
        if let (Some(from), Some(to)) = (self.from_ns, self.to_ns) {
            if from >= to {
                return wrong(format!("from {} s to {} s: no time in it", from as f64 / 1e9, to as f64 / 1e9));
            }
        }
        match self.sample {
            Some(share) if !(share > 0.0 && share <= 1.0) => {
                wrong(format!("sample {share}: take a share above 0 and up to 1, or 10%"))
            }
            _ => Ok(()),
        }
    }

    fn draws(&self, share: f64, record: &Record, page: u64) -> bool {
        let mut hash = Checksum::default();
        for number in [self.seed, record.object, page] {
            hash.add(&number.to_le_bytes());
        }
        hash.add(record.space.as_bytes());
        // 53 bits, as many as the share has.
        ((hash.finish() >> 11) as f64) < share * (1u64 << 53) as f64
    }

    /// The pieces of a record that are kept; `first_ns` is the trace's first time.
    fn pieces(&self, record: Record, first_ns: u64) -> Vec<Record> {
        let at = record.time_ns.saturating_sub(first_ns);
        let kept = self.from_ns.is_none_or(|from| at >= from)
            && self.to_ns.is_none_or(|to| at < to)
            && self.ops.as_ref().is_none_or(|ops| ops.contains(&record.op))
            && self.apps.as_ref().is_none_or(|apps| apps.iter().any(|app| **app == *record.app));
        if !kept {
            return Vec::new();
        }
        let Some(share) = self.sample else { return vec![record] };
        // Whole objects are drawn, and pages. What has neither is no request, and stays.
        let has_pages = !matches!(record.op, Op::Object | Op::Discard | Op::Flush);
        let last = record.offset_bytes.checked_add(record.length_bytes.saturating_sub(1));
        match (record.op, last) {
            (Op::Object, _) => Some(record).filter(|r| self.draws(share, r, 0)).into_iter().collect(),
            (_, Some(last)) if has_pages && (1..=LONGEST_BYTES).contains(&record.length_bytes) => {
                self.pages(share, &record, last)
            }
            _ => vec![record],
        }
    }

    /// A record cut into its pages that are drawn; neighbours stay together.
    fn pages(&self, share: f64, record: &Record, last: u64) -> Vec<Record> {
        let mut pieces: Vec<Record> = Vec::new();
        for page in record.offset_bytes / PAGE_BYTES..=last / PAGE_BYTES {
            if !self.draws(share, record, page) {
                continue;
            }
            let start = record.offset_bytes.max(page * PAGE_BYTES);
            let length_bytes = last.min(page * PAGE_BYTES + (PAGE_BYTES - 1)) - start + 1;
            match pieces.last_mut() {
                Some(piece) if piece.offset_bytes + piece.length_bytes == start => piece.length_bytes += length_bytes,
                _ => pieces.push(Record { offset_bytes: start, length_bytes, ..record.clone() }),
            }
        }
        pieces
    }

    fn note(&self) -> String {
        let seconds = |ns: Option<u64>| ns.map(|ns| (ns as f64 / 1e9).to_string());
        let ops = self.ops.as_ref().map(|ops| ops.iter().map(|op| op.name()).collect::<Vec<_>>().join(","));
        let parts = [
            ("from_s", seconds(self.from_ns)),
            ("to_s", seconds(self.to_ns)),
            ("ops", ops),
            ("apps", self.apps.as_ref().map(|apps| apps.join(","))),
            ("sample", self.sample.map(|share| share.to_string())),
            ("seed", self.sample.map(|_| self.seed.to_string())),
        ];
        let parts: Vec<_> = parts.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?))).collect();
        parts.join(" ")
    }
}

/// Writes what the filter keeps of a trace file to another, with the trace's notes; `progress` is told (records read, of). Returns the
/// records written.
///
/// # Errors
/// If the trace cannot be read, nothing of it is kept, or the file cannot be written.
pub fn filter(trace: &Path, output: &Path, filter: &Filter, progress: impl Fn(u64, u64)) -> Result<u64> {
    filter.check()?;
    distinct(trace, output)?;
    let mut reader = Reader::open(trace)?;
    let (total, mut notes) = (reader.records(), reader.notes());
    let mut writer = Writer::create(output)?;
    let (mut read, mut first_ns) = (0, None);
    while let Some(batch) = reader.batch()? {
        for record in batch {
            read += 1;
            let first_ns = *first_ns.get_or_insert(record.time_ns);
            for piece in filter.pieces(record, first_ns) {
                writer.push(piece)?;
            }
        }
        progress(read, total);
    }
    let records = writer.records();
    if records == 0 {
        return Err(Error::Content {
            path: trace.display().to_string(),
            place: "the whole trace".into(),
            what: format!("none of its {read} records passes {}", filter.note()),
            mend: "`fovea trace info` tells what it holds; nothing was written".into(),
        });
    }
    notes.retain(|key, _| key != crate::store::VERSION_KEY);
    let before: Option<String> = notes.remove(KEY);
    let all: Vec<_> = before.into_iter().chain([filter.note()]).collect();
    notes.insert(KEY.into(), all.join("; "));
    writer.finish(&BTreeMap::from_iter(notes))?;
    Ok(records)
}
