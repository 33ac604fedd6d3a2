// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a user says of a table's columns: `--csv time=1,id=key,time-unit=ms`.

use std::str::FromStr;

use super::{
    known::{Known, Role, TABLES},
    number::TimeUnit,
};
use crate::{Error, Result};

/// A column that a user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// There is none.
    None,
    /// By its place, from 1.
    Place(usize),
    /// By its name in the header.
    Name(String),
}

/// What a user says of a table. What is not said is read off the file where that cannot be wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// Columns by what they hold.
    pub(super) columns: Vec<(Role, Column)>,
    /// Unit of the times.
    pub(super) time_unit: Option<TimeUnit>,
    /// The published table that it is.
    pub(super) table: Option<&'static Known>,
    /// Bytes of a unit of offsets and lengths.
    pub(super) block_bytes: Option<u64>,
    /// What parts the columns.
    pub(super) delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub(super) header: Option<bool>,
    /// Every id is a text, also one that looks like a number that has lost digits.
    pub(in crate::import) text_ids: bool,
}

/// Delimiters by name.
pub(super) const DELIMITERS: [(&str, u8); 5] =
    [("comma", b','), ("tab", b'\t'), ("semicolon", b';'), ("pipe", b'|'), ("space", b' ')];

const EXAMPLE: &str =
    "write e.g. time=1,id=2,size=3,time-unit=ms or id=key,size=bytes,time=0,delimiter=tab (columns by number \
from 1 or by name, 0 for none)";

impl CsvOptions {
    /// What the user says of a column.
    pub(super) fn column(&self, role: Role) -> Option<&Column> {
        self.columns.iter().rev().find(|(of, _)| *of == role).map(|(_, column)| column)
    }

    /// Whether the user names the column that tells objects or places apart.
    pub(super) fn names_columns(&self) -> bool {
        [Role::Id, Role::Offset].iter().any(|&role| self.column(role).is_some_and(|column| *column != Column::None))
    }
}

impl FromStr for CsvOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: String| Error::Usage(format!("columns {text:?}: {what}; {EXAMPLE}"));
        let mut options = CsvOptions::default();
        for part in text.split(',').filter(|p| !p.trim().is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| wrong(format!("{part:?} has no value")))?;
            let (key, value) = (key.trim(), value.trim());
            let one_of = |known: &[&str]| wrong(format!("{key} is {value:?}, not one of {}", known.join(", ")));
            match key {
                "time-unit" => {
                    let unit = TimeUnit::named(value).ok_or_else(|| one_of(&TimeUnit::NAMES.map(|(name, _)| name)))?;
                    options.time_unit = Some(unit);
                }
                "table" => {
                    let names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
                    options.table = Some(Known::named(value).ok_or_else(|| one_of(&names))?);
                }
                "block-unit" => {
                    options.block_bytes = Some(match value {
                        "byte" => 1,
                        "sector" => super::super::text::SECTOR_BYTES,
                        _ => return Err(one_of(&["byte", "sector"])),
                    });
                }
                "delimiter" => {
                    let known = DELIMITERS.iter().find(|(name, _)| *name == value);
                    let (_, delimiter) = known.ok_or_else(|| one_of(&DELIMITERS.map(|(name, _)| name)))?;
                    options.delimiter = Some(*delimiter);
                }
                "header" => {
                    options.header = Some(match value {
                        "yes" => true,
                        "no" => false,
                        _ => return Err(one_of(&["yes", "no"])),
                    });
                }
                "ids" => {
                    options.text_ids = match value {
                        "text" => true,
                        "any" => false,
                        _ => return Err(one_of(&["any", "text"])),
                    };
                }
                _ => {
                    let role = Role::named(key).ok_or_else(|| wrong(format!("{key:?} is no column")))?;
                    let column = match value.parse::<usize>() {
                        Ok(0) => Column::None,
                        Ok(place) => Column::Place(place),
                        Err(_) if value.is_empty() => return Err(wrong(format!("{key} has no column"))),
                        // A negative number, say, is a slip and no name.
                        Err(_) if value.starts_with(['-', '+']) => {
                            return Err(wrong(format!("{key} is {value:?}, not a column's number or name")))
                        }
                        Err(_) => Column::Name(value.to_owned()),
                    };
                    options.columns.push((role, column));
                }
            }
        }
        let none = |role| options.column(role) == Some(&Column::None);
        if none(Role::Id) && (none(Role::Offset) || options.column(Role::Offset).is_none()) {
            return Err(wrong("the id must have a column".into()));
        }
        Ok(options)
    }
}
