// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! MobileBlockIOTraces: block I/O of Android phones as csv. Its header is `proces,device,rw_flag,sector,size,timestamp` (sic);
//! sizes are sectors of 512 bytes, `device` is the kernel's device number, `proces` is `comm-pid`.

use super::{
    source::Block,
    text::{first_lines, hidden, number, rwbs, seconds_ns, sectors},
    Format, Source,
};
use crate::Result;

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "mobile-block-io",
    about: "MobileBlockIOTraces csv (Android block I/O)",
    sniff: |head| {
        first_lines(head, 1).first().is_some_and(|l| l.starts_with("proces,device,rw_flag,sector,size,timestamp"))
    },
    read,
};

fn block<'a>(line: &str, disk: &'a mut String) -> Result<(String, Block<'a>), String> {
    // A comm may hold commas: the five last fields are fixed, the rest is the process.
    let mut fields = line.rsplitn(6, ',');
    let time_ns = seconds_ns(fields.next(), "timestamp")?;
    let length_bytes = sectors(fields.next(), "size")?;
    let offset_bytes = sectors(fields.next(), "sector")?;
    let (op, write, sync) = rwbs(fields.next().ok_or("no rw_flag")?)?;
    let device = number(fields.next(), "device")?;
    let process = fields.next().ok_or("fewer than six fields")?;
    // The kernel's dev_t in user space: 12 bits of major above 20 of minor.
    *disk = format!("disk:{}:{}", device >> 20, device & 0xf_ffff);
    Ok((process.to_owned(), Block { time_ns, disk, op, offset_bytes, length_bytes, write, sync }))
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let mut disk = String::new();
    while let Some(line) = source.line()? {
        if line.starts_with("proces,") {
            source.drop("header lines");
            continue;
        }
        match block(&line, &mut disk) {
            Ok((process, block)) => {
                let comm = process.rsplit_once('-').map_or(&*process, |(comm, _)| comm);
                let app = match hidden(comm) {
                    Some(why) => source.nobody(why),
                    None => source.app(&process),
                };
                source.emit_block(block, app)?;
            }
            Err(what) => source.bad_line(&what, "write process,device,rw_flag,sector,size,timestamp there")?,
        }
    }
    Ok(())
}
