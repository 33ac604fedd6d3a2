// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One object per line (LIRS, Caffeine): a number, or any text. The line's number is the time.

use super::{
    csv::{role_of_title, Role, TextIds},
    text::first_lines,
    Format, Source,
};
use crate::Result;

/// The format's entry.
pub static FORMAT: Format = Format {
    name: "ids",
    about: "one object id per line (LIRS, Caffeine)",
    sniff: |head| {
        let lines = first_lines(head, 16);
        let lines = &lines[usize::from(lines.first().is_some_and(|line| is_title(line)))..];
        !lines.is_empty() && lines.iter().all(|l| l.trim().parse::<u64>().is_ok() || l.trim() == "*")
    },
    read,
};

/// Whether the first line names the column.
fn is_title(line: &str) -> bool {
    role_of_title(line).is_some_and(|(role, _)| role == Role::Id)
}

fn read(source: &mut Source<'_>) -> Result<()> {
    let (mut number, mut ids) = (0, TextIds::new(source.csv.text_ids));
    while let Some(line) = source.line()? {
        number += 1;
        match line.trim() {
            "" => source.drop("empty lines"),
            // The LIRS traces part their phases so.
            "*" => source.drop("separator lines"),
            text if text.starts_with('#') => source.drop("comment lines"),
            text if number == 1 && is_title(text) => source.drop("header lines"),
            text if text.contains(char::is_control) || text.contains('\u{fffd}') => {
                source.bad_line("not text", "name the right format with --format")?;
            }
            text => match ids.object(text.as_bytes()) {
                Ok((space, object)) => source.emit_object(number, space, object, 1)?,
                Err(what) => source.bad_line(&what, "mend it there")?,
            },
        }
    }
    Ok(())
}
