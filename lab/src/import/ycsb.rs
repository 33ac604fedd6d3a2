// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! YCSB's `basic` database prints a line a request: `READ usertable user628 [ <all fields>]`, `UPDATE usertable user17 [ field0=... ]`. The
//! line's number is the time, an object is a key of a table, and has 1 byte.

use super::{csv::TextIds, text::first_lines, Format, Source};
use crate::Result;

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "ycsb",
    about: "YCSB's printed requests (basic database)",
    sniff: |head| {
        let lines = first_lines(head, 4096);
        let requests = lines.iter().filter(|line| request(line).is_some()).count();
        // What is printed before the first of them is not much.
        requests > 0 && 2 * requests >= lines.len()
    },
    read,
};

/// What is asked for, and whether it is written or deleted; none for a line of YCSB's own.
fn request(line: &str) -> Option<(&str, Asked)> {
    let (word, rest) = line.split_once(' ')?;
    let asked = match word {
        "READ" | "SCAN" => Asked::Read,
        "UPDATE" | "INSERT" | "READMODIFYWRITE" => Asked::Write,
        "DELETE" => Asked::Delete,
        _ => return None,
    };
    // Table and key: what tells it apart. The fields behind them stand in brackets, a scan's length before these.
    let mut words = rest.splitn(3, ' ');
    let (table, key) = (words.next()?, words.next()?);
    (!table.is_empty() && !key.is_empty()).then(|| (&rest[..table.len() + 1 + key.len()], asked))
}

#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Read,
    Write,
    Delete,
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let (mut number, mut ids) = (0, TextIds::new(true));
    while let Some(line) = source.line()? {
        number += 1;
        match request(&line) {
            None => source.drop("lines that are no requests"),
            Some((_, Asked::Delete)) => source.drop("deletes"),
            Some((object, asked)) => match ids.object(object.as_bytes()) {
                Ok((space, object)) => source.emit_request(number, space, object, 1, asked == Asked::Write)?,
                Err(what) => source.bad_line(&what, "mend it there")?,
            },
        }
    }
    Ok(())
}
