// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Trace files: records as Parquet, written and read a row group at a time.

mod sink;

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    record::{importance_from_name, importance_name},
    Error, Names, Record, Result,
};
use parquet::{
    basic::{Compression, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        reader::{FileReader, SerializedFileReader},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};
use sink::Sink;

/// The schema of a trace file; `docs/lab.md` explains the columns.
pub const SCHEMA: &str = "
message fovea_trace {
  required int64 time_ns (integer(64,false));
  required binary app (string);
  optional binary importance (string);
  required binary op (string);
  required binary space (string);
  required int64 object (integer(64,false));
  required int64 offset_bytes (integer(64,false));
  required int64 length_bytes (integer(64,false));
  required boolean write;
  required boolean sync;
  optional int64 size_bytes (integer(64,false));
}";

/// Key of the schema's version in the file's metadata.
pub const VERSION_KEY: &str = "fovea.trace.version";
/// The version written and read.
pub const VERSION: &str = "1";

/// Records of a row group, the most that writer and reader hold in memory.
const ROW_GROUP_RECORDS: usize = 65_536;

/// The same where a reserve must hold them.
const RESERVED_GROUP_RECORDS: usize = 16_384;

fn parquet_error(path: &Path, error: ParquetError, mend: &str) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => Error::io(path, *error, mend),
            Err(source) => content(path, "the Parquet data", &source.to_string()),
        },
        other => content(path, "the Parquet data", &other.to_string()),
    }
}

fn content(path: &Path, place: &str, what: &str) -> Error {
    Error::Content {
        path: path.display().to_string(),
        place: place.into(),
        what: what.replace('\n', " "),
        mend: "make the trace file again with `fovea trace import`".into(),
    }
}

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
            .set_key_value_metadata(Some(vec![KeyValue::new(VERSION_KEY.into(), VERSION.to_owned())]))
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
        let file = self.writer.into_inner().map_err(|e| parquet_error(&self.path, e, WRITE_MEND))?.file;
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

/// Reads a trace file.
pub struct Reader {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    names: Names,
    group: usize,
}

impl Reader {
    /// Opens a trace file.
    ///
    /// # Errors
    /// If it cannot be read or is no trace file of this version.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::read(path, e))?;
        let reader = SerializedFileReader::new(file).map_err(|e| {
            let what = format!("not a trace file ({})", e.to_string().replace('\n', " "));
            Error::Content {
                path: path.display().to_string(),
                place: "its end".into(),
                what,
                mend: "import it first with `fovea trace import`".into(),
            }
        })?;
        let ours = parse_message_type(SCHEMA).expect("the schema is well formed");
        if reader.metadata().file_metadata().schema().get_fields() != ours.get_fields() {
            return Err(content(path, "the schema", "not a trace's columns"));
        }
        let opened = Reader { path: path.to_owned(), reader, names: Names::default(), group: 0 };
        match opened.notes().get(VERSION_KEY).map(String::as_str) {
            Some(VERSION) => Ok(opened),
            other => {
                let found = other.unwrap_or("none");
                Err(content(path, "the metadata", &format!("trace version {found}, this program reads {VERSION}")))
            }
        }
    }

    /// Records in the file.
    pub fn records(&self) -> u64 {
        self.reader.metadata().file_metadata().num_rows().max(0) as u64
    }

    /// The file's notes: where it comes from and what was dropped.
    pub fn notes(&self) -> BTreeMap<String, String> {
        let pairs = self.reader.metadata().file_metadata().key_value_metadata();
        pairs.into_iter().flatten().filter_map(|kv| Some((kv.key.clone(), kv.value.clone()?))).collect()
    }

    /// The next records, at most a row group's, or `None` at the end.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn batch(&mut self) -> Result<Option<Vec<Record>>> {
        if self.group >= self.reader.num_row_groups() {
            return Ok(None);
        }
        let rows = read_rows(&self.reader, self.group, &mut self.names)
            .map_err(|e| parquet_error(&self.path, e, "read it from another disk"))?;
        self.group += 1;
        Ok(Some(rows))
    }
}

fn values<T: DataType>(
    group: &dyn parquet::file::reader::RowGroupReader,
    index: usize,
    rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>), ParquetError>
where
    parquet::column::reader::ColumnReaderImpl<T>: Sized,
{
    let reader = group.get_column_reader(index)?;
    let mut reader = parquet::column::reader::get_typed_column_reader::<T>(reader);
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
    let optional = matches!(index, 2 | 10);
    let (records, count, _) = reader.read_records(rows, optional.then_some(&mut levels), None, &mut values)?;
    let present = if optional { levels.iter().filter(|&&l| l == 1).count() } else { rows };
    if records != rows || count != present || (optional && levels.len() != rows) {
        return Err(ParquetError::General(format!("column {index} has {records} of {rows} records")));
    }
    Ok((values, levels))
}

