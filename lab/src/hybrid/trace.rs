// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Requests for the hybrid memory, from a trace file.

use std::{collections::HashMap, path::Path};

use fovea_apps::Importance;

use super::Request;
use crate::{dense::LONGEST_BYTES, store, Error, Record, Requests, Result, PAGE_BYTES};

/// Requests with dense page numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HybridTrace {
    /// In order.
    pub requests: Vec<Request>,
    /// Distinct pages: the footprint.
    pub pages: u32,
    /// From its first request to its last, by its own clock; 0 if it tells no times.
    pub span_ns: u64,
}

/// Whether the record is a foreground app's: as the trace says, or if it does not, whether the app's name holds one of `names`.
pub fn foreground_of(record: &Record, names: &[String]) -> bool {
    match record.importance {
        Some(importance) => importance == Importance::Foreground,
        None => names.iter().any(|name| record.app.contains(name.as_str())),
    }
}

impl HybridTrace {
    /// Reads a trace file; apps whose names hold one of `foreground` are in front where the trace does not tell.
    ///
    /// # Errors
    /// If the file cannot be read, or has no request of a known foreground app.
    pub fn open(path: &Path, foreground: &[String]) -> Result<Self> {
        let mut trace = HybridTrace::default();
        let mut known: HashMap<(std::sync::Arc<str>, u64, u64), u32> = HashMap::new();
        let mut reader = store::Reader::open(path)?;
        let taken = Requests::of(&reader.notes(), None);
        let (mut place, mut times_ns) = (0, [u64::MAX, 0]);
        while let Some(records) = reader.batch()? {
            for record in records {
                place += 1;
                if !taken.takes(&record) || record.length_bytes == 0 {
                    continue;
                }
                times_ns = [times_ns[0].min(record.time_ns), times_ns[1].max(record.time_ns)];
                let length_bytes = taken.length_bytes(&record);
                let last_byte = record.offset_bytes.checked_add(length_bytes - 1);
                let Some(last_byte) = last_byte.filter(|_| length_bytes <= LONGEST_BYTES) else {
                    return Err(Error::Content {
                        path: path.display().to_string(),
                        place: format!("record {place}"),
                        what: format!("{length_bytes} bytes at {}", record.offset_bytes),
                        mend: format!("take a trace whose requests are at most {LONGEST_BYTES} bytes"),
                    });
                };
                let front = foreground_of(&record, foreground);
                for page in record.offset_bytes / PAGE_BYTES..=last_byte / PAGE_BYTES {
                    let next = known.len() as u32;
                    let page = *known.entry((record.space.clone(), record.object, page)).or_insert(next);
                    trace.requests.push(Request { page, foreground: front, write: record.write });
                }
            }
        }
        trace.pages = known.len() as u32;
        trace.span_ns = times_ns[1].saturating_sub(times_ns[0]);
        if !trace.requests.iter().any(|r| r.foreground) {
            return Err(Error::Usage(format!(
                "{}: no request of a foreground app; name its apps with --foreground, `fovea trace info` lists them",
                path.display()
            )));
        }
        Ok(trace)
    }
}
