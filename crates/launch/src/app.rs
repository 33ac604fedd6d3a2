// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One app: what its starts did, and what is done at the next.

use std::collections::{BTreeMap, VecDeque};

use crate::learn::{expected, STARTS};
use crate::score::{percent, EVIDENCE_PAGES};
use crate::store::FileKey;
use crate::when::wanted_when;
use crate::{Ahead, Counts, Observation, Pages, Standing};

/// Of so many starts one is left alone, to be observed.
pub const OBSERVED_EVERY: u32 = 8;

/// After so many starts an app that was given up is observed again.
pub const RETRIED_AFTER: u32 = 64;

/// What is done at a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is prefetched; what it reads is learned, and shows how good the prediction was.
    Observe,
    /// What it is expected to read is prefetched.
    Prefetch,
    /// Nothing: its predictions were too bad.
    Leave,
}

/// An app of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct App {
    /// When it was started last, in seconds since 1970.
    pub started_s: u64,
    /// How often it was started.
    pub starts: u64,
    /// Starts since the last that was observed, or since it was given up.
    pub since_observed: u32,
    /// Poor scores in a row.
    pub poor: u32,
    /// Given up.
    pub stopped: bool,
    /// The score of the last observed start that says something.
    pub score: Counts,
    /// Pages prefetched, in all its starts.
    pub prefetched: u64,
    /// Pages that were expected and missing at those starts.
    pub missing: u64,
    /// At the last start at which something was prefetched: microseconds from when it was seen to the first page asked for.
    pub first_us: u64,
    /// Read before its starts.
    pub ahead: Ahead,
    /// The starts that are remembered, the oldest first.
    pub history: VecDeque<Observation>,
}

impl App {
    /// What is done at its next start.
    pub fn mode(&self) -> Mode {
        let due = self.since_observed + 1 >= OBSERVED_EVERY;
        match () {
            () if self.stopped && self.since_observed + 1 < RETRIED_AFTER => Mode::Leave,
            () if self.stopped || self.history.is_empty() || due => Mode::Observe,
            () if self.score.standing() == Standing::Good => Mode::Prefetch,
            () => Mode::Observe,
        }
    }

    /// What its next start is expected to read.
    pub fn expected(&self) -> BTreeMap<FileKey, Pages> {
        expected(&self.history)
    }

    /// The same of one file, by the step in which it is read.
    pub fn wanted_when(&self, file: FileKey, expected: &Pages) -> Vec<(u8, Pages)> {
        wanted_when(&self.history, file, expected)
    }

    /// Whether something is read before its next start, of so many expected pages. A start that is to be observed must be cold.
    pub fn may_ahead(&self, pages: u64) -> bool {
        self.mode() == Mode::Prefetch && self.ahead.may(pages)
    }

    /// Takes in a start at which something was prefetched, or nothing was done.
    pub fn left(&mut self, now_s: u64, prefetched: u64, missing: u64) {
        self.begin(now_s);
        self.since_observed = self.since_observed.saturating_add(1);
        self.prefetched = self.prefetched.saturating_add(prefetched);
        self.missing = self.missing.saturating_add(missing);
    }

    /// Takes in a start that was observed.
    pub fn observed(&mut self, now_s: u64, seen: Observation) {
        self.begin(now_s);
        self.since_observed = 0;
        let expected = self.expected();
        let blind = |(file, pages): (&FileKey, &Pages)| Some(pages.both(&seen.files.get(file)?.blind).count());
        self.ahead.starts(expected.iter().filter_map(blind).sum());
        let retried = std::mem::take(&mut self.stopped);
        let counts = Counts::of(&expected, &seen);
        let was_warm = !counts.is_evidence() && seen.read_pages() < EVIDENCE_PAGES;
        if was_warm {
            self.stopped = retried;
            return;
        }
        if counts.is_evidence() {
            self.score = counts;
            match counts.standing() {
                Standing::Unknown | Standing::Good => self.poor = 0,
                Standing::Poor | Standing::Bad => {
                    // One bad score is the learning's fault: files may have changed. Two are the app's.
                    self.stopped = counts.standing() == Standing::Bad && self.poor > 0;
                    self.poor = self.poor.saturating_add(1);
                    self.history.clear();
                }
            }
        }
        self.history.push_back(seen.bounded());
        while self.history.len() > STARTS {
            self.history.pop_front();
        }
    }

    fn begin(&mut self, now_s: u64) {
        self.started_s = now_s;
        self.starts = self.starts.saturating_add(1);
    }

    /// Forgets a file. If that was over a quarter of what is expected, as after an upgrade, all is learned anew from the next start on; a
    /// file that each start writes to is less.
    pub fn forget(&mut self, file: FileKey) {
        let expected = self.expected();
        let all: u64 = expected.values().map(Pages::count).sum();
        if !self.stopped && expected.get(&file).is_some_and(|lost| 4 * lost.count() > all) {
            // In those starts the new version was not there to be read, which would count against it.
            self.history.clear();
        }
        for start in &mut self.history {
            start.files.remove(&file);
        }
    }

