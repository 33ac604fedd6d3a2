// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Aciom's core against its reference on random steps, and against the paper's formulas in floating point.

mod common;

use fovea_core::aciom::differential::{decode, run, Op, APPS};
use fovea_core::aciom::{Aciom, Class, Config, Counters, Kind, NOBODY};
use proptest::collection::vec;
use proptest::prelude::*;

use common::inputs;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const CMAX: u64 = 10_000_000;

fn config() -> impl Strategy<Value = Config> {
    let cmax = prop_oneof![1 => Just(0), 6 => Just(CMAX), 1 => 1..1_000_000_000_u64];
    (cmax, prop_oneof![1 => 0..APPS, 5 => Just(APPS - 1)], prop_oneof![1 => 0..6_u32, 2 => Just(64)])
        .prop_map(|(cmax, max_apps, hold_limit)| Config { cmax, max_apps, hold_limit })
}

fn class() -> impl Strategy<Value = Class> {
    proptest::sample::select(&Class::ALL[..])
}

fn kind() -> impl Strategy<Value = Kind> {
    let kind = |(urgent, write)| Kind { urgent, write, ..Kind::default() };
    (prop::bool::weighted(0.05), any::<bool>()).prop_map(kind)
}

fn op() -> impl Strategy<Value = Op> {
    let size = prop_oneof![1 => Just(0), 8 => Just(4096), 8 => Just(131_072), 2 => 1..1_000_000_u32];
    prop_oneof![
        2 => (0..APPS, class()).prop_map(|(app, class)| Op::Add(app, class)),
        1 => (0..APPS, class()).prop_map(|(app, class)| Op::Class(app, class)),
        1 => (0..APPS).prop_map(Op::Remove),
        1 => prop_oneof![Just(0), 1..100_000_000_u64].prop_map(Op::Cmax),
        1 => (0..64_u32).prop_map(Op::Hold),
        1 => prop_oneof![1 => Just(true), 3 => Just(false)].prop_map(Op::Open),
        24 => (0..=APPS, size, kind()).prop_map(|(app, size_bytes, kind)| Op::Arrive { app, size_bytes, kind }),
        1 => (0..100_000_000_u64, proptest::option::of(0..30 * MS))
            .prop_map(|(bytes, latency_ns)| Op::Observe(bytes, latency_ns)),
        14 => any::<u32>().prop_map(Op::Complete),
        6 => (0..30 * MS).prop_map(Op::Pass),
        2 => (0..600 * MS).prop_map(Op::Pass),
        1 => (0..6 * SECOND).prop_map(Op::Pass),
        3 => Just(Op::Wake),
    ]
}

/// Each app its class to begin with, so that most streams have something to decide.
fn with_apps(ops: Vec<Op>) -> Vec<Op> {
    let apps = (0..APPS).map(|app| Op::Add(app, Class::ALL[(app % 3) as usize]));
    apps.chain(ops).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_core_does_what_the_reference_does(config in config(), ops in vec(op(), 1..250)) {
        run(&config, &with_apps(ops)).map_err(TestCaseError::fail)?;
    }
}

/// The fuzzer's driver on a fixed number of inputs, and proof that these reach every kind of event that counts.
#[test]
fn the_fuzz_driver_reaches_every_event() {
    let mut total = Counters::default();
    for bytes in inputs(1500, 900) {
        let (config, ops) = decode(&bytes);
        let counters = run(&config, &ops).unwrap();
        total.time_sensitive += counters.time_sensitive;
        total.bursty += counters.bursty;
        total.plain += counters.plain;
        total.urgent += counters.urgent;
        total.held += counters.held;
        total.early += counters.early;
        total.late += counters.late;
        total.turns += counters.turns;
        total.cuts += counters.cuts;
        total.write_turns += counters.write_turns;
        total.throttled += counters.throttled;
    }
    println!("{total:?}");
    let events = [total.time_sensitive, total.bursty, total.plain, total.urgent, total.held, total.late];
    assert!(events.iter().chain(&[total.turns, total.cuts]).all(|&count| count >= 100), "{total:?}");
    assert!(total.write_turns >= 20 && total.throttled >= 20, "{total:?}");
    assert!(total.early >= 20, "{total:?}");
}

/// On a disk of one byte a second, what is left of a period is no whole byte, which was taken for nothing at all.
#[test]
fn a_flush_goes_early_where_there_is_room_for_just_that() {
    let arrive = |app, size_bytes, urgent| {
        let kind = Kind { urgent, ..Kind::default() };
        Op::Arrive { app, size_bytes, kind }
    };
    let early = |sensitive_bytes| {
        let ops = [
            Op::Add(0, Class::TimeSensitive),
            Op::Add(1, Class::Bursty),
            arrive(0, sensitive_bytes, false),
            Op::Complete(0),
            // What cannot wait is charged for: a flush after these is held.
            arrive(1, 4096, true),
            arrive(1, 4096, true),
            arrive(1, 0, false),
            Op::Complete(0),
            Op::Complete(0),
        ];
        run(&Config { cmax: 1, max_apps: 2, hold_limit: 64 }, &ops).unwrap().early
    };
    assert_eq!(early(0), 1);
    // Nor does it where a request of the time-sensitive app's is more than the disk does in its period.
    assert_eq!(early(512), 0);
}

