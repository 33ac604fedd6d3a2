// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The papers' tables and figures, repeated: one [`Entry`] each, with the paper's claim, our figures, a verdict, and the series
//! of a plot. An entry is a pure function of its [`Settings`]; only the time it takes depends on the threads.

pub mod chart;
pub mod cli;
mod ecache;
mod hybrid;
mod hybrid_mix;
mod lowmem;

use fovea_scenario::{Case, Document, Verdict};
use serde::{Deserialize, Serialize};

use crate::{replay, Error, Result};
use chart::Chart;

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

/// What an entry found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Figures by case and configuration.
    pub cases: Vec<Case>,
    /// What was claimed and what was found.
    pub verdicts: Vec<Verdict>,
    /// What can be drawn.
    pub charts: Vec<Chart>,
    /// What a reader has to know to judge the figures.
    pub notes: Vec<String>,
}

/// A remark on an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The entry.
    pub entry: String,
    /// The remark.
    pub text: String,
}

/// The results document of one or more entries, with what a report needs beside it: a superset of the common schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// The document; cases and verdicts bear the entry's id in front.
    #[serde(flatten)]
    pub document: Document,
    /// Whether the traces were the short ones of `--quick`.
    #[serde(default)]
    pub quick: bool,
    /// Plots.
    pub charts: Vec<Chart>,
    /// Remarks.
    pub notes: Vec<Note>,
}

/// Every entry.
pub static ENTRIES: &[&Entry] = &[
    &ecache::FIG_6A,
    &ecache::FIG_10,
    &hybrid::FIG_2,
    &hybrid::FIG_3,
    &hybrid::FIG_4,
    &hybrid::ENERGY,
    &hybrid_mix::MIX,
    &lowmem::TABLE,
];

/// The entries of these ids, all if none is named.
///
/// # Errors
/// If an id is not known, or named twice.
pub fn entries(ids: &[String]) -> Result<Vec<&'static Entry>> {
    select(ENTRIES, ids)
}

fn select<'e>(known: &[&'e Entry], ids: &[String]) -> Result<Vec<&'e Entry>> {
    if ids.is_empty() {
        return Ok(known.to_vec());
    }
    let mut chosen: Vec<&Entry> = Vec::new();
    for id in ids {
        let Some(entry) = known.iter().find(|e| e.id == id) else {
            let known: Vec<_> = known.iter().map(|e| e.id).collect();
            return Err(Error::Usage(format!("experiment {id:?}: not known; take one of {}", known.join(", "))));
        };
        if chosen.iter().any(|e| e.id == entry.id) {
            return Err(Error::Usage(format!("experiment {id}: named twice; name it once")));
        }
        chosen.push(entry);
    }
    Ok(chosen)
}

/// The id of an entry's verdict or case in a document that holds several.
fn under(entry: &str, name: &str) -> String {
    if name.is_empty() {
        entry.into()
    } else {
        format!("{entry}/{name}")
    }
}

/// The part of a name that comes after the entry's.
pub(crate) fn within<'n>(entry: &str, name: &'n str) -> Option<&'n str> {
    let rest = name.strip_prefix(entry)?;
    if rest.is_empty() {
        Some("")
    } else {
        rest.strip_prefix('/')
    }
}

impl Reproduction {
    /// What it says of one entry, if it says anything.
    pub fn findings(&self, entry: &str) -> Option<Findings> {
        let own = |name: &str| within(entry, name).map(str::to_owned);
        let cases = self.document.cases.iter().filter_map(|c| Some(Case { case: own(&c.case)?, ..c.clone() }));
        let verdicts = self.document.verdicts.iter().filter_map(|v| Some(Verdict { id: own(&v.id)?, ..v.clone() }));
        let found = Findings {
            cases: cases.collect(),
            verdicts: verdicts.collect(),
            charts: self.charts.iter().filter(|c| c.entry == entry).cloned().collect(),
            notes: self.notes.iter().filter(|n| n.entry == entry).map(|n| n.text.clone()).collect(),
        };
        (found != Findings::default()).then_some(found)
    }
}

