// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The paper's rules, and the bounds.

use fovea_apps::{AppName, Importance, Standing};
use proptest::prelude::*;

use super::decide::is_in_front;
use super::*;
use crate::{Action, AppState, Decision, Reason, Snapshot};

const SECOND_NS: u64 = 1_000_000_000;

fn app(name: &str, importance: Importance, fast_pages: u64) -> AppState {
    let tier = Some(AppTier { fast_pages, ..AppTier::default() });
    AppState { tier, ..AppState::new(name.parse().unwrap(), importance) }
}

fn with(mut app: AppState, change: impl FnOnce(&mut AppTier)) -> AppState {
    change(app.tier.as_mut().unwrap());
    app
}

/// So much free of fast memory, and much of slow memory.
fn snapshot(fast_free_pages: u64, apps: Vec<AppState>) -> Snapshot {
    let tier = TierState {
        fast_pages: 100_000,
        fast_free_pages,
        slow_pages: 1_000_000,
        slow_free_pages: 500_000,
        budget_pages: u64::MAX,
        look_ns: 200 * SECOND_NS,
        ..TierState::default()
    };
    Snapshot { now_ns: 100 * SECOND_NS, screen_on: true, focus_told: true, tier, apps, ..Snapshot::default() }
}

fn name(of: &str) -> AppName {
    of.parse().unwrap()
}

fn decided(snapshot: &Snapshot) -> Decision {
    decide(snapshot, &TierConfig { keep_out: true, ..TierConfig::default() })
}

fn actions(snapshot: &Snapshot) -> Vec<Action> {
    decided(snapshot).actions.into_iter().map(|(action, _)| action).collect()
}

fn demote(app: &str, pages: u64) -> Action {
    Action::Demote { app: name(app), pages }
}

#[test]
fn who_comes_to_the_front_is_let_in_before_anything_is_read() {
    let front = with(app("front", Importance::Foreground, 0), |tier| tier.steered = true);
    let s = snapshot(0, vec![front]);
    let decision = let_in(&s, &TierConfig { keep_out: true, ..TierConfig::default() });
    assert_eq!(decision.actions, [(Action::LetIn { app: name("front") }, Reason::NeedsFast)]);
}

#[test]
fn an_app_that_leaves_the_front_stays_where_it_is_until_fast_memory_is_needed() {
    // 128,000 pages in all, so 1,000 in reserve, and demotion up to 1,500.
    let at = |free: u64, demoting| {
        let mut s = snapshot(free, vec![app("left", Importance::Hidden, 128_000 - free)]);
        s.tier.demoting = demoting;
        s
    };
    assert_eq!(actions(&at(1000, false)), []);
    assert_eq!(actions(&at(999, false)), [demote("left", 501)]);
    assert_eq!(actions(&at(1499, true)), [demote("left", 1)]);
    assert_eq!(actions(&at(1500, true)), []);
    let mut settling = at(0, false);
    settling.focused_ns = Some(settling.now_ns - 2 * SECOND_NS);
    assert!(is_settling(&settling), "looked at often");
    settling.now_ns += SECOND_NS;
    assert!(!is_settling(&settling));
    let mut waits = at(0, false);
    waits.memory.psi_full_avg10 = 6.0;
    assert_eq!(actions(&waits), [], "never while the app in front waits");
    let mut off = at(0, false);
    off.screen_on = false;
    assert_eq!(decided(&off).watch_at_ns, None, "and nobody looks with the screen off");
    let mut polled = at(0, false);
    polled.focus_told = false;
    assert_eq!(actions(&polled), []);
}

#[test]
fn the_least_important_and_longest_unused_gives_first_and_a_batch_at_a_time() {
    let mut older = app("older", Importance::Hidden, 5_000);
    let mut newer = app("newer", Importance::Hidden, 100_000);
    (older.background_since_ns, newer.background_since_ns) = (5, 9);
    let front = app("front", Importance::Foreground, 9_000);
    let empty = app("empty", Importance::Empty, 900);
    let mut s = snapshot(0, vec![newer, front, older, empty]);
    assert_eq!(actions(&s), [demote("empty", 512)]);
    s.apps.pop();
    assert_eq!(actions(&s), [demote("older", 512)]);
    s.tier.budget_pages = 7;
    assert_eq!(actions(&s), [demote("older", 7)]);
    s.tier.budget_pages = 0;
    assert_eq!(actions(&s), []);
    assert!(decided(&s).wake_at_ns.is_some());
    (s.tier.budget_pages, s.tier.rests_until_ns) = (512, s.now_ns + 5);
    assert_eq!((actions(&s), decided(&s).wake_at_ns), (vec![], Some(s.now_ns + 5)));
}

