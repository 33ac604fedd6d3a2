// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Trace files: records as Parquet, written and read a row group at a time.

mod checksum;
mod columns;
mod group;
mod read;
mod schema;
mod sink;
mod write;

pub use checksum::{checksum_of, Checksum};
pub use columns::{Columns, Few};
pub use read::{content_of, is_foreign_table, is_trace_file, Reader};
pub(crate) use schema::parquet_error;
pub use schema::{SCHEMA, VERSION, VERSION_KEY};
pub use write::Writer;

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use super::write::ROW_GROUP_RECORDS;
    use super::*;
    use crate::Op;
    use crate::{Names, Record};
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
    /// As it was written before traces had a checksum: the note says so, and the checksum's is no such.
    #[test]
    fn a_file_of_version_1_is_read_and_its_damage_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let sample = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name);
        let path = folder.path().join("t.parquet");
        let mut bytes = std::fs::read(sample("sqlite.parquet")).unwrap();
        for (is, was) in [
            (
                format!("{VERSION_KEY}\u{18}\u{1}{VERSION}"),
                format!("{VERSION_KEY}\u{18}\u{1}{}", schema::VERSION_UNCHECKED),
            ),
            (checksum::KEY.to_owned(), checksum::KEY.replace("checksum", "no-check")),
        ] {
            let at = bytes.windows(is.len()).rposition(|window| window == is.as_bytes()).unwrap();
            bytes[at..at + is.len()].copy_from_slice(was.as_bytes());
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(all(&path), all(&sample("sqlite.parquet")));
        let mut refused = 0;
        for at in (0..bytes.len()).step_by(331) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, &damaged).unwrap();
            let whole = Reader::open(&path).and_then(|mut reader| {
                while reader.batch()?.is_some() {}
                Ok(())
            });
            if let Err(error) = whole {
                let error = error.to_string();
                assert!(error.contains("`fovea trace import`") && error.lines().count() == 1, "{error}");
                refused += 1;
            }
        }
        assert!(refused > 0, "some damage shows");
    }
}