/// Runs the entries, one after the other; `progress` is told each as it begins.
///
/// # Errors
/// If an entry cannot run at all; a verdict that does not hold is no error here.
pub fn reproduce(entries: &[&Entry], settings: &Settings, progress: impl Fn(&Entry)) -> Result<Reproduction> {
    let mut document = replay::document("lab reproduce", Vec::new());
    document.seed = settings.seed;
    let mut all = Reproduction { document, quick: settings.quick, charts: Vec::new(), notes: Vec::new() };
    for entry in entries {
        progress(entry);
        let found = (entry.run)(settings)?;
        let cases = found.cases.into_iter().map(|c| Case { case: under(entry.id, &c.case), ..c });
        all.document.cases.extend(cases);
        let verdicts = found.verdicts.into_iter().map(|v| Verdict { id: under(entry.id, &v.id), ..v });
        all.document.verdicts.extend(verdicts);
        all.charts.extend(found.charts.into_iter().map(|c| Chart { entry: entry.id.into(), ..c }));
        all.notes.extend(found.notes.into_iter().map(|text| Note { entry: entry.id.into(), text }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fovea_scenario::{verdict, Bound};

    use super::*;

    fn run(settings: &Settings) -> Result<Findings> {
        let figures = BTreeMap::from([("seed".to_owned(), settings.seed as f64)]);
        Ok(Findings {
            cases: vec![Case { case: "N".into(), configuration: "lru".into(), figures }],
            verdicts: vec![verdict("less", "claimed", "a paper", Some(3.0), Bound::AtMost(2.0))],
            charts: vec![Chart::default()],
            notes: vec!["a note".into()],
        })
    }

    static A: Entry = Entry { id: "a", title: "A", source: "a paper", claim: "claimed", run };
    static B: Entry = Entry { id: "b", title: "B", source: "a paper", claim: "claimed", run };

    #[test]
    fn documents_of_several_entries_keep_them_apart() {
        let settings = Settings { seed: 7, quick: true, threads: 1 };
        let all = reproduce(&[&A, &B], &settings, |_| {}).unwrap();
        assert_eq!(all.document.figure("a/N", "lru", "seed"), Some(7.0));
        assert_eq!(all.document.figure("b/N", "lru", "seed"), Some(7.0));
        assert_eq!(all.document.verdicts[1].id, "b/less");
        assert!(!all.document.passed());
        let json = serde_json::to_value(&all).unwrap();
        // What reads the common schema reads this one.
        let document: Document = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(document, all.document);
        assert_eq!(json["charts"][1]["entry"], "b");
        assert_eq!(json["notes"][0]["text"], "a note");
    }

    #[test]
    fn what_was_saved_of_an_entry_is_what_it_found() {
        let settings = Settings { seed: 7, quick: true, threads: 1 };
        let all = reproduce(&[&A, &B], &settings, |_| {}).unwrap();
        let saved: Reproduction = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert!(saved.quick);
        let found = run(&settings).unwrap();
        let chart = Chart { entry: "b".into(), ..Chart::default() };
        assert_eq!(saved.findings("b"), Some(Findings { charts: vec![chart], ..found }));
        assert_eq!(saved.findings("c"), None);
    }

    #[test]
    fn entries_with_a_common_beginning_are_kept_apart() {
        assert_eq!(within("fig1", "fig1/N"), Some("N"));
        assert_eq!(within("fig1", "fig1"), Some(""));
        assert_eq!(within("fig1", "fig10/N"), None);
    }

    #[test]
    fn unknown_and_doubled_ids_are_refused_with_the_known_ones() {
        let known = [&A, &B];
        let names = |ids: &[&str]| ids.iter().map(|&i| i.to_owned()).collect::<Vec<_>>();
        assert_eq!(select(&known, &[]).unwrap().len(), 2);
        assert_eq!(select(&known, &names(&["b"])).unwrap()[0].id, "b");
        let error = select(&known, &names(&["c"])).unwrap_err();
        assert_eq!((error.exit_code(), error.to_string().ends_with("take one of a, b")), (2, true));
        assert!(select(&known, &names(&["a", "a"])).is_err());
    }

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = ENTRIES.iter().map(|e| e.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ENTRIES.len());
    }
}