fn manager(classes: &[Class]) -> Aciom {
    let mut aciom = Aciom::new(&Config { cmax: CMAX, max_apps: 8, hold_limit: 1024 }).unwrap();
    for (app, &class) in (0..).zip(classes) {
        aciom.add(app, class, 0).unwrap();
    }
    aciom
}

/// Periods, sizes, deadlines and release times as the paper computes them, of a player that wavers and a copy that floods.
#[test]
fn deadlines_and_release_times_are_the_papers() {
    let mut aciom = manager(&[Class::TimeSensitive, Class::Bursty]);
    let (mut period, mut size, mut deadline) = (125e6_f64, 0.0, 0.0);
    let mut last = 0.0;
    let (mut now, mut id) = (SECOND, 0);
    for k in 0..400_u64 {
        let bytes = 60_000 + (k * 7919 % 20_000) as u32;
        let due = aciom.enqueue(id, 0, bytes, Kind::default(), now);
        let at = now as f64;
        if k == 0 {
            (size, deadline) = (f64::from(bytes), at);
        } else {
            period = 0.95 * period + 0.05 * (at - last);
            size = 0.95 * size + 0.05 * f64::from(bytes);
        }
        // What the paper leaves out: no credit for idle time, and an eighth of what is ahead forgiven.
        let ahead = (deadline - at).max(0.0);
        deadline = at + ahead * 7.0 / 8.0 + period;
        last = at;
        assert!((due as f64 - deadline).abs() < 5000.0, "request {k}: deadline {due}, the paper's {deadline}");
        assert_eq!(aciom.dispatch(now).map(|gone| gone.0), Some(id));
        assert!(aciom.complete(id, now + MS));
        id += 1;
        now += 30 * MS + k * 104_729 % (6 * MS);
    }
    let reserved = aciom.counters().reserved as f64;
    assert!((reserved / (size / period * 1e9) - 1.0).abs() < 1e-3, "{reserved}");
    // 2.1 of 10 MB/s, 1 of headroom: what is left is one bursty app's.
    let left = CMAX as f64 * 0.9 - reserved;
    let first = aciom.enqueue(id, 1, 131_072, Kind::default(), now);
    assert_eq!(first, now, "L_0 = A_1 - T_1: the first goes at once");
    for k in 1..8_u64 {
        let release = aciom.enqueue(id + k, 1, 131_072, Kind::default(), now);
        let papers = now as f64 + k as f64 * 131_072e9 / left;
        assert!((release as f64 - papers).abs() < 1000.0 * k as f64, "release {k}: {release}, the paper's {papers}");
    }
    assert!((aciom.counters().budget as f64 / left - 1.0).abs() < 1e-6);
}

#[test]
fn the_earliest_deadline_goes_first_and_an_app_stays_in_order() {
    let mut aciom = manager(&[Class::TimeSensitive, Class::TimeSensitive]);
    // App 1 learns a period of 10 ms; app 0 keeps the first one, 125 ms.
    let mut now = 0;
    for id in 0..200 {
        aciom.enqueue(id, 1, 4096, Kind::default(), now);
        assert_eq!(aciom.dispatch(now).map(|gone| gone.0), Some(id));
        aciom.complete(id, now + 1000);
        now += 10 * MS;
    }
    // What fills the time-sensitive's share of the disk, so that order shows.
    aciom.enqueue(1000, 1, 1 << 20, Kind::default(), now);
    assert_eq!(aciom.dispatch(now).map(|gone| gone.0), Some(1000));
    aciom.enqueue(1001, 0, 4096, Kind::default(), now);
    aciom.enqueue(1002, 0, 4096, Kind::default(), now + 1);
    aciom.enqueue(1003, 1, 4096, Kind::default(), now + MS);
    assert_eq!(aciom.dispatch(now + MS), None, "1/64 s of work is in flight");
    aciom.complete(1000, now + 2 * MS);
    let order: Vec<u64> = std::iter::from_fn(|| aciom.dispatch(now + 2 * MS)).map(|gone| gone.0).collect();
    assert_eq!(order, [1003, 1001, 1002]);
}

#[test]
fn nobody_is_held_while_nobody_is_time_sensitive() {
    let mut aciom = manager(&[Class::TimeSensitive, Class::Bursty]);
    for id in 0..100 {
        aciom.enqueue(id, 1, 1 << 20, Kind::default(), id);
        assert_eq!(aciom.dispatch(id).map(|gone| gone.0), Some(id), "at once, whatever is in flight");
    }
    // One request of the player's, and from then on the copy is held.
    aciom.enqueue(200, 0, 4096, Kind::default(), 1000);
    assert!(aciom.dispatch(1000).is_some());
    aciom.enqueue(300, 1, 1 << 20, Kind::default(), 2000);
    aciom.enqueue(301, 1, 1 << 20, Kind::default(), 2000);
    assert_eq!(aciom.dispatch(2000), None);
    let wake = aciom.wake_ns().unwrap();
    assert!(wake > 2000 && wake <= SECOND + 2000, "{wake}");
    (0..100).chain([200]).for_each(|id| assert!(aciom.complete(id, 3000)));
    // The player is silent for eight periods: the gates open.
    let gone: Vec<u64> = std::iter::from_fn(|| aciom.dispatch(SECOND + 2 * MS)).map(|gone| gone.0).collect();
    assert_eq!(gone, [300, 301]);
    assert_eq!(aciom.wake_ns(), None);
}

