// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Errors of the guest: one line that says what was wrong and where.

/// A result whose error is the line to report.
pub type Outcome<T> = Result<T, String>;

/// Adds "what was being done, where" to an error.
pub trait At<T> {
    /// Puts `place` in front of the error's own text.
    fn at(self, place: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: std::fmt::Display> At<T> for Result<T, E> {
    fn at(self, place: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| format!("{}: {error}", place()))
    }
}

/// Writes a kernel file in one call, as such files want it.
pub fn write_file(path: impl AsRef<std::path::Path>, text: &str) -> Outcome<()> {
    let path = path.as_ref();
    std::fs::write(path, text).at(|| format!("writing {text:?} to {}", path.display()))
}

/// Reads a kernel file.
pub fn read_file(path: impl AsRef<std::path::Path>) -> Outcome<String> {
    let path = path.as_ref();
    std::fs::read_to_string(path).at(|| format!("reading {}", path.display()))
}
