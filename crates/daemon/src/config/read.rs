// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reading the file: what is wrong in it, and where. A key of a newer version does not stop an older daemon: unknown keys are left out, and said.

use std::ops::Range;
use std::path::{Path, PathBuf};

use fovea_apps::{keys_of, Service};
use serde::Deserialize;
use thiserror::Error;
use toml_edit::{DocumentMut, ImDocument, Item, Table, TableLike};

use super::{Config, Preset};

/// A section's name, and what says its keys.
type Section = (&'static str, fn() -> &'static [&'static str]);

/// The sections that the daemon has beside the mechanisms'.
const SECTIONS: &[Section] = &[
    ("lists", keys_of::<fovea_apps::Lists>),
    ("services", keys_of::<fovea_apps::Services>),
    ("zram", keys_of::<super::ZramConfig>),
    ("ecache", keys_of::<super::EcacheConfig>),
    ("watch", keys_of::<super::WatchConfig>),
    ("daemon", keys_of::<super::DaemonConfig>),
];

/// A configuration that cannot be used: file, line, mend.
#[derive(Debug, Error)]
pub enum BadConfig {
    /// The file cannot be read.
    #[error("{path}: {why}", path = .path.display(), why = unreadable(.path, .source))]
    Unreadable {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file does not make sense.
    #[error("{path}:{line}: {message}", path = .path.display())]
    Broken {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and the mend.
        message: String,
    },
}

/// Why a file cannot be read, and the mend.
fn unreadable(path: &Path, source: &std::io::Error) -> String {
    use std::io::ErrorKind::{InvalidData, NotFound, PermissionDenied};
    match source.kind() {
        NotFound if path.is_symlink() => "the link leads nowhere: mend or remove it".into(),
        // Of the others only those that there are were asked for.
        NotFound | PermissionDenied => format!("{source}: name a readable file with --config"),
        InvalidData => format!("{source}: save it as UTF-8"),
        _ => format!("{source}: mend or remove it"),
    }
}

impl Config {
    /// All sections and their keys.
    pub fn sections() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        fovea_policy::Config::SECTIONS.iter().chain(SECTIONS).map(|(section, keys)| (*section, keys()))
    }

    /// Parses a text in which every key must be known; `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, BadConfig> {
        let (config, unknown) = Self::read(text, path)?;
        match unknown.into_iter().next() {
            Some(first) => Err(first),
            None => Ok(config),
        }
    }

    /// Parses a text, and names the unknown keys, which are left out.
    pub fn read(text: &str, path: &Path) -> Result<(Self, Vec<BadConfig>), BadConfig> {
        Self::read_all(&[(path.to_owned(), text.to_owned())])
    }

    /// Parses files of which a later one's keys go before an earlier one's, and names the unknown keys, which are left out. Below all of
    /// them is the preset that the last of them names.
    pub fn read_all(files: &[(PathBuf, String)]) -> Result<(Self, Vec<BadConfig>), BadConfig> {
        let (mut tables, mut unknown) = (Vec::new(), Vec::new());
        for (path, text) in files {
            let (table, left_out) = parsed(path, text)?;
            tables.push(table);
            unknown.extend(left_out);
        }
        let preset = tables.iter().rev().find_map(|table| table.get("preset")?.as_str()).and_then(Preset::text);
        let mut merged = match preset {
            Some(preset) => parsed(Path::new("preset"), preset)?.0,
            None => Table::new(),
        };
        tables.into_iter().for_each(|table| merge(&mut merged, table));
        // Each file was read alone: what is wrong now has come with the merging.
        let broken = |place: Option<(&Path, usize)>, message| {
            let last = || files.last().map(|(path, _)| (path.as_path(), 1));
            let (path, line) = place.or_else(last).unwrap_or((Path::new(""), 1));
            BadConfig::Broken { path: path.to_owned(), line, message }
        };
        let config: Self = toml_edit::de::from_document(DocumentMut::from(merged))
            .map_err(|e| broken(None, in_words(&e.message().replace('\n', "; "))))?;
        config.check().map_err(|(section, key, wrong)| {
            let place =
                |(path, text): &'_ (PathBuf, String)| line_of(text, section, key).map(|line| (path.clone(), line));
            let found = files.iter().rev().find_map(place);
            broken(found.as_ref().map(|(path, line)| (path.as_path(), *line)), format!("{section}.{key} {wrong}"))
        })?;
        Ok((config, unknown))
    }

    /// Checks what serde cannot; the error is the section, the key, and what is wrong with it.
    fn check(&self) -> Result<(), (&'static str, &'static str, &'static str)> {
        self.policy().check()?;
        self.services.check().map_err(|(key, wrong)| ("services", key, wrong))?;
        let folder = &self.daemon.run_folder;
        match () {
            () if !(1..=100).contains(&self.zram.size_percent) => Err(("zram", "size_percent", "must be 1 to 100")),
            () if !(-1..=32_767).contains(&self.zram.priority) => {
                Err(("zram", "priority", "must be -1 (the kernel's choice) to 32767"))
            }
            () if !(1..=500_000).contains(&self.daemon.psi_stall_us) => {
                Err(("daemon", "psi_stall_us", "must be 1 to 500000"))
            }
            // The socket's name has 108 bytes at most (unix(7)).
            () if !folder.is_absolute() || folder.as_os_str().len() > 90 => {
                Err(("daemon", "run_folder", "must begin with / and have at most 90 bytes"))
            }
            () => Ok(()),
        }
    }
}

/// One file's keys, if it is right by itself, and those in it that nobody knows.
fn parsed(path: &Path, text: &str) -> Result<(Table, Vec<BadConfig>), BadConfig> {
    let broken = |line, message: String| BadConfig::Broken { path: path.to_owned(), line, message };
    let line_at = |at: Option<Range<usize>>| at.map_or(1, |at| 1 + newlines(&text[..at.start.min(text.len())]));
    let wrong = |at: Option<Range<usize>>, message: &str| {
        let line = line_at(at);
        // The key that the value is of.
        let key = text.lines().nth(line - 1).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
        let message = in_words(&message.replace('\n', "; "));
        broken(
            line,
            key.filter(|key| !message.contains(*key)).map_or(String::new(), |key| format!("{key}: ")) + &message,
        )
    };
    let document = ImDocument::parse(text).map_err(|e| wrong(e.span(), e.message()))?;
    let mut unknown = Vec::new();
    unknown_keys(document.as_table(), &mut |at, what| unknown.push(broken(line_at(at), what)));
    let table = document.clone().into_mut().into_table();
    Config::deserialize(toml_edit::de::Deserializer::from(document)).map_err(|e| wrong(e.span(), e.message()))?;
    Ok((table, unknown))
}

/// Puts the second's keys over the first's, whether a section has a header or stands in braces. A list is one value: it replaces what was there.
fn merge(below: &mut Table, above: Table) {
    for (key, item) in above {
        match (below.get_mut(&key).and_then(Item::as_table_mut), item.into_table()) {
            (Some(table), Ok(above)) => merge(table, above),
            (None, Ok(above)) => drop(below.insert(&key, Item::Table(above))),
            (_, Err(item)) => drop(below.insert(&key, item)),
        }
    }
}

/// Names each key that no section has.
fn unknown_keys(document: &dyn TableLike, tell: &mut dyn FnMut(Option<Range<usize>>, String)) {
    let at = |table: &dyn TableLike, key: &str| table.key(key).and_then(|key| key.span());
    for (name, item) in document.iter().filter(|(name, _)| *name != "preset") {
        let Some((_, keys)) = Config::sections().find(|(section, _)| *section == name) else {
            tell(at(document, name), format!("unknown section [{name}]: left out; fovea.toml(5) has those there are"));
            continue;
        };
        let mut look = |table: &dyn TableLike, keys: &[&str], of: &str| {
            for (key, _) in table.iter().filter(|(key, _)| !keys.contains(key)) {
                tell(at(table, key), format!("unknown key {of}.{key}: left out; fovea.toml(5) has those there are"));
            }
        };
        let Some(table) = item.as_table_like() else { continue };
        look(table, keys, name);
        // Rows of a table are one level down.
        let rows = (name == "services").then(|| table.get("row")).flatten().and_then(Item::as_array_of_tables);
        for row in rows.into_iter().flatten() {
            look(row, keys_of::<Service>(), "services.row");
        }
    }
}

/// What Rust calls a type, in words.
fn in_words(message: &str) -> String {
    let words = [
        ("expected u64", "expected a whole number from 0 on"),
        ("expected u32", "expected a whole number from 0 on"),
        ("expected i32", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("expected a sequence", "expected a list, as [\"a\", \"b\"]"),
        ("expected path string", "expected a path in quotes"),
    ];
    words.iter().fold(message.to_owned(), |message, (rust, words)| message.replace(rust, words))
}

fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Where a key of a section stands, if it does.
fn line_of(text: &str, section: &str, key: &str) -> Option<usize> {
    // A key of a row is behind its table's name.
    let key = key.rsplit('.').next().unwrap_or(key);
    let is_key =
        |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    let header = text.lines().position(|line| line.trim_start().trim_start_matches('[').starts_with(section))?;
    text.lines().skip(header).position(is_key).map(|after| 1 + header + after)
}
