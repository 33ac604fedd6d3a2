// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Makes columns of records: which are requests, for which objects and pages.

use std::{collections::BTreeMap, sync::Arc};

use hashbrown::HashMap;

use super::{numbers::Numbers, Column, Dense, DenseOptions, Sizes, Times, CHUNK_REQUESTS, LONGEST_BYTES};
use crate::{
    import::Objects,
    policy::MOST_BYTES,
    requests::Access,
    size::Footprint,
    store::{Columns, Few},
    Op, Record, Requests, PAGE_BYTES,
};

/// Requests taken at a time where records are requests for objects only.
const BATCH: usize = 4096;

pub(super) struct Builder {
    reads_only: bool,
    requests: Requests,
    numbers: Numbers,
    spaces: HashMap<Arc<str>, u32>,
    last_space: Option<(Arc<str>, u32)>,
    /// A namespace of objects, or one object of pages.
    volumes: HashMap<(u32, Option<u64>), u32>,
    last_volume: Option<((u32, Option<u64>), u32)>,
    ids: Vec<u32>,
    pub(super) dense: Dense,
}

impl Builder {
    pub(super) fn new(options: &DenseOptions, notes: &BTreeMap<String, String>) -> Self {
        let column = || Column::new(options.column_memory_bytes);
        Builder {
            reads_only: options.reads_only,
            requests: Requests::of(notes, options.ops.as_deref()),
            numbers: Numbers::new(),
            spaces: HashMap::new(),
            last_space: None,
            volumes: HashMap::new(),
            last_volume: None,
            ids: Vec::new(),
            dense: Dense {
                ids: column(),
                sizes: Sizes::new(options.column_memory_bytes),
                next_distances: None,
                times: options.times.then(|| Times::new(options.column_memory_bytes)),
                footprint: Footprint::default(),
                left_out: BTreeMap::new(),
                checksum: None,
                stop: options.stop.clone(),
            },
        }
    }

    fn leave_out(&mut self, why: &str, count: u64) {
        match self.dense.left_out.get_mut(why) {
            Some(known) => *known += count,
            None => {
                self.dense.left_out.insert(why.to_owned(), count);
            }
        }
    }

    fn space(&mut self, name: &Arc<str>) -> u32 {
        if let Some((_, space)) = self.last_space.as_ref().filter(|(last, _)| Arc::ptr_eq(last, name)) {
            return *space;
        }
        let next = self.spaces.len() as u32;
        let space = *self.spaces.entry(name.clone()).or_insert(next);
        self.last_space = Some((name.clone(), space));
        space
    }

    fn volume(&mut self, space: u32, object: Option<u64>) -> Result<u32, String> {
        let key = (space, object);
        if let Some((_, volume)) = self.last_volume.filter(|(last, _)| *last == key) {
            return Ok(volume);
        }
        let next =
            u32::try_from(self.volumes.len()).map_err(|_| "more than 4 billion files; take a part of the trace")?;
        let volume = *self.volumes.entry(key).or_insert(next);
        self.last_volume = Some((key, volume));
        Ok(volume)
    }

    pub(super) fn record(&mut self, record: &Record) -> Result<(), String> {
        let space = self.space(&record.space);
        self.access(space, &Access::of(record))
    }

    /// Takes the rows of a row group. A failure names its row, from 0.
    pub(super) fn columns(&mut self, columns: &Columns) -> Result<(), (usize, String)> {
        let spaces: Vec<u32> = columns.names.iter().map(|name| self.space(name)).collect();
        if let (Few::Same(Op::Object), Few::Same(place), Few::Same(false)) =
            (&columns.ops, &columns.spaces, &columns.writes)
        {
            return self.objects(columns, spaces[*place as usize]);
        }
        for row in 0..columns.rows {
            let place = *columns.spaces.at(row) as usize;
            let access = Access {
                time_ns: *columns.times.at(row),
                op: *columns.ops.at(row),
                space: &columns.names[place],
                object: *columns.objects.at(row),
                offset_bytes: *columns.offsets.at(row),
                length_bytes: *columns.lengths.at(row),
                write: *columns.writes.at(row),
                size_bytes: *columns.sizes.at(row),
            };
            self.access(spaces[place], &access).map_err(|what| (row, what))?;
        }
        Ok(())
    }

