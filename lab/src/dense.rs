// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A trace made dense: every object or page gets a number once, so that replay needs no hashing. Short traces stay in memory,
//! long ones go to a file; memory then grows with the distinct objects only.

mod builder;
mod column;
mod foreign;
mod kept;
mod numbers;
mod options;
mod sizes;
mod times;

use std::{collections::BTreeMap, path::Path};

pub use column::Column;
pub use options::DenseOptions;
pub use sizes::Sizes;

use builder::{repeated, Builder};
use kept::Kept;
pub(crate) use times::Times;

use crate::{policy::NEVER, requests::FORMAT_KEY, size::Footprint, store, Error, Record, Result, Stop};

/// Requests handed to a policy at a time: 256 KiB a column, which stays in the second-level cache.
pub const CHUNK_REQUESTS: usize = 65_536;

/// A dense trace.
pub struct Dense {
    ids: Column,
    sizes: Sizes,
    next_distances: Option<Column>,
    times: Option<Times>,
    footprint: Footprint,
    left_out: BTreeMap<String, u64>,
    checksum: Option<u64>,
    stop: Stop,
}

/// Longest single block request taken: no device accepts more in one command.
pub(crate) const LONGEST_BYTES: u64 = 4 << 30;

impl Dense {
    /// Makes a trace dense, or takes the form that an earlier call kept; a foreign trace is imported on the way. `progress` is told
    /// how many of its records have been read.
    ///
    /// # Errors
    /// If the trace cannot be read, holds no request, or holds one that cannot be replayed.
    pub fn open(path: &Path, options: &DenseOptions, progress: impl Fn(u64)) -> Result<Self> {
        let repeat = |dense: Dense| {
            dense.repeat(options).map_err(|e| wrong(path, "the whole trace", e.to_string(), "free some disk"))
        };
        let mut reader = match store::is_trace_file(path)? {
            true => Some(store::Reader::open(path)?),
            false => None,
        };
        let kept = options.keep_requests.map(|least| (Kept::of(path, options), least));
        if let Some((kept, _)) = kept.as_ref().filter(|(kept, _)| kept.is_there()) {
            let checksum = match &reader {
                Some(reader) => reader.checksum(),
                None => store::checksum_of(path).map_err(|e| Error::read(path, e))?,
            };
            if let Some(dense) = kept.load(checksum, options) {
                return repeat(dense);
            }
        }
        let notes = reader.as_ref().map(store::Reader::notes).unwrap_or_default();
        let (builder, records, checksum) = match &mut reader {
            Some(reader) => Self::of_trace(path, reader, options, progress)?,
            None => foreign::read(path, options, progress)?,
        };
        let mut dense = Self::finish(path, builder, records, &notes)?;
        dense.checksum = Some(checksum);
        if let Some((kept, _)) = kept.filter(|(_, least)| dense.requests() >= *least) {
            kept.store(checksum, &dense);
        }
        repeat(dense)
    }

    /// Makes records from elsewhere dense, which are called `name` in errors. None is kept.
    ///
    /// # Errors
    /// As [`Dense::open`], and the first of the records'.
    pub fn of_records(
        name: &str,
        notes: &BTreeMap<String, String>,
        records: impl IntoIterator<Item = Result<Record>>,
        options: &DenseOptions,
    ) -> Result<Self> {
        let path = Path::new(name);
        let mut builder = Builder::new(options, notes);
        let mut count = 0;
        for record in records {
            count += 1;
            if count % CHUNK_REQUESTS as u64 == 0 {
                options.stop.check()?;
            }
            let done = builder.record(&record?);
            done.map_err(|what| wrong(path, &format!("record {count}"), what, "replay a trace without it"))?;
        }
        let dense = Self::finish(path, builder, count, notes)?;
        dense.repeat(options).map_err(|e| wrong(path, "the whole trace", e.to_string(), "free some disk"))
    }

    fn finish(path: &Path, builder: Builder, records: u64, notes: &BTreeMap<String, String>) -> Result<Self> {
        if builder.dense.ids.is_empty() {
            let why: Vec<_> = builder.dense.left_out.iter().map(|(why, count)| format!("{count} {why}")).collect();
            let what = format!("no request to replay among {records} records ({})", why.join(", "));
            return Err(wrong(path, "the whole trace", what, "take another trace, or leave --reads-only out"));
        }
        let format = notes.get(FORMAT_KEY).map(String::as_str);
        if let Some(what) = builder.dense.times.as_ref().and_then(|times| times.missing(format)) {
            return Err(wrong(path, "its times", what, "let objects expire by requests, with ttl and not ttl-s"));
        }
        builder.finish().map_err(|what| wrong(path, "the whole trace", what, "free some disk"))
    }

