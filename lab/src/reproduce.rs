// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The papers' tables and figures, repeated: one [`Entry`] each, with the paper's claim, our figures, a verdict, and the series
//! of a plot. An entry is a pure function of its [`Settings`]; only the time it takes depends on the threads.

mod ecache;
mod ecache_reads;
mod ecache_runs;
mod ecache_working_sets;
mod entry;
mod hybrid;
mod hybrid_energy;
mod hybrid_grid;
mod hybrid_mix;
mod hybrid_readings;

use fovea_report::document::Document;
use fovea_report::experiment::{Reproduction, REPRODUCE};
use fovea_report::seeds::SeedList;

pub use entry::{Entry, Settings};

use crate::{replay, Error, Result};

/// The lab's own entries. Who has more puts them behind these.
pub static ENTRIES: &[&Entry] = &[
    &ecache_working_sets::FIG_5,
    &ecache_reads::FIG_6A,
    &ecache::FIG_10,
    &hybrid::FIG_2,
    &hybrid::FIG_3,
    &hybrid::FIG_4,
    &hybrid_energy::ENERGY,
    &hybrid_mix::MIX,
    &hybrid_readings::READINGS,
];

/// Those of the known entries that have these ids, all if none is named.
///
/// # Errors
/// If an id is not known, or named twice.
pub fn select<'e>(known: &[&'e Entry], ids: &[String]) -> Result<Vec<&'e Entry>> {
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

/// Runs the entries, one after the other; `progress` is told each as it begins.
///
/// # Errors
/// If an entry cannot run at all; a verdict that does not hold is no error here.
pub fn reproduce(entries: &[&Entry], settings: &Settings, progress: impl Fn(&Entry)) -> Result<Reproduction> {
    let seeds = SeedList::of(&settings.each_seed().collect::<Vec<_>>());
    let document = Document { seed: settings.seed, seeds, ..replay::document(REPRODUCE, Vec::new()) };
    let mut all = Reproduction::new(document, settings.quick);
    for entry in entries {
        progress(entry);
        all.add(entry.id, entry.with_seeds(settings)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fovea_report::chart::Chart;
    use fovea_report::document::Case;
    use fovea_report::experiment::Findings;
    use fovea_report::verdict::{verdict, Bound};

    use super::*;

    fn run(settings: &Settings) -> Result<Findings> {
        let figures = BTreeMap::from([("seed".to_owned(), settings.seed as f64)]);
        Ok(Findings {
            cases: vec![Case { case: "N".into(), configuration: "lru".into(), figures }],
            verdicts: vec![verdict("less", "claimed", "a paper", Some(3.0), Bound::AtMost(2.0))],
            charts: vec![Chart::default()],
            notes: vec!["a note".into()],
            ..Findings::default()
        })
    }

    static A: Entry = Entry { id: "a", title: "A", source: "a paper", claim: "claimed", run };
    static B: Entry = Entry { id: "b", title: "B", source: "a paper", claim: "claimed", run };

    #[test]
    fn documents_of_several_entries_keep_them_apart() {
        let settings = Settings { seed: 7, seeds: 1, quick: true, threads: 1 };
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
        let settings = Settings { seed: 7, seeds: 1, quick: true, threads: 1 };
        let all = reproduce(&[&A, &B], &settings, |_| {}).unwrap();
        let saved: Reproduction = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert!(saved.quick);
        let found = run(&settings).unwrap();
        let chart = Chart { entry: "b".into(), ..Chart::default() };
        assert_eq!(saved.findings("b"), Some(Findings { charts: vec![chart], ..found }));
        assert_eq!(saved.findings("c"), None);
    }

    #[test]
    fn several_seeds_are_run_from_the_first_on() {
        let settings = Settings { seed: 7, seeds: 3, quick: true, threads: 1 };
        let all = reproduce(&[&A, &B], &settings, |_| {}).unwrap();
        assert_eq!((all.document.seed_numbers().as_str(), all.document.seed), ("7, 8 and 9", 7));
        assert_eq!(all.document.figure("b/N", "lru", "seed"), Some(8.0), "the mean of 7, 8 and 9");
        let margin = all.document.margins.iter().find(|m| m.case == "b/N").unwrap().figures["seed"];
        assert!((margin - 4.303 / 3f64.sqrt()).abs() < 1e-9, "{margin}");
        let saved: Reproduction = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(saved, all);
        let chart = Chart { entry: "b".into(), ..Chart::default() };
        assert_eq!(saved.findings("b"), Some(Findings { charts: vec![chart], ..B.with_seeds(&settings).unwrap() }));
        for seeds in [0, 32] {
            let error = A.with_seeds(&Settings { seeds, ..settings }).unwrap_err();
            assert_eq!((error.exit_code(), error.to_string()), (2, format!("seeds {seeds}: take 1 to 31")));
        }
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