/// A read that a slow disk keeps for long is no pause: the gates stay shut, or the flood would keep the next one as long.
#[test]
fn who_waits_for_the_disk_stays_active() {
    let mut aciom = manager(&[Class::TimeSensitive, Class::Bursty]);
    aciom.enqueue(0, 0, 4096, Kind::default(), 0);
    assert!(aciom.dispatch(0).is_some());
    for id in 1..4 {
        aciom.enqueue(id, 1, 1 << 20, Kind::default(), 5 * SECOND);
    }
    let gone: Vec<u64> = std::iter::from_fn(|| aciom.dispatch(5 * SECOND)).map(|gone| gone.0).collect();
    assert_eq!(gone, [1], "the first at once, the others held");
    aciom.complete(0, 5 * SECOND + MS);
    assert!(aciom.dispatch(5 * SECOND + MS).is_none());
    assert_eq!(aciom.counters().active_time_sensitive, 1);
}

#[test]
fn opening_lets_everything_go() {
    let mut aciom = manager(&[Class::TimeSensitive, Class::Bursty]);
    for id in 0..50 {
        aciom.enqueue(id, (id % 2) as u32, 1 << 20, Kind::default(), 0);
    }
    while aciom.dispatch(0).is_some() {}
    assert!(aciom.counters().queued > 20, "{:?}", aciom.counters());
    aciom.set_open(true, 1);
    while aciom.dispatch(1).is_some() {}
    assert_eq!(aciom.counters().queued, 0);
}

#[test]
fn nonsense_is_refused_and_strangers_are_plain() {
    let bad = |config| assert!(Aciom::new(&config).is_err());
    bad(Config { cmax: u64::MAX, max_apps: 1, hold_limit: 1 });
    bad(Config { cmax: 0, max_apps: 257, hold_limit: 1 });
    let mut aciom = manager(&[Class::Bursty]);
    assert!(aciom.add(8, Class::Plain, 0).is_err() && aciom.add(0, Class::Plain, 0).is_err());
    assert!(aciom.class(1, Class::Plain, 0).is_err() && aciom.remove(NOBODY, 0).is_err());
    assert!(aciom.set_cmax(u64::MAX, 0).is_err());
    for (id, app) in (0..).zip([1, 8, NOBODY]) {
        assert_eq!(aciom.enqueue(id, app, 4096, Kind::default(), id), id);
        assert!(aciom.dispatch(id).is_some());
    }
    assert_eq!((aciom.counters().plain, aciom.complete(99, 0)), (3, false));
}

/// Of a volume whose requests pass by while nobody is time-sensitive the rate is known all the same.
#[test]
fn what_passes_by_tells_the_disks_rate() {
    let mut aciom = Aciom::new(&Config { cmax: 0, max_apps: 1, hold_limit: 1 }).unwrap();
    for tick in 1..20 {
        aciom.observe(CMAX / 7, Some(MS), tick * SECOND / 7);
    }
    let cmax = aciom.counters().cmax;
    assert!(cmax.abs_diff(CMAX) < CMAX / 100, "{cmax}");
    // After a pause nobody knows in which time it was.
    aciom.observe(100 * CMAX, None, 10 * SECOND);
    assert_eq!(aciom.counters().cmax, cmax);
}

#[test]
fn writes_are_full_at_an_eighth_of_a_second_each_class_for_itself() {
    let mut aciom = manager(&[Class::TimeSensitive, Class::Bursty]);
    let write = Kind { write: true, ..Kind::default() };
    let mut now = 0;
    let mut arrive = |aciom: &mut Aciom, id, app| {
        now += 1;
        aciom.enqueue(id, app, 131_072, write, now);
        while aciom.dispatch(now).is_some() {}
    };
    for id in 0..20 {
        arrive(&mut aciom, id, NOBODY);
        assert!(!aciom.writes_full(Class::Plain, false), "nobody is time-sensitive: none waits");
    }
    arrive(&mut aciom, 100, 0);
    for id in 200..210 {
        assert!(!aciom.writes_full(Class::Plain, false));
        arrive(&mut aciom, id, NOBODY);
    }
    assert!(aciom.writes_full(Class::Plain, false) && !aciom.writes_full(Class::Bursty, false));
    assert!(!aciom.writes_full(Class::TimeSensitive, false));
    for id in 300..310 {
        assert!(!aciom.writes_full(Class::Bursty, false));
        arrive(&mut aciom, id, 1);
    }
    assert!(aciom.writes_full(Class::Bursty, false) && !aciom.writes_full(Class::Bursty, true));
    assert_eq!(aciom.counters().queued_write_bytes, 20 * 131_072);
}
