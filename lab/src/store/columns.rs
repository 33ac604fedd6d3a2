// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The columns of a row group that a replay needs, without the others and without a record each.

use std::sync::Arc;

use parquet::{
    data_type::{BoolType, ByteArrayType, Int64Type},
    errors::ParquetError,
    file::{reader::RowGroupReader, statistics::Statistics},
};

use super::read::{rows_of, values, wrong};
use crate::{Names, Op};

/// Values of a column, one a row; a column of one value says so.
pub enum Few<T> {
    /// All rows have this one.
    Same(T),
    /// Each has its own.
    Each(Vec<T>),
}

impl<T: Clone> Few<T> {
    /// The value in a row.
    #[inline]
    pub fn at(&self, row: usize) -> &T {
        match self {
            Few::Same(value) => value,
            Few::Each(values) => &values[row],
        }
    }
}

/// The rows of a row group, as a replay needs them.
pub struct Columns {
    /// How many.
    pub rows: usize,
    /// When; `Same(0)` if not asked for.
    pub times: Few<u64>,
    /// What was seen.
    pub ops: Few<Op>,
    /// Places in `names`.
    pub spaces: Few<u32>,
    /// Namespaces.
    pub names: Vec<Arc<str>>,
    /// Object numbers.
    pub objects: Few<u64>,
    /// First bytes.
    pub offsets: Few<u64>,
    /// Lengths in bytes.
    pub lengths: Few<u64>,
    /// Whether written; `Same(false)` if not asked for.
    pub writes: Few<bool>,
    /// Objects' sizes.
    pub sizes: Few<Option<u64>>,
}

/// The one value of a column, if its statistics say that there is one and that no row is without.
fn same<T>(group: &dyn RowGroupReader, index: usize, of: impl Fn(&Statistics) -> Option<T>) -> Option<T> {
    let statistics = group.metadata().column(index).statistics()?;
    of(statistics)
}

fn same_number(statistics: &Statistics) -> Option<u64> {
    match statistics {
        Statistics::Int64(s) if s.min_opt() == s.max_opt() => s.min_opt().map(|&v| v as u64),
        _ => None,
    }
}

fn numbers(group: &dyn RowGroupReader, index: usize, rows: usize) -> Result<Few<u64>, ParquetError> {
    if let Some(value) = same(group, index, same_number) {
        return Ok(Few::Same(value));
    }
    let (found, _) = values::<Int64Type>(group, index, rows)?;
    Ok(Few::Each(found.into_iter().map(|v| v as u64).collect()))
}

fn optional(group: &dyn RowGroupReader, index: usize, rows: usize) -> Result<Few<Option<u64>>, ParquetError> {
    let nulls = same(group, index, |s| s.null_count_opt());
    match nulls {
        Some(count) if count == rows as u64 => return Ok(Few::Same(None)),
        Some(0) => {
            if let Some(value) = same(group, index, same_number) {
                return Ok(Few::Same(Some(value)));
            }
        }
        _ => {}
    }
    let (found, levels) = values::<Int64Type>(group, index, rows)?;
    let mut found = found.into_iter().map(|v| v as u64);
    Ok(Few::Each(levels.into_iter().map(|level| if level == 1 { found.next() } else { None }).collect()))
}

fn flags(group: &dyn RowGroupReader, index: usize, rows: usize) -> Result<Few<bool>, ParquetError> {
    let of = |statistics: &Statistics| match statistics {
        Statistics::Boolean(s) if s.min_opt() == s.max_opt() => s.min_opt().copied(),
        _ => None,
    };
    match same(group, index, of) {
        Some(value) => Ok(Few::Same(value)),
        None => Ok(Few::Each(values::<BoolType>(group, index, rows)?.0)),
    }
}

/// Strings as numbers, and what `read` makes of each different one.
fn strings<T>(
    group: &dyn RowGroupReader,
    index: usize,
    rows: usize,
    mut read: impl FnMut(&str) -> Result<T, ParquetError>,
) -> Result<(Few<u32>, Vec<T>), ParquetError> {
    let of = |statistics: &Statistics| match statistics {
        Statistics::ByteArray(s) if s.min_is_exact() && s.max_is_exact() && s.min_opt() == s.max_opt() => {
            s.min_opt().cloned()
        }
        _ => None,
    };
    if let Some(value) = same(group, index, of) {
        return Ok((Few::Same(0), vec![read(value.as_utf8()?)?]));
    }
    let (found, _) = values::<ByteArrayType>(group, index, rows)?;
    // The reader hands out the bytes of its dictionary, so an address tells most of them apart; the last few are enough.
    let mut known: Vec<(*const u8, usize, u32)> = Vec::new();
    let (mut made, mut places) = (Vec::new(), Vec::with_capacity(rows));
    for value in &found {
        let (address, length) = (value.data().as_ptr(), value.len());
        let place = match known.iter().rev().take(8).find(|k| k.0 == address && k.1 == length) {
            Some(&(_, _, place)) => place,
            None => {
                let place = made.len() as u32;
                made.push(read(value.as_utf8()?)?);
                known.push((address, length, place));
                place
            }
        };
        places.push(place);
    }
    Ok((Few::Each(places), made))
}

pub(super) fn read(
    group: &dyn RowGroupReader,
    with_writes: bool,
    with_times: bool,
    names: &mut Names,
) -> Result<Columns, ParquetError> {
    let rows = rows_of(group)?;
    let (places, known) = strings(group, 3, rows, |name| name.parse::<Op>().map_err(|()| wrong(name)))?;
    let ops = match places {
        Few::Same(place) => Few::Same(known[place as usize]),
        Few::Each(places) => Few::Each(places.into_iter().map(|place| known[place as usize]).collect()),
    };
    let (spaces, names) = strings(group, 4, rows, |name| Ok(names.share(name)))?;
    Ok(Columns {
        rows,
        times: if with_times { numbers(group, 0, rows)? } else { Few::Same(0) },
        ops,
        spaces,
        names,
        objects: numbers(group, 5, rows)?,
        offsets: numbers(group, 6, rows)?,
        lengths: numbers(group, 7, rows)?,
        writes: if with_writes { flags(group, 8, rows)? } else { Few::Same(false) },
        sizes: optional(group, 10, rows)?,
    })
}
