// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a trace file is, and what is said of one that is none.

use std::path::Path;

use parquet::errors::ParquetError;

use crate::Error;

/// The schema of a trace file; `docs/guide/lab-formats.md` explains the columns.
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
/// The version written. Version 1 had no checksum and is read as well.
pub const VERSION: &str = "2";
pub(super) const VERSION_UNCHECKED: &str = "1";

pub(crate) fn parquet_error(path: &Path, error: ParquetError, mend: &str) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            // A decompressor's word on what it was given, which is no error of the system's.
            Ok(error) if error.kind() == std::io::ErrorKind::Other => {
                content(path, "the Parquet data", &error.to_string())
            }
            Ok(error) => Error::io(path, *error, mend),
            Err(source) => content(path, "the Parquet data", &source.to_string()),
        },
        other => content(path, "the Parquet data", &other.to_string()),
    }
}

pub(super) fn content(path: &Path, place: &str, what: &str) -> Error {
    Error::Content {
        path: path.display().to_string(),
        place: place.into(),
        what: what.replace('\n', " "),
        mend: "make the trace file again with `fovea trace import`".into(),
    }
}
