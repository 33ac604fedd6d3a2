// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which columns of a table hold what: by the trace file's names, by what users say, or by names that mean one thing only.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Schema, TimeUnit};
use fovea_lab::import::{role_of_title, Role};
use fovea_lab::{Error, Result};

use crate::records::{schema, Naming};

const MEND: &str = "say which: columns={'object': 'key', 'size_bytes': None, 'time_ns': 'ts'}";

fn wrong<T>(what: String, mend: &str) -> Result<T> {
    Err(Error::Content { path: crate::trace::NAME.into(), place: "the schema".into(), what, mend: mend.into() })
}

fn scale_of(unit: &str) -> Option<i128> {
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("ns", 1)]
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, scale)| *scale)
}

impl Naming {
    /// Of a table with these columns.
    pub fn of(
        table: &Schema,
        said: Option<&BTreeMap<String, Option<String>>>,
        time_unit: Option<&str>,
    ) -> Result<Naming> {
        let ours: Vec<&'static str> = NAMES.to_vec();
        debug_assert_eq!(ours, schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>());
        let titles: Vec<&str> = table.fields().iter().map(|field| field.name().as_str()).collect();
        let mut columns: BTreeMap<&'static str, String> = BTreeMap::new();
        for name in &ours {
            if titles.contains(name) {
                columns.insert(name, (*name).to_owned());
            }
        }
        let exact = columns.contains_key("op") && columns.contains_key("space");
        let told = |name: &str| said.is_some_and(|said| said.contains_key(name));
        let mut unit = None;
        for (name, role) in [("object", Role::Id), ("size_bytes", Role::Size), ("time_ns", Role::Time)] {
            if exact || columns.contains_key(name) || told(name) {
                continue;
            }
            let found: Vec<_> = titles
                .iter()
                .filter_map(|title| role_of_title(title).filter(|(of, _)| *of == role).map(|(_, unit)| (*title, unit)))
                .collect();
            match found.as_slice() {
                [] => {}
                [(title, of)] => {
                    columns.insert(name, (*title).to_owned());
                    if role == Role::Time {
                        unit = *of;
                    }
                }
                several => {
                    let titles: Vec<_> = several.iter().map(|(title, _)| format!("{title:?}")).collect();
                    return wrong(format!("{name} may be in several columns: {}", titles.join(", ")), MEND);
                }
            }
        }
        for (name, title) in said.into_iter().flatten() {
            let Some(name) = ours.iter().find(|known| *known == name) else {
                return wrong(
                    format!("columns names {name:?}, which a trace has not"),
                    &format!("it has {}", ours.join(", ")),
                );
            };
            match title {
                Some(title) if titles.contains(&title.as_str()) => drop(columns.insert(name, title.clone())),
                Some(title) => {
                    return wrong(
                        format!("{name} is in a column {title:?}, which is not there"),
                        &format!("there are {}", titles.join(", ")),
                    )
                }
                // A name that no column has.
                None => drop(columns.insert(name, String::new())),
            }
        }
        columns.retain(|name, title| !title.is_empty() || titles.contains(name));
        if !columns.contains_key("object") && !columns.contains_key("op") {
            return wrong(format!("no column named object, nor called as ids are ({})", titles.join(", ")), MEND);
        }
        let scale = match columns.get("time_ns") {
            Some(title) if !title.is_empty() => Self::scale(table, title, unit, time_unit)?,
            _ => 1,
        };
        let words: Vec<_> = columns
            .iter()
            .filter(|(_, title)| !title.is_empty())
            .map(|(name, title)| format!("{name}: {title:?}"))
            .collect();
        let unread: Vec<_> = titles
            .iter()
            .filter(|title| !columns.values().any(|used| used == *title))
            .map(|title| format!("{title:?}"))
            .collect();
        let mut understood = words.join("; ");
        if columns.get("size_bytes").is_none_or(String::is_empty) && !exact {
            understood += "; size: none, 1 byte each";
        }
        if !unread.is_empty() {
            understood += &format!("; not read: {}", unread.join(", "));
        }
        Ok(Naming { columns: columns.into_iter().collect(), time_scale: scale, understood })
    }

    fn scale(
        table: &Schema,
        title: &str,
        named: Option<fovea_lab::import::TimeUnit>,
        said: Option<&str>,
    ) -> Result<i128> {
        let field = table.field_with_name(title).map_err(|e| Error::Usage(e.to_string()))?;
        if let DataType::Timestamp(unit, _) = field.data_type() {
            return Ok(match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1000,
                TimeUnit::Nanosecond => 1,
            });
        }
        if let Some(unit) = said {
            return scale_of(unit)
                .ok_or_else(|| Error::Usage(format!("time_unit {unit:?}: not known; take s, ms, us or ns")));
        }
        match named.and_then(|unit| scale_of(unit.name())) {
            Some(scale) => Ok(scale),
            None if title == "time_ns" => Ok(1),
            None => wrong(
                format!("times in {title:?} have no unit"),
                "say time_unit='s', 'ms', 'us' or 'ns', or columns={'time_ns': None} to leave them out",
            ),
        }
    }
}

/// The columns of a trace file.
const NAMES: [&str; 11] = [
    "time_ns",
    "app",
    "importance",
    "op",
    "space",
    "object",
    "offset_bytes",
    "length_bytes",
    "write",
    "sync",
    "size_bytes",
];
