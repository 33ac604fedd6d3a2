// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! VMware vscsiStats traces, version 1: little-endian records {u32 sn, len, nSG; u16 cmd, ver; u64 lbn, ts}, length in bytes,
//! block number in sectors, time in microseconds, the version in the upper byte of `ver`.

use super::{source::Block, text::SECTOR_BYTES, Format, Source};
use crate::{Op, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "vscsi",
    about: "VMware vscsi traces, version 1",
    sniff: |head| versions(head, u16::from_le_bytes).is_some_and(|v| v.1 == v.0),
    read,
};

const LENGTH: usize = 32;
const VERSION_AT: usize = 14;

/// Records of a file's beginning, and how many of them say version 1 in a byte order.
fn versions(head: &[u8], order: fn([u8; 2]) -> u16) -> Option<(usize, usize)> {
    let records = head.chunks_exact(LENGTH);
    let count = records.len();
    let ones = records.filter(|r| order([r[VERSION_AT], r[VERSION_AT + 1]]) >> 8 == 1).count();
    (count > 0).then_some((count, ones))
}

fn number<const N: usize>(bytes: &[u8; LENGTH], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn block(bytes: &[u8; LENGTH]) -> Result<Option<Block<'static>>, String> {
    let (command, version) = (number::<2>(bytes, 12), number::<2>(bytes, VERSION_AT) >> 8);
    if version != 1 {
        return Err(format!("version {version}, only 1 is read"));
    }
    // SCSI operation codes (SBC-3): reads and writes of 6, 10, 12 and 16 bytes, UNMAP, SYNCHRONIZE CACHE of 10 and 16.
    let (op, write) = match command {
        0x08 | 0x28 | 0xa8 | 0x88 => (Op::Block, false),
        0x0a | 0x2a | 0xaa | 0x8a => (Op::Block, true),
        0x42 => (Op::Discard, true),
        0x35 | 0x91 => (Op::Flush, true),
        _ => return Ok(None),
    };
    let lbn = number::<8>(bytes, 16);
    let microseconds = number::<8>(bytes, 24);
    Ok(Some(Block {
        time_ns: microseconds.checked_mul(1000).ok_or_else(|| format!("time is {microseconds} µs"))?,
        disk: "disk:vscsi",
        op,
        offset_bytes: lbn.checked_mul(SECTOR_BYTES).ok_or_else(|| format!("block {lbn} lies past 2^64 bytes"))?,
        length_bytes: number::<4>(bytes, 4),
        write,
        sync: !write,
    }))
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let head = source.peek(256 * LENGTH)?;
    if let (Some((count, little)), Some((_, big))) =
        (versions(&head, u16::from_le_bytes), versions(&head, u16::from_be_bytes))
    {
        if little == 0 && big == count {
            return Err(source.wrong_file(
                "big-endian: the version stands in the lower byte of its field",
                "swap the bytes of each field (4, 4, 4, 2, 2, 8, 8)",
            ));
        }
    }
    while let Some(bytes) = source.record::<LENGTH>()? {
        match block(&bytes) {
            Ok(Some(block)) => {
                let app = source.nobody("the format tells no process");
                source.emit_block(block, app)?;
            }
            Ok(None) => source.drop("commands that move no data"),
            Err(what) => source.bad_record(&what, "name the right format with --format")?,
        }
    }
    Ok(())
}