    /// Percent of what was expected and missing that was prefetched before the app had read it.
    pub fn timeliness(&self) -> Option<u64> {
        percent(self.prefetched, self.missing)
    }

    /// Pages prefetched that were not used, by the last score.
    pub fn wasted(&self) -> u64 {
        let unused = 100 - self.score.accuracy().unwrap_or(100);
        (u128::from(self.prefetched) * u128::from(unused) / 100) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileKey = FileKey(7);

    fn read(pages: std::ops::Range<u32>, blind: std::ops::Range<u32>) -> Observation {
        let mut seen = Observation::default();
        let before: Pages = blind.into();
        seen.note(FILE, &before, &before.union(&pages.into()));
        seen
    }

    fn expects(app: &App) -> u64 {
        app.expected().values().map(Pages::count).sum()
    }

    #[test]
    fn the_first_start_teaches_the_second_judges_the_third_is_helped_and_each_eighth_is_left_alone() {
        let mut app = App::default();
        for _ in 0..2 {
            assert_eq!(app.mode(), Mode::Observe);
            app.observed(1, read(0..100, 0..0));
        }
        assert_eq!((app.score.accuracy(), app.score.coverage()), (Some(100), Some(100)));
        for _ in 1..OBSERVED_EVERY {
            assert_eq!(app.mode(), Mode::Prefetch);
            app.left(2, 90, 100);
        }
        assert_eq!(app.mode(), Mode::Observe);
        assert_eq!((app.timeliness(), app.wasted(), app.starts), (Some(90), 0, 9));
    }

    #[test]
    fn a_poor_prediction_is_learned_anew_and_two_bad_ones_end_it_until_it_is_tried_again() {
        let mut app = App::default();
        app.observed(1, read(0..100, 0..0));
        app.observed(1, read(70..170, 0..0));
        assert_eq!((app.score.accuracy(), app.mode(), app.stopped), (Some(30), Mode::Observe, false));
        assert_eq!(app.expected()[&FILE], Pages::from(70..170));
        app.observed(1, read(300..400, 0..0));
        assert_eq!((app.mode(), app.stopped), (Mode::Leave, true));
        for _ in 1..RETRIED_AFTER {
            assert_eq!(app.mode(), Mode::Leave);
            app.left(1, 0, 0);
        }
        assert_eq!(app.mode(), Mode::Observe);
        app.observed(1, read(300..400, 0..0));
        assert_eq!((app.mode(), app.poor), (Mode::Prefetch, 0));
    }

    #[test]
    fn a_single_bad_score_does_not_end_it() {
        let mut app = App::default();
        app.observed(1, read(0..100, 0..0));
        app.observed(1, read(200..300, 0..0));
        assert_eq!((app.score.standing(), app.stopped), (Standing::Bad, false));
        app.observed(1, read(200..300, 0..0));
        assert_eq!(app.mode(), Mode::Prefetch);
    }

    #[test]
    fn an_upgrade_is_learned_at_the_next_start_and_a_small_file_that_changes_is_not_waited_for() {
        let mut app = App::default();
        let small = FileKey(8);
        for _ in 0..2 {
            let mut seen = read(0..100, 0..0);
            seen.note(small, &Pages::new(), &Pages::from(0..20));
            app.observed(1, seen);
        }
        app.forget(small);
        assert_eq!((expects(&app), app.mode()), (100, Mode::Prefetch));
        app.forget(FILE);
        app.left(1, 0, 0);
        assert_eq!((expects(&app), app.mode()), (0, Mode::Observe));
        app.observed(1, read(0..100, 0..0));
        assert_eq!((expects(&app), app.mode()), (100, Mode::Prefetch));
    }

    #[test]
    fn a_warm_start_says_nothing_and_pushes_nothing_out() {
        let mut app = App::default();
        app.observed(1, read(0..100, 0..0));
        app.observed(1, read(0..100, 0..0));
        for _ in 0..10 {
            app.observed(1, read(0..0, 0..100));
        }
        assert_eq!((expects(&app), app.mode(), app.history.len()), (100, Mode::Prefetch, 2));
    }

    #[test]
    fn pages_in_memory_before_count_neither_for_nor_against() {
        let mut app = App::default();
        app.observed(1, read(0..100, 0..0));
        app.observed(1, read(50..120, 0..50));
        // Read in one of two is not most. Of those that only one start could read, it read all.
        assert_eq!(app.expected()[&FILE], Pages::from(0..100));
        app.observed(1, read(50..120, 0..50));
        assert_eq!(app.expected()[&FILE], Pages::from(0..120));
    }
}
