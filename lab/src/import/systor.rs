// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`, times in seconds, offset and size in bytes.

use super::{
    source::Block,
    text::{first_lines, number, quoted, seconds_ns},
    Format, Source,
};
use crate::{Op, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "systor17",
    about: "SYSTOR '17 enterprise storage traces (csv)",
    sniff: |head| {
        first_lines(head, 2).iter().any(|l| l.split(',').count() == 6 && block(l, &mut String::new()).is_ok())
    },
    read,
};

fn block<'a>(line: &str, disk: &'a mut String) -> Result<Block<'a>, String> {
    let mut fields = line.split(',');
    let time_ns = seconds_ns(fields.next(), "Timestamp")?;
    let _response = fields.next().ok_or("no Response")?;
    let write = match fields.next().map(str::trim) {
        Some("R") => false,
        Some("W") => true,
        other => return Err(format!("IOType is {}, not R or W", quoted(other.unwrap_or_default()))),
    };
    let lun = number(fields.next(), "LUN")?;
    let offset_bytes = number(fields.next(), "Offset")?;
    let length_bytes = number(fields.next(), "Size")?;
    *disk = format!("disk:lun{lun}");
    Ok(Block { time_ns, disk, op: Op::Block, offset_bytes, length_bytes, write, sync: !write })
}

fn read(source: &mut Source<'_>) -> Result<()> {
    source.blocks(block, "Timestamp,Response,IOType,LUN,Offset,Size")
}
