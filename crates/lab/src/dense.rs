// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A trace made dense: every object or page gets a number once, so that replay needs no hashing. Short traces stay in memory,
//! long ones go to an unnamed temporary file; memory then grows with the distinct objects only.

mod column;

use std::{collections::BTreeMap, sync::Arc};

use hashbrown::HashMap;

pub use column::Column;

use crate::{policy::NEVER, size::Footprint, store, Error, Op, Record, Requests, Result, PAGE_BYTES};

/// Requests handed to a policy at a time: 256 KiB a column, which stays in the second-level cache.
pub const CHUNK_REQUESTS: usize = 65_536;

/// How a trace is made dense.
#[derive(Clone, Debug)]
pub struct DenseOptions {
    /// Leave writes out.
    pub reads_only: bool,
    /// Replay the trace so many times in a row.
    pub repeat: u64,
    /// Take these records as requests; without a word on it, those that [`Requests::of`](crate::Requests::of) names.
    pub ops: Option<Vec<Op>>,
    /// Memory a column may take before it goes to a temporary file.
    pub column_memory_bytes: u64,
}

impl Default for DenseOptions {
    fn default() -> Self {
        DenseOptions { reads_only: false, repeat: 1, ops: None, column_memory_bytes: 256 << 20 }
    }
}

/// A dense trace.
pub struct Dense {
    ids: Column,
    sizes: Column,
    next_distances: Option<Column>,
    footprint: Footprint,
    left_out: BTreeMap<&'static str, u64>,
}

/// What makes an object or page distinct: its namespace, its number there, and the page in it.
type Key = (u32, u64, u64);

struct Builder {
    reads_only: bool,
    requests: Requests,
    known: HashMap<Key, u32>,
    spaces: HashMap<Arc<str>, u32>,
    dense: Dense,
}

/// Longest single block request taken: no device accepts more in one command.
pub(crate) const LONGEST_BYTES: u64 = 4 << 30;

impl Builder {
    fn new(options: &DenseOptions, notes: &BTreeMap<String, String>) -> Self {
        let column = || Column::new(options.column_memory_bytes);
        Builder {
            reads_only: options.reads_only,
            requests: Requests::of(notes, options.ops.as_deref()),
            known: HashMap::new(),
            spaces: HashMap::new(),
            dense: Dense {
                ids: column(),
                sizes: column(),
                next_distances: None,
                footprint: Footprint::default(),
                left_out: BTreeMap::new(),
            },
        }
    }

    fn leave_out(&mut self, why: &'static str) {
        *self.dense.left_out.entry(why).or_default() += 1;
    }

    fn space(&mut self, name: &Arc<str>) -> u32 {
        if let Some(&space) = self.spaces.get(name) {
            return space;
        }
        let space = self.spaces.len() as u32;
        self.spaces.insert(name.clone(), space);
        space
    }

    fn record(&mut self, record: &Record) -> Result<(), String> {
        if !self.requests.takes(record) {
            self.leave_out(match record.op {
                Op::Discard => "discards",
                op if op.is_request() => op.name(),
                _ => "records that are no requests",
            });
            return Ok(());
        }
        if self.reads_only && record.write {
            self.leave_out("writes");
            return Ok(());
        }
        let space = self.space(&record.space);
        if record.op == Op::Object {
            let size = record.size_bytes.unwrap_or(record.length_bytes);
            return self.request((space, record.object, 0), size);
        }
        if record.length_bytes == 0 {
            self.leave_out("requests of no bytes");
            return Ok(());
        }
        let length_bytes = self.requests.length_bytes(record);
        if length_bytes > LONGEST_BYTES {
            return Err(format!("a request of {length_bytes} bytes, the longest possible is {LONGEST_BYTES}"));
        }
        let last = record
            .offset_bytes
            .checked_add(length_bytes - 1)
            .ok_or_else(|| format!("a request past 2^64 bytes, at {}", record.offset_bytes))?;
        for page in record.offset_bytes / PAGE_BYTES..=last / PAGE_BYTES {
            self.request((space, record.object, page), PAGE_BYTES)?;
        }
        Ok(())
    }

