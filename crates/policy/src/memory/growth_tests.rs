// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is growth that goes on, and what is not.

use proptest::prelude::*;

use super::*;

const MB: u64 = 1 << 20;
const STEP: u64 = 300_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Growth by readings in MB, 0.3 s apart; in MB per second.
fn speed(readings_mb: &[u64]) -> u64 {
    let mut growth = Growth::default();
    for (i, mb) in readings_mb.iter().enumerate() {
        growth.record(SECOND_NS + i as u64 * STEP, mb * MB);
    }
    growth.bytes_per_s() / MB
}

#[test]
fn only_growth_that_goes_on_counts() {
    assert_eq!(speed(&[100, 105, 110, 115, 120, 125, 130, 135]), 16);
    assert_eq!(speed(&[0, 0, 0, 0, 0, 0, 100, 105, 110, 115, 120, 125, 130, 135]), 16, "of the last seconds");
    assert_eq!(speed(&[100, 110, 120]), 0, "for a moment");
    assert_eq!(speed(&[100, 100, 100, 300, 300, 300, 300, 300]), 0, "it took much and stays so");
    // Compilers come and go: much is taken, and given back.
    assert_eq!(speed(&[50, 400, 120, 380, 90, 410, 100, 420]), 0);
    assert_eq!(speed(&[400, 390, 380, 370, 360, 350, 340, 330]), 0);
    assert_eq!(speed(&[]), 0);
}

#[test]
fn readings_that_come_too_fast_or_are_too_old_do_not_count() {
    let mut growth = Growth::default();
    for i in 0..100 {
        growth.record(SECOND_NS + i * 1_000_000, i * MB);
    }
    assert_eq!((growth.length, growth.bytes_per_s()), (1, 0));
    for i in 0..6 {
        growth.record(100 * SECOND_NS + i * STEP, (1000 + i) * MB);
    }
    assert_eq!((growth.length, growth.bytes_per_s() / MB), (6, 3), "what it was long ago is forgotten");
}

#[test]
fn what_was_gained_counts_from_the_last_pause() {
    let grown = |mut growth: Growth, step_ns: u64, readings_mb: &[u64]| {
        for (i, mb) in readings_mb.iter().enumerate() {
            growth.record(SECOND_NS + i as u64 * step_ns, mb * MB);
        }
        (growth.gained().map(|(since_ns, bytes)| (since_ns / SECOND_NS, bytes / MB)), growth.born_ns())
    };
    let gained = |step_ns, readings_mb: &[u64]| grown(Growth::default(), step_ns, readings_mb).0;
    assert_eq!(gained(SECOND_NS, &[]), None);
    assert_eq!(gained(SECOND_NS, &[100, 108, 116]), None, "by chance");
    assert_eq!(gained(SECOND_NS, &[100, 108, 116, 124]), Some((1, 24)));
    assert_eq!(gained(20 * SECOND_NS, &[100, 140, 180, 220]), Some((1, 120)), "though nobody looked in between");
    assert_eq!(gained(SECOND_NS, &(0..60).map(|i| 100 + 4 * i).collect::<Vec<_>>()), Some((1, 236)));
    assert_eq!(gained(SECOND_NS, &[100, 200, 150, 160, 170, 180]), Some((3, 30)), "it gave back");
    assert_eq!(gained(SECOND_NS, &[100, 200, 200, 200, 200, 200, 200, 200, 210, 220, 230]), Some((8, 30)), "it paused");
    assert_eq!(gained(SECOND_NS, &[100; 9]), None);
    let born = |readings_mb: &[u64]| grown(Growth::born(500), SECOND_NS, readings_mb).1;
    assert_eq!(born(&[]), Some(500));
    assert_eq!(born(&[300, 400, 500]), Some(500));
    assert_eq!(born(&[300, 250]), None, "a build");
    assert_eq!(born(&[300; 8]), None, "it has begun");
}

