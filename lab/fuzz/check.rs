// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the fuzz targets do with their bytes. The tests include this file too (`tests/importers.rs`), so that it cannot rot.

use fovea_lab::import::{parse_bytes, Format, ImportOptions, Order};

/// Any bytes through an importer: nothing panics, a failure is one line, and a file with no bad record is read alike whether bad
/// records are skipped or not.
pub fn import(name: &str, bytes: &[u8]) {
    let format: &'static Format = name.parse().expect("a format of the registry");
    let [strict, lenient] = [false, true].map(|skip_bad| {
        let options = ImportOptions { order: Order::Keep, skip_bad, ..ImportOptions::default() };
        parse_bytes(format, bytes, &options).map(|(records, _)| records).map_err(|error| error.to_string())
    });
    for error in [&strict, &lenient].into_iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(error.lines().count(), 1, "{name}: {error:?}");
    }
    if strict.is_ok() {
        assert_eq!(strict, lenient, "{name}: skipping bad records changed a file that has none");
    }
}

/// A line of what `--csv` says and any table behind it: nothing panics, a failure is one line, and what is read is whole.
pub fn table(bytes: &[u8]) {
    let (said, table) = bytes.split_at(bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len()));
    let Some(csv) = std::str::from_utf8(said).ok().and_then(|said| said.parse().ok()) else { return };
    let table = table.strip_prefix(b"\n").unwrap_or(table);
    let options = ImportOptions { order: Order::Keep, csv, ..ImportOptions::default() };
    let read = parse_bytes("csv".parse().expect("a format of the registry"), table, &options);
    match read {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
        Ok((records, _)) => {
            assert!(!records.is_empty());
            for record in &records {
                assert!(record.size_bytes.is_none_or(|size| size == record.length_bytes), "{record:?}");
            }
        }
    }
}