    fn request(&mut self, key: Key, size_bytes: u64) -> Result<(), String> {
        // An object of no bytes still takes an entry; a weight of 0 would make it free.
        let size = u32::try_from(size_bytes.max(1))
            .map_err(|_| format!("an object of {size_bytes} bytes, sizes up to {} can be replayed", u32::MAX))?;
        let next = self.known.len();
        let id = match self.known.get(&key) {
            Some(&id) => id,
            None => {
                // The policies' tables put a few list heads before the objects.
                let id = u32::try_from(next)
                    .ok()
                    .filter(|&id| id < u32::MAX - 16)
                    .ok_or("more than 4 billion distinct objects; take a part of the trace")?;
                self.known.insert(key, id);
                self.dense.footprint.objects += 1;
                self.dense.footprint.bytes += u64::from(size);
                id
            }
        };
        let pushed = self.dense.ids.push(id).and_then(|()| self.dense.sizes.push(size));
        pushed.map_err(|e| format!("{e} while writing a temporary file; set TMPDIR to a larger disk"))
    }

    fn finish(mut self, repeat: u64) -> Result<Dense, String> {
        let once = self.dense.ids.len();
        let mut scratch = Vec::new();
        for column in [&mut self.dense.ids, &mut self.dense.sizes] {
            column.seal().map_err(|e| e.to_string())?;
            for _ in 1..repeat {
                let mut at = 0;
                while at < once {
                    let count = CHUNK_REQUESTS.min((once - at) as usize);
                    let chunk = column.chunk(at, count, &mut scratch).map_err(|e| e.to_string())?.to_vec();
                    for value in chunk {
                        column.push(value).map_err(|e| e.to_string())?;
                    }
                    at += count as u64;
                }
                column.seal().map_err(|e| e.to_string())?;
            }
        }
        Ok(self.dense)
    }
}

impl Dense {
    /// Makes a trace file dense; `progress` is told how many of its records have been read.
    ///
    /// # Errors
    /// If the trace cannot be read, holds no request, or holds one that cannot be replayed.
    pub fn open(path: &std::path::Path, options: &DenseOptions, progress: impl Fn(u64)) -> Result<Self> {
        let mut reader = store::Reader::open(path)?;
        let bad = |place: String, what: String, mend: &str| Error::Content {
            path: path.display().to_string(),
            place,
            what,
            mend: mend.into(),
        };
        let mut builder = Builder::new(options, &reader.notes());
        let mut records = 0;
        while let Some(batch) = reader.batch()? {
            for record in &batch {
                records += 1;
                builder
                    .record(record)
                    .map_err(|what| bad(format!("record {records}"), what, "replay a trace without it"))?;
            }
            progress(records);
        }
        if builder.dense.ids.is_empty() {
            let why: Vec<_> = builder.dense.left_out.iter().map(|(why, count)| format!("{count} {why}")).collect();
            let what = format!("no request to replay among {records} records ({})", why.join(", "));
            return Err(bad("the whole trace".into(), what, "take another trace, or leave --reads-only out"));
        }
        builder.finish(options.repeat.max(1)).map_err(|what| bad("the whole trace".into(), what, "free some disk"))
    }

    /// Makes requests for objects dense, given as (object, size in bytes): for tests and benchmarks.
    ///
    /// # Errors
    /// As [`Dense::open`].
    pub fn from_objects(objects: impl IntoIterator<Item = (u64, u32)>, options: &DenseOptions) -> Result<Self> {
        let mut builder = Builder::new(options, &BTreeMap::new());
        for (object, size) in objects {
            builder.request((0, object, 0), size.into()).map_err(Error::Usage)?;
        }
        builder.finish(options.repeat.max(1)).map_err(Error::Usage)
    }

    /// Requests.
    pub fn requests(&self) -> u64 {
        self.ids.len()
    }

