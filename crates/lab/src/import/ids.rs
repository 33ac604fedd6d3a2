// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One object per line (LIRS, Caffeine): a number, or any text. The line's number is the time.

use twox_hash::XxHash64;

use super::{text::first_lines, Format, Source};
use crate::Result;

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "ids",
    about: "one object id per line (LIRS, Caffeine)",
    sniff: |head| {
        let lines = first_lines(head, 16);
        !lines.is_empty() && lines.iter().all(|l| l.trim().parse::<u64>().is_ok() || l.trim() == "*")
    },
    read,
};

/// The object of a text id: its number, or else the text's 64-bit hash in a space of its own. Two of a billion distinct texts
/// share a hash with a probability of 3 %.
pub(super) fn object(text: &str) -> (&'static str, u64) {
    match text.parse() {
        Ok(number) => ("object", number),
        Err(_) => ("object-text", XxHash64::oneshot(0, text.as_bytes())),
    }
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let mut number = 0;
    while let Some(line) = source.line()? {
        number += 1;
        match line.trim() {
            "" => source.drop("empty lines"),
            // The LIRS traces part their phases so.
            "*" => source.drop("separator lines"),
            text if text.starts_with('#') => source.drop("comment lines"),
            text if text.contains(char::is_control) || text.contains('\u{fffd}') => {
                source.bad_line("not text", "name the right format with --format")?;
            }
            text => {
                let (space, object) = object(text);
                source.emit_object(number, space, object, 1)?;
            }
        }
    }
    Ok(())
}