#[test]
fn what_an_app_took_while_it_was_in_front_makes_it_no_runaway_in_the_background() {
    let mut growth = Growth::born(500);
    let reading = |growth: &mut Growth, second: u64, mb: u64| growth.record(second * SECOND_NS, mb * MB);
    // Nobody looked between its start and the next shortage, at which it had been left.
    [(1, 20), (2, 60), (3, 100), (8, 160)].into_iter().for_each(|(second, mb)| reading(&mut growth, second, mb));
    assert_eq!(growth.gained(), Some((SECOND_NS, 140 * MB)));
    growth.left(8 * SECOND_NS);
    assert_eq!((growth.gained(), growth.born_ns()), (None, None));
    [(9, 160), (10, 160), (11, 160), (12, 160)].into_iter().for_each(|(second, mb)| reading(&mut growth, second, mb));
    growth.left(8 * SECOND_NS);
    assert_eq!(growth.gained(), None, "it was large, and stays so");
    [(13, 168), (14, 176), (15, 184)].into_iter().for_each(|(second, mb)| reading(&mut growth, second, mb));
    growth.left(8 * SECOND_NS);
    assert_eq!(growth.gained(), Some((9 * SECOND_NS, 24 * MB)), "and one that goes on is known by that");
}

#[test]
fn peaks_of_many_short_lived_processes_are_no_growth() {
    // A compiler each second, looked at when memory is short: when one of them has the most.
    let looked_at = |largest: &dyn Fn(u64) -> Option<(u64, u64)>| {
        let mut growth = Growth::default();
        for i in 0..8 {
            let now_ns = SECOND_NS + i * SECOND_NS;
            growth.record(now_ns, (40 + 5 * i) * MB);
            if let Some((began_ns, mb)) = largest(now_ns).filter(|_| growth.is_suspect()) {
                growth.count_from_largest(began_ns, mb * MB);
            }
        }
        let gained = growth.gained().map(|(since_ns, bytes)| (since_ns, bytes / MB));
        (gained, growth.bytes_per_s() / MB)
    };
    assert_eq!(looked_at(&|_| None), (Some((SECOND_NS, 35)), 5), "as it looks");
    assert_eq!(looked_at(&|_| Some((SECOND_NS / 2, 75))), (Some((SECOND_NS, 35)), 5), "it is one and the same");
    let (gained, bytes_per_s) = looked_at(&|now_ns| Some((now_ns - 700_000_000, 64)));
    assert_eq!((gained, bytes_per_s), (Some((8 * SECOND_NS - 700_000_000, 35)), 0), "since the last one began");
    let (gained, _) = looked_at(&|_| Some((4 * SECOND_NS, 20)));
    assert_eq!(gained, Some((4 * SECOND_NS, 20)), "no more than it has itself");
}

proptest! {
    /// Saw-teeth of any kind, as long as they come back to where they were, are no growth.
    #[test]
    fn what_is_given_back_is_no_growth(peaks in prop::collection::vec(0u64..4000, 8..40), floor in 0u64..1000) {
        let mut growth = Growth::default();
        for (i, peak) in peaks.iter().enumerate() {
            let mb = if i % 2 == 0 { floor + peak } else { floor };
            growth.record(SECOND_NS + i as u64 * STEP, mb * MB);
        }
        prop_assert!(growth.bytes_per_s() == 0 || peaks.iter().rev().take(8).all(|&p| p == 0));
    }

    /// Against the plain definition, on any times and sizes.
    #[test]
    fn growth_is_never_more_than_what_was_read(readings in prop::collection::vec((0u64..3 * SECOND_NS, 0u64..1 << 40), 0..30)) {
        let (mut growth, mut now_ns) = (Growth::default(), 0);
        for (gap_ns, bytes) in readings {
            now_ns += gap_ns;
            growth.record(now_ns, bytes);
            let known = &growth.readings[..growth.length];
            prop_assert!(known.windows(2).all(|w| w[1].0 - w[0].0 >= STEP_NS));
            let (low, high) = (known.iter().map(|r| r.1).min().unwrap(), known.iter().map(|r| r.1).max().unwrap());
            prop_assert!(growth.bytes_per_s() <= high - low, "over at least a second");
        }
    }
}
