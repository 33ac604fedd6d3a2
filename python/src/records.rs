// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Rows of Arrow batches as a trace's records, and back. Columns are read where they lie.

use std::sync::Arc;

use arrow_array::{
    builder::{BooleanBuilder, StringDictionaryBuilder, UInt64Builder},
    cast::AsArray,
    types::{Int16Type, Int32Type, Int64Type, Int8Type, UInt64Type},
    Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use fovea_lab::{importance_from_name, importance_name, Error, Names, Op, Record, Result};

fn name_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The columns of a trace file, names as dictionaries.
pub fn schema() -> Schema {
    let field = |name, kind| Field::new(name, kind, false);
    Schema::new(vec![
        field("time_ns", DataType::UInt64),
        field("app", name_type()),
        Field::new("importance", name_type(), true),
        field("op", name_type()),
        field("space", name_type()),
        field("object", DataType::UInt64),
        field("offset_bytes", DataType::UInt64),
        field("length_bytes", DataType::UInt64),
        field("write", DataType::Boolean),
        field("sync", DataType::Boolean),
        Field::new("size_bytes", DataType::UInt64, true),
    ])
}

/// A batch of these records, with that schema.
pub fn batch(records: &[Record]) -> RecordBatch {
    let numbers = |of: fn(&Record) -> Option<u64>| -> ArrayRef {
        let mut builder = UInt64Builder::with_capacity(records.len());
        records.iter().for_each(|r| builder.append_option(of(r)));
        Arc::new(builder.finish())
    };
    let flags = |of: fn(&Record) -> bool| -> ArrayRef {
        let mut builder = BooleanBuilder::with_capacity(records.len());
        records.iter().for_each(|r| builder.append_value(of(r)));
        Arc::new(builder.finish())
    };
    let names = |of: fn(&Record) -> Option<&str>| -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        records.iter().for_each(|r| builder.append_option(of(r)));
        Arc::new(builder.finish())
    };
    let columns = vec![
        numbers(|r| Some(r.time_ns)),
        names(|r| Some(&r.app)),
        names(|r| r.importance.map(importance_name)),
        names(|r| Some(r.op.name())),
        names(|r| Some(&r.space)),
        numbers(|r| Some(r.object)),
        numbers(|r| Some(r.offset_bytes)),
        numbers(|r| Some(r.length_bytes)),
        flags(|r| r.write),
        flags(|r| r.sync),
        numbers(|r| r.size_bytes),
    ];
    RecordBatch::try_new(Arc::new(schema()), columns).expect("the schema's columns")
}

/// Numbers not below zero.
enum Numbers {
    Unsigned(UInt64Array),
    Signed(Int64Array),
}

/// Names, however they are encoded.
enum Texts {
    Plain(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    Of(Vec<Option<usize>>, Box<Texts>),
}

impl Texts {
    fn of(array: &ArrayRef) -> Option<Texts> {
        Some(match array.data_type() {
            DataType::Utf8 => Texts::Plain(array.as_string::<i32>().clone()),
            DataType::LargeUtf8 => Texts::Large(array.as_string::<i64>().clone()),
            DataType::Utf8View => Texts::View(array.as_string_view().clone()),
            DataType::Dictionary(key, _) => {
                fn keys<K: arrow_array::types::ArrowDictionaryKeyType>(
                    array: &DictionaryArray<K>,
                ) -> Vec<Option<usize>> {
                    (0..array.len()).map(|at| array.key(at)).collect()
                }
                let keys = match **key {
                    DataType::Int8 => keys(array.as_dictionary::<Int8Type>()),
                    DataType::Int16 => keys(array.as_dictionary::<Int16Type>()),
                    DataType::Int32 => keys(array.as_dictionary::<Int32Type>()),
                    DataType::Int64 => keys(array.as_dictionary::<Int64Type>()),
                    _ => return None,
                };
                Texts::Of(keys, Box::new(Texts::of(array.as_any_dictionary().values())?))
            }
            _ => return None,
        })
    }

