// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reading a trace file, a row group at a time.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use parquet::{
    data_type::{BoolType, ByteArrayType, DataType, Int64Type},
    errors::ParquetError,
    file::reader::{FileReader, RowGroupReader, SerializedFileReader},
    schema::{parser::parse_message_type, types::TypePtr},
};

use super::checksum;
use super::columns::{self, Columns};
use super::schema::{content, parquet_error, SCHEMA, VERSION, VERSION_KEY, VERSION_UNCHECKED};
use crate::{record::importance_from_name, Error, Names, Record, Result};

/// Reads a trace file.
pub struct Reader {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    names: Names,
    group: usize,
    checksum: u64,
}

/// Parquet's magic number, at both ends of a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// Whether a file is a trace file, or one that is damaged at one end, and no foreign one.
///
/// # Errors
/// If it cannot be read.
pub fn is_trace_file(path: &Path) -> Result<bool> {
    if path.is_dir() {
        return Err(Error::Usage(format!("{}: a folder; name one trace file", path.display())));
    }
    let ends = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut ends = [[0; 4]; 2];
        if length >= 12 {
            file.read_exact(&mut ends[0])?;
            file.seek(SeekFrom::End(-4))?;
            file.read_exact(&mut ends[1])?;
        }
        Ok(ends)
    };
    Ok(ends().map_err(|e| Error::read(path, e))?.iter().any(|end| end == MAGIC) && !is_foreign_table(path)?)
}

/// Whether a file is a whole Parquet file that was never meant for a trace: it has neither a trace's columns nor its version.
///
/// # Errors
/// If it cannot be read.
pub fn is_foreign_table(path: &Path) -> Result<bool> {
    let mut file = File::open(path).map_err(|e| Error::read(path, e))?;
    let mut magic = [0; 4];
    // What is read of a pipe is gone.
    if !file.metadata().map_err(|e| Error::read(path, e))?.is_file() {
        return Ok(false);
    }
    if file.read_exact(&mut magic).is_err() || magic != *MAGIC {
        return Ok(false);
    }
    let Ok(reader) = SerializedFileReader::new(file) else { return Ok(false) };
    let metadata = reader.metadata().file_metadata();
    let ours = parse_message_type(SCHEMA).expect("the schema is well formed");
    let names = |fields: &[TypePtr]| fields.iter().map(|field| field.name().to_owned()).collect::<Vec<_>>();
    let versioned = metadata.key_value_metadata().into_iter().flatten().any(|kv| kv.key == VERSION_KEY);
    Ok(!versioned && names(metadata.schema().get_fields()) != names(ours.get_fields()))
}

/// The checksum of a file's content, a trace's or a foreign one's; a trace file is verified.
///
/// # Errors
/// If it cannot be read, or is a damaged trace file.
pub fn content_of(path: &Path) -> Result<u64> {
    match is_trace_file(path)? {
        true => Ok(Reader::open(path)?.checksum()),
        false => checksum::checksum_of(path).map_err(|e| Error::read(path, e)),
    }
}

impl Reader {
    /// Opens a trace file, and reads it through once to see that it is as it was written.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or is no trace file of a version that is read here.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(|e| Error::read(path, e))?;
        let (checksum, whole) = match is_trace_file(path)? {
            true => checksum::check(&mut file).map_err(|e| Error::read(path, e))?,
            false => (0, None),
        };
        if whole == Some(false) {
            return Err(content(path, "the whole file", "damaged: it is not what its checksum says"));
        }
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
        let opened = Reader { path: path.to_owned(), reader, names: Names::default(), group: 0, checksum };
        match opened.notes().get(VERSION_KEY).map(String::as_str) {
            Some(VERSION) if whole.is_some() => Ok(opened),
            Some(VERSION) => Err(content(path, "the metadata", "damaged: the checksum is gone")),
            Some(VERSION_UNCHECKED) => Ok(opened),
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

    /// The content's checksum (XXH64), by which results and dense forms name it.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The file's notes: where it comes from and what was dropped.
    pub fn notes(&self) -> BTreeMap<String, String> {
        let pairs = self.reader.metadata().file_metadata().key_value_metadata();
        let pairs = pairs.into_iter().flatten().filter(|kv| kv.key != checksum::KEY);
        pairs.filter_map(|kv| Some((kv.key.clone(), kv.value.clone()?))).collect()
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

    /// The next rows as a replay needs them, at most a row group's, or `None` at the end. `writes` and `times` are read if asked for.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn columns(&mut self, writes: bool, times: bool) -> Result<Option<Columns>> {
        if self.group >= self.reader.num_row_groups() {
            return Ok(None);
        }
        let group = self.reader.get_row_group(self.group);
        let columns = group.and_then(|group| columns::read(group.as_ref(), writes, times, &mut self.names));
        self.group += 1;
        Ok(Some(columns.map_err(|e| parquet_error(&self.path, e, "read it from another disk"))?))
    }
}

pub(super) fn wrong(what: &str) -> ParquetError {
    ParquetError::General(format!("not a name this version knows: {what:?}"))
}

/// Rows of a group, as far as they can be true.
pub(super) fn rows_of(group: &dyn RowGroupReader) -> Result<usize, ParquetError> {
    let rows =
        usize::try_from(group.metadata().num_rows()).map_err(|_| ParquetError::General("negative rows".into()))?;
    if rows > 1 << 24 {
        return Err(ParquetError::General(format!("a row group of {rows} records, at most {} are taken", 1 << 24)));
    }
    Ok(rows)
}

pub(super) fn values<T: DataType>(
    group: &dyn RowGroupReader,
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
    let rows = rows_of(group)?;
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