#[test]
fn who_takes_new_memory_in_the_background_is_kept_out_and_who_uses_what_it_has_is_not() {
    let of = |pages, grown_pages| {
        let back = with(app("back", Importance::Hidden, pages), |tier| tier.grown_pages = grown_pages);
        decided(&snapshot(0, vec![back])).actions
    };
    assert_eq!(of(8192, 512), [(Action::KeepOut { app: name("back") }, Reason::Grows)]);
    assert_eq!(of(8193, 512), [(demote("back", 96), Reason::FastShort)], "it would take too long at once");
    assert_eq!(of(8192, 511), [(demote("back", 96), Reason::FastShort)]);
    let back = with(app("back", Importance::Hidden, 8192), |tier| tier.grown_pages = 512);
    let unless_wanted = decide(&snapshot(0, vec![back]), &TierConfig::default()).actions;
    assert_eq!(unless_wanted, [(demote("back", 96), Reason::FastShort)]);
    let front = with(app("front", Importance::Foreground, 9_000), |tier| tier.grown_pages = 9_000);
    assert_eq!(actions(&snapshot(0, vec![front])), [demote("front", 105)], "its new pages belong there");
}

#[test]
fn who_has_no_cold_page_is_passed_over_and_the_front_gives_its_cold_ones_last() {
    let hot = |name: &str, importance| with(app(name, importance, 20_000), |tier| tier.hot_until_ns = 101 * SECOND_NS);
    let front = app("front", Importance::Foreground, 20_000);
    let mut s = snapshot(0, vec![front, app("back", Importance::Hidden, 20_000), hot("empty", Importance::Empty)]);
    assert_eq!(actions(&s), [demote("back", 512)]);
    s.apps[1] = hot("back", Importance::Hidden);
    assert_eq!(actions(&s), [demote("front", 512)]);
    s.apps[0] = hot("front", Importance::Foreground);
    assert_eq!(actions(&s), []);
    s.now_ns = 101 * SECOND_NS;
    assert_eq!(actions(&s), [demote("empty", 512)], "it may have some by now");
}

#[test]
fn who_was_kept_out_is_let_in_when_it_takes_no_more_or_fast_memory_is_free() {
    let out = |name: &str, focus_seq, grown_pages| {
        let app = with(app(name, Importance::Hidden, 0), |tier| (tier.steered, tier.grown_pages) = (true, grown_pages));
        AppState { focus_seq, ..app }
    };
    let let_in = |app, reason| [(Action::LetIn { app: name(app) }, reason)];
    let mut s = snapshot(50_000, vec![out("first", 1, 512), out("last", 2, 512)]);
    assert_eq!(decided(&s).actions, let_in("last", Reason::FastFree));
    s.tier.fast_free_pages = 1;
    assert_eq!(actions(&s), []);
    s.apps[0].tier.as_mut().unwrap().grown_pages = 511;
    assert_eq!(decided(&s).actions, let_in("first", Reason::GrowsNoMore));
    s.tier.release_ns = s.now_ns + 1;
    assert_eq!((actions(&s), decided(&s).watch_at_ns), (vec![], Some(s.tier.release_ns)));
    s.tier.slow_free_pages = s.tier.slow_pages / 17;
    assert_eq!(actions(&s).len(), 2, "an app that may have no other memory would meet the OOM killer");
}

