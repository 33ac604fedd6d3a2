// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tables of text, whatever parts their columns: of libCacheSim, CacheLib, Twitter, Alibaba, Tencent, Wikimedia and others, and of users.
//! Columns go by their names; what they hold is never guessed.

mod columns;
mod known;
mod layout;
mod number;
mod options;
mod plain;
mod split;
mod text_ids;
mod understood;
mod words;

pub use known::Role;
pub use number::TimeUnit;
pub use options::CsvOptions;
pub(super) use text_ids::AsItIs;
pub use text_ids::TextIds;
pub use words::{does, role_of_title, Does};

use layout::Layout;
use plain::Plain;
use split::{Row, Splitter};

use super::{source::Block, Format, Source};
use crate::{Op, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "csv",
    about: "a table of text (columns by header, or with --csv): libCacheSim, CacheLib, Twitter, Alibaba, Tencent, SPC, Wikimedia, …",
    sniff: layout::is_table,
    read,
};

/// Bytes of a file by which its layout is decided.
const HEAD_BYTES: usize = 1 << 16;

/// Most requests that a row may stand for.
const MOST_REPEATS: u64 = 1_000_000;

/// A row's request.
struct Request {
    time_ns: Option<i128>,
    does: Does,
    count: u64,
    what: What,
}

