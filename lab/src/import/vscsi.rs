// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! VMware vscsiStats traces: little-endian records, length in bytes, block number in sectors, time in microseconds, the version in the
//! upper byte of `ver`. Version 1 is {u32 sn, len, nSG; u16 cmd, ver; u64 lbn, ts}, version 2 {u16 cmd, ver; u32 sn, len, nSG; u64 lbn,
//! ts, rt}.

use super::{source::Block, text::SECTOR_BYTES, Format, Source};
use crate::{Op, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "vscsi",
    about: "VMware vscsi traces, versions 1 and 2",
    sniff: |head| VERSIONS.iter().any(|version| version.fits(head, u16::from_le_bytes)),
    read,
};

/// Where a version's records have what.
struct Version {
    number: u64,
    length: usize,
    command: usize,
    version: usize,
    bytes: usize,
    block: usize,
    time: usize,
    /// Its fields, to say how bytes are swapped.
    fields: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        number: 1,
        length: 32,
        command: 12,
        version: 14,
        bytes: 4,
        block: 16,
        time: 24,
        fields: "4, 4, 4, 2, 2, 8, 8",
    },
    Version {
        number: 2,
        length: 40,
        command: 0,
        version: 2,
        bytes: 8,
        block: 16,
        time: 24,
        fields: "2, 2, 4, 4, 4, 8, 8, 8",
    },
];

impl Version {
    /// Whether all records of a file's beginning say this version in a byte order.
    fn fits(&self, head: &[u8], order: fn([u8; 2]) -> u16) -> bool {
        let mut records = head.chunks_exact(self.length).peekable();
        let says = |r: &[u8]| u64::from(order([r[self.version], r[self.version + 1]]) >> 8) == self.number;
        records.peek().is_some() && records.all(says)
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn block(bytes: &[u8], of: &Version) -> Result<Option<Block<'static>>, String> {
    let (command, version) = (number::<2>(bytes, of.command), number::<2>(bytes, of.version) >> 8);
    if version != of.number {
        return Err(format!("version {version} among records of version {}", of.number));
    }
    // SCSI operation codes (SBC-3): reads and writes of 6, 10, 12 and 16 bytes, UNMAP, SYNCHRONIZE CACHE of 10 and 16.
    let (op, write) = match command {
        0x08 | 0x28 | 0xa8 | 0x88 => (Op::Block, false),
        0x0a | 0x2a | 0xaa | 0x8a => (Op::Block, true),
        0x42 => (Op::Discard, true),
        0x35 | 0x91 => (Op::Flush, true),
        _ => return Ok(None),
    };
    let lbn = number::<8>(bytes, of.block);
    let microseconds = number::<8>(bytes, of.time);
    Ok(Some(Block {
        time_ns: microseconds.checked_mul(1000).ok_or_else(|| format!("time is {microseconds} µs"))?,
        disk: "disk:vscsi",
        op,
        offset_bytes: lbn.checked_mul(SECTOR_BYTES).ok_or_else(|| format!("block {lbn} lies past 2^64 bytes"))?,
        length_bytes: number::<4>(bytes, of.bytes),
        write,
        sync: !write,
    }))
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let head = source.peek(256 * VERSIONS[0].length)?;
    // Of the two, the records of the first can only be those of the second by chance, and vice versa: all of them must fit.
    let [one, two] = &VERSIONS;
    let of = if two.fits(&head, u16::from_le_bytes) { two } else { one };
    let swapped = VERSIONS.iter().find(|version| version.fits(&head, u16::from_be_bytes));
    if let Some(swapped) = swapped.filter(|_| !of.fits(&head, u16::from_le_bytes)) {
        return Err(source.wrong_file(
            "big-endian: the version stands in the lower byte of its field",
            &format!("swap the bytes of each field ({})", swapped.fields),
        ));
    }
    match of.number {
        1 => records::<32>(source, of),
        _ => records::<40>(source, of),
    }
}

fn records<const LENGTH: usize>(source: &mut Source<'_>, of: &Version) -> Result<()> {
    source.understood(format!("VMware vscsi trace, version {}", of.number));
    while let Some(bytes) = source.record::<LENGTH>()? {
        match block(&bytes, of) {
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
