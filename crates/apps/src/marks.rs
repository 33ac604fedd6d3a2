// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Values of `oom_score_adj` that only Fovea gives, and what each stands for.
//!
//! A child inherits the value that its parent has at the fork. Whether that was before or after
//! Fovea changed the parent's value cannot be seen from outside. So the value itself says it: a
//! *mark* is a value that nothing else uses, given to processes with one base value only. Without
//! Fovea, a process that has a mark, written or inherited, would have the mark's base. A process
//! that has no mark has its own value.

use std::collections::BTreeMap;

/// The kernel's OOM_SCORE_ADJ_MAX.
const SCORE_MAX: i32 = 1000;

/// Marks, at most. A device needs one for each pair of an app's first value and a step of importance.
const MARKS_MAX: usize = 128;

/// How far a mark may lie above the value wanted.
const ABOVE_MAX: i32 = 24;

/// Values that Firefox gives to its own processes; its other values end in 0, which no mark does.
const IN_USE: [i32; 3] = [167, 233, 333];

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meaning {
    base: i32,
    wanted: i32,
}

/// The marks given so far. A mark keeps its meaning for as long as any process may have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    meanings: BTreeMap<i32, Meaning>,
}

impl Marks {
    /// The value that a process with this score has without Fovea.
    pub fn own_score(&self, score: i32) -> i32 {
        self.meanings.get(&score).map_or(score, |meaning| meaning.base)
    }

    /// Whether only Fovea gives this score.
    pub fn is_mark(&self, score: i32) -> bool {
        self.meanings.contains_key(&score)
    }

    /// The mark for processes with this base whose value is to be raised by `wanted`.
    pub fn find(&self, base: i32, wanted: i32) -> Option<i32> {
        let meaning = Meaning { base, wanted };
        self.meanings.iter().find_map(|(&mark, &known)| (known == meaning).then_some(mark))
    }

    /// A new mark for such processes: the next free value above base + `wanted`, or the highest free one
    /// below. `None` where no value is free, or the base is below 0: then somebody protects the process.
    pub fn propose(&self, base: i32, wanted: i32) -> Option<i32> {
        if base < 0 || wanted <= 0 || self.meanings.len() >= MARKS_MAX {
            return None;
        }
        let sum = base.saturating_add(wanted);
        let is_free = |&score: &i32| {
            let is_common = score % 5 == 0 || IN_USE.contains(&score);
            score > base && !is_common && !self.is_mark(score)
        };
        let above = sum.saturating_add(1)..=sum.saturating_add(ABOVE_MAX).min(SCORE_MAX);
        above.into_iter().find(is_free).or_else(|| (0..=sum.min(SCORE_MAX)).rev().find(is_free))
    }

    /// Records a mark that was given.
    pub fn insert(&mut self, mark: i32, base: i32, wanted: i32) {
        self.meanings.entry(mark).or_insert(Meaning { base, wanted });
    }

    /// Mark, base and raise of each.
    pub fn iter(&self) -> impl Iterator<Item = (i32, i32, i32)> + '_ {
        self.meanings.iter().map(|(&mark, meaning)| (mark, meaning.base, meaning.wanted))
    }

    /// Whether no mark was given.
    pub fn is_empty(&self) -> bool {
        self.meanings.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mark_is_close_to_what_is_wanted_and_no_round_number() {
        let mut marks = Marks::default();
        let mut give = |base, wanted| {
            let mark = marks.propose(base, wanted).unwrap();
            marks.insert(mark, base, wanted);
            mark
        };
        assert_eq!([give(0, 700), give(0, 725), give(0, 200), give(200, 700)], [701, 726, 201, 901]);
        assert_eq!([give(0, 900), give(200, 500), give(200, 950), give(200, 900)], [902, 702, 999, 998]);
        assert_eq!(marks.own_score(902), 0);
        assert_eq!((marks.own_score(901), marks.own_score(300)), (200, 300));
        assert_eq!(marks.find(200, 500), Some(702));
        assert_eq!((marks.propose(-1, 700), marks.propose(0, 0), marks.propose(1000, 700)), (None, None, None));
    }

    proptest! {
        #[test]
        fn whatever_is_marked_each_mark_has_one_base_below_it(pairs in prop::collection::vec((-5i32..=1000, -5i32..=1000), 0..300)) {
            let mut marks = Marks::default();
            for (base, wanted) in pairs {
                if marks.find(base, wanted).is_some() {
                    continue;
                }
                if let Some(mark) = marks.propose(base, wanted) {
                    prop_assert!(!marks.is_mark(mark) && mark > base && base >= 0 && mark <= SCORE_MAX);
                    marks.insert(mark, base, wanted);
                    prop_assert_eq!((marks.own_score(mark), marks.find(base, wanted)), (base, Some(mark)));
                }
            }
            prop_assert!(marks.iter().count() <= MARKS_MAX);
        }
    }
}
