// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which records of a trace count as requests, and for which bytes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{file_notes::FileNote, Op, Record};

/// What a replay needs to know of a record.
pub(crate) struct Access<'a> {
    pub time_ns: u64,
    pub op: Op,
    pub space: &'a Arc<str>,
    pub object: u64,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub write: bool,
    pub size_bytes: Option<u64>,
}

impl<'a> Access<'a> {
    pub fn of(record: &'a Record) -> Self {
        Access {
            time_ns: record.time_ns,
            op: record.op,
            space: &record.space,
            object: record.object,
            offset_bytes: record.offset_bytes,
            length_bytes: record.length_bytes,
            write: record.write,
            size_bytes: record.size_bytes,
        }
    }
}

/// What a replay takes of a trace.
pub struct Requests {
    ops: Vec<Op>,
    sizes: HashMap<Arc<str>, HashMap<u64, u64>>,
}

impl Requests {
    /// For a trace with these notes. Without a word on it every kind of request is taken but `page-map`, which tells of pages near
    /// those touched; and of a recording the page cache's requests only, since what is below is the page cache's doing.
    pub fn of(notes: &BTreeMap<String, String>, ops: Option<&[Op]>) -> Requests {
        let recorded = notes.get(FORMAT_KEY).is_some_and(|format| format == FORMAT_RECORDED);
        let usual: &[Op] = match recorded {
            true => &[Op::PageGet, Op::PageFault],
            false => &[Op::Object, Op::Block, Op::PageGet, Op::PageFault],
        };
        let mut sizes: HashMap<Arc<str>, HashMap<u64, u64>> = HashMap::new();
        for file in FileNote::all(notes) {
            if let Some(size) = file.size_bytes {
                sizes.entry(file.space.into()).or_default().insert(file.object, size);
            }
        }
        Requests { ops: ops.unwrap_or(usual).to_vec(), sizes }
    }

    /// Whether the record is one.
    pub fn takes(&self, record: &Record) -> bool {
        self.takes_op(record.op)
    }

    /// Whether records of this operation are.
    pub fn takes_op(&self, op: Op) -> bool {
        self.ops.contains(&op)
    }

    /// Bytes accessed. A read may ask for more than the file has; what is past its end was not read.
    pub fn length_bytes(&self, record: &Record) -> u64 {
        self.length_of(&Access::of(record))
    }

    pub(crate) fn length_of(&self, access: &Access<'_>) -> u64 {
        if !matches!(access.op, Op::PageGet | Op::PageMap) {
            return access.length_bytes;
        }
        let size = self.sizes.get(access.space).and_then(|objects| objects.get(&access.object));
        match size.and_then(|size| size.checked_sub(access.offset_bytes)) {
            // At or past the end: the file was longer then.
            None | Some(0) => access.length_bytes,
            Some(left) => access.length_bytes.min(left),
        }
    }
}

/// Key of the trace's format in the notes.
pub const FORMAT_KEY: &str = "fovea.trace.format";
/// The format of a recording.
pub const FORMAT_RECORDED: &str = "recorded";
