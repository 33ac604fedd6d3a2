// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The table of files in a recording's notes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Key of the table in the notes: a JSON array of [space, object, size in bytes or null, path or null].
pub const FILES_KEY: &str = "fovea.record.files";

/// A file of a recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileNote {
    /// The file system, as in the records.
    pub space: String,
    /// The inode, as in the records.
    pub object: u64,
    /// How long it was at the end of the recording; of a file that was gone, where the last page seen of it ends.
    pub size_bytes: Option<u64>,
    /// Where it was found; none if it was not.
    pub path: Option<String>,
}

/// How it is written.
#[derive(Serialize, Deserialize)]
struct Row(String, u64, Option<u64>, Option<String>);

impl FileNote {
    /// The table's text.
    pub fn text(files: &[FileNote]) -> String {
        let row = |f: &FileNote| Row(f.space.clone(), f.object, f.size_bytes, f.path.clone());
        serde_json::to_string(&files.iter().map(row).collect::<Vec<_>>()).expect("names and numbers serialise")
    }

    /// The table in a trace's notes; empty if there is none that can be read.
    pub fn all(notes: &BTreeMap<String, String>) -> Vec<FileNote> {
        let rows: Vec<Row> = notes.get(FILES_KEY).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        rows.into_iter()
            .map(|Row(space, object, size_bytes, path)| FileNote { space, object, size_bytes, path })
            .collect()
    }
}
