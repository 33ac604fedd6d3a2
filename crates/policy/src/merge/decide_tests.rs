// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Windows open with cause and close again, and a kernel's thread played out slowly.

use fovea_apps::{Importance, Kinship, PAGE_BYTES};
use proptest::prelude::*;

use super::decide::{PASSES_MOST, SLEEP_NS};
use super::*;
use crate::{Action, AppState, Decision, Reason, Snapshot};

const SECOND_NS: u64 = 1_000_000_000;
const PAGES: u64 = 4_000;

fn app(name: &str, importance: Importance, kin: Option<u64>) -> AppState {
    let kin = kin.map(|of| Kinship { user: 1000, executable: (1, of), layout: (of, of) });
    let merge = kin.map(|kin| AppMerge { kin, fresh: true, charged_bytes: PAGES * PAGE_BYTES });
    AppState { merge, background_since_ns: SECOND_NS, ..AppState::new(name.parse().unwrap(), importance) }
}

fn snapshot(apps: Vec<AppState>) -> Snapshot {
    let merge = MergeState { ours: true, page_cpu_ns: 5_000, ..MergeState::default() };
    Snapshot { now_ns: 100 * SECOND_NS, apps, merge, ..Snapshot::default() }
}

fn two() -> Snapshot {
    snapshot(vec![app("a", Importance::Hidden, Some(1)), app("b", Importance::Empty, Some(1))])
}

fn opens(snapshot: &Snapshot, config: &MergeConfig) -> bool {
    decide(snapshot, config).actions.iter().any(|(action, _)| matches!(action, Action::Merge { .. }))
}

fn window(passes: u32, volatile_pages: u64, unshared_pages: u64) -> Window {
    Window {
        app: "a".parse().unwrap(),
        since_ns: 0,
        newcomers: true,
        pages: 400,
        passes,
        passed: true,
        gained_pages: PAGES,
        volatile_pages,
        unshared_pages,
        expected_pages: 0,
        scanned_pages: 0,
        looked_pages: 0,
        parted_pages: 0,
        regained_pages: 0,
        cpu_ns: 0,
    }
}

#[test]
fn the_kernel_looks_for_two_newcomers_of_a_kin_once_they_have_come_to_rest() {
    let config = MergeConfig::default();
    assert!(opens(&two(), &config));
    let early = Snapshot { now_ns: 2 * SECOND_NS, ..two() };
    let decision = decide(&early, &config);
    assert_eq!((decision.actions.len(), decision.watch_at_ns), (0, Some(16 * SECOND_NS)));
    assert_eq!(decision.wake_at_ns, None, "waiting for that is no work");
    let short = Snapshot { merge: MergeState { memory_short: true, ..two().merge }, ..early };
    assert_eq!(decide(&short, &config).watch_at_ns, Some(6 * SECOND_NS), "what they have in common is wanted");
    let rests = Snapshot { merge: MergeState { rests_until_ns: 200 * SECOND_NS, ..two().merge }, ..two() };
    assert_eq!(decide(&rests, &config).watch_at_ns, Some(200 * SECOND_NS));
}

#[test]
fn newcomers_are_looked_at_together_but_the_first_does_not_wait_for_ever() {
    let config = MergeConfig::default();
    let at = |now_s: u64| {
        let mut many = two();
        many.now_ns = now_s * SECOND_NS;
        for (nth, came_s) in (1..now_s).step_by(10).enumerate() {
            let background_since_ns = came_s * SECOND_NS;
            many.apps.push(AppState { background_since_ns, ..app(&format!("n{nth}"), Importance::Hidden, Some(1)) });
        }
        many
    };
    assert_eq!(decide(&at(92), &config).watch_at_ns, Some(106 * SECOND_NS), "15 s after the last");
    assert_eq!(decide(&at(172), &config).watch_at_ns, Some(181 * SECOND_NS), "three minutes after the first");
    assert!(opens(&at(187), &config));
}

