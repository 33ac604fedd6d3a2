// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Rows of Arrow batches as a trace's records, and back. Columns are read where they lie.

use std::sync::Arc;

use arrow_array::{
    builder::{BooleanBuilder, StringDictionaryBuilder, UInt64Builder},
    cast::AsArray,
    types::{
        Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Int8Type, TimestampMicrosecondType,
        TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt16Type, UInt32Type, UInt64Type,
        UInt8Type,
    },
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use fovea_lab::import::{does, Does, TextIds};
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

/// Numbers, however they are encoded.
enum Numbers {
    Unsigned(UInt64Array),
    Signed(Int64Array),
    Float(Float64Array),
    Of(Vec<Option<usize>>, Box<Numbers>),
}

impl Numbers {
    fn of(array: &ArrayRef) -> Option<Numbers> {
        macro_rules! signed {
            ($type:ty) => {
                Numbers::Signed(array.as_primitive::<$type>().iter().map(|n| n.map(i64::from)).collect())
            };
        }
        Some(match array.data_type() {
            DataType::UInt64 => Numbers::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            DataType::Int64 => Numbers::Signed(array.as_primitive::<Int64Type>().clone()),
            DataType::Int32 => signed!(Int32Type),
            DataType::Int16 => signed!(Int16Type),
            DataType::Int8 => signed!(Int8Type),
            DataType::UInt32 => signed!(UInt32Type),
            DataType::UInt16 => signed!(UInt16Type),
            DataType::UInt8 => signed!(UInt8Type),
            DataType::Float64 => Numbers::Float(array.as_primitive::<Float64Type>().clone()),
            DataType::Float32 => {
                Numbers::Float(array.as_primitive::<Float32Type>().iter().map(|n| n.map(f64::from)).collect())
            }
            DataType::Timestamp(unit, _) => Numbers::Signed(match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().reinterpret_cast::<Int64Type>(),
                TimeUnit::Millisecond => {
                    array.as_primitive::<TimestampMillisecondType>().reinterpret_cast::<Int64Type>()
                }
                TimeUnit::Microsecond => {
                    array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast::<Int64Type>()
                }
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().reinterpret_cast::<Int64Type>(),
            }),
            // A categorical.
            DataType::Dictionary(..) => {
                let values = Numbers::of(array.as_any_dictionary().values())?;
                Numbers::Of(keys_of(array)?, Box::new(values))
            }
            _ => return None,
        })
    }

    /// The whole number in a row, if there is one; else what stands there.
    fn at(&self, row: usize) -> Result<Option<i128>, String> {
        match self {
            Numbers::Unsigned(array) => Ok(array.is_valid(row).then(|| i128::from(array.value(row)))),
            Numbers::Signed(array) => Ok(array.is_valid(row).then(|| i128::from(array.value(row)))),
            // pandas makes floats of whole numbers where some are missing. Above 2^53 one may stand for several.
            Numbers::Float(array) if array.is_valid(row) && !array.value(row).is_nan() => {
                let value = array.value(row);
                match value.fract() == 0.0 && value.abs() < (1u64 << 53) as f64 {
                    true => Ok(Some(value as i128)),
                    false => Err(value.to_string()),
                }
            }
            Numbers::Float(_) => Ok(None),
            Numbers::Of(keys, values) => keys[row].map_or(Ok(None), |key| values.at(key)),
        }
    }
}

