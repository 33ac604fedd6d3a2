// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! libCacheSim's csv: columns for time (seconds), object id and size, in places that the user names.

use super::{
    ids,
    text::{first_lines, number, seconds_ns},
    Format, Source,
};
use crate::{Error, Result};

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "csv",
    about: "libCacheSim csv: time, object id, size (columns with --csv)",
    sniff: |head| {
        let columns = CsvColumns::default();
        first_lines(head, 2).iter().any(|l| l.split(',').count() >= 3 && request(l, &columns).is_ok())
    },
    read,
};

/// Where a csv file has what; columns count from 1, and 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvColumns {
    /// Time in seconds; without it the line's number counts.
    pub time: usize,
    /// Object id.
    pub id: usize,
    /// Size in bytes; without it every object has 1.
    pub size: usize,
    /// What parts the columns.
    pub delimiter: char,
}

impl Default for CsvColumns {
    fn default() -> Self {
        CsvColumns { time: 1, id: 2, size: 3, delimiter: ',' }
    }
}

impl std::str::FromStr for CsvColumns {
    type Err = Error;

    /// Reads `time=1,id=2,size=3,delimiter=tab`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::Usage(format!("columns {text:?}: {what}; write e.g. time=1,id=2,size=3,delimiter=tab (0 for none)"))
        };
        let mut columns = CsvColumns::default();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| wrong(format!("{part:?} has no value")))?;
            let index = || value.parse().map_err(|_| wrong(format!("{key} is {value:?}, not a column's number")));
            match key.trim() {
                "time" => columns.time = index()?,
                "id" => columns.id = index()?,
                "size" => columns.size = index()?,
                "delimiter" => {
                    columns.delimiter = match value {
                        "comma" => ',',
                        "tab" => '\t',
                        "space" => ' ',
                        "semicolon" => ';',
                        "pipe" => '|',
                        _ => {
                            return Err(wrong(format!(
                                "delimiter is {value:?}, not comma, tab, space, semicolon or pipe"
                            )))
                        }
                    };
                }
                _ => return Err(wrong(format!("{key:?} is no column"))),
            }
        }
        if columns.id == 0 {
            return Err(wrong("the id must have a column".into()));
        }
        Ok(columns)
    }
}

/// Time, object in its namespace, size.
type Request = (Option<u64>, (&'static str, u64), u64);

fn request(line: &str, columns: &CsvColumns) -> Result<Request, String> {
    let field = |at: usize| line.split(columns.delimiter).nth(at - 1).map(str::trim);
    let time_ns = if columns.time == 0 { None } else { Some(seconds_ns(field(columns.time), "time")?) };
    let size = if columns.size == 0 { 1 } else { number(field(columns.size), "size")? };
    let id = field(columns.id).filter(|id| !id.is_empty()).ok_or("no object id")?;
    Ok((time_ns, ids::object(id), size))
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let columns = source.csv;
    let mut number = 0;
    while let Some(line) = source.line()? {
        number += 1;
        if line.trim().is_empty() {
            source.drop("empty lines");
            continue;
        }
        match request(&line, &columns) {
            Ok((time_ns, (space, object), size)) => {
                source.emit_object(time_ns.unwrap_or(number), space, object, size)?
            }
            // A first line of words is a header.
            Err(_) if number == 1 && line.contains(|c: char| c.is_ascii_alphabetic()) => source.drop("header lines"),
            Err(what) => source.bad_line(&what, "name the columns with --csv")?,
        }
    }
    Ok(())
}
