// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! When a start reads the pages of a file: in which step, one step lasting from one look at memory to the next.

use std::collections::VecDeque;

use crate::learn::RANGES_MAX;
use crate::store::FileKey;
use crate::{Observation, Pages};

/// Steps of pages: from a page on, up to the next entry's page, all that is read is read in that step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When(Vec<(u32, u8)>);

impl When {
    /// Of pages by step. Of a page in two, the earlier step counts.
    pub fn of_steps<'a>(steps: impl IntoIterator<Item = (u8, &'a Pages)>) -> When {
        let mut known = Pages::new();
        let mut ranges: Vec<(u32, u8)> = Vec::new();
        for (step, pages) in steps {
            ranges.extend(pages.without(&known).ranges().iter().map(|range| (range.start, step)));
            known = known.union(pages);
        }
        ranges.sort_unstable();
        ranges.dedup_by_key(|entry| entry.1);
        When(ranges)
    }

    /// The entries, ascending by page.
    pub fn entries(&self) -> &[(u32, u8)] {
        &self.0
    }

    /// From entries that were kept; `None` if they do not ascend, or two in a row say the same.
    pub fn from_entries(entries: Vec<(u32, u8)>) -> Option<When> {
        let is_sound = |pair: &[(u32, u8)]| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1;
        entries.windows(2).all(is_sound).then_some(When(entries))
    }

    /// The step of a page. What is before the first entry is read with it.
    pub fn step(&self, page: u32) -> u8 {
        let after = self.0.partition_point(|entry| entry.0 <= page);
        self.0.get(after.saturating_sub(1)).map_or(0, |entry| entry.1)
    }

    /// Pages by step, ascending by page.
    pub fn split(&self, pages: &Pages) -> Vec<(u8, Pages)> {
        let mut parts = Vec::new();
        let starts = self.0.iter().skip(1).map(|entry| entry.0);
        let bounds: Vec<u32> = [0].into_iter().chain(starts).chain([u32::MAX]).collect();
        for pair in bounds.windows(2) {
            let part = pages.both(&Pages::from(pair[0]..pair[1]));
            if !part.is_empty() {
                parts.push((self.step(pair[0]), part));
            }
        }
        parts
    }

    /// Within the bound of the store: the rest of the file has the last step that is kept.
    pub fn bounded(mut self) -> When {
        self.0.truncate(RANGES_MAX);
        self
    }
}

/// The steps in which a file's expected pages are wanted: those of the latest start that read them.
pub fn wanted_when(starts: &VecDeque<Observation>, file: FileKey, expected: &Pages) -> Vec<(u8, Pages)> {
    let mut left = expected.clone();
    let mut parts = Vec::new();
    for seen in starts.iter().rev().filter_map(|start| start.files.get(&file)) {
        parts.extend(seen.when.split(&left.both(&seen.read)));
        left = left.without(&seen.read);
    }
    parts
}