fn read_rows(
    reader: &SerializedFileReader<File>,
    group: usize,
    names: &mut Names,
) -> Result<Vec<Record>, ParquetError> {
    let group = reader.get_row_group(group)?;
    let group = group.as_ref();
    let wrong = |what: &str| ParquetError::General(format!("not a name this version knows: {what:?}"));
    let rows =
        usize::try_from(group.metadata().num_rows()).map_err(|_| ParquetError::General("negative rows".into()))?;
    if rows > 1 << 24 {
        return Err(ParquetError::General(format!("a row group of {rows} records, at most {} are taken", 1 << 24)));
    }
    let (times, _) = values::<Int64Type>(group, 0, rows)?;
    let (apps, _) = values::<ByteArrayType>(group, 1, rows)?;
    let (importances, importance_levels) = values::<ByteArrayType>(group, 2, rows)?;
    let (ops, _) = values::<ByteArrayType>(group, 3, rows)?;
    let (spaces, _) = values::<ByteArrayType>(group, 4, rows)?;
    let (objects, _) = values::<Int64Type>(group, 5, rows)?;
    let (offsets, _) = values::<Int64Type>(group, 6, rows)?;
    let (lengths, _) = values::<Int64Type>(group, 7, rows)?;
    let (writes, _) = values::<BoolType>(group, 8, rows)?;
    let (syncs, _) = values::<BoolType>(group, 9, rows)?;
    let (sizes, size_levels) = values::<Int64Type>(group, 10, rows)?;
    let (mut importances, mut sizes) = (importances.into_iter(), sizes.into_iter());
    let mut records = Vec::with_capacity(rows);
    for row in 0..rows {
        let importance = match importance_levels[row] {
            0 => None,
            _ => {
                let name = importances.next().ok_or_else(|| wrong("missing importance"))?;
                let name = name.as_utf8()?;
                Some(importance_from_name(name).ok_or_else(|| wrong(name))?)
            }
        };
        let op = ops[row].as_utf8()?;
        records.push(Record {
            time_ns: times[row] as u64,
            app: names.share(apps[row].as_utf8()?),
            importance,
            op: op.parse().map_err(|()| wrong(op))?,
            space: names.share(spaces[row].as_utf8()?),
            object: objects[row] as u64,
            offset_bytes: offsets[row] as u64,
            length_bytes: lengths[row] as u64,
            write: writes[row],
            sync: syncs[row],
            size_bytes: if size_levels[row] == 1 { sizes.next().map(|s| s as u64) } else { None },
        });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use fovea_apps::Importance;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        let names = prop_oneof![Just(""), Just("mail"), Just("ü/5:1"), Just("disk:8:0")];
        (
            (any::<u64>(), names.clone(), prop::option::of(0..6usize), 0..9usize, names),
            (any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>(), any::<bool>(), any::<Option<u64>>()),
        )
            .prop_map(
                |((time_ns, app, importance, op, space), (object, offset, length, write, sync, size_bytes))| Record {
                    time_ns,
                    app: app.into(),
                    importance: importance.map(|i| Importance::ALL[i]),
                    op: Op::ALL[op],
                    space: space.into(),
                    object,
                    offset_bytes: offset,
                    length_bytes: length,
                    write,
                    sync,
                    size_bytes,
                },
            )
    }

    fn all(path: &Path) -> Vec<Record> {
        let mut reader = Reader::open(path).unwrap();
        std::iter::from_fn(|| reader.batch().unwrap()).flatten().collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_written_is_read(records in prop::collection::vec(record(), 0..300)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.parquet");
            let mut writer = Writer::create(&path).unwrap();
            for record in &records {
                writer.push(record.clone()).unwrap();
            }
            writer.finish(&BTreeMap::from([("a".to_owned(), "b".to_owned())])).unwrap();
            let notes = Reader::open(&path).unwrap().notes();
            prop_assert_eq!(notes["a"].as_str(), "b");
            prop_assert_eq!(all(&path), records);
        }
    }

    #[test]
    fn row_groups_join_seamlessly_and_an_unfinished_file_never_appears() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let mut writer = Writer::create(&path).unwrap();
        let mut names = Names::default();
        for time_ns in 0..ROW_GROUP_RECORDS as u64 + 7 {
            writer
                .push(Record {
                    time_ns,
                    app: names.share("a"),
                    importance: None,
                    op: Op::Block,
                    space: names.share("disk:x"),
                    object: 0,
                    offset_bytes: time_ns * 512,
                    length_bytes: 512,
                    write: false,
                    sync: false,
                    size_bytes: None,
                })
                .unwrap();
        }
        assert!(!path.exists());
        writer.finish(&BTreeMap::new()).unwrap();
        assert!(all(&path).iter().enumerate().all(|(i, r)| r.time_ns == i as u64));
        assert_eq!(Reader::open(&path).unwrap().records(), ROW_GROUP_RECORDS as u64 + 7);
    }

    #[test]
    fn other_files_are_refused_with_a_mend() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "1,2,3\n".repeat(100)).unwrap();
        let error = Reader::open(&path).err().unwrap().to_string();
        assert!(error.contains("import it first with `fovea trace import`"), "{error}");
    }
}
