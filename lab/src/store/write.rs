// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Writing a trace file, a row group at a time.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use parquet::{
    basic::{Compression, ZstdLevel},
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};

use super::checksum;
use super::group::{Group, Known};
use super::schema::{parquet_error, SCHEMA, VERSION, VERSION_KEY};
use super::sink::Sink;
use crate::{import, Error, Record, Result};

/// Records of a row group, the most that writer and reader hold in memory.
pub(super) const ROW_GROUP_RECORDS: usize = 65_536;

/// The same where a reserve must hold them.
const RESERVED_GROUP_RECORDS: usize = 16_384;

/// Writes a trace file; it appears under its name only when it is whole.
pub struct Writer {
    path: PathBuf,
    writer: SerializedFileWriter<Sink>,
    group: Group,
    known: Known,
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
        Ok(Writer {
            path: path.to_owned(),
            writer,
            group: Group::default(),
            known: Known::default(),
            group_records,
            records: 0,
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If the disk is full or fails.
    pub fn push(&mut self, record: Record) -> Result<()> {
        self.group.push(&record);
        self.records += 1;
        if self.group.rows() >= self.group_records {
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
        if self.group.rows() == 0 {
            return Ok(());
        }
        let written = self.group.write(&mut self.writer, &mut self.known);
        written.map_err(|e| parquet_error(&self.path, e, WRITE_MEND))
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

impl import::Sink for Writer {
    fn record(&mut self, record: Record) -> Result<()> {
        self.push(record)
    }

    fn objects(&mut self, objects: &import::Objects<'_>) -> Result<()> {
        let (mut start, all) = (0, objects.objects.len());
        self.records += all as u64;
        while start < all {
            let end = all.min(start + self.group_records - self.group.rows());
            self.group.push_objects(objects, start..end);
            start = end;
            if self.group.rows() >= self.group_records {
                self.flush()?;
            }
        }
        Ok(())
    }
}