enum What {
    Object { space: &'static str, object: u64, size_bytes: u64 },
    Place { object: Option<(&'static str, u64)>, offset_bytes: u64, length_bytes: u64 },
}

struct Reader {
    layout: Layout,
    ids: TextIds,
    disk: String,
    /// What is added to times, so that the first is not below zero.
    shift_ns: Option<i128>,
}

impl Reader {
    fn request(&mut self, row: &Row<'_>) -> Result<Request, String> {
        let layout = &self.layout;
        if row.len() != layout.columns {
            return Err(format!("{} columns, where the first row has {}", row.len(), layout.columns));
        }
        let time_ns = match layout.time {
            Some((at, unit)) => Some(unit.ns(row.get(at))?),
            None => None,
        };
        let does = match layout.op {
            Some(at) => words::does(row.get(at), layout.numeric_ops).ok_or_else(|| {
                format!(
                    "operation {} is not known, op=0 leaves that column out",
                    super::text::quoted_bytes(row.get(at))
                )
            })?,
            None => Does::Read,
        };
        let count = match layout.count {
            Some(at) => number::whole(row.get(at), "count")?,
            None => 1,
        };
        if count > MOST_REPEATS {
            return Err(format!("a row that stands for {count} requests"));
        }
        let object = match layout.id {
            Some(at) => Some(self.ids.object(row.get(at))?),
            None => None,
        };
        let what = match (layout.offset, layout.length) {
            (Some(offset), Some(length)) => {
                let bytes = |at: usize, name: &str, unit: u64| {
                    let number = number::whole(row.get(at), name)?;
                    number.checked_mul(unit).ok_or_else(|| format!("{name} {number} lies past 2^64 bytes"))
                };
                let offset_bytes = bytes(offset, "offset", layout.units_bytes[0])?;
                let length_bytes = bytes(length, "length", layout.units_bytes[1])?;
                What::Place { object, offset_bytes, length_bytes }
            }
            _ => {
                let (space, object) = object.ok_or("no object id")?;
                let mut size_bytes = 0u64;
                for &at in &layout.sizes {
                    let size = number::whole(row.get(at), "size")?;
                    size_bytes = size_bytes.checked_add(size).ok_or("size: more than 2^64 bytes")?;
                }
                What::Object { space, object, size_bytes: if layout.sizes.is_empty() { 1 } else { size_bytes } }
            }
        };
        Ok(Request { time_ns, does, count, what })
    }

    /// A time on the trace's clock, which has no time below zero.
    fn time_ns(&mut self, time_ns: i128) -> Result<u64, String> {
        let shift_ns = *self.shift_ns.get_or_insert(if time_ns < 0 { -time_ns } else { 0 });
        u64::try_from(time_ns + shift_ns).map_err(|_| match time_ns + shift_ns < 0 {
            true => format!("its time is {} s before the first row's", -(time_ns + shift_ns) / 1_000_000_000),
            false => "its time is more than 2^64 ns".into(),
        })
    }

    fn name_disk(&mut self, row: &Row<'_>) {
        self.disk.clear();
        self.disk.push_str("disk:");
        for (part, &at) in self.layout.disks.iter().enumerate() {
            if part > 0 {
                self.disk.push('/');
            }
            self.disk.push_str(&String::from_utf8_lossy(row.get(at)));
        }
    }

    fn emit(&mut self, source: &mut Source<'_>, request: &Request, time_ns: u64) -> Result<()> {
        let write = request.does == Does::Write;
        match request.what {
            What::Object { .. } if request.does == Does::Delete => {
                source.drop("deletes");
                Ok(())
            }
            What::Object { space, object, size_bytes } => {
                for _ in 0..request.count {
                    source.emit_request(time_ns, space, object, size_bytes, write)?;
                }
                Ok(())
            }
            What::Place { object, offset_bytes, length_bytes } => {
                let op = if request.does == Does::Delete { Op::Discard } else { Op::Block };
                let (write, sync) = (request.does != Does::Read, request.does == Does::Read);
                for _ in 0..request.count {
                    let disk = object.map_or(&*self.disk, |(space, _)| space);
                    let block = Block { time_ns, disk, op, offset_bytes, length_bytes, write, sync };
                    match object {
                        Some((_, object)) => source.emit_part(block, object)?,
                        None => {
                            let app = source.nobody("the format tells no process");
                            source.emit_block(block, app)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let head = source.peek(HEAD_BYTES)?;
    let layout = match Layout::of(&head, &source.csv) {
        Ok(layout) => layout,
        Err(refusal) => return Err(source.wrong_file(&refusal.what, &refusal.mend)),
    };
    let mut splitter = Splitter::new(layout.delimiter);
    let (mut header, mut comments) = (layout.header, layout.comments);
    let ids = TextIds::new(source.csv.text_ids);
    let mut plain = Plain::of(&layout);
    let mut reader = Reader { layout, ids, disk: String::new(), shift_ns: None };
    let (mut lines, mut number) = (Vec::new(), 0u64);
    while source.lines(&mut lines)? {
        let mut start = 0;
        while start < lines.len() {
            // The first row says when the trace begins.
            let last_ns = source.last_ns().filter(|_| reader.shift_ns.is_none_or(|shift_ns| shift_ns == 0));
            if let (Some(plain), Some(last_ns)) = (&mut plain, last_ns) {
                let (rows, bytes) = plain.decode(&lines[start..], &mut reader.ids, last_ns, number);
                if rows > 0 {
                    plain.emit(source)?;
                    (start, number) = (start + bytes, number + rows as u64);
                    continue;
                }
            }
            let end = memchr::memchr(b'\n', &lines[start..]).map_or(lines.len(), |end| start + end);
            let line = &lines[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start = end + 1;
            number += 1;
            source.took_line(line.len())?;
            if line.is_empty() || line.trim_ascii().is_empty() {
                source.drop("empty lines");
                continue;
            }
            if comments > 0 {
                comments -= 1;
                source.drop("comment lines");
                continue;
            }
            if std::mem::take(&mut header) {
                source.drop("header lines");
                continue;
            }
            let request = splitter.split(line).and_then(|row| {
                let request = reader.request(&row)?;
                if reader.layout.offset.is_some() {
                    reader.name_disk(&row);
                }
                let time_ns = match request.time_ns {
                    Some(time_ns) => reader.time_ns(time_ns)?,
                    None => number,
                };
                Ok((request, time_ns))
            });
            match request {
                Ok((request, time_ns)) => reader.emit(source, &request, time_ns)?,
                Err(what) => source.bad_line(&what, "name the columns with --csv")?,
            }
        }
    }
    let mut understood = reader.layout.understood;
    if let Some(shift_ns) = reader.shift_ns.filter(|&shift_ns| shift_ns > 0) {
        understood += &format!("; times are {} s later, so that the first is 0", shift_ns as f64 / 1e9);
    }
    source.understood(understood);
    Ok(())
}
