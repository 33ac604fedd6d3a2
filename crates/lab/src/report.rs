// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab report`: what was reproduced and what the phone's scenarios found, as one page that needs nothing but itself.
//!
//! The data flow is one way: saved results are [`gather`]ed from a folder; experiments that no saved result fits are run; the
//! whole is a [`Report`], and [`Report::html`] is a pure function of it: no clock, no network, no script.

pub mod cli;
mod findings;
pub mod gather;
mod page;
mod plot;
mod tables;
mod units;

use fovea_scenario::{Document, Verdict};

use crate::reproduce::{Entry, Findings};

/// An experiment of the papers and what it found.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name on the command line.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Paper, section, figure or table.
    pub source: String,
    /// What the paper says.
    pub claim: String,
    /// What was found.
    pub findings: Findings,
    /// Whether with the short traces.
    pub quick: bool,
    /// Where the findings come from, in words.
    pub origin: String,
    /// What made them: mode, kernel, seed and commit count here, the rest is empty.
    pub made_by: Document,
}

impl Experiment {
    fn new(entry: &Entry, findings: Findings, quick: bool, origin: String, made_by: Document) -> Self {
        let made_by = Document { cases: Vec::new(), verdicts: Vec::new(), ..made_by };
        Experiment {
            id: entry.id.into(),
            title: entry.title.into(),
            source: entry.source.into(),
            claim: entry.claim.into(),
            findings,
            quick,
            origin,
            made_by,
        }
    }
}

/// A scenario's results as they were saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// The file, from the results folder on.
    pub path: String,
    /// Its content.
    pub document: Document,
}

/// Something that is not on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The file or the experiment.
    pub what: String,
    /// Why, and what can be done.
    pub why: String,
}

/// All that is on the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Experiments of the papers.
    pub experiments: Vec<Experiment>,
    /// Results of scenarios in the virtual phone, and of replays.
    pub documents: Vec<Saved>,
    /// What is missing.
    pub left_out: Vec<LeftOut>,
    /// The words of the command that made the page, after the program's name.
    pub command: Vec<String>,
    /// Commit of the program that made it.
    pub commit: String,
    /// A line of the caller's, e.g. the date.
    pub stamp: Option<String>,
}

impl Report {
    /// Every verdict on the page.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        let experiments = self.experiments.iter().flat_map(|e| &e.findings.verdicts);
        experiments.chain(self.documents.iter().flat_map(|d| &d.document.verdicts))
    }

    /// The page: HTML, whole, and the same for the same report.
    pub fn html(&self) -> String {
        legible(page::page(self).into_string())
    }
}

/// Replaces what HTML does not allow in a text, however written: control characters and code points that are no characters.
fn legible(text: String) -> String {
    let bad = |c: char| {
        (c.is_control() && !matches!(c, '\t' | '\n'))
            || ('\u{fdd0}'..='\u{fdef}').contains(&c)
            || matches!(c as u32 & 0xffff, 0xfffe | 0xffff)
    };
    if text.contains(bad) {
        text.replace(bad, "\u{fffd}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
