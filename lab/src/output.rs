// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Output files that are complete or absent: written under a temporary name, synced, and renamed.

use std::{io::Write, os::unix::fs::PermissionsExt, path::Path};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// A temporary file in the folder of `path`; [`persist`] gives it its name. `mend` is what the error tells a person to do.
pub(crate) fn create(path: &Path, mend: &str) -> Result<NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new()
        .prefix(".fovea-lab-")
        .permissions(std::fs::Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(|e| Error::io(path, e, mend))
}

/// Syncs a file that [`create`] made, and renames it to `path`.
pub(crate) fn persist(file: NamedTempFile, path: &Path, mend: &str) -> Result<()> {
    file.as_file().sync_all().map_err(|e| Error::io(path, e, mend))?;
    file.persist(path).map(drop).map_err(|e| Error::io(path, e.error, mend))
}

/// Refuses an output that is the input's own file, which would be overwritten.
pub(crate) fn distinct(input: &Path, output: &Path) -> Result<()> {
    match (input.canonicalize(), output.canonicalize()) {
        (Ok(input), Ok(there)) if input == there => {
            Err(Error::Usage(format!("{}: is read, and would be written over; name another output", output.display())))
        }
        _ => Ok(()),
    }
}

/// Writes results as JSON. `mend` is what the error tells a person to do, such as to make room.
///
/// # Errors
/// If the file cannot be written.
pub fn write_json(path: &Path, document: &impl serde::Serialize, mend: &str) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document).expect("a document serialises");
    text.push('\n');
    write_text(path, &text, mend)
}

/// Writes a text file, complete or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write_text(path: &Path, text: &str, mend: &str) -> Result<()> {
    let mut file = create(path, mend)?;
    file.write_all(text.as_bytes()).map_err(|e| Error::io(path, e, mend))?;
    persist(file, path, mend)
}
