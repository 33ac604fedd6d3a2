// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The records of a row group as columns, until they are written. Most columns of most traces hold one value: such a column is encoded
//! once, and its bytes are put into each row group.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parquet::{
    column::writer::{get_column_writer, get_typed_column_writer, ColumnCloseResult},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterPropertiesPtr,
        writer::{SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite},
    },
    schema::types::ColumnDescPtr,
};

use super::sink::Sink;
use crate::{import::Objects, record::importance_name, Op, Record};

/// Texts, the same in a row as one.
#[derive(Default)]
struct Texts(Vec<(Option<Arc<str>>, usize)>);

impl Texts {
    fn push(&mut self, text: Option<&Arc<str>>, count: usize) {
        match self.0.last_mut() {
            Some((Some(last), rows)) if text.is_some_and(|text| Arc::ptr_eq(last, text) || *last == *text) => {
                *rows += count
            }
            Some((None, rows)) if text.is_none() => *rows += count,
            _ => self.0.push((text.cloned(), count)),
        }
    }
}

/// Columns in the schema's order.
#[derive(Default)]
pub(super) struct Group {
    rows: usize,
    times_ns: Vec<i64>,
    apps: Texts,
    importances: Texts,
    ops: Texts,
    spaces: Texts,
    objects: Vec<i64>,
    offsets: Vec<i64>,
    lengths: Vec<i64>,
    writes: Vec<bool>,
    syncs: Vec<bool>,
    sizes: Vec<i64>,
    sized: Vec<bool>,
    names: HashMap<&'static str, Arc<str>>,
}

impl Group {
    pub fn rows(&self) -> usize {
        self.rows
    }

    fn name(&mut self, name: &'static str) -> Arc<str> {
        self.names.entry(name).or_insert_with(|| name.into()).clone()
    }

    pub fn push(&mut self, record: &Record) {
        self.rows += 1;
        self.times_ns.push(record.time_ns as i64);
        self.apps.push(Some(&record.app), 1);
        let importance = record.importance.map(|importance| self.name(importance_name(importance)));
        self.importances.push(importance.as_ref(), 1);
        let op = self.name(record.op.name());
        self.ops.push(Some(&op), 1);
        self.spaces.push(Some(&record.space), 1);
        self.objects.push(record.object as i64);
        self.offsets.push(record.offset_bytes as i64);
        self.lengths.push(record.length_bytes as i64);
        self.writes.push(record.write);
        self.syncs.push(record.sync);
        self.sizes.extend(record.size_bytes.map(|size| size as i64));
        self.sized.push(record.size_bytes.is_some());
    }

    /// Takes such of these requests, by their places.
    pub fn push_objects(&mut self, objects: &Objects<'_>, rows: std::ops::Range<usize>) {
        let count = rows.len();
        self.rows += count;
        let numbers = |column: &[u64]| column[rows.clone()].iter().map(|&number| number as i64).collect::<Vec<_>>();
        self.times_ns.extend(numbers(objects.times_ns));
        self.apps.push(Some(objects.nobody), count);
        self.importances.push(None, count);
        let op = self.name(Op::Object.name());
        self.ops.push(Some(&op), count);
        self.spaces.push(Some(objects.space), count);
        self.objects.extend(numbers(objects.objects));
        self.offsets.resize(self.rows, 0);
        self.lengths.extend(numbers(objects.sizes_bytes));
        match objects.writes {
            [] => self.writes.resize(self.rows, false),
            writes => self.writes.extend(&writes[rows.clone()]),
        }
        self.syncs.resize(self.rows, false);
        self.sizes.extend(numbers(objects.sizes_bytes));
        self.sized.resize(self.rows, true);
    }

    /// Writes the rows, and is empty then.
    pub fn write(&mut self, writer: &mut SerializedFileWriter<Sink>, known: &mut Known) -> Result<(), ParquetError> {
        let columns = writer.schema_descr().columns().to_vec();
        let properties = writer.properties().clone();
        let mut group = writer.next_row_group()?;
        let mut to = To { group: &mut group, known, columns, properties, at: 0, rows: self.rows };
        to.numbers(&self.times_ns, None)?;
        to.texts(&self.apps)?;
        to.texts(&self.importances)?;
        to.texts(&self.ops)?;
        to.texts(&self.spaces)?;
        for numbers in [&self.objects, &self.offsets, &self.lengths] {
            to.numbers(numbers, None)?;
        }
        to.flags(&self.writes)?;
        to.flags(&self.syncs)?;
        let levels: Vec<i16> = self.sized.iter().map(|&sized| i16::from(sized)).collect();
        to.numbers(&self.sizes, Some(&levels))?;
        group.close()?;
        let names = std::mem::take(&mut self.names);
        *self = Group { names, ..Group::default() };
        Ok(())
    }
}