#[test]
fn without_cause_it_does_not_look_and_no_timer_is_set() {
    let config = MergeConfig::default();
    let alone = vec![app("a", Importance::Hidden, Some(1)), app("b", Importance::Hidden, Some(2))];
    let front = vec![app("a", Importance::Hidden, Some(1)), app("b", Importance::Foreground, Some(1))];
    let unregistered = vec![app("a", Importance::Hidden, None), app("b", Importance::Hidden, None)];
    let mut merged = two();
    merged.apps.iter_mut().filter_map(|app| app.merge.as_mut()).for_each(|merge| merge.fresh = false);
    let anothers = Snapshot { merge: MergeState { ours: false, ..two().merge }, ..two() };
    for nothing in [snapshot(alone), snapshot(front), snapshot(unregistered), merged, anothers] {
        assert_eq!(decide(&nothing, &config), Decision::default());
    }
    let off = MergeConfig { enabled: false, ..config };
    assert_eq!(decide(&two(), &off), Decision::default());
}

#[test]
fn kin_does_not_cross_users_unless_it_may() {
    let mut other = two();
    other.apps[1].merge.as_mut().unwrap().kin.user = 1001;
    let config = MergeConfig::default();
    assert!(!opens(&other, &config));
    assert!(!opens(&other, &MergeConfig { kin: KinBy::Any, ..config.clone() }), "whatever kin is");
    assert!(opens(&other, &MergeConfig { across_users: true, ..config }));
}

#[test]
fn kin_is_by_fork_by_executable_or_anybody() {
    let mut runtime = two();
    runtime.apps[1].merge.as_mut().unwrap().kin.layout = (9, 9);
    let mut stranger = runtime.clone();
    stranger.apps[1].merge.as_mut().unwrap().kin.executable = (7, 7);
    let by = |kin| MergeConfig { kin, ..MergeConfig::default() };
    let found = [KinBy::Forked, KinBy::Executable, KinBy::Any]
        .map(|kin| [&two(), &runtime, &stranger].map(|snapshot| opens(snapshot, &by(kin))));
    assert_eq!(found, [[true, false, false], [true, true, false], [true, true, true]]);
}

#[test]
fn it_waits_for_a_better_moment() {
    let config = MergeConfig::default();
    let with = |cpu_wait_percent, battery_percent| Snapshot {
        merge: MergeState { cpu_wait_percent, battery_percent, ..two().merge },
        ..two()
    };
    assert!(opens(&with(30.0, Some(20)), &config));
    let mut large = two();
    large.apps.push(app("front", Importance::Foreground, Some(1)));
    large.apps[2].merge.as_mut().unwrap().charged_bytes *= 3;
    for deferred in [with(30.1, None), with(0.0, Some(19)), large] {
        let decision = decide(&deferred, &config);
        assert_eq!((decision.actions.len(), decision.watch_at_ns), (0, Some(110 * SECOND_NS)));
        let open =
            Snapshot { merge: MergeState { window: Some(window(1, 9, 0)), ..deferred.merge.clone() }, ..deferred };
        assert_eq!(decide(&open, &config).actions[0].1, Reason::Deferred);
    }
}

#[test]
fn pages_that_were_parted_are_reason_enough_if_they_are_many() {
    let config = MergeConfig::default();
    let mut again = two();
    again.apps.iter_mut().filter_map(|app| app.merge.as_mut()).for_each(|merge| merge.fresh = false);
    again.merge.sharing_pages = 20_000;
    again.merge.parted_pages = 799;
    assert!(!opens(&again, &config));
    again.merge.parted_pages = 800;
    assert_eq!(decide(&again, &config).actions[0].1, Reason::Parted);
}

#[test]
fn a_pass_is_worth_it_while_pages_that_were_looked_at_once_may_find_their_like() {
    let config = MergeConfig::default();
    let known = |known_pages| MergeState { known_pages, ..two().merge };
    let end = |state: &MergeState, window: &Window| end(SECOND_NS, state, window, &config);
    assert_eq!(end(&known(10_000), &window(1, 10_000, 0)), None, "all were seen once");
    assert_eq!(end(&known(10_000), &window(2, 200, 7_800)), Some(Reason::NothingAlike));
    assert_eq!(end(&known(10_000), &window(2, 4_000, 4_000)), None);
    let nothing = Window { gained_pages: 0, ..window(3, 4_000, 4_000) };
    assert_eq!(end(&known(10_000), &nothing), Some(Reason::NothingAlike), "they only change");
    let mid_pass = MergeState { mid_pass: true, ..known(10_000) };
    assert_eq!(end(&mid_pass, &window(1, 10, 7_900)), None, "that was not a whole pass");
}

