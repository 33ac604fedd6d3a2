// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The paper's rules, and the bounds.

use fovea_apps::{AppName, Importance, Standing};
use proptest::prelude::*;

use super::*;

fn app(name: &str, importance: Importance, fast_pages: u64) -> TierApp {
    TierApp {
        name: name.parse().unwrap(),
        importance,
        standing: Standing::Plain,
        background_since_ns: 0,
        fast_pages,
        written_slow_pages: 0,
        hot_slow_pages: 0,
        steered_slow: false,
    }
}

fn name(of: &str) -> AppName {
    of.parse().unwrap()
}

/// 10000 fast pages: 500 in reserve, 250 of them the foreground's, demotion up to 750.
fn state(free_pages: u64) -> TierState {
    TierState { fast_pages: 10_000, free_pages, ..TierState::default() }
}

fn moves(state: TierState, apps: &[TierApp]) -> Vec<Move> {
    decide(state, apps, &TierConfig::default(), u64::MAX).0
}

#[test]
fn of_an_app_that_comes_to_the_front_only_what_it_uses_moves() {
    let mut front = app("front", Importance::Foreground, 0);
    front.written_slow_pages = 40;
    front.steered_slow = true;
    let expected = [Move::Steer { app: name("front"), slow: false }, Move::Promote { app: name("front"), pages: 40 }];
    assert_eq!(moves(state(5000), &[front.clone()]), expected);
    assert_eq!(moves(state(260), &[front])[1], Move::Promote { app: name("front"), pages: 10 }, "a half is kept");
}

#[test]
fn an_app_that_leaves_the_front_stays_where_it_is_until_fast_memory_is_needed() {
    let left = app("left", Importance::Hidden, 4000);
    assert_eq!(moves(state(500), std::slice::from_ref(&left)), []);
    assert_eq!(moves(state(499), std::slice::from_ref(&left)), [Move::Demote { app: name("left"), pages: 251 }]);
    let going_on = TierState { demoting: true, ..state(749) };
    assert_eq!(moves(going_on, std::slice::from_ref(&left)), [Move::Demote { app: name("left"), pages: 1 }]);
    let waits = TierState { foreground_waits: true, ..state(0) };
    assert_eq!(moves(waits, &[left]), [], "never while the foreground waits for it");
}

#[test]
fn the_least_important_and_longest_unused_is_demoted_first() {
    let mut older = app("older", Importance::Hidden, 100);
    let mut newer = app("newer", Importance::Hidden, 100_000);
    (older.background_since_ns, newer.background_since_ns) = (5, 9);
    (older.steered_slow, newer.steered_slow) = (true, false);
    let empty = TierApp { steered_slow: true, ..app("empty", Importance::Empty, 30) };
    let front = app("front", Importance::Foreground, 9000);
    let demoted = [("empty", 30), ("older", 100), ("newer", 382)];
    let expected = demoted.map(|(app, pages)| Move::Demote { app: name(app), pages });
    assert_eq!(moves(state(0), &[newer, front, older, empty]), expected, "512 in all");
}

#[test]
fn background_apps_are_steered_when_one_batch_is_left() {
    let mut back = app("back", Importance::Service, 513);
    assert_eq!(moves(state(5000), &[back.clone()]), []);
    back.fast_pages = 512;
    assert_eq!(moves(state(5000), &[back.clone()]), [Move::Steer { app: name("back"), slow: true }]);
    // Hot pages that were promoted do not undo it.
    (back.steered_slow, back.fast_pages) = (true, 600);
    assert_eq!(moves(state(5000), &[back.clone()]), []);
    back.standing = Standing::Ignore;
    assert_eq!(moves(state(0), &[back]), [Move::Steer { app: name("back"), slow: false }]);
}

#[test]
fn hot_background_pages_have_what_is_left_over() {
    let hot = TierApp { hot_slow_pages: 20, steered_slow: true, ..app("hot", Importance::Hidden, 0) };
    assert_eq!(moves(state(5000), std::slice::from_ref(&hot)), [Move::Promote { app: name("hot"), pages: 20 }]);
    assert_eq!(moves(state(755), std::slice::from_ref(&hot)), [Move::Promote { app: name("hot"), pages: 5 }]);
    assert_eq!(moves(state(750), &[hot]), []);
}

