// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The one results document that every scenario, experiment and benchmark writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Results of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Scenario or experiment.
    pub scenario: String,
    /// "fast", "exact" or "host".
    pub mode: String,
    /// Kernel release measured on.
    pub kernel: String,
    /// QEMU's version, empty outside the phone.
    pub qemu: String,
    /// Seed.
    pub seed: u64,
    /// Commit of the source, with "-dirty" if changed.
    pub commit: String,
    /// Figures by case and configuration.
    pub cases: Vec<Case>,
    /// What was claimed and what was found.
    pub verdicts: Vec<Verdict>,
}

/// Figures of one case under one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Workload or variant, or "".
    pub case: String,
    /// Configuration.
    pub configuration: String,
    /// Figures; names end in their unit.
    pub figures: BTreeMap<String, f64>,
}

/// A claim checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Stable name.
    pub id: String,
    /// The claim in words.
    pub claim: String,
    /// Where it comes from, e.g. "seed 002, 4.2".
    pub source: String,
    /// Our figure.
    pub figure: f64,
    /// The bound, e.g. ">= 0.15".
    pub bound: String,
    /// Whether it holds.
    pub pass: bool,
}

impl Document {
    /// A figure, if it was measured.
    pub fn figure(&self, case: &str, configuration: &str, name: &str) -> Option<f64> {
        self.cases.iter().find(|c| c.case == case && c.configuration == configuration)?.figures.get(name).copied()
    }

    /// Whether every verdict holds.
    pub fn passed(&self) -> bool {
        self.verdicts.iter().all(|v| v.pass)
    }
}