#[test]
fn parted_pages_are_looked_for_once_round_at_most_and_for_no_more_than_it_may_take() {
    let config = MergeConfig::default();
    let state = MergeState { known_pages: 10_000, mid_pass: true, ..two().merge };
    let after = |passes, looked_pages, regained_pages, cpu_ns| {
        let window = Window {
            newcomers: false,
            looked_pages,
            parted_pages: 100,
            regained_pages,
            cpu_ns,
            ..window(passes, 0, 0)
        };
        end(SECOND_NS, &state, &window, &config)
    };
    assert_eq!(after(0, 9_999, 89, 0), None);
    assert_eq!(after(0, 1_000, 90, 0), Some(Reason::NothingAlike), "they are together again");
    assert_eq!(after(1, 10_000, 0, 0), Some(Reason::NothingAlike), "once round");
    assert_eq!(after(1, 9_999, 0, 0), None, "it began in the middle");
    assert_eq!(after(2, 9_999, 0, 0), Some(Reason::NothingAlike), "where nobody counts pages");
    // 0.04 % of 24 minutes.
    assert_eq!((after(0, 1, 0, 576_000_000), after(0, 1, 0, 576_000_001)), (None, Some(Reason::Spent)));
}

#[test]
fn what_it_takes_is_paid_for_by_rest() {
    let config = MergeConfig { average_ppm: 1_000, ..MergeConfig::default() };
    let paid = paid_ns(0, 100 * SECOND_NS, SECOND_NS, &config);
    assert_eq!((paid, rests_until_ns(paid)), (1_100 * SECOND_NS, 0), "it may take that at once");
    let paid = paid_ns(paid, 200 * SECOND_NS, SECOND_NS, &config);
    assert_eq!((paid, rests_until_ns(paid)), (2_100 * SECOND_NS, 720 * SECOND_NS));
    assert_eq!(paid_ns(paid, 5_000 * SECOND_NS, 0, &config), 5_000 * SECOND_NS, "what was not taken is not kept");
}

#[test]
fn the_speed_keeps_to_the_share_of_the_cpu() {
    let config = MergeConfig { cpu_percent: 20, ..MergeConfig::default() };
    let pages = |page_cpu_ns| {
        let at = Snapshot { merge: MergeState { page_cpu_ns, ..two().merge }, ..two() };
        match decide(&at, &config).actions[..] {
            [(Action::Merge { pages, .. }, _)] => pages,
            _ => panic!("it does not look"),
        }
    };
    // A fifth of the time: a quarter of 20 ms.
    assert_eq!((pages(5_000), pages(0), pages(50_000), pages(u64::MAX)), (1_000, 1_000, 100, 1));
    assert_eq!(pages(1), 4_096);
}

/// ksmd, slow and obvious: what each page has been through.
#[derive(Default)]
struct Ksmd {
    /// By app: pages that have not been seen, were seen once, are merged, are like no other.
    apps: Vec<[u64; 4]>,
    /// Those whose pages change all the time.
    restless: Vec<bool>,
    passes: u64,
    cursor: usize,
}

impl Ksmd {
    /// One app's pages are looked at.
    fn step(&mut self) {
        if self.cursor >= self.apps.len() {
            (self.cursor, self.passes) = (0, self.passes + 1);
            return;
        }
        let [unseen, once, merged, alone] = self.apps[self.cursor];
        let alike = if self.restless[self.cursor] { 0 } else { once / 4 };
        self.apps[self.cursor] = match self.restless[self.cursor] {
            true => [0, unseen + once, merged, alone],
            false => [0, unseen, merged + alike, alone + once - alike],
        };
        self.cursor += 1;
    }

    fn sum(&self, of: usize) -> u64 {
        self.apps.iter().map(|app| app[of]).sum()
    }
}

