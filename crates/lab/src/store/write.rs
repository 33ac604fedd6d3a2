// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Writing a trace file, a row group at a time.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use parquet::{
    basic::{Compression, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};

use super::checksum;
use super::schema::{parquet_error, SCHEMA, VERSION, VERSION_KEY};
use super::sink::Sink;
use crate::{record::importance_name, Error, Record, Result};

/// Records of a row group, the most that writer and reader hold in memory.
pub(super) const ROW_GROUP_RECORDS: usize = 65_536;

/// The same where a reserve must hold them.
const RESERVED_GROUP_RECORDS: usize = 16_384;

/// Writes a trace file; it appears under its name only when it is whole.
pub struct Writer {
    path: PathBuf,
    writer: SerializedFileWriter<Sink>,
    rows: Vec<Record>,
    group_records: usize,
    records: u64,
}

const WRITE_MEND: &str = "nothing was kept; make room and import again";

impl Writer {
    /// Starts a file.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        Self::with_reserve(path, 0)
    }

    /// Starts a file that keeps what it has when the disk gets full ([`Writer::is_full`]): so much of the disk is held in reserve for
    /// the records under way and the file's end.
    ///
    /// # Errors
    /// If the folder cannot be written, or has no room for the reserve.
    pub fn with_reserve(path: &Path, reserve_bytes: usize) -> Result<Self> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let group_records = if reserve_bytes > 0 { RESERVED_GROUP_RECORDS } else { ROW_GROUP_RECORDS };
        let mend = match reserve_bytes {
            0 => WRITE_MEND.to_owned(),
            _ => format!("nothing was kept; make room for more than {} MiB", reserve_bytes >> 20),
        };
        let file = Sink::create(folder, reserve_bytes).map_err(|e| Error::io(path, e, &mend))?;
        let schema = parse_message_type(SCHEMA).expect("the schema is well formed");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).expect("a level zstd has")))
            .set_created_by("fovea-lab".into())
            // A column that holds one value is not decoded: its statistics tell.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(vec![
                KeyValue::new(checksum::KEY.into(), checksum::PLACE.to_owned()),
                KeyValue::new(VERSION_KEY.into(), VERSION.to_owned()),
            ]))
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(|e| parquet_error(path, e, WRITE_MEND))?;
        Ok(Writer { path: path.to_owned(), writer, rows: Vec::with_capacity(group_records), group_records, records: 0 })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If the disk is full or fails.
    pub fn push(&mut self, record: Record) -> Result<()> {
        self.rows.push(record);
        self.records += 1;
        if self.rows.len() >= self.group_records {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Whether the disk is full: the file should be finished now, and holds all records so far.
    pub fn is_full(&self) -> bool {
        self.writer.inner().is_full()
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        write_rows(&mut self.writer, &rows).map_err(|e| parquet_error(&self.path, e, WRITE_MEND))?;
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }

    /// Finishes the file, with notes about where it comes from, and puts it in its place.
    ///
    /// # Errors
    /// If the disk is full or fails.
    pub fn finish(mut self, notes: &BTreeMap<String, String>) -> Result<()> {
        self.flush()?;
        for (key, value) in notes {
            self.writer.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
        }
        let sink = self.writer.into_inner().map_err(|e| parquet_error(&self.path, e, WRITE_MEND))?;
        let file = sink.file;
        checksum::put(file.as_file(), sink.checksum).map_err(|e| Error::io(&self.path, e, WRITE_MEND))?;
        file.as_file().sync_all().map_err(|e| Error::io(&self.path, e, WRITE_MEND))?;
        file.persist(&self.path).map_err(|e| Error::io(&self.path, e.error, WRITE_MEND))?;
        Ok(())
    }
}

/// Values of a string column; equal neighbours share their bytes.
fn strings<'r>(rows: &'r [Record], text: impl Fn(&'r Record) -> Option<&'r str>) -> Vec<ByteArray> {
    let mut last: Option<(&str, ByteArray)> = None;
    rows.iter()
        .filter_map(text)
        .map(|text| match &last {
            Some((known, bytes)) if *known == text => bytes.clone(),
            _ => {
                let bytes = ByteArray::from(text);
                last = Some((text, bytes.clone()));
                bytes
            }
        })
        .collect()
}

fn column<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut writer = group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".into()))?;
    writer.typed::<T>().write_batch(values, present, None)?;
    writer.close()
}

fn write_rows(writer: &mut SerializedFileWriter<Sink>, rows: &[Record]) -> Result<(), ParquetError> {
    let numbers = |of: fn(&Record) -> u64| rows.iter().map(|r| of(r) as i64).collect::<Vec<_>>();
    let flags = |of: fn(&Record) -> bool| rows.iter().map(of).collect::<Vec<_>>();
    let levels = |of: fn(&Record) -> bool| rows.iter().map(|r| i16::from(of(r))).collect::<Vec<_>>();
    let mut group = writer.next_row_group()?;
    column::<Int64Type, _>(&mut group, &numbers(|r| r.time_ns), None)?;
    column::<ByteArrayType, _>(&mut group, &strings(rows, |r| Some(&r.app)), None)?;
    let importances = strings(rows, |r| r.importance.map(importance_name));
    column::<ByteArrayType, _>(&mut group, &importances, Some(&levels(|r| r.importance.is_some())))?;
    column::<ByteArrayType, _>(&mut group, &strings(rows, |r| Some(r.op.name())), None)?;
    column::<ByteArrayType, _>(&mut group, &strings(rows, |r| Some(&r.space)), None)?;
    column::<Int64Type, _>(&mut group, &numbers(|r| r.object), None)?;
    column::<Int64Type, _>(&mut group, &numbers(|r| r.offset_bytes), None)?;
    column::<Int64Type, _>(&mut group, &numbers(|r| r.length_bytes), None)?;
    column::<BoolType, _>(&mut group, &flags(|r| r.write), None)?;
    column::<BoolType, _>(&mut group, &flags(|r| r.sync), None)?;
    let sizes: Vec<i64> = rows.iter().filter_map(|r| r.size_bytes.map(|s| s as i64)).collect();
    column::<Int64Type, _>(&mut group, &sizes, Some(&levels(|r| r.size_bytes.is_some())))?;
    group.close()?;
    Ok(())
}