#[test]
fn a_machine_with_one_kind_of_memory_is_left_alone() {
    let apps = [app("a", Importance::Foreground, 9), app("b", Importance::Hidden, 9)];
    assert_eq!(decide(TierState::default(), &apps, &TierConfig::default(), u64::MAX), (Vec::new(), false));
    let steered = TierApp { steered_slow: true, ..apps[1].clone() };
    let off = TierConfig { enabled: false, ..TierConfig::default() };
    let (moves, _) = decide(state(0), &[steered], &off, u64::MAX);
    assert_eq!(moves, [Move::Steer { app: name("b"), slow: false }], "what was done is taken back");
}

fn apps() -> impl Strategy<Value = Vec<TierApp>> {
    let importance = proptest::sample::select(Importance::ALL.to_vec());
    let standing = proptest::sample::select(vec![Standing::Plain, Standing::Protect, Standing::Ignore]);
    let pages = || 0u64..20_000;
    let one = (importance, standing, any::<u64>(), pages(), pages(), pages(), any::<bool>());
    proptest::collection::vec(one, 0..8).prop_map(|apps| {
        let named = apps.into_iter().enumerate();
        named
            .map(|(n, (importance, standing, background_since_ns, fast_pages, written, hot, steered_slow))| TierApp {
                standing,
                background_since_ns,
                written_slow_pages: written,
                hot_slow_pages: hot,
                steered_slow,
                ..app(&format!("a{n}"), importance, fast_pages)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn no_more_moves_than_may_and_nothing_of_whom_is_ignored(
        apps in apps(), free_pages in 0u64..20_000, fast_pages in 0u64..20_000, budget in 0u64..2000,
        foreground_waits: bool, demoting: bool,
    ) {
        let config = TierConfig::default();
        let state = TierState { fast_pages, free_pages: free_pages.min(fast_pages), foreground_waits, demoting };
        let (moves, _) = decide(state, &apps, &config, budget);
        let of = |name: &AppName| apps.iter().find(|app| app.name == *name).unwrap();
        let (mut moved, mut promoted) = (0, 0);
        for step in &moves {
            match step {
                Move::Steer { app, slow } => prop_assert_ne!(of(app).steered_slow, *slow),
                Move::Demote { app, pages } => {
                    prop_assert!(!foreground_waits && of(app).standing != Standing::Ignore);
                    prop_assert!(!matches!(of(app).importance, Importance::Foreground | Importance::Visible));
                    prop_assert!(*pages > 0 && *pages <= of(app).fast_pages);
                    moved += pages;
                }
                Move::Promote { app, pages } => {
                    prop_assert!(of(app).standing != Standing::Ignore);
                    moved += pages;
                    promoted += pages;
                }
            }
        }
        prop_assert!(moved <= budget.min(config.batch_pages));
        prop_assert!(promoted <= state.free_pages, "only into free memory");
    }

    /// However moves are asked for, in any stretch of them no more move than the burst and what the time between gives.
    #[test]
    fn the_budget_bounds_any_stretch_of_time(
        asks in proptest::collection::vec((0u64..300_000_000, 0u64..2000), 1..60), rate in 1u64..10_000, burst in 1u64..1000,
    ) {
        let mut budget = Budget::new(rate, burst, 0);
        let (mut now_ns, mut spent) = (0, Vec::new());
        for (wait_ns, wanted) in asks {
            now_ns += wait_ns;
            let pages = wanted.min(budget.pages(now_ns));
            budget.spend(pages, now_ns);
            spent.push((now_ns, pages));
            prop_assert!(budget.pages(budget.ready_ns(burst)) == burst);
        }
        for (first, &(from_ns, _)) in spent.iter().enumerate() {
            let mut sum = 0;
            for &(to_ns, pages) in &spent[first..] {
                sum += pages;
                let most = u128::from(burst) * 1_000_000_000 + u128::from(to_ns - from_ns) * u128::from(rate);
                prop_assert!(u128::from(sum) * 1_000_000_000 <= most);
            }
        }
    }
}