    /// Rows that all are requests for objects of one space.
    fn objects(&mut self, columns: &Columns, space: u32) -> Result<(), (usize, String)> {
        if !self.requests.takes_op(Op::Object) {
            self.leave_out(Op::Object.name(), columns.rows as u64);
            return Ok(());
        }
        let volume = self.volume(space, None).map_err(|what| (0, what))?;
        let (mut objects, mut sizes, mut times_ns) = (Vec::new(), Vec::new(), Vec::new());
        for start in (0..columns.rows).step_by(BATCH) {
            let rows = start..columns.rows.min(start + BATCH);
            objects.clear();
            objects.extend(rows.clone().map(|row| *columns.objects.at(row)));
            times_ns.clear();
            if self.dense.times.is_some() {
                times_ns.extend(rows.clone().map(|row| *columns.times.at(row)));
            }
            sizes.clear();
            for row in rows {
                let bytes = columns.sizes.at(row).unwrap_or(*columns.lengths.at(row));
                sizes.push(size(bytes).map_err(|what| (row, what))?);
            }
            self.requests(volume, &objects, &sizes, &times_ns).map_err(|(row, what)| (start + row, what))?;
        }
        Ok(())
    }

    /// Takes an importer's requests for objects. A failure names its place among them, from 0.
    pub(super) fn imported(&mut self, objects: &Objects<'_>) -> Result<(), (usize, String)> {
        if !self.requests.takes_op(Op::Object) {
            self.leave_out(Op::Object.name(), objects.objects.len() as u64);
            return Ok(());
        }
        let space = self.space(objects.space);
        if self.reads_only && objects.writes.contains(&true) {
            let each = 0..objects.objects.len();
            return each
                .into_iter()
                .try_for_each(|at| self.access(space, &Access::of(&objects.record(at))).map_err(|what| (at, what)));
        }
        let volume = self.volume(space, None).map_err(|what| (0, what))?;
        self.requests(volume, objects.objects, objects.sizes_bytes, objects.times_ns)
    }

    /// Requests for objects of one namespace. The times are not looked at if they are not asked for.
    fn requests(
        &mut self,
        volume: u32,
        objects: &[u64],
        sizes: &[u64],
        times_ns: &[u64],
    ) -> Result<(), (usize, String)> {
        let dense = &mut self.dense;
        let footprint = &mut dense.footprint;
        let new = |row: usize| {
            footprint.objects += 1;
            footprint.bytes += sizes[row].max(1);
        };
        let numbered = self.numbers.of_all(volume, objects, &mut self.ids, new);
        numbered.map_err(|row| (row, TOO_MANY_OBJECTS.to_owned()))?;
        let pushed = dense.ids.push_all(&self.ids).and_then(|()| match sizes.contains(&0) {
            // An object of no bytes still takes an entry; a weight of 0 would make it free.
            true => dense.sizes.push_all(&sizes.iter().map(|&size| size.max(1)).collect::<Vec<_>>()),
            false => dense.sizes.push_all(sizes),
        });
        let timed = pushed.and_then(|()| match &mut dense.times {
            Some(times) => times_ns.iter().try_for_each(|&time_ns| {
                times.record(time_ns);
                times.request()
            }),
            None => Ok(()),
        });
        timed.map_err(|e| (0, no_room(&e)))
    }