    fn at(&self, row: usize) -> Option<&str> {
        match self {
            Texts::Plain(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::View(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::Of(keys, values) => values.at(keys[row]?),
        }
    }
}

/// The rows of a batch.
pub struct Rows {
    rows: usize,
    first: u64,
    names: Names,
    time_ns: Option<Numbers>,
    app: Option<Texts>,
    importance: Option<Texts>,
    op: Option<Texts>,
    space: Option<Texts>,
    object: Option<Numbers>,
    offset_bytes: Option<Numbers>,
    length_bytes: Option<Numbers>,
    write: Option<BooleanArray>,
    sync: Option<BooleanArray>,
    size_bytes: Option<Numbers>,
}

fn column<T>(batch: &RecordBatch, name: &str, mend: &str, of: impl Fn(&ArrayRef) -> Option<T>) -> Result<Option<T>> {
    let Some(array) = batch.column_by_name(name) else { return Ok(None) };
    // pandas keeps what is missing as the numbers or names that it has none of.
    if name != "object" && !array.is_empty() && array.logical_null_count() == array.len() {
        return Ok(None);
    }
    let wrong = || wrong(&format!("column {name}"), format!("{} is not read", array.data_type()), mend);
    of(array).map(Some).ok_or_else(wrong)
}

fn wrong(place: &str, what: String, mend: &str) -> Error {
    Error::Content { path: crate::trace::NAME.into(), place: place.into(), what, mend: mend.into() }
}

impl Rows {
    /// The rows of a batch, before which there were `first`.
    pub fn of(batch: &RecordBatch, first: u64) -> Result<Rows> {
        let numbers = |name| {
            column(batch, name, "cast it to uint64", |array| match array.data_type() {
                DataType::UInt64 => Some(Numbers::Unsigned(array.as_primitive::<UInt64Type>().clone())),
                DataType::Int64 => Some(Numbers::Signed(array.as_primitive::<Int64Type>().clone())),
                _ => None,
            })
        };
        let texts = |name| column(batch, name, "cast it to string", Texts::of);
        let flags = |name| column(batch, name, "cast it to bool", |array| array.as_boolean_opt().cloned());
        let rows = Rows {
            rows: batch.num_rows(),
            first,
            names: Names::default(),
            time_ns: numbers("time_ns")?,
            app: texts("app")?,
            importance: texts("importance")?,
            op: texts("op")?,
            space: texts("space")?,
            object: numbers("object")?,
            offset_bytes: numbers("offset_bytes")?,
            length_bytes: numbers("length_bytes")?,
            write: flags("write")?,
            sync: flags("sync")?,
            size_bytes: numbers("size_bytes")?,
        };
        if rows.object.is_none() && rows.op.is_none() {
            let what = "no column named object".to_owned();
            return Err(wrong("the schema", what, "name the column that tells objects apart so"));
        }
        Ok(rows)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.rows
    }

    fn number(&self, column: &Option<Numbers>, name: &str, row: usize) -> Result<Option<u64>> {
        match column {
            Some(Numbers::Unsigned(array)) if array.is_valid(row) => Ok(Some(array.value(row))),
            Some(Numbers::Signed(array)) if array.is_valid(row) => {
                let value = array.value(row);
                let known = u64::try_from(value).map(Some);
                known.map_err(|_| self.wrong(row, format!("{name} is {value}"), "numbers are not below zero"))
            }
            _ => Ok(None),
        }
    }

    fn wrong(&self, row: usize, what: String, mend: &str) -> Error {
        wrong(&format!("record {}", self.first + row as u64 + 1), what, mend)
    }

    /// The record in a row. What has no column is as in a trace of objects of one byte each.
    pub fn record(&mut self, row: usize) -> Result<Record> {
        let app = self.names.share(self.app.as_ref().and_then(|c| c.at(row)).unwrap_or_default());
        let space = self.names.share(self.space.as_ref().and_then(|c| c.at(row)).unwrap_or("object"));
        let importance = match self.importance.as_ref().and_then(|c| c.at(row)) {
            None => None,
            Some(name) => Some(importance_from_name(name).ok_or_else(|| {
                self.wrong(row, format!("importance is {name:?}"), "docs/guide/lab-formats.md names all")
            })?),
        };
        let op = match self.op.as_ref().and_then(|c| c.at(row)) {
            None => Op::Object,
            Some(name) => name
                .parse()
                .map_err(|()| self.wrong(row, format!("op is {name:?}"), "docs/guide/lab-formats.md names all"))?,
        };
        let size_bytes = self.number(&self.size_bytes, "size_bytes", row)?;
        let flag = |column: &Option<BooleanArray>| column.as_ref().is_some_and(|c| c.is_valid(row) && c.value(row));
        Ok(Record {
            time_ns: self.number(&self.time_ns, "time_ns", row)?.unwrap_or(self.first + row as u64),
            app,
            importance,
            op,
            space,
            object: match (self.number(&self.object, "object", row)?, &self.object) {
                (None, Some(_)) => return Err(self.wrong(row, "object is null".into(), "leave such rows out")),
                (object, _) => object.unwrap_or_default(),
            },
            offset_bytes: self.number(&self.offset_bytes, "offset_bytes", row)?.unwrap_or_default(),
            length_bytes: self.number(&self.length_bytes, "length_bytes", row)?.or(size_bytes).unwrap_or(1),
            write: flag(&self.write),
            sync: flag(&self.sync),
            size_bytes,
        })
    }
}
