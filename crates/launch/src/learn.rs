// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What starts read, and what the next one is expected to read.
//!
//! Residency is all that is observed, before and after the start. A page that was in memory before says nothing of that start: it
//! is *blind* for it. So a page is expected if it was read in most of the recorded starts that could have read it.

use std::collections::{BTreeMap, VecDeque};

use crate::store::FileKey;
use crate::{Pages, When};

/// Starts of an app that are remembered.
pub const STARTS: usize = 4;

/// Files of a start that are remembered: those of which it read most.
pub const FILES_OF_START_MAX: usize = 1024;

/// Ranges of a file in a start.
pub const RANGES_MAX: usize = 128;

/// What a start did with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Not in memory before, in memory after.
    pub read: Pages,
    /// In memory before, or prefetched: whether the start used them is not known.
    pub blind: Pages,
    /// When they were read.
    pub when: When,
}

/// What a start did, of each file that it had open or mapped, or was expected to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// By file.
    pub files: BTreeMap<FileKey, Seen>,
}

impl Observation {
    /// Puts residency before and after in.
    pub fn note(&mut self, file: FileKey, before: &Pages, after: &Pages) {
        self.note_steps(file, before, &[(0, after.clone())]);
    }

    /// Puts residency before and at the end of each step in. What was evicted in between was read all the same.
    pub fn note_steps(&mut self, file: FileKey, before: &Pages, steps: &[(u8, Pages)]) {
        let read: Vec<(u8, Pages)> = steps.iter().map(|(step, pages)| (*step, pages.without(before))).collect();
        let when = When::of_steps(read.iter().map(|(step, pages)| (*step, pages)));
        let read = read.iter().fold(Pages::new(), |all, (_, pages)| all.union(pages));
        self.files.insert(file, Seen { read, blind: before.clone(), when });
    }

    /// All that was read, in pages.
    pub fn read_pages(&self) -> u64 {
        self.files.values().map(|seen| seen.read.count()).sum()
    }

    /// Within the bounds of the store.
    pub fn bounded(mut self) -> Observation {
        if self.files.len() > FILES_OF_START_MAX {
            let mut by_size: Vec<(u64, FileKey)> = self.files.iter().map(|(&f, s)| (s.read.count(), f)).collect();
            by_size.sort_unstable();
            for (_, file) in &by_size[..by_size.len() - FILES_OF_START_MAX] {
                self.files.remove(file);
            }
        }
        for seen in self.files.values_mut() {
            seen.read = std::mem::take(&mut seen.read).in_ranges(RANGES_MAX);
            seen.blind = seen.blind.without(&seen.read).largest(RANGES_MAX);
            seen.when = std::mem::take(&mut seen.when).bounded();
        }
        self
    }
}

/// What the next start is expected to read if nothing is in memory.
pub fn expected(starts: &VecDeque<Observation>) -> BTreeMap<FileKey, Pages> {
    let mut files: BTreeMap<FileKey, Pages> = BTreeMap::new();
    for (file, seen) in starts.iter().flat_map(|start| &start.files) {
        let all = files.entry(*file).or_default();
        *all = all.union(&seen.read);
    }
    for (file, read_once) in &mut files {
        let seen: Vec<Option<&Seen>> = starts.iter().map(|start| start.files.get(file)).collect();
        *read_once = often_enough(&seen, read_once);
    }
    files.retain(|_, pages| !pages.is_empty());
    files
}

/// Those of the candidates that more than half of the starts that could read them did read.
fn often_enough(starts: &[Option<&Seen>], candidates: &Pages) -> Pages {
    // Between two bounds of any range all pages have the same votes.
    let of_all = starts.iter().flatten().flat_map(|seen| seen.read.ranges().iter().chain(seen.blind.ranges()));
    let mut bounds: Vec<u32> = of_all.chain(candidates.ranges()).flat_map(|range| [range.start, range.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let wanted = |page: u32| {
        let has =
            |pages: fn(&Seen) -> &Pages| starts.iter().flatten().filter(|seen| pages(seen).contains(page)).count();
        let (read, blind) = (has(|seen| &seen.read), has(|seen| &seen.blind));
        2 * read > starts.len() - blind
    };
    let pieces = bounds.windows(2).filter(|pair| candidates.contains(pair[0]) && wanted(pair[0]));
    pieces.map(|pair| pair[0]..pair[1]).collect()
}