/// Places in a dictionary's values.
fn keys_of(array: &ArrayRef) -> Option<Vec<Option<usize>>> {
    fn keys<K: arrow_array::types::ArrowDictionaryKeyType>(array: &DictionaryArray<K>) -> Vec<Option<usize>> {
        (0..array.len()).map(|at| array.key(at)).collect()
    }
    let DataType::Dictionary(key, _) = array.data_type() else { return None };
    Some(match **key {
        DataType::Int8 => keys(array.as_dictionary::<Int8Type>()),
        DataType::Int16 => keys(array.as_dictionary::<Int16Type>()),
        DataType::Int32 => keys(array.as_dictionary::<Int32Type>()),
        DataType::Int64 => keys(array.as_dictionary::<Int64Type>()),
        DataType::UInt8 => keys(array.as_dictionary::<UInt8Type>()),
        DataType::UInt16 => keys(array.as_dictionary::<UInt16Type>()),
        DataType::UInt32 => keys(array.as_dictionary::<UInt32Type>()),
        _ => return None,
    })
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
            DataType::Dictionary(..) => {
                Texts::Of(keys_of(array)?, Box::new(Texts::of(array.as_any_dictionary().values())?))
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

/// Objects' ids.
enum Ids {
    Numbers(Numbers),
    Texts(Texts),
}

/// The rows of a batch.
pub struct Rows {
    rows: usize,
    /// Nanoseconds of a unit of time.
    time_scale: i128,
    /// What is added to times, so that the first is not below zero.
    shift_ns: Option<i128>,
    first: u64,
    names: Names,
    time_ns: Option<Numbers>,
    app: Option<Texts>,
    importance: Option<Texts>,
    op: Option<Texts>,
    space: Option<Texts>,
    object: Option<Ids>,
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

/// Which columns hold what: the trace's names, and theirs in the table.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    pub columns: Vec<(&'static str, String)>,
    /// Nanoseconds of a unit of time.
    pub time_scale: i128,
    /// All of it in words.
    pub understood: String,
}

impl Rows {
    /// The rows of a batch, before which there were `first`.
    pub fn of(batch: &RecordBatch, first: u64, naming: &Naming) -> Result<Rows> {
        let named = |name: &'static str| {
            let known = naming.columns.iter().find(|(of, _)| *of == name);
            known.map_or(name, |(_, title)| title.as_str())
        };
        let numbers = |name| column(batch, named(name), "cast it to uint64", Numbers::of);
        let texts = |name| column(batch, named(name), "cast it to string", Texts::of);
        let flags = |name| column(batch, named(name), "cast it to bool", |array| array.as_boolean_opt().cloned());
        let ids = |array: &ArrayRef| Texts::of(array).map(Ids::Texts).or_else(|| Numbers::of(array).map(Ids::Numbers));
        Ok(Rows {
            rows: batch.num_rows(),
            time_scale: naming.time_scale,
            shift_ns: None,
            first,
            names: Names::default(),
            time_ns: numbers("time_ns")?,
            app: texts("app")?,
            importance: texts("importance")?,
            op: texts("op")?,
            space: texts("space")?,
            object: column(batch, named("object"), "cast it to uint64 or string", ids)?,
            offset_bytes: numbers("offset_bytes")?,
            length_bytes: numbers("length_bytes")?,
            write: flags("write")?,
            sync: flags("sync")?,
            size_bytes: numbers("size_bytes")?,
        })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.rows
    }

    fn number(&self, column: &Option<Numbers>, name: &str, row: usize) -> Result<Option<u64>> {
        let Some(column) = column else { return Ok(None) };
        match column.at(row) {
            Ok(None) => Ok(None),
            Ok(Some(value)) => u64::try_from(value)
                .map(Some)
                .map_err(|_| self.wrong(row, format!("{name} is {value}"), "numbers are not below zero")),
            Err(value) => {
                Err(self.wrong(row, format!("{name} is {value}"), "take whole numbers below 2^53, or integers"))
            }
        }
    }

    fn time(&mut self, row: usize) -> Result<u64> {
        let Some(column) = &self.time_ns else { return Ok(self.first + row as u64) };
        let wrong = |value: String| {
            self.wrong(row, format!("time_ns is {value}"), "give it as whole numbers of a smaller unit")
        };
        let Some(value) = column.at(row).map_err(wrong)? else { return Ok(self.first + row as u64) };
        let ns = value * self.time_scale;
        let shift_ns = *self.shift_ns.get_or_insert(if ns < 0 { -ns } else { 0 });
        u64::try_from(ns + shift_ns).map_err(|_| {
            self.wrong(
                row,
                format!("its time is {value}"),
                "no time is below zero, or earlier than a first one that is",
            )
        })
    }

    /// The object in a row and its namespace.
    fn object(&self, row: usize, ids: &mut TextIds) -> Result<(Option<&'static str>, u64)> {
        let null = || self.wrong(row, "object is null".into(), "leave such rows out");
        match &self.object {
            None => Ok((None, 0)),
            Some(Ids::Numbers(column)) => match column.at(row) {
                Ok(Some(value)) => match u64::try_from(value) {
                    Ok(number) => Ok((None, number)),
                    // A hash that another program holds as a number with a sign.
                    Err(_) => {
                        let found = ids.object(value.to_string().as_bytes());
                        found
                            .map(|(space, object)| (Some(space), object))
                            .map_err(|what| self.wrong(row, what, "number the objects"))
                    }
                },
                Ok(None) => Err(null()),
                Err(value) => {
                    Err(self.wrong(row, format!("object is {value}"), "take whole numbers below 2^53, or integers"))
                }
            },
            Some(Ids::Texts(column)) => {
                let text = column.at(row).ok_or_else(null)?;
                let found = ids.object(text.as_bytes());
                found
                    .map(|(space, object)| (Some(space), object))
                    .map_err(|what| self.wrong(row, what, "number the objects"))
            }
        }
    }

    fn wrong(&self, row: usize, what: String, mend: &str) -> Error {
        wrong(&format!("record {}", self.first + row as u64 + 1), what, mend)
    }

    /// The record in a row, none if it deletes an object. What has no column is as in a trace of objects of one byte each.
    pub fn record(&mut self, row: usize, ids: &mut TextIds) -> Result<Option<Record>> {
        let time_ns = self.time(row)?;
        let app = self.names.share(self.app.as_ref().and_then(|c| c.at(row)).unwrap_or_default());
        let importance = match self.importance.as_ref().and_then(|c| c.at(row)) {
            None => None,
            Some(name) => Some(importance_from_name(name).ok_or_else(|| {
                self.wrong(row, format!("importance is {name:?}"), "docs/guide/lab-formats.md names all")
            })?),
        };
        let flag = |column: &Option<BooleanArray>| column.as_ref().is_some_and(|c| c.is_valid(row) && c.value(row));
        let (mut op, mut write) = (Op::Object, flag(&self.write));
        if let Some(name) = self.op.as_ref().and_then(|c| c.at(row)) {
            match (name.parse(), does(name.as_bytes(), false)) {
                (Ok(known), _) => op = known,
                (_, Some(Does::Delete)) => return Ok(None),
                (_, Some(does)) => write |= does == Does::Write,
                (Err(()), None) => {
                    return Err(self.wrong(row, format!("op is {name:?}"), "docs/guide/lab-formats.md names all"))
                }
            }
        }
        let (space, object) = self.object(row, ids)?;
        let space = self.space.as_ref().and_then(|c| c.at(row)).or(space).unwrap_or("object");
        let space = self.names.share(space);
        let size_bytes = self.number(&self.size_bytes, "size_bytes", row)?;
        Ok(Some(Record {
            time_ns,
            app,
            importance,
            op,
            space,
            object,
            offset_bytes: self.number(&self.offset_bytes, "offset_bytes", row)?.unwrap_or_default(),
            length_bytes: self.number(&self.length_bytes, "length_bytes", row)?.or(size_bytes).unwrap_or(1),
            write,
            sync: flag(&self.sync),
            size_bytes,
        }))
    }
}
