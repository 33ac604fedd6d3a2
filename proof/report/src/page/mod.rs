// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What was reproduced and what scenarios found, as one page that needs nothing but itself: no script, nothing fetched.

mod charts;
mod miss_ratio;
mod panels;
mod parts;
mod tables;
#[cfg(test)]
mod tests;

pub use panels::drawn as panels;

use crate::chart::Chart;
use crate::document::Document;
use crate::experiment::Findings;
use crate::gather::{LeftOut, Saved};
use crate::panel::Panel;
use crate::paper::Paper;
use crate::plot;
use crate::verdict::Verdict;

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
    /// What made them: mode, kernel, seeds and commit count here, the rest is empty.
    pub made_by: Document,
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

    /// The page: HTML, whole, and the same for the same report; with what papers print beside our figures, and `panels` before all else.
    pub fn html(&self, papers: &[Paper], panels: &[Panel]) -> String {
        legible(parts::page(self, papers, panels).into_string())
    }
}

/// Charts as one picture: SVG, whole, which needs nothing but itself.
pub fn picture(title: &str, charts: &[Chart]) -> String {
    legible(plot::sheet(title, charts).into_string())
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
