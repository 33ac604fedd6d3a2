// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an experiment is: a claim of a paper, and a pure function of its settings.

use fovea_report::document::Document;
use fovea_report::experiment::Findings;
use fovea_report::page::Experiment;
use fovea_report::repeat::{fold, MOST_SEEDS};

use crate::{Error, Result};

/// How many seeds an experiment is run with if nobody says otherwise: with fewer, an interval by Student's t is as wide as the figure.
const USUAL_SEEDS: u32 = 5;

/// What an entry is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Seed of everything drawn.
    pub seed: u64,
    /// How many seeds are run, from that on; figures are their means. At least 1.
    pub seeds: u32,
    /// Shorter traces: minutes become seconds, and figures move in their second digit.
    pub quick: bool,
    /// Threads; the results do not depend on them.
    pub threads: usize,
}

impl Settings {
    /// How many seeds are run if nobody says otherwise: for a first look, one.
    pub fn usual_seeds(quick: bool) -> u32 {
        if quick {
            1
        } else {
            USUAL_SEEDS
        }
    }

    /// The seeds that are run.
    pub fn each_seed(&self) -> impl Iterator<Item = u64> + '_ {
        (0..u64::from(self.seeds)).map(|at| self.seed.wrapping_add(at))
    }
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
    /// Runs it, with the first seed.
    pub run: fn(&Settings) -> Result<Findings>,
}

impl Entry {
    /// What it finds with every seed of the settings, folded into one.
    ///
    /// # Errors
    /// If it cannot run at all, or the number of seeds makes no sense.
    pub fn with_seeds(&self, settings: &Settings) -> Result<Findings> {
        if !(1..=MOST_SEEDS).contains(&settings.seeds) {
            let what = format!("seeds {}: take 1 to {MOST_SEEDS}", settings.seeds);
            return Err(Error::Usage(what));
        }
        let run = |seed| Ok((seed, (self.run)(&Settings { seed, seeds: 1, ..*settings })?));
        let found = settings.each_seed().map(run);
        Ok(fold(found.collect::<Result<_>>()?))
    }

    /// What it found, for a page; of what made it, mode, kernel, seeds and commit count.
    pub fn experiment(&self, findings: Findings, quick: bool, origin: String, made_by: Document) -> Experiment {
        let made_by = Document { cases: Vec::new(), margins: Vec::new(), verdicts: Vec::new(), ..made_by };
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
