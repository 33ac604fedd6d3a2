// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A sweep's results as files, each whole or not there.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use fovea_report::document::{Case, Document};
use parquet::{
    data_type::{BoolType, ByteArray, ByteArrayType, Int64Type},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use tempfile::NamedTempFile;

use super::Cell;
use crate::{
    output::{create, persist},
    replay, Error, Result,
};

const SCHEMA: &str = "
message fovea_sweep {
  required binary trace (string);
  required binary policy (string);
  required binary size (string);
  required int64 capacity (integer(64,false));
  required boolean by_bytes;
  required int64 footprint_objects (integer(64,false));
  required int64 footprint_bytes (integer(64,false));
  required int64 requests (integer(64,false));
  required int64 hits (integer(64,false));
  required int64 misses (integer(64,false));
  required int64 request_weight (integer(64,false));
  required int64 miss_weight (integer(64,false));
}";

fn named(cell: &Cell) -> String {
    format!("{} {}", cell.trace, cell.size)
}

/// The results document: a case per trace and size, a configuration per policy.
pub(super) fn document(cells: &[Cell]) -> Document {
    let case = |cell: &Cell| {
        let unit = if cell.by_bytes { "bytes" } else { "objects" };
        let mut figures = BTreeMap::from([
            ("requests".to_owned(), cell.requests as f64),
            ("hits".to_owned(), cell.hits as f64),
            ("misses".to_owned(), (cell.requests - cell.hits) as f64),
            (format!("capacity_{unit}"), cell.capacity as f64),
        ]);
        if cell.by_bytes {
            figures.insert("request_bytes".into(), cell.request_weight as f64);
            figures.insert("miss_bytes".into(), (cell.request_weight - cell.hit_weight) as f64);
        }
        if cell.warm_up_requests > 0 {
            figures.insert("warm_up_requests".into(), cell.warm_up_requests as f64);
        }
        Case { case: named(cell), configuration: cell.policy.clone(), figures }
    };
    let of = |cell: &Cell| {
        let named = named(cell);
        cell.intervals.iter().map(|i| i.document(&named, &cell.policy, cell.by_bytes)).collect::<Vec<_>>()
    };
    let intervals = cells.iter().flat_map(of).collect();
    Document { intervals, ..replay::document("lab sweep", cells.iter().map(case).collect()) }
}

/// Writes the cells as a Parquet table.
pub(super) fn write_parquet(path: &Path, cells: &[Cell], mend: &str) -> Result<()> {
    let file = create(path, mend)?;
    let file = write_table(file, cells).map_err(|error| match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => Error::io(path, *error, mend),
            Err(source) => Error::Usage(format!("{}: {source}; {mend}", path.display())),
        },
        other => Error::Usage(format!("{}: {other}; {mend}", path.display())),
    })?;
    persist(file, path, mend)
}

fn write_table(file: NamedTempFile, cells: &[Cell]) -> Result<NamedTempFile, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("the schema is well formed"));
    let properties = WriterProperties::builder().set_created_by("fovea-lab".into()).build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut at = 0;
    while let Some(mut column) = group.next_column()? {
        let text = |of: fn(&Cell) -> &str| cells.iter().map(|c| ByteArray::from(of(c))).collect::<Vec<_>>();
        let number = |of: fn(&Cell) -> u64| cells.iter().map(|c| of(c) as i64).collect::<Vec<_>>();
        let texts: [fn(&Cell) -> &str; 3] = [|c| &c.trace, |c| &c.policy, |c| &c.size];
        let numbers: [fn(&Cell) -> u64; 9] = [
            |c| c.capacity,
            |c| u64::from(c.by_bytes),
            |c| c.footprint_objects,
            |c| c.footprint_bytes,
            |c| c.requests,
            |c| c.hits,
            |c| c.requests - c.hits,
            |c| c.request_weight,
            |c| c.request_weight - c.hit_weight,
        ];
        match at {
            0..=2 => column.typed::<ByteArrayType>().write_batch(&text(texts[at]), None, None)?,
            4 => {
                let flags: Vec<bool> = cells.iter().map(|c| c.by_bytes).collect();
                column.typed::<BoolType>().write_batch(&flags, None, None)?
            }
            _ => column.typed::<Int64Type>().write_batch(&number(numbers[at - 3]), None, None)?,
        };
        column.close()?;
        at += 1;
    }
    group.close()?;
    writer.into_inner()
}
