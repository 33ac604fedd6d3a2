// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! MSR Cambridge: `Timestamp,Hostname,Disk,Type,Offset,Size,ResponseTime`, time in Windows filetime (100 ns), the rest in bytes.

use super::{
    source::Block,
    text::{first_lines, number, quoted},
    Format, Source,
};
use crate::{Op, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge block traces (csv)",
    sniff: |head| {
        first_lines(head, 2).iter().any(|l| l.split(',').count() == 7 && block(l, &mut String::new()).is_ok())
    },
    read,
};

fn block<'a>(line: &str, disk: &'a mut String) -> Result<Block<'a>, String> {
    let mut fields = line.split(',');
    let ticks = number(fields.next(), "Timestamp")?;
    let host = fields.next().ok_or("no Hostname")?;
    let number_of_disk = number(fields.next(), "DiskNumber")?;
    let kind = fields.next().ok_or("no Type")?.trim();
    let write = match kind {
        _ if kind.eq_ignore_ascii_case("read") => false,
        _ if kind.eq_ignore_ascii_case("write") => true,
        _ => return Err(format!("Type is {}, not Read or Write", quoted(kind))),
    };
    let offset_bytes = number(fields.next(), "Offset")?;
    let length_bytes = number(fields.next(), "Size")?;
    // Filetimes of our days in nanoseconds do not fit 64 bits signed but do unsigned: 1.3e17 ticks are 1.3e19 ns.
    let time_ns = ticks.checked_mul(100).ok_or_else(|| format!("Timestamp {ticks} is no filetime"))?;
    *disk = format!("disk:{host}/{number_of_disk}");
    Ok(Block { time_ns, disk, op: Op::Block, offset_bytes, length_bytes, write, sync: !write })
}

fn read(source: &mut Source<'_>) -> Result<()> {
    source.blocks(block, "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime")
}