    fn of_trace(
        path: &Path,
        reader: &mut store::Reader,
        options: &DenseOptions,
        progress: impl Fn(u64),
    ) -> Result<(Builder, u64, u64)> {
        let mut builder = Builder::new(options, &reader.notes());
        let mut records = 0;
        while let Some(columns) = reader.columns(options.reads_only, options.times)? {
            options.stop.check()?;
            builder.columns(&columns).map_err(|(row, what)| {
                wrong(path, &format!("record {}", records + row as u64 + 1), what, "replay a trace without it")
            })?;
            records += columns.rows as u64;
            progress(records);
        }
        Ok((builder, records, reader.checksum()))
    }

    fn repeat(mut self, options: &DenseOptions) -> std::io::Result<Self> {
        let repeat = options.repeat.max(1);
        self.stop = options.stop.clone();
        self.ids = repeated(self.ids, repeat, options)?;
        self.sizes = self.sizes.repeated(repeat, options)?;
        self.times = self.times.map(|times| times.repeated(repeat, options)).transpose()?;
        Ok(self)
    }

    /// Makes requests for objects dense, given as (object, size in bytes): for tests and benchmarks.
    ///
    /// # Errors
    /// As [`Dense::open`].
    pub fn from_objects<S: Into<u64>>(
        objects: impl IntoIterator<Item = (u64, S)>,
        options: &DenseOptions,
    ) -> Result<Self> {
        Self::from_timed(objects.into_iter().map(|(object, size)| (object, size.into(), 0)), options)
    }

    /// As [`Dense::from_objects`], with the time of each request in ns behind its size. That there are times is believed.
    ///
    /// # Errors
    /// As [`Dense::open`].
    pub fn from_timed(objects: impl IntoIterator<Item = (u64, u64, u64)>, options: &DenseOptions) -> Result<Self> {
        let mut builder = Builder::new(options, &BTreeMap::new());
        for (object, size, time_ns) in objects {
            builder.object(object, size, time_ns).map_err(Error::Usage)?;
        }
        let dense = builder.finish().map_err(Error::Usage)?;
        dense.repeat(options).map_err(|e| Error::Usage(e.to_string()))
    }

    /// The content of the trace it was made of (XXH64), if it was made of a file.
    pub fn checksum(&self) -> Option<u64> {
        self.checksum
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
    pub fn left_out(&self) -> &BTreeMap<String, u64> {
        &self.left_out
    }

    /// The wish that its replays end.
    pub fn stop(&self) -> &Stop {
        &self.stop
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
    pub fn columns(&self) -> (&Column, &Sizes, Option<&Column>) {
        (&self.ids, &self.sizes, self.next_distances.as_ref())
    }

    /// The requests' times, if they were asked for.
    pub(crate) fn times(&self) -> Option<&Times> {
        self.times.as_ref()
    }
}

fn wrong(path: &Path, place: &str, what: String, mend: &str) -> Error {
    Error::Content { path: path.display().to_string(), place: place.into(), what, mend: mend.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) fn column(column: &Column) -> Vec<u32> {
        column.chunk(0, column.len() as usize, &mut Vec::new()).unwrap().to_vec()
    }

    proptest! {
        #[test]
        fn numbers_sizes_and_futures_are_right_in_memory_and_on_disk(
            objects in prop::collection::vec((0..40u64, prop_oneof![0..9u64, (1u64 << 32)..1 << 40]), 1..300),
            repeat in 1..4u64,
        ) {
            for column_memory_bytes in [1 << 20, 64] {
                let options = DenseOptions { repeat, column_memory_bytes, ..DenseOptions::default() };
                let mut dense = Dense::from_objects(objects.clone(), &options).unwrap();
                dense.look_ahead().unwrap();
                let all: Vec<_> = (0..repeat).flat_map(|_| objects.clone()).collect();
                let (ids, sizes, next) = dense.columns();
                let (ids, next) = (column(ids), column(next.unwrap()));
                let mut scratch = Vec::new();
                let sizes = sizes.chunk(0, all.len(), &mut scratch).unwrap();
                prop_assert_eq!(sizes, all.iter().map(|o| o.1.max(1)).collect::<Vec<_>>());
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
}
