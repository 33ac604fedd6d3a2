// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which pages a launch or a resume touches.
//!
//! A working set comes in runs of neighbouring pages and is nearly the same each time. So pages are taken in runs of
//! [`RUN_PAGES`], in an order drawn from the seed: the first runs of that order are the set, and each turn exchanges
//! [`DRIFT_PERCENT`] of them, rounded to whole runs, for runs that are not in it. (A set of fewer than five runs never changes.)

use std::ops::Range;

use crate::hash::mix64;

/// Pages of a run.
pub const RUN_PAGES: u64 = 16;

/// Share of a set's runs that differ at each turn, percent.
pub const DRIFT_PERCENT: usize = 10;

/// The page ranges touched at `turn`, in the order of touching; together exactly `percent` of `pages`, rounded up. The same arguments
/// always give the same ranges; ranges do not overlap.
pub fn touch_set(pages: u64, percent: u32, seed: u64, turn: u64) -> Vec<Range<u64>> {
    let wanted = (pages * u64::from(percent.min(100))).div_ceil(100);
    let total = pages.div_ceil(RUN_PAGES);
    let mut order: Vec<u64> = (0..total).collect();
    order.sort_by_cached_key(|&run| (mix64(seed ^ mix64(run)), run));

    let range = |run: u64| run * RUN_PAGES..((run + 1) * RUN_PAGES).min(pages);
    let mut count = 0;
    let mut covered = 0;
    while covered < wanted {
        let run = range(order[count]);
        covered += run.end - run.start;
        count += 1;
    }
    let (core, others) = order.split_at(count);
    let moved = ((count * DRIFT_PERCENT + 50) / 100).min(others.len());
    // The runs that stay are the same each time: it is the set's tail that gives way, and comes back only if all else is used.
    let (kept, given_up) = core.split_at(count - moved);
    let start = (mix64(seed ^ mix64(turn).rotate_left(23)) % others.len().max(1) as u64) as usize;
    let drawn = others[start..].iter().chain(&others[..start]);
    let mut left = wanted;
    kept.iter()
        .chain(drawn)
        .chain(given_up)
        .map_while(|&run| {
            let run = range(run);
            let end = run.end.min(run.start + left);
            left -= end - run.start;
            (end > run.start).then_some(run.start..end)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn pages(set: &[Range<u64>]) -> BTreeSet<u64> {
        set.iter().cloned().flatten().collect()
    }

    proptest! {
        #[test]
        fn a_set_is_stable_disjoint_in_bounds_and_of_the_right_share(
            total in 0u64..5000, percent in 0u32..=100, seed: u64, turn in 0u64..20,
        ) {
            let set = touch_set(total, percent, seed, turn);
            prop_assert_eq!(&set, &touch_set(total, percent, seed, turn));
            let distinct = pages(&set);
            prop_assert_eq!(distinct.len() as u64, set.iter().map(|r| r.end - r.start).sum::<u64>());
            prop_assert!(distinct.iter().all(|&p| p < total));
            let wanted = (total * u64::from(percent)).div_ceil(100);
            prop_assert_eq!(distinct.len() as u64, wanted);
        }
    }

    #[test]
    fn sets_of_two_turns_differ_by_the_drift() {
        let (total, percent) = (16_000, 30);
        let first = pages(&touch_set(total, percent, 9, 0));
        let mut seen = Vec::new();
        for turn in 1..8 {
            let set = pages(&touch_set(total, percent, 9, turn));
            let kept = set.intersection(&first).count() as f64 / first.len() as f64;
            assert!((0.89..=1.0).contains(&kept), "turn {turn}: {kept}");
            seen.push(set);
        }
        assert!(seen.iter().any(|set| *set != first));
    }

    #[test]
    fn another_seed_is_another_set() {
        assert_ne!(touch_set(16_000, 30, 1, 0), touch_set(16_000, 30, 2, 0));
    }

    #[test]
    fn everything_is_everything() {
        assert_eq!(pages(&touch_set(1000, 100, 3, 5)).len(), 1000);
    }
}
