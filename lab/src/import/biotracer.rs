// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! BIOTracer on a Nexus 5: eight columns of text parted by two tabs: start sector, sectors, bytes, flags, and the times when the
//! request was generated, started, submitted and completed, in seconds since 1970.

use super::{
    source::Block,
    text::{first_lines, number, seconds_ns, sectors},
    Format, Source,
};
use crate::{Op, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "biotracer",
    about: "BIOTracer text (Nexus 5 block I/O)",
    sniff: |head| first_lines(head, 2).iter().any(|l| l.contains('\t') && block(l).is_ok()),
    read,
};

// The Nexus 5 runs Linux 3.4; bits of enum rq_flag_bits in its include/linux/blk_types.h.
const WRITE: u64 = 1 << 0;
const SYNC: u64 = 1 << 4;
const DISCARD: u64 = 1 << 7;

fn block(line: &str) -> Result<Block<'static>, String> {
    let mut fields = line.split('\t').map(str::trim).filter(|f| !f.is_empty());
    let offset_bytes = sectors(fields.next(), "start sector")?;
    let length = sectors(fields.next(), "sectors")?;
    let length_bytes = number(fields.next(), "bytes")?;
    let flags = number(fields.next(), "flags")?;
    let time_ns = seconds_ns(fields.next(), "time of generation")?;
    for name in ["time of start", "time of submission", "time of completion"] {
        seconds_ns(fields.next(), name)?;
    }
    if length != length_bytes {
        return Err(format!("{length} bytes of sectors but {length_bytes} bytes"));
    }
    let op = if flags & DISCARD != 0 { Op::Discard } else { Op::Block };
    let write = flags & WRITE != 0;
    let sync = !write || flags & SYNC != 0;
    Ok(Block { time_ns, disk: "disk:nexus5", op, offset_bytes, length_bytes, write, sync })
}

fn read(source: &mut Source<'_>) -> Result<()> {
    while let Some(line) = source.line()? {
        if line.trim().is_empty() {
            source.drop("empty lines");
            continue;
        }
        match block(&line) {
            Ok(block) => {
                let app = source.nobody("the format tells no process");
                source.emit_block(block, app)?;
            }
            Err(what) => source.bad_line(&what, "write BIOTracer's eight tabbed columns there")?,
        }
    }
    Ok(())
}
