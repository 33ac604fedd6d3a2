// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! blkparse's standard text: `maj,min cpu sequence seconds pid action rwbs sector + sectors [process]`.

use std::collections::BTreeSet;

use super::{
    source::Block,
    text::{first_lines, hidden, number, rwbs, seconds_ns, sectors},
    Format, Source,
};
use crate::{Error, Op, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "blkparse",
    about: "blkparse text",
    sniff: |head| first_lines(head, 8).iter().any(|l| matches!(event(l), Ok(Some(_)))),
    read,
};

struct Event<'l> {
    device: &'l str,
    time_ns: u64,
    action: &'l str,
    rwbs: &'l str,
    sector: Option<&'l str>,
    length: Option<&'l str>,
    process: &'l str,
}

/// One event, or `None` for a line of the summary at the end.
fn event(line: &str) -> Result<Option<Event<'_>>, String> {
    let mut fields = line.split_whitespace();
    let device = fields.next().unwrap_or_default();
    let is_device = device.split_once(',').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    if !is_device {
        return Ok(None);
    }
    number(fields.next(), "CPU")?;
    number(fields.next(), "sequence number")?;
    let time_ns = seconds_ns(fields.next(), "time")?;
    number(fields.next(), "process id")?;
    let action = fields.next().ok_or("no action")?;
    let rwbs = fields.next().unwrap_or_default();
    let sector = fields.next();
    let length = fields.next().filter(|&plus| plus == "+").and_then(|_| fields.next());
    let process = line.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(name, _)| name);
    Ok(Some(Event { device, time_ns, action, rwbs, sector, length, process }))
}

fn block<'a>(event: &Event<'_>, disk: &'a mut String) -> Result<Block<'a>, String> {
    let (op, write, sync) = rwbs(event.rwbs)?;
    let (offset_bytes, length_bytes) = match (op, event.length) {
        (Op::Flush, None) => (0, 0),
        _ => (sectors(event.sector, "sector")?, sectors(event.length, "number of sectors")?),
    };
    *disk = format!("disk:{}", event.device.replace(',', ":"));
    Ok(Block { time_ns: event.time_ns, disk, op, offset_bytes, length_bytes, write, sync })
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let wanted = source.blkparse_action.to_string();
    let mut disk = String::new();
    let (mut taken, mut others) = (0u64, BTreeSet::new());
    while let Some(line) = source.line()? {
        match event(&line) {
            Ok(None) => source.drop("summary lines"),
            Ok(Some(event)) if event.action != wanted => {
                if event.action.len() <= 2 {
                    others.insert(event.action.to_owned());
                    source.drop(&format!("events {}", event.action));
                } else {
                    source.drop("events of other kinds");
                }
            }
            Ok(Some(event)) => {
                taken += 1;
                match block(&event, &mut disk) {
                    Ok(block) => {
                        let app = match hidden(event.process) {
                            Some(why) => source.nobody(why),
                            None => source.app(event.process),
                        };
                        source.emit_block(block, app)?;
                    }
                    Err(what) => source.bad_line(&what, "write blkparse's standard columns there")?,
                }
            }
            Err(what) => source.bad_line(&what, "write blkparse's standard columns there")?,
        }
    }
    if taken == 0 && !others.is_empty() {
        let others: Vec<_> = others.into_iter().collect();
        return Err(Error::Usage(format!(
            "no {wanted} event in this blkparse text; take one it has with --blkparse-action: {}",
            others.join(", ")
        )));
    }
    Ok(())
}