proptest! {
    /// Apps come, go, change and return in any order: each window has a cause, ends, and leaves no timer behind.
    #[test]
    fn windows_have_a_cause_and_an_end(
        events in prop::collection::vec((0usize..5, 0usize..4, any::<bool>(), 0u64..60), 1..40),
    ) {
        let config = MergeConfig { settle_ms: 1000, ..MergeConfig::default() };
        let mut now = Snapshot { now_ns: SECOND_NS, ..snapshot(Vec::new()) };
        let mut ksmd = Ksmd::default();
        let mut looked_ns = 0u64;
        for (kind, who, restless, wait_s) in events {
            match kind {
                0 if now.apps.len() < 12 => {
                    let name = format!("n{}", ksmd.apps.len());
                    now.apps.push(AppState { background_since_ns: now.now_ns, ..app(&name, Importance::Hidden, Some(who as u64 % 2)) });
                    ksmd.apps.push([PAGES, 0, 0, 0]);
                    ksmd.restless.push(restless);
                }
                1 if who < now.apps.len() => now.apps[who].importance = Importance::Foreground,
                2 if who < now.apps.len() => {
                    now.apps[who].importance = Importance::Hidden;
                    now.apps[who].background_since_ns = now.now_ns;
                }
                3 => now.merge.cpu_wait_percent = if restless { 80.0 } else { 0.0 },
                _ => {}
            }
            let until_ns = now.now_ns + wait_s * SECOND_NS;
            let mut turns = 0;
            loop {
                turns += 1;
                prop_assert!(turns < 20_000, "it never comes to rest");
                let decision = decide(&now, &config);
                if let Some(window) = &mut now.merge.window {
                    window.passed = false;
                }
                for (action, reason) in decision.actions {
                    match action {
                        Action::Merge { app, pages } => {
                            if reason == Reason::ScanRate {
                                now.merge.window.as_mut().unwrap().pages = pages;
                                continue;
                            }
                            prop_assert!(now.merge.window.is_none());
                            prop_assert!(now.apps.iter().any(|a| a.name == app && a.importance == Importance::Hidden));
                            let fresh = now.apps.iter().filter_map(|a| a.merge).any(|m| m.fresh);
                            prop_assert!(fresh && now.merge.cpu_wait_percent < 31.0, "without a cause");
                            now.merge.window = Some(Window { app, since_ns: now.now_ns, pages, passed: false, ..window(0, 0, 0) });
                        }
                        Action::StopMerging { .. } => {
                            let window = now.merge.window.take().expect("it looked");
                            prop_assert!(window.passes <= PASSES_MOST);
                            if reason == Reason::NothingAlike {
                                now.apps.iter_mut().filter(|a| a.background_since_ns <= window.since_ns)
                                    .filter_map(|a| a.merge.as_mut()).for_each(|m| m.fresh = false);
                            }
                            now.merge.rests_until_ns = now.now_ns + SECOND_NS;
                            now.merge.mid_pass = reason != Reason::NothingAlike;
                        }
                        _ => prop_assert!(false),
                    }
                }
                let next_ns = decision.wake_at_ns.into_iter().chain(decision.watch_at_ns).min();
                if now.merge.window.is_some() {
                    prop_assert!(next_ns.is_some(), "nobody looks at how far it is");
                }
                let Some(next_ns) = next_ns.filter(|&next_ns| next_ns <= until_ns) else { break };
                prop_assert!(next_ns > now.now_ns || now.merge.window.is_none());
                now.now_ns = next_ns.max(now.now_ns);
                if now.merge.window.is_some() && now.now_ns >= looked_ns + SLEEP_NS {
                    looked_ns = now.now_ns;
                    let (passes, sharing) = (ksmd.passes, ksmd.sum(2));
                    ksmd.step();
                    let window = now.merge.window.as_mut().unwrap();
                    window.passes += (ksmd.passes - passes) as u32;
                    window.passed = ksmd.passes > passes;
                    window.gained_pages = ksmd.sum(2) - sharing;
                    (window.volatile_pages, window.unshared_pages) = (ksmd.sum(1), ksmd.sum(3));
                    now.merge.sharing_pages = ksmd.sum(2);
                    now.merge.known_pages = ksmd.sum(1) + ksmd.sum(2) + ksmd.sum(3);
                }
            }
            now.now_ns = until_ns.max(now.now_ns);
        }
    }
}