    fn access(&mut self, space: u32, access: &Access<'_>) -> Result<(), String> {
        if !self.requests.takes_op(access.op) {
            let why = match access.op {
                Op::Discard => "discards",
                op if op.is_request() => op.name(),
                _ => "records that are no requests",
            };
            self.leave_out(why, 1);
            return Ok(());
        }
        if self.reads_only && access.write {
            self.leave_out("writes", 1);
            return Ok(());
        }
        self.time(access.time_ns);
        if access.op == Op::Object {
            let volume = self.volume(space, None)?;
            return self.request(volume, access.object, access.size_bytes.unwrap_or(access.length_bytes));
        }
        if access.length_bytes == 0 {
            self.leave_out("requests of no bytes", 1);
            return Ok(());
        }
        let length_bytes = self.requests.length_of(access);
        if length_bytes > LONGEST_BYTES {
            return Err(format!("a request of {length_bytes} bytes, the longest possible is {LONGEST_BYTES}"));
        }
        let last = access
            .offset_bytes
            .checked_add(length_bytes - 1)
            .ok_or_else(|| format!("a request past 2^64 bytes, at {}", access.offset_bytes))?;
        let volume = self.volume(space, Some(access.object))?;
        for page in access.offset_bytes / PAGE_BYTES..=last / PAGE_BYTES {
            self.request(volume, page, PAGE_BYTES)?;
        }
        Ok(())
    }

    /// A request for an object of a namespace, for tests and benchmarks.
    pub(super) fn object(&mut self, object: u64, size_bytes: u64, time_ns: u64) -> Result<(), String> {
        self.time(time_ns);
        let volume = self.volume(0, None)?;
        self.request(volume, object, size_bytes)
    }

    #[inline]
    fn time(&mut self, time_ns: u64) {
        if let Some(times) = &mut self.dense.times {
            times.record(time_ns);
        }
    }

    #[inline]
    fn request(&mut self, volume: u32, number: u64, size_bytes: u64) -> Result<(), String> {
        let size = size(size_bytes)?.max(1);
        let (id, is_new) = self.numbers.of(volume, number).ok_or(TOO_MANY_OBJECTS)?;
        let dense = &mut self.dense;
        if is_new {
            dense.footprint.objects += 1;
            dense.footprint.bytes += size;
        }
        let pushed = dense.ids.push(id).and_then(|()| dense.sizes.push(size));
        let pushed = pushed.and_then(|()| dense.times.as_mut().map_or(Ok(()), Times::request));
        pushed.map_err(|e| no_room(&e))
    }

    pub(super) fn finish(mut self) -> Result<Dense, String> {
        // The table is of no more use, and may be larger than all the rest.
        self.numbers = Numbers::new();
        self.dense.ids.seal().and_then(|()| self.dense.sizes.seal()).map_err(|e| e.to_string())?;
        self.dense.times.as_mut().map_or(Ok(()), Times::seal).map_err(|e| e.to_string())?;
        Ok(self.dense)
    }
}

const TOO_MANY_OBJECTS: &str = "more than 4 billion distinct objects; take a part of the trace";

fn size(bytes: u64) -> Result<u64, String> {
    match bytes {
        0..=MOST_BYTES => Ok(bytes),
        _ => Err(format!("an object of {bytes} bytes, sizes up to {MOST_BYTES} can be replayed")),
    }
}

fn no_room(error: &std::io::Error) -> String {
    format!("{error} while writing a temporary file; set TMPDIR to a larger disk")
}

/// A column so many times in a row.
pub(super) fn repeated(column: Column, repeat: u64, options: &DenseOptions) -> std::io::Result<Column> {
    if repeat == 1 {
        return Ok(column);
    }
    let (mut long, mut scratch) = (Column::new(options.column_memory_bytes), Vec::new());
    for _ in 0..repeat {
        let mut at = 0;
        while at < column.len() {
            options.stop.check().map_err(std::io::Error::other)?;
            let count = CHUNK_REQUESTS.min((column.len() - at) as usize);
            for &value in column.chunk(at, count, &mut scratch)? {
                long.push(value)?;
            }
            at += count as u64;
        }
    }
    long.seal()?;
    Ok(long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::tests::column;

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
        let dense = builder.finish().unwrap();
        assert_eq!(column(dense.columns().0), [0, 1, 2, 0]);
        assert_eq!(dense.footprint(), Footprint { objects: 3, bytes: 3 * PAGE_BYTES });
    }
}
