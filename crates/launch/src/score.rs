// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How good predictions are, in the terms of the prefetching literature (Srinath et al., "Feedback Directed Prefetching", HPCA 2007):
//! accuracy is the share of what was predicted that is used, coverage the share of what is used that was predicted, timeliness the
//! share of what was prefetched that was there before it was asked for.
//!
//! Whether a prefetched page is used does not show in the page cache. So one start in some is left alone, and the prediction is
//! compared with what it reads by itself.

use std::collections::BTreeMap;

use crate::store::FileKey;
use crate::{Observation, Pages};

/// Below that accuracy, in percent, an app is learned anew.
pub const LEARN_ANEW_PERCENT: u64 = 50;

/// Below that accuracy, in percent, nothing more is prefetched for an app.
pub const STOP_PERCENT: u64 = 25;

/// A prediction of fewer pages that were not in memory says nothing: the start was warm.
pub const EVIDENCE_PAGES: u64 = 16;

/// Pages, of one start or summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Predicted and not in memory.
    pub predicted: u64,
    /// Of these, read by the start itself.
    pub used: u64,
    /// Read by the start itself, predicted or not.
    pub read: u64,
}

/// What is made of an app's predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No start has shown yet how good they are.
    Unknown,
    /// Good enough.
    Good,
    /// To be learned anew.
    Poor,
    /// Nothing more is prefetched.
    Bad,
}

impl Counts {
    /// Of a start that was left alone: the prediction, and what it saw.
    pub fn of(predicted: &BTreeMap<FileKey, Pages>, seen: &Observation) -> Counts {
        let mut counts = Counts { read: seen.read_pages(), ..Counts::default() };
        for (file, pages) in predicted {
            // A file that cannot be opened any more is not read either.
            let Some(seen) = seen.files.get(file) else { continue };
            let missing = pages.without(&seen.blind);
            counts.predicted += missing.count();
            counts.used += missing.both(&seen.read).count();
        }
        counts
    }

    /// Both.
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            predicted: self.predicted.saturating_add(other.predicted),
            used: self.used.saturating_add(other.used),
            read: self.read.saturating_add(other.read),
        }
    }

    /// Whether it says anything.
    pub fn is_evidence(self) -> bool {
        self.predicted >= EVIDENCE_PAGES
    }

    /// Percent of what was predicted that was used.
    pub fn accuracy(self) -> Option<u64> {
        percent(self.used, self.predicted)
    }

    /// Percent of what was read that was predicted.
    pub fn coverage(self) -> Option<u64> {
        percent(self.used, self.read)
    }

    /// What follows.
    pub fn standing(self) -> Standing {
        match self.accuracy().filter(|_| self.is_evidence()) {
            None => Standing::Unknown,
            Some(accuracy) if accuracy < STOP_PERCENT => Standing::Bad,
            Some(accuracy) if accuracy < LEARN_ANEW_PERCENT => Standing::Poor,
            Some(_) => Standing::Good,
        }
    }
}

/// A share in whole percent, rounded down.
pub fn percent(part: u64, whole: u64) -> Option<u64> {
    (whole > 0).then(|| (u128::from(part) * 100 / u128::from(whole)) as u64)
}
