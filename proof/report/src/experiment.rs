// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an experiment of a paper found, and how the results of several are saved: the results document and, beside it, plots and remarks.

use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::document::{Case, Document};
use crate::verdict::Verdict;

/// What `lab reproduce` calls itself in its documents.
pub const REPRODUCE: &str = "lab reproduce";

/// What an experiment found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Figures by case and configuration.
    pub cases: Vec<Case>,
    /// Margins of those figures that are means over seeds: half the widths of their 95 % confidence intervals.
    pub margins: Vec<Case>,
    /// What was claimed and what was found.
    pub verdicts: Vec<Verdict>,
    /// What can be drawn.
    pub charts: Vec<Chart>,
    /// What a reader has to know to judge the figures.
    pub notes: Vec<String>,
}

/// A remark on an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The experiment.
    pub entry: String,
    /// The remark.
    pub text: String,
}

/// The results document of one or more experiments, with what a report needs beside it: a superset of the common schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// The document; cases and verdicts bear the experiment's id in front.
    #[serde(flatten)]
    pub document: Document,
    /// Whether the traces were the short ones of `--quick`.
    #[serde(default)]
    pub quick: bool,
    /// Plots.
    #[serde(default)]
    pub charts: Vec<Chart>,
    /// Remarks.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// The id of an experiment's verdict or case in a document that holds several.
fn under(entry: &str, name: &str) -> String {
    if name.is_empty() {
        entry.into()
    } else {
        format!("{entry}/{name}")
    }
}

/// The part of a name that comes after the experiment's.
pub fn within<'n>(entry: &str, name: &'n str) -> Option<&'n str> {
    let rest = name.strip_prefix(entry)?;
    if rest.is_empty() {
        Some("")
    } else {
        rest.strip_prefix('/')
    }
}

impl Reproduction {
    /// One that holds no experiment yet.
    pub fn new(document: Document, quick: bool) -> Self {
        Reproduction { document, quick, charts: Vec::new(), notes: Vec::new() }
    }

    /// Adds what an experiment found.
    pub fn add(&mut self, entry: &str, found: Findings) {
        let named = |c: Case| Case { case: under(entry, &c.case), ..c };
        self.document.cases.extend(found.cases.into_iter().map(named));
        self.document.margins.extend(found.margins.into_iter().map(named));
        let verdicts = found.verdicts.into_iter().map(|v| Verdict { id: under(entry, &v.id), ..v });
        self.document.verdicts.extend(verdicts);
        self.charts.extend(found.charts.into_iter().map(|c| Chart { entry: entry.into(), ..c }));
        self.notes.extend(found.notes.into_iter().map(|text| Note { entry: entry.into(), text }));
    }

    /// What it says of one experiment, if it says anything.
    pub fn findings(&self, entry: &str) -> Option<Findings> {
        let own = |name: &str| within(entry, name).map(str::to_owned);
        let named = |c: &Case| Some(Case { case: own(&c.case)?, ..c.clone() });
        let verdicts = self.document.verdicts.iter().filter_map(|v| Some(Verdict { id: own(&v.id)?, ..v.clone() }));
        let found = Findings {
            cases: self.document.cases.iter().filter_map(named).collect(),
            margins: self.document.margins.iter().filter_map(named).collect(),
            verdicts: verdicts.collect(),
            charts: self.charts.iter().filter(|c| c.entry == entry).cloned().collect(),
            notes: self.notes.iter().filter(|n| n.entry == entry).map(|n| n.text.clone()).collect(),
        };
        (found != Findings::default()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_a_common_beginning_are_kept_apart() {
        assert_eq!(within("fig1", "fig1/N"), Some("N"));
        assert_eq!(within("fig1", "fig1"), Some(""));
        assert_eq!(within("fig1", "fig10/N"), None);
    }
}