    /// Distinct objects and their bytes.
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// Records that are not replayed, by reason.
    pub fn left_out(&self) -> &BTreeMap<&'static str, u64> {
        &self.left_out
    }

    /// Works out when each request's object comes next, for policies that know the future. Done once.
    ///
    /// # Errors
    /// If the temporary file fails.
    pub fn look_ahead(&mut self) -> Result<()> {
        if self.next_distances.is_some() {
            return Ok(());
        }
        let failed = |e| Error::io(&std::env::temp_dir(), e, "set TMPDIR to a larger disk");
        let mut seen: Vec<u64> = vec![u64::MAX; self.footprint.objects as usize];
        let mut next = self.ids.zeroed().map_err(failed)?;
        let (mut scratch, mut distances) = (Vec::new(), Vec::new());
        let mut end = self.requests();
        while end > 0 {
            let count = CHUNK_REQUESTS.min(end as usize);
            let start = end - count as u64;
            let ids = self.ids.chunk(start, count, &mut scratch).map_err(failed)?;
            distances.clear();
            distances.resize(count, NEVER);
            for (at, &id) in ids.iter().enumerate().rev() {
                let now = start + at as u64;
                let seen = &mut seen[id as usize];
                // Beyond 4 billion requests is as good as never.
                distances[at] = seen.checked_sub(now).and_then(|d| u32::try_from(d).ok()).unwrap_or(NEVER);
                *seen = now;
            }
            next.overwrite(start, &distances).map_err(failed)?;
            end = start;
        }
        self.next_distances = Some(next);
        Ok(())
    }

    /// The columns: ids, sizes in bytes, and distances to the next request if [`Dense::look_ahead`] was called.
    pub fn columns(&self) -> (&Column, &Column, Option<&Column>) {
        (&self.ids, &self.sizes, self.next_distances.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(column: &Column) -> Vec<u32> {
        column.chunk(0, column.len() as usize, &mut Vec::new()).unwrap().to_vec()
    }

    proptest! {
        #[test]
        fn numbers_sizes_and_futures_are_right_in_memory_and_on_disk(
            objects in prop::collection::vec((0..40u64, 0..9u32), 1..300),
            repeat in 1..4u64,
        ) {
            for column_memory_bytes in [1 << 20, 64] {
                let options = DenseOptions { repeat, column_memory_bytes, ..DenseOptions::default() };
                let mut dense = Dense::from_objects(objects.clone(), &options).unwrap();
                dense.look_ahead().unwrap();
                let all: Vec<_> = (0..repeat).flat_map(|_| objects.clone()).collect();
                let (ids, sizes, next) = dense.columns();
                let (ids, next) = (column(ids), column(next.unwrap()));
                prop_assert_eq!(column(sizes), all.iter().map(|o| o.1.max(1)).collect::<Vec<_>>());
                for (at, (object, _)) in all.iter().enumerate() {
                    let first = all.iter().position(|o| o.0 == *object).unwrap();
                    prop_assert_eq!(ids[at], ids[first]);
                    let distance = all[at + 1..].iter().position(|o| o.0 == *object).map_or(NEVER, |d| d as u32 + 1);
                    prop_assert_eq!(next[at], distance);
                }
                let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
                prop_assert_eq!(distinct.len() as u64, dense.footprint().objects);
                prop_assert_eq!(distinct.last().map(|&&id| u64::from(id) + 1), Some(dense.footprint().objects));
            }
        }
    }

    fn block(space: &str, offset_bytes: u64, length_bytes: u64) -> Record {
        Record {
            time_ns: 0,
            app: "".into(),
            importance: None,
            op: Op::Block,
            space: space.into(),
            object: 0,
            offset_bytes,
            length_bytes,
            write: false,
            sync: false,
            size_bytes: None,
        }
    }

    #[test]
    fn blocks_become_pages_and_disks_do_not_alias() {
        let mut builder = Builder::new(&DenseOptions::default(), &BTreeMap::new());
        for record in [block("disk:a", 4095, 2), block("disk:b", 0, 4096), block("disk:a", 512, 512)] {
            builder.record(&record).unwrap();
        }
        assert!(builder.record(&block("disk:a", u64::MAX, 2)).is_err());
        assert!(builder.record(&block("disk:a", 0, u64::MAX)).is_err());
        let dense = builder.finish(1).unwrap();
        assert_eq!(column(dense.columns().0), [0, 1, 2, 0]);
        assert_eq!(dense.footprint(), Footprint { objects: 3, bytes: 3 * PAGE_BYTES });
    }
}