/// A value that a whole column holds.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Value {
    Number(i64),
    Flag(bool),
    Text(Arc<str>),
    Nothing,
}

/// Columns of one value, encoded, by their place and rows; a few at a time.
#[derive(Default)]
pub(super) struct Known(HashMap<(usize, usize, Value), (Bytes, ColumnCloseResult)>);

const MOST_KNOWN: usize = 64;

/// A row group being written.
struct To<'a, 'w> {
    group: &'a mut SerializedRowGroupWriter<'w, Sink>,
    known: &'a mut Known,
    columns: Vec<ColumnDescPtr>,
    properties: WriterPropertiesPtr,
    at: usize,
    rows: usize,
}

impl To<'_, '_> {
    fn column<T: DataType>(&mut self, values: &[T::T], levels: Option<&[i16]>) -> Result<(), ParquetError> {
        let mut writer = self.group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".into()))?;
        writer.typed::<T>().write_batch(values, levels, None)?;
        writer.close()?;
        self.at += 1;
        Ok(())
    }

    /// A column that holds one value in every row, or none in any.
    fn same<T: DataType>(
        &mut self,
        value: Value,
        values: impl Fn() -> (Vec<T::T>, Option<Vec<i16>>),
    ) -> Result<(), ParquetError> {
        let key = (self.at, self.rows, value);
        if !self.known.0.contains_key(&key) {
            let (values, levels) = values();
            let mut bytes = TrackedWrite::new(Vec::new());
            let pages = Box::new(SerializedPageWriter::new(&mut bytes));
            let column = get_column_writer(self.columns[self.at].clone(), self.properties.clone(), pages);
            let mut column = get_typed_column_writer::<T>(column);
            column.write_batch(&values, levels.as_deref(), None)?;
            let closed = column.close()?;
            if self.known.0.len() >= MOST_KNOWN {
                self.known.0.clear();
            }
            self.known.0.insert(key.clone(), (bytes.into_inner()?.into(), closed));
        }
        let (bytes, closed) = &self.known.0[&key];
        self.group.append_column(bytes, closed.clone())?;
        self.at += 1;
        Ok(())
    }

    fn numbers(&mut self, numbers: &[i64], levels: Option<&[i16]>) -> Result<(), ParquetError> {
        let rows = self.rows;
        match numbers.split_first() {
            None => self.same::<Int64Type>(Value::Nothing, || (Vec::new(), Some(vec![0; rows]))),
            Some((&first, rest)) if numbers.len() == rows && rest.iter().all(|&number| number == first) => {
                let levels = levels.is_some().then(|| vec![1; rows]);
                self.same::<Int64Type>(Value::Number(first), || (vec![first; rows], levels.clone()))
            }
            _ => self.column::<Int64Type>(numbers, levels),
        }
    }

    fn flags(&mut self, flags: &[bool]) -> Result<(), ParquetError> {
        let rows = self.rows;
        match flags.split_first() {
            Some((&first, rest)) if rest.iter().all(|&flag| flag == first) => {
                self.same::<BoolType>(Value::Flag(first), || (vec![first; rows], None))
            }
            _ => self.column::<BoolType>(flags, None),
        }
    }

    fn texts(&mut self, texts: &Texts) -> Result<(), ParquetError> {
        let (rows, optional) = (self.rows, self.columns[self.at].max_def_level() > 0);
        match &texts.0[..] {
            [(None, _)] => self.same::<ByteArrayType>(Value::Nothing, || (Vec::new(), Some(vec![0; rows]))),
            [(Some(text), _)] => {
                let levels = optional.then(|| vec![1; rows]);
                let value = ByteArray::from(&**text);
                self.same::<ByteArrayType>(Value::Text(text.clone()), || (vec![value.clone(); rows], levels.clone()))
            }
            runs => {
                let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
                for (text, count) in runs {
                    if let Some(text) = text {
                        let value = ByteArray::from(&**text);
                        values.extend(std::iter::repeat_n(value, *count));
                    }
                    levels.extend(std::iter::repeat_n(i16::from(text.is_some()), if optional { *count } else { 0 }));
                }
                self.column::<ByteArrayType>(&values, optional.then_some(&levels[..]))
            }
        }
    }
}
