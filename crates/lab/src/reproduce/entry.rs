// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an experiment is: a claim of a paper, and a pure function of its settings.

use fovea_report::document::Document;
use fovea_report::experiment::Findings;
use fovea_report::page::Experiment;

use crate::Result;

/// What an entry is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Seed of everything drawn.
    pub seed: u64,
    /// Shorter traces: minutes become seconds, and figures move in their second digit.
    pub quick: bool,
    /// Threads; the results do not depend on them.
    pub threads: usize,
}

/// One table or figure of a paper.
#[derive(Debug)]
pub struct Entry {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Paper, section, figure or table.
    pub source: &'static str,
    /// What the paper says.
    pub claim: &'static str,
    /// Runs it.
    pub run: fn(&Settings) -> Result<Findings>,
}

impl Entry {
    /// What it found, for a page; of what made it, mode, kernel, seed and commit count.
    pub fn experiment(&self, findings: Findings, quick: bool, origin: String, made_by: Document) -> Experiment {
        let made_by = Document { cases: Vec::new(), verdicts: Vec::new(), ..made_by };
        Experiment {
            id: self.id.into(),
            title: self.title.into(),
            source: self.source.into(),
            claim: self.claim.into(),
            findings,
            quick,
            origin,
            made_by,
        }
    }
}
