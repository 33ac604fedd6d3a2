// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! libCacheSim's lcs: a header of 8192 bytes, then packed little-endian records. Version 1 has oracleGeneral's {u32 time in s, u64 object,
//! u32 size, i64 next access}; 2 puts an operation and a tenant before the next access; 3 has sizes of 64 bits and a time to live; 4 to 8
//! add 1, 2, 4, 8, 16 features of 32 bits.

use super::{Format, Source};
use crate::Result;

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "lcs",
    about: "libCacheSim lcs binary, versions 1 to 8",
    sniff: |head| head.starts_with(&MAGIC.to_le_bytes()),
    read,
};

const MAGIC: u64 = 0x1234_5678_9abc_def0;
const HEADER_BYTES: usize = 8192;

/// libCacheSim's number of a delete (`req_op_e`).
const DELETE: u8 = 9;

/// set, add, cas, replace, append, prepend; incr, decr; write, update. Before them stand nop, get and gets, between them delete and read.
fn writes(op: u8) -> bool {
    matches!(op, 3..=8 | 10 | 11 | 13 | 14)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let Some(header) = source.record::<HEADER_BYTES>()? else { return Ok(()) };
    if [number::<8>(&header, 0), number::<8>(&header, HEADER_BYTES - 8)] != [MAGIC; 2] {
        return Err(source.wrong_file("the header is not lcs's: its magic numbers are wrong", "fetch the file again"));
    }
    let version = number::<8>(&header, 8);
    source.understood(format!("libCacheSim lcs, version {version}"));
    match version {
        1 => records::<24>(source, 4, None),
        2 => records::<28>(source, 4, Some(16)),
        3 => records::<36>(source, 8, Some(20)),
        4 => records::<40>(source, 8, Some(20)),
        5 => records::<44>(source, 8, Some(20)),
        6 => records::<52>(source, 8, Some(20)),
        7 => records::<68>(source, 8, Some(20)),
        8 => records::<100>(source, 8, Some(20)),
        _ => Err(source.wrong_file(
            &format!("lcs version {version}, 1 to 8 are read"),
            "convert it to version 3 with libCacheSim's traceConv",
        )),
    }
}

fn records<const LENGTH: usize>(source: &mut Source<'_>, size_bytes: usize, op: Option<usize>) -> Result<()> {
    while let Some(bytes) = source.record::<LENGTH>()? {
        let size = match size_bytes {
            4 => number::<4>(&bytes, 12),
            _ => number::<8>(&bytes, 12),
        };
        if size > i64::MAX as u64 {
            source.bad_record("a size below zero", "name the right format with --format")?;
            continue;
        }
        let op = op.map_or(0, |at| bytes[at]);
        if op == DELETE {
            source.drop("deletes");
            continue;
        }
        let time_ns = number::<4>(&bytes, 0) * 1_000_000_000;
        source.emit_request(time_ns, "object", number::<8>(&bytes, 4), size, writes(op))?;
    }
    Ok(())
}
