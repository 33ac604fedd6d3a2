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

/// 200 MB each 7 s, looked at every 0.3 s.
#[test]
fn growth_in_steps_is_growth_once_its_rhythm_is_known() {
    let read = |steps_s: &[u64], until_s: u64| {
        let mut growth = Growth::default();
        for look in 0..until_s * 10 / 3 {
            let now_ns = SECOND_NS + look * STEP;
            let steps = steps_s.iter().filter(|&&step_s| step_s * SECOND_NS <= look * STEP).count() as u64;
            growth.record(now_ns, (100 + 200 * steps) * MB);
        }
        (growth.gained().map(|(_, bytes)| bytes / MB), growth.hoarded_bytes() / MB)
    };
    assert_eq!(read(&[7, 14], 20), (None, 400), "twice may be chance");
    assert_eq!(read(&[7, 14, 21, 28], 34), (Some(400), 800), "the third step is the first that follows in time");
    assert_eq!(read(&[7, 14, 21, 28], 60), (None, 800), "it is over, and holds what it took");
    // A game loads, is played for a minute, and loads a little more.
    assert_eq!(read(&[3, 63], 70), (None, 400));
    let mut growth = Growth::default();
    [(1, 500), (2, 900), (3, 600)].into_iter().for_each(|(second, mb)| growth.record(second * SECOND_NS, mb * MB));
    assert_eq!(growth.hoarded_bytes(), 100 * MB, "what it gave back it has not");
    let mut growth = Growth::born(500);
    growth.record(SECOND_NS, 80 * MB);
    assert_eq!(growth.hoarded_bytes(), 80 * MB, "it began with nothing");
    growth.left(2 * SECOND_NS);
    growth.record(3 * SECOND_NS, 80 * MB);
    assert_eq!(growth.hoarded_bytes(), 0, "what it took in front its user may have wanted");
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

/// A job leaked 1.5 MB/s for a minute before memory was short. By readings alone it had gained 2 MB when the first of two apps died for it.
#[test]
fn a_young_process_that_grows_as_fast_as_ever_has_grown_since_it_began() {
    let gained = |started_s: u64, now_kb_per_step: u64| {
        let mut growth = Growth::default();
        for i in 0..6 {
            let (now_ns, bytes) = (60 * SECOND_NS + i * STEP, 90 * MB + i * now_kb_per_step * 1024);
            growth.record(now_ns, bytes);
            let largest = Holder { bytes: bytes - MB, started_ns: started_s * SECOND_NS, ..Holder::default() };
            growth.note_largest(&[Holder { bytes: MB, ..Holder::default() }, largest], now_ns);
        }
        growth.gained().map(|(since_ns, bytes)| (since_ns / SECOND_NS, bytes / MB))
    };
    assert_eq!(gained(0, 375), Some((0, 90)), "1.5 MB/s, as ever");
    assert_eq!(gained(0, 100), Some((60, 0)), "what it loaded long ago it does not gain now");
    assert_eq!(gained(0, 0), None);
    let mut growth = Growth::default();
    growth.note_largest(&[Holder { bytes: 90 * MB, ..Holder::default() }], YOUNG_NS);
    (0..6).for_each(|i| growth.record(YOUNG_NS + i * STEP, 90 * MB + i * MB));
    assert_eq!(growth.gained().map(|(_, bytes)| bytes / MB), Some(5), "of what has run for long only readings count");
}

/// Its user goes to and fro: two seconds in the background, in which it takes 10 MB each, and two in front.
#[test]
fn what_an_app_took_in_the_background_counts_on_after_it_was_in_front() {
    let to_and_fro = |in_front_mb: u64, away_mb: u64| {
        let mut growth = Growth::default();
        let mut mb = 100;
        for stay in 0..4 {
            let left_s = 10 + 4 * stay;
            for second in 0..3 {
                growth.left(left_s * SECOND_NS);
                growth.record((left_s + second) * SECOND_NS, mb * MB);
                mb += if second < 2 { away_mb } else { 0 };
            }
            growth.fronted((left_s + 2) * SECOND_NS);
            growth.record((left_s + 3) * SECOND_NS, mb * MB);
            mb += in_front_mb;
        }
        growth.left(26 * SECOND_NS);
        growth.record(26 * SECOND_NS, mb * MB);
        (growth.gained().map(|(_, bytes)| bytes / MB), growth.hoarded_bytes() / MB)
    };
    assert_eq!(to_and_fro(0, 10), (Some(80), 80));
    // Two seconds each time at 10 MB a second, less the first: from then on it is known to go on.
    assert_eq!(to_and_fro(50, 10), (Some(160), 80), "what it took faster in front its user may have wanted");
    assert_eq!(to_and_fro(5, 10), (Some(100), 80), "no more than what it took");
    assert_eq!(to_and_fro(50, 0), (None, 0));
    // It gives back in front what it took.
    let mut growth = Growth::default();
    [(1, 100), (2, 120), (3, 140), (4, 160)]
        .into_iter()
        .for_each(|(second, mb)| growth.record(second * SECOND_NS, mb * MB));
    growth.fronted(4 * SECOND_NS);
    growth.left(6 * SECOND_NS);
    growth.record(7 * SECOND_NS, 90 * MB);
    assert_eq!((growth.gained(), growth.hoarded_bytes()), (None, 0));
}

/// Apps that started behind a terminal, before anything told who is in front, and stood still since. 20 s later memory was short, and one of
/// them died as a runaway: its start was taken to have gone on for all that time.
#[test]
fn what_took_its_memory_long_ago_does_not_grow_because_it_was_in_front_since() {
    let mut growth = Growth::born(3 * SECOND_NS);
    growth.left(3 * SECOND_NS);
    for (i, mb) in [19, 23, 27, 31, 35].into_iter().enumerate() {
        growth.record(4 * SECOND_NS + i as u64 * STEP, mb * MB);
    }
    growth.fronted(11 * SECOND_NS);
    growth.left(14 * SECOND_NS);
    for i in 0..4 {
        growth.left(14 * SECOND_NS);
        growth.record(27 * SECOND_NS + i * STEP, 35 * MB);
        assert_eq!((growth.gained(), growth.bytes_per_s()), (None, 0));
    }
}

/// Processes that began at these times and hold so many MB.
fn holders(of: &[(u64, u64)]) -> Vec<Holder> {
    of.iter().map(|&(started_ns, mb)| Holder { bytes: mb * MB, started_ns, ..Holder::default() }).collect()
}

#[test]
fn peaks_of_many_short_lived_processes_are_no_growth() {
    // Looked at each second while memory is short: when what runs then has the most.
    let looked_at = |own_mb: u64, told: &dyn Fn(u64, u64) -> Vec<(u64, u64)>| {
        let mut growth = Growth::default();
        for i in 0..8 {
            let now_ns = SECOND_NS + i * SECOND_NS;
            growth.record(now_ns, (own_mb + 40 + 5 * i) * MB);
            if growth.is_suspect() {
                growth.take_off_replaced(&holders(&told(now_ns, 40 + 5 * i)));
            }
        }
        let gained = growth.gained().map(|(since_ns, bytes)| (since_ns / SECOND_NS, bytes / MB));
        (gained, growth.bytes_per_s() / MB)
    };
    let grown = (Some((1, 35)), 5);
    assert_eq!(looked_at(0, &|_, _| vec![]), grown, "as it looks");
    assert_eq!(looked_at(0, &|_, mb| vec![(SECOND_NS / 2, mb)]), grown, "it is one and the same");
    assert_eq!(looked_at(0, &|now_ns, mb| vec![(now_ns - 700_000_000, mb)]), (None, 0), "a compiler each second");
    let wide = |now_ns, mb| (0..100).map(|i| (now_ns - 7_000_000 * i, mb / 100)).collect();
    assert_eq!(looked_at(0, &wide), (None, 0), "a hundred of them");
    let beside = |now_ns, mb| vec![(SECOND_NS / 2, 200), (now_ns - 700_000_000, mb)];
    assert_eq!(looked_at(200, &beside), (None, 0), "in an editor that has more itself");
    // First seen as it began, and then only once in a while.
    let mut growth = Growth::default();
    for (second, mb) in [(1, 2), (10, 60), (20, 61), (30, 64), (40, 66)] {
        growth.record(second * SECOND_NS, mb * MB);
        if growth.is_suspect() {
            assert_eq!(second, 30, "as it looks");
            growth.take_off_replaced(&holders(&[(second * SECOND_NS - 700_000_000, mb)]));
        }
    }
    assert_eq!(growth.gained(), Some((SECOND_NS, 3 * MB)));
    // They go on while others begin: a fork bomb.
    let began_ns = |i: u64| SECOND_NS + i.saturating_sub(39) * SECOND_NS / 5;
    assert_eq!(looked_at(0, &|_, mb| (0..mb).map(|i| (began_ns(i), 1)).collect()), grown);
}

#[test]
fn a_leak_beside_processes_that_come_and_go_is_what_it_gained_beyond_them() {
    let mut growth = Growth::default();
    for i in 0..20 {
        let now_ns = SECOND_NS + i * SECOND_NS / 2;
        growth.record(now_ns, (100 + 30 + 8 * i) * MB);
        growth.take_off_replaced(&holders(&[(0, 100 + 8 * i), (now_ns - 100_000_000, 30)]));
    }
    // The 30 MB of those who were there at the look before, less the 8 that the leak has gained since then.
    assert_eq!(growth.gained(), Some((SECOND_NS, (19 * 8 - 22) * MB)));
    assert_eq!(growth.bytes_per_s() / MB, (7 * 8 - 22) * 2 / 7);
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

    /// Processes that begin and end at random, `looks` 0.3 s apart. What is known of growth never exceeds what readings alone say, and is the
    /// same while nobody has ended.
    #[test]
    fn what_is_replaced_only_takes_growth_off(
        lives in prop::collection::vec((0u64..100, 1u64..200, 0u64..40), 1..60),
        looks in 5u64..40,
    ) {
        let (mut told, mut untold) = (Growth::default(), Growth::default());
        let mut has_ended = false;
        for look in 0..looks {
            let now = look * 3;
            let live: Vec<_> = lives.iter().filter(|(from, lasts, _)| (*from..from + lasts).contains(&now)).collect();
            has_ended |= lives.iter().any(|(from, lasts, _)| from + lasts <= now);
            let mb: u64 = live.iter().map(|(_, _, mb)| mb).sum();
            let now_ns = SECOND_NS + now * SECOND_NS / 10;
            told.record(now_ns, mb * MB);
            untold.record(now_ns, mb * MB);
            let of: Vec<_> = live.iter().map(|(from, _, mb)| (SECOND_NS + from * SECOND_NS / 10, *mb)).collect();
            told.take_off_replaced(&holders(&of));
            prop_assert!(told.bytes_per_s() <= untold.bytes_per_s());
            if !has_ended {
                prop_assert_eq!(told.bytes_per_s(), untold.bytes_per_s());
                prop_assert_eq!(told.gained(), untold.gained());
            }
        }
    }

    /// A job of processes that live for less than a second, whatever it has whenever somebody looks: no more than by how much its peaks grow,
    /// from the second one on.
    #[test]
    fn a_job_that_goes_on_as_it_is_is_no_growth(
        most_mb in 10u64..500, over in prop::collection::vec(0u64..=100, 8..40), gap in 1u64..10,
    ) {
        let mut growth = Growth::default();
        for (i, over) in over.iter().enumerate() {
            let now_ns = SECOND_NS + i as u64 * gap * SECOND_NS;
            // After the first look, within a tenth of the most.
            let mb = if i == 0 { most_mb * over / 100 } else { most_mb * (900 + over) / 1000 };
            growth.record(now_ns, mb * MB);
            growth.take_off_replaced(&holders(&[(now_ns - 900_000_000, mb)]));
            let least_mb = most_mb / 9 + 1;
            prop_assert!(growth.gained().is_none_or(|(_, bytes)| bytes <= least_mb * MB), "{:?}", growth.gained());
            prop_assert!(growth.bytes_per_s() <= least_mb * MB);
        }
    }
}
