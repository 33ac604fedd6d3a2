// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The slow and obvious way: every page by itself. What is predicted and how it is ordered must come to the same.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use crate::bytes::{put_when, Reader};
use crate::learn::{expected, Observation};
use crate::order::{order, Command, Extent};
use crate::when::wanted_when;
use crate::{Counts, FileKey, Pages, When};

const PAGES: u32 = 40;
const FILES: u32 = 3;

/// Of each page of each file: was it there before, was it there after?
type Start = Vec<Option<Vec<(bool, bool)>>>;

fn starts() -> impl Strategy<Value = Vec<Start>> {
    let file = proptest::option::weighted(0.8, proptest::collection::vec(any::<(bool, bool)>(), PAGES as usize));
    proptest::collection::vec(proptest::collection::vec(file, FILES as usize), 1..5)
}

fn observed(start: &Start) -> Observation {
    let mut seen = Observation::default();
    for (file, pages) in (0..).zip(start) {
        let Some(pages) = pages else { continue };
        let before = Pages::of_flags(pages.iter().map(|page| page.0));
        let after = Pages::of_flags(pages.iter().map(|page| page.1));
        seen.note(FileKey(file), &before, &after);
    }
    seen
}

fn naive(starts: &[Start]) -> BTreeSet<(u32, u32)> {
    let mut wanted = BTreeSet::new();
    for file in 0..FILES {
        for page in 0..PAGES {
            let state = |start: &Start| start[file as usize].as_ref().map(|pages| pages[page as usize]);
            let read = starts.iter().filter(|start| matches!(state(start), Some((false, true)))).count();
            let could = starts.iter().filter(|start| !matches!(state(start), Some((true, _)))).count();
            if read as f64 > could as f64 / 2.0 {
                wanted.insert((file, page));
            }
        }
    }
    wanted
}

fn flat(files: &BTreeMap<FileKey, Pages>) -> BTreeSet<(u32, u32)> {
    files.iter().flat_map(|(file, pages)| pages.ranges().iter().cloned().flatten().map(|page| (file.0, page))).collect()
}