#[test]
fn one_kind_of_memory_someone_elses_cpusets_and_apps_to_be_ignored_are_left_alone() {
    let mut s = snapshot(0, vec![app("a", Importance::Foreground, 0), app("b", Importance::Hidden, 9_000)]);
    assert!(!actions(&s).is_empty());
    s.apps[1].tier.as_mut().unwrap().foreign = true;
    assert_eq!(actions(&s), []);
    s.apps[1] = AppState { standing: Standing::Ignore, ..app("b", Importance::Hidden, 9_000) };
    assert_eq!(actions(&s), []);
    s.apps[1] = app("b", Importance::Hidden, 9_000);
    s.tier = TierState::default();
    assert_eq!(decided(&s), Decision::default());
    s.apps[1].tier.as_mut().unwrap().steered = true;
    let off = TierConfig { enabled: false, ..TierConfig::default() };
    assert_eq!(decide(&s, &off).actions, [(Action::LetIn { app: name("b") }, Reason::TiersUnwanted)]);
}

fn apps() -> impl Strategy<Value = Vec<AppState>> {
    let importance = proptest::sample::select(Importance::ALL.to_vec());
    let standing = proptest::sample::select(vec![Standing::Plain, Standing::Protect, Standing::Ignore]);
    let hot_until_ns = 0u64..200 * SECOND_NS;
    let one =
        (importance, standing, any::<u64>(), 0u64..20_000, any::<bool>(), any::<bool>(), hot_until_ns, 0u64..2_000);
    proptest::collection::vec(one, 0..8).prop_map(|apps| {
        let named = apps.into_iter().enumerate();
        named
            .map(
                |(
                    n,
                    (
                        importance,
                        standing,
                        background_since_ns,
                        fast_pages,
                        steered,
                        foreign,
                        hot_until_ns,
                        grown_pages,
                    ),
                )| {
                    let steered = steered && !foreign;
                    let tier = Some(AppTier { fast_pages, steered, foreign, hot_until_ns, grown_pages });
                    AppState { standing, background_since_ns, tier, ..app(&format!("a{n}"), importance, 0) }
                },
            )
            .collect()
    })
}

proptest! {
    #[test]
    fn no_more_moves_than_may_nothing_of_another_s_and_the_front_gives_last(
        apps in apps(), free in 0u64..20_000, slow_free in 0u64..1_000_000, budget in 0u64..2000, demoting: bool, full in 0.0f64..10.0,
    ) {
        let config = TierConfig { keep_out: true, ..TierConfig::default() };
        let mut s = snapshot(free, apps);
        (s.tier.slow_free_pages, s.tier.budget_pages, s.tier.demoting) = (slow_free, budget, demoting);
        s.memory.psi_full_avg10 = full;
        let decision = decide(&s, &config);
        let of = |name: &AppName| s.apps.iter().find(|app| app.name == *name).unwrap();
        let mut moves = 0;
        for (action, _) in &decision.actions {
            let app = of(action.app());
            let tier = app.tier.unwrap();
            match action {
                Action::LetIn { .. } => prop_assert!(tier.steered),
                Action::KeepOut { .. } | Action::Demote { .. } => {
                    moves += 1;
                    prop_assert!(full < 5.0);
                    prop_assert!(app.standing != Standing::Ignore && !tier.foreign);
                    prop_assert!(slow_free >= s.tier.slow_pages / 8);
                    if let Action::Demote { pages, .. } = action {
                        prop_assert!((1..=budget.min(config.batch_pages).min(tier.fast_pages)).contains(pages));
                        prop_assert!(tier.hot_until_ns <= s.now_ns);
                        let gives = |other: &AppState| {
                            let tier = other.tier.unwrap();
                            other.standing != Standing::Ignore && !is_in_front(other) && !tier.foreign && tier.fast_pages > 0 && tier.hot_until_ns <= s.now_ns
                        };
                        prop_assert!(!is_in_front(app) || !s.apps.iter().any(gives), "the front is the last");
                    } else {
                        prop_assert!(!is_in_front(app) && !tier.steered && tier.fast_pages <= 16 * config.batch_pages);
                        prop_assert!(tier.grown_pages >= config.batch_pages);
                    }
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert!(moves <= 1, "one at a time, each followed by another look");
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
        }
        for (first, &(from_ns, _)) in spent.iter().enumerate() {
            let mut sum = 0;
            for &(to_ns, pages) in &spent[first..] {
                sum += pages;
                let most = u128::from(burst) * u128::from(SECOND_NS) + u128::from(to_ns - from_ns) * u128::from(rate);
                prop_assert!(u128::from(sum) * u128::from(SECOND_NS) <= most);
            }
        }
    }
}
