// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A Parquet file that is no trace file, as pandas, polars and others write them, as text: a header, then a line a row. So its columns are
//! understood as those of any table.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use parquet::{
    basic::{LogicalType, TimeUnit},
    file::reader::{FileReader, SerializedFileReader},
    record::{reader::RowIter, Field},
    schema::types::Type,
};

use crate::{store::parquet_error, Result};

/// Text made at a time.
const TEXT_BYTES: usize = 1 << 16;

/// The rows of a file.
pub(super) struct Rows {
    rows: RowIter<'static>,
    text: Vec<u8>,
    given: usize,
    /// Of a table of one column, whose lines would be no table's: the row's number is beside it.
    alone: Option<u64>,
}

impl Rows {
    pub(super) fn open(path: &Path, file: File) -> Result<Self> {
        let failed = |e| parquet_error(path, e, "write the table again");
        let reader = SerializedFileReader::new(file).map_err(failed)?;
        let names: Vec<String> =
            reader.metadata().file_metadata().schema().get_fields().iter().map(|f| title(f)).collect();
        let mut text = Vec::new();
        for (at, name) in names.iter().enumerate() {
            quote(&mut text, at, name);
        }
        let alone = (names.len() == 1).then_some(0);
        text.extend_from_slice(if alone.is_some() { b",\"\"\n" } else { b"\n" });
        Ok(Rows { rows: RowIter::from_file_into(Box::new(reader)), text, given: 0, alone })
    }

    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.given = 0;
        for row in self.rows.by_ref() {
            let row = row.map_err(io::Error::other)?;
            for (at, (_, field)) in row.get_column_iter().enumerate() {
                match field {
                    Field::Null => quote(&mut self.text, at, ""),
                    Field::Str(text) => quote(&mut self.text, at, text),
                    Field::Bytes(bytes) => quote(&mut self.text, at, &String::from_utf8_lossy(bytes.data())),
                    Field::TimestampMillis(number) | Field::TimestampMicros(number) => {
                        quote(&mut self.text, at, &number.to_string());
                    }
                    Field::Double(number) => quote(&mut self.text, at, &float(*number)),
                    Field::Float(number) => quote(&mut self.text, at, &float(f64::from(*number))),
                    other => quote(&mut self.text, at, &other.to_string()),
                }
            }
            if let Some(number) = &mut self.alone {
                write!(self.text, ",{number}")?;
                *number += 1;
            }
            self.text.push(b'\n');
            if self.text.len() >= TEXT_BYTES {
                break;
            }
        }
        Ok(())
    }
}

/// A column's name, with the unit of its times.
fn title(field: &Type) -> String {
    let info = field.get_basic_info();
    let unit = match info.logical_type_ref() {
        Some(LogicalType::Timestamp(timestamp)) => match timestamp.unit {
            TimeUnit::MILLIS => "_ms",
            TimeUnit::MICROS => "_us",
            TimeUnit::NANOS => "_ns",
        },
        _ => "",
    };
    match info.name().ends_with(unit) {
        true => info.name().to_owned(),
        false => format!("{}{unit}", info.name()),
    }
}

/// A float as text; one that has lost digits shows that it is none of a whole number.
fn float(number: f64) -> String {
    match number {
        n if n.is_nan() => String::new(),
        n if n.fract() == 0.0 && n.abs() < (1u64 << 53) as f64 => format!("{n:.0}"),
        n => format!("{n:?}"),
    }
}

/// A field, quoted where it must be. A line's end within would end the line.
fn quote(text: &mut Vec<u8>, at: usize, field: &str) {
    if at > 0 {
        text.push(b',');
    }
    // A line of one empty field would be an empty line.
    let plain = !field.is_empty() && !field.contains([',', '"', '\n', '\r', '#']) && field.trim() == field;
    let _ = match plain {
        true => write!(text, "{field}"),
        false => write!(text, "\"{}\"", field.replace('"', "\"\"").replace(['\n', '\r'], "\u{fffd}")),
    };
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            self.fill()?;
        }
        let count = buffer.len().min(self.text.len() - self.given);
        buffer[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
