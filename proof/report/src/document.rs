// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The one results document that every scenario, experiment and benchmark writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::seeds::SeedList;
use crate::verdict::Verdict;

/// A file could not be read or written.
#[derive(Debug, Error)]
#[error("{}: {cause}: check that the path is right and its permissions allow it", path.display())]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's word.
    pub cause: std::io::Error,
}

/// Results of one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Scenario or experiment.
    pub scenario: String,
    /// "fast", "exact" or "host".
    pub mode: String,
    /// Kernel release measured on.
    pub kernel: String,
    /// QEMU's version, empty outside the phone.
    pub qemu: String,
    /// Seed; of several the first.
    pub seed: u64,
    /// Seeds that the figures are means over, if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<SeedList>,
    /// Commit of the source, with "-dirty" if changed.
    pub commit: String,
    /// The command that makes it again: the words after the program's name, without those that only say where results go. Empty if
    /// nobody noted it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Version of the program, and a number that changes with every edit of its sources, committed or not. Empty if nobody noted it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Files that the figures were made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// What the figures depend on beside case and configuration, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The runs that the document was merged of, if it was; `commit` then names the commits of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Figures by case and configuration.
    pub cases: Vec<Case>,
    /// Margins of figures that are means over seeds, by case and configuration: half the widths of their 95 % confidence intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub margins: Vec<Case>,
    /// The same figures by interval, of replays that were asked for it. The intervals of a case and configuration sum up to its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
    /// What was claimed and what was found.
    pub verdicts: Vec<Verdict>,
}

/// Figures of some requests in a row, of one case under one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The case.
    pub case: String,
    /// Configuration.
    pub configuration: String,
    /// Number of the first of the requests in the trace, from 0.
    pub first_request: u64,
    /// Figures; names end in their unit.
    pub figures: BTreeMap<String, f64>,
}

/// A run of some of a scenario's cases or configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// As [`Document::commit`].
    pub commit: String,
    /// As [`Document::command`].
    pub command: Vec<String>,
}

/// A file that figures were made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// The file's name, without its folder.
    pub name: String,
    /// XXH64 of its content, 16 hexadecimal digits; of a trace file the one that stands in it.
    pub xxh64: String,
}

/// Figures of one case under one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Case {
    /// Workload or variant, or "".
    pub case: String,
    /// Configuration.
    pub configuration: String,
    /// Figures; names end in their unit.
    pub figures: BTreeMap<String, f64>,
}

/// For `#[serde(with)]`: JSON has no NaN, a figure that was not measured is written as `null`.
pub mod null_if_missing {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a figure.
    pub fn serialize<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        figure.is_finite().then_some(*figure).serialize(serializer)
    }

    /// Reads a figure.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

/// Names, each once, in the order in which they come.
pub fn distinct<'d>(names: impl Iterator<Item = &'d str>) -> Vec<&'d str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

impl Document {
    /// Writes the document as JSON, whole or not at all: beside the file first, then in its place.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        let failed = |cause| FileError { path: path.to_owned(), cause };
        let mut text = serde_json::to_string_pretty(self).map_err(|e| failed(e.into()))?;
        text.push('\n');
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = Path::new(&part);
        fs::write(part, text).and_then(|()| fs::rename(part, path)).map_err(|e| {
            // What is half written is of no use to anyone; that it cannot be removed either is not the news.
            let _ = fs::remove_file(part);
            failed(e)
        })
    }

    /// Reads a document.
    pub fn read(path: &Path) -> Result<Document, FileError> {
        let failed = |cause| FileError { path: path.to_owned(), cause };
        let text = fs::read(path).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|e| failed(e.into()))
    }

    /// One of figures that were computed on the host; what computed them is for the caller to fill in.
    pub fn of_host(scenario: &str, cases: Vec<Case>) -> Self {
        Document { scenario: scenario.into(), mode: "host".into(), cases, ..Document::default() }
    }

    /// A figure, if it was measured.
    pub fn figure(&self, case: &str, configuration: &str, name: &str) -> Option<f64> {
        self.cases.iter().find(|c| c.case == case && c.configuration == configuration)?.figures.get(name).copied()
    }

    /// Whether every verdict holds.
    pub fn passed(&self) -> bool {
        self.verdicts.iter().all(|v| v.pass)
    }
}