proptest! {
    #[test]
    fn what_is_expected_is_what_each_page_by_itself_says(starts in starts()) {
        let history: VecDeque<Observation> = starts.iter().map(observed).collect();
        prop_assert_eq!(flat(&expected(&history)), naive(&starts));
    }

    #[test]
    fn scores_count_each_page(starts in starts(), next in starts()) {
        let history: VecDeque<Observation> = starts.iter().map(observed).collect();
        let (predicted, next) = (naive(&starts), &next[0]);
        let counts = Counts::of(&expected(&history), &observed(next));
        let state = |&(file, page): &(u32, u32)| next[file as usize].as_ref().map(|pages| pages[page as usize]);
        let missing: Vec<_> = predicted.iter().filter_map(state).filter(|&(before, _)| !before).collect();
        prop_assert_eq!(counts.predicted, missing.len() as u64);
        prop_assert_eq!(counts.used, missing.iter().filter(|&&(_, after)| after).count() as u64);
        let read = next.iter().flatten().flatten().filter(|&&(before, after)| !before && after).count();
        prop_assert_eq!(counts.read, read as u64);
    }

    #[test]
    fn each_page_has_the_step_that_found_it_first_and_bytes_bring_it_back(
        found in proptest::collection::vec((0u8..9, proptest::collection::btree_set(0..PAGES, 0..12)), 0..6),
        asked in proptest::collection::btree_set(0..PAGES, 0..30),
    ) {
        let mut steps: Vec<(u8, Pages)> =
            found.iter().map(|(step, set)| (*step, set.iter().map(|&page| page..page + 1).collect())).collect();
        steps.sort_by_key(|(step, _)| *step);
        let when = When::of_steps(steps.iter().map(|(step, pages)| (*step, pages)));
        let first = |page: u32| steps.iter().find(|(_, pages)| pages.contains(page)).map(|(step, _)| *step);
        for page in 0..PAGES {
            prop_assert!(first(page).is_none_or(|step| step == when.step(page)), "{} {:?}", page, when);
        }
        let asked: Pages = asked.into_iter().map(|page| page..page + 1).collect();
        let parts = when.split(&asked);
        prop_assert_eq!(parts.iter().fold(Pages::new(), |all, (_, part)| all.union(part)), asked.clone());
        prop_assert_eq!(parts.iter().map(|(_, part)| part.count()).sum::<u64>(), asked.count());
        for (step, part) in &parts {
            prop_assert!(part.ranges().iter().cloned().flatten().all(|page| when.step(page) == *step));
        }
        let mut bytes = Vec::new();
        put_when(&mut bytes, &when);
        prop_assert_eq!(Reader(&bytes).when(PAGES as usize), Some(when));
    }

    #[test]
    fn what_is_expected_has_the_step_of_the_latest_start_that_read_it(starts in starts(), steps in proptest::collection::vec(0u8..9, 5)) {
        let mut history: VecDeque<Observation> = starts.iter().map(observed).collect();
        for (start, step) in history.iter_mut().zip(&steps) {
            for seen in start.files.values_mut() {
                seen.when = When::of_steps([(*step, &seen.read)]);
            }
        }
        for (file, expected) in expected(&history) {
            let parts = wanted_when(&history, file, &expected);
            prop_assert_eq!(parts.iter().map(|(_, part)| part.count()).sum::<u64>(), expected.count());
            for page in expected.ranges().iter().cloned().flatten() {
                let latest = (0..history.len()).rev().find(|&nth| {
                    history[nth].files.get(&file).is_some_and(|seen| seen.read.contains(page))
                });
                let own: Vec<u8> = parts.iter().filter(|(_, part)| part.contains(page)).map(|(step, _)| *step).collect();
                prop_assert_eq!(own, vec![steps[latest.unwrap()]]);
            }
        }
    }

    #[test]
    fn pieces_hold_what_is_wanted_once_by_step_in_the_storages_order_and_fill_its_commands(
        wanted in proptest::collection::vec(proptest::collection::btree_set(0u32..60, 0..40), 1..4),
        lengths in proptest::collection::vec(1u32..12, 0..20),
        places in proptest::collection::vec(0u64..1000, 20),
        first_step_pages in proptest::collection::vec(0u32..60, 4),
        command_pages in 1u32..9,
        gap_pages in 0u32..4,
    ) {
        // Extents cover each file's beginning, as far as they reach.
        let mut extents = vec![Vec::new(); wanted.len()];
        for (nth, length) in lengths.iter().enumerate() {
            let own: &mut Vec<Extent> = &mut extents[nth % wanted.len()];
            let start = own.last().map_or(0, |extent| extent.pages.end);
            // No two share a place.
            own.push(Extent { pages: start..start + length, at: nth as u64 * 20_000 + places[nth] * 16 });
        }
        let sets: Vec<Pages> = wanted.iter().map(|set| set.iter().map(|&page| page..page + 1).collect()).collect();
        let command = Command { pages: command_pages, gap_pages };
        // Of each file the beginning is wanted in the second step, the rest in the first.
        let begins = |file: usize| Pages::from(0..first_step_pages[file]);
        let parts = |(file, set): (usize, &Pages)| vec![(1, set.both(&begins(file))), (0, set.without(&begins(file)))];
        let steps: Vec<Vec<(u8, Pages)>> = sets.iter().enumerate().map(parts).collect();
        let pieces = order(&steps, &extents, command);
        let at = |file: usize, page: u32| {
            let extent = extents[file].iter().find(|extent| extent.pages.contains(&page))?;
            Some(extent.at + u64::from(page - extent.pages.start))
        };
        let mut got = vec![BTreeSet::new(); wanted.len()];
        let mut last: (u8, Option<u64>) = (0, Some(0));
        for piece in &pieces {
            prop_assert!(!piece.pages.is_empty() && piece.pages.end - piece.pages.start <= command_pages);
            prop_assert_eq!(piece.at, at(piece.file, piece.pages.start));
            for (nth, page) in piece.pages.clone().enumerate() {
                prop_assert_eq!(at(piece.file, page), piece.at.map(|at| at + nth as u64), "in a row");
                prop_assert!(got[piece.file].insert(page), "once");
            }
            // Those without a place come last.
            let comes_later = match (last, (piece.step, piece.at)) {
                ((before, _), (step, _)) if before != step => before < step,
                ((_, Some(last)), (_, Some(at))) => at >= last,
                ((_, None), (_, Some(_))) => false,
                _ => true,
            };
            prop_assert!(comes_later);
            last = (piece.step, piece.at);
            let mut of_step = piece.pages.clone().filter(|&page| wanted[piece.file].contains(&page));
            let is_of_step = of_step.all(|page| u8::from(begins(piece.file).contains(page)) == piece.step);
            prop_assert!(is_of_step);
            let is_wanted = |page: u32| wanted[piece.file].contains(&page);
            let holes: Vec<u32> = piece.pages.clone().filter(|&page| !is_wanted(page)).collect();
            let longest = holes.chunk_by(|a, b| a + 1 == *b).map(<[u32]>::len).max().unwrap_or(0);
            prop_assert!(longest <= gap_pages as usize);
        }
        for (set, got) in wanted.iter().zip(&got) {
            prop_assert!(got.is_superset(set));
        }
    }
}
