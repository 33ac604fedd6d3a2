// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A trace as libCacheSim's oracleGeneral, for other simulators: the requests that a replay makes of it, 24 bytes each.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use crate::{
    dense::{Dense, DenseOptions, CHUNK_REQUESTS},
    output::{create, distinct, persist},
    policy::NEVER,
    requests::Access,
    store::Reader,
    Error, Op, Record, Requests, Result, PAGE_BYTES,
};

/// How many requests a record makes, as the dense form has them.
fn requests_of(record: &Record, requests: &Requests, options: &DenseOptions) -> u64 {
    let access = Access::of(record);
    let length_bytes = requests.length_of(&access);
    match record.op {
        op if !requests.takes_op(op) || (options.reads_only && record.write) => 0,
        Op::Object => 1,
        _ if record.length_bytes == 0 => 0,
        _ => (record.offset_bytes + (length_bytes - 1)) / PAGE_BYTES - record.offset_bytes / PAGE_BYTES + 1,
    }
}

/// Writes the requests of a trace file; `progress` is told (requests written, of). Returns the requests.
///
/// Objects of one namespace keep their numbers; pages, and objects of several, are numbered from 0 in the order of their first requests.
/// The next access is the number of the next request for the same object, where the first of the trace is 1; -1 if there is none.
///
/// # Errors
/// If the trace cannot be read or replayed, a time has no room, or the file cannot be written.
pub fn export(
    trace: &Path,
    output: &Path,
    options: &DenseOptions,
    from_start: bool,
    progress: impl Fn(u64, u64),
) -> Result<u64> {
    const MEND: &str = "nothing was kept; make room and export again";
    distinct(trace, output)?;
    let options = DenseOptions { repeat: 1, ..options.clone() };
    let mut dense = Dense::open(trace, &options, |_| {})?;
    dense.look_ahead()?;
    let requests = Requests::of(&Reader::open(trace)?.notes(), options.ops.as_deref());
    let keeps_numbers = one_space_of_objects(trace, &requests)?;
    let (ids, sizes, next) = dense.columns();
    let next = next.expect("it was looked ahead");
    let failed = |e| Error::io(&std::env::temp_dir(), e, "the temporary file is lost; run again");
    let (mut scratch, mut size_scratch) = ([Vec::new(), Vec::new()], Vec::new());
    let mut reader = Reader::open(trace)?;
    let mut file = BufWriter::new(create(output, MEND)?);
    let (mut at, mut record_number, mut first_ns) = (0u64, 0u64, None);
    while let Some(batch) = reader.batch()? {
        for record in &batch {
            record_number += 1;
            let first_ns = *first_ns.get_or_insert(record.time_ns);
            let zero_ns = if from_start { first_ns } else { 0 };
            let mut left = requests_of(record, &requests, &options);
            let time_s = match u32::try_from(record.time_ns.saturating_sub(zero_ns) / 1_000_000_000) {
                Ok(time_s) => time_s,
                Err(_) if left == 0 => 0,
                Err(_) => {
                    return Err(Error::Content {
                        path: trace.display().to_string(),
                        place: format!("record {record_number}"),
                        what: format!("its time, {} s, has no room in 32 bits", record.time_ns / 1_000_000_000),
                        mend: "count from the first record, --from-start".into(),
                    })
                }
            };
            while left > 0 {
                let count = CHUNK_REQUESTS.min(left as usize);
                let [a, c] = &mut scratch;
                let ids = ids.chunk(at, count, a).map_err(failed)?;
                let sizes = sizes.chunk(at, count, &mut size_scratch).map_err(failed)?;
                let next = next.chunk(at, count, c).map_err(failed)?;
                for ((&id, &size), &distance) in ids.iter().zip(sizes).zip(next) {
                    at += 1;
                    let object = if keeps_numbers { record.object } else { u64::from(id) };
                    let next = if distance == NEVER { -1 } else { (at + u64::from(distance)) as i64 };
                    let Ok(size) = u32::try_from(size) else {
                        return Err(Error::Content {
                            path: trace.display().to_string(),
                            place: format!("record {record_number}"),
                            what: format!("its size, {size} bytes, has no room in 32 bits"),
                            mend: "oracleGeneral has no larger ones; take a part of the trace without it".into(),
                        });
                    };
                    let mut bytes = [0; 24];
                    bytes[..4].copy_from_slice(&time_s.to_le_bytes());
                    bytes[4..12].copy_from_slice(&object.to_le_bytes());
                    bytes[12..16].copy_from_slice(&size.to_le_bytes());
                    bytes[16..].copy_from_slice(&next.to_le_bytes());
                    file.write_all(&bytes).map_err(|e| Error::io(output, e, MEND))?;
                }
                left -= count as u64;
            }
        }
        progress(at, dense.requests());
    }
    let file = file.into_inner().map_err(|e| Error::io(output, e.into_error(), MEND))?;
    persist(file, output, MEND)?;
    assert_eq!(at, dense.requests(), "every request was written");
    Ok(at)
}

fn one_space_of_objects(trace: &Path, requests: &Requests) -> Result<bool> {
    let (mut reader, mut space) = (Reader::open(trace)?, None);
    while let Some(batch) = reader.batch()? {
        for record in batch.into_iter().filter(|record| requests.takes(record)) {
            let known = space.get_or_insert_with(|| record.space.clone());
            if record.op != Op::Object || *known != record.space {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
