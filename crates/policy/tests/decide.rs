// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The decision as a whole: order of the ladder, and what must hold for every snapshot.

use fovea_apps::{Importance, Standing, ZramReading};
use fovea_policy::memory::{MemoryConfig, MemoryState, Mode, SwapState, PAPER_PAGES};
use fovea_policy::*;
use proptest::prelude::*;

const MB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

fn app(name: &str, importance: Importance, focus_seq: u64, anon_mb: u64) -> AppState {
    AppState {
        focus_seq,
        seen: true,
        frozen: matches!(importance, Importance::Hidden | Importance::Empty),
        anon_bytes: anon_mb * MB,
        current_bytes: anon_mb * MB,
        ..AppState::new(name.parse().unwrap(), importance)
    }
}

fn phone(free_mb: u64, file_mb: u64, zram_used_mb: u64, apps: Vec<AppState>) -> Snapshot {
    let zram = ZramReading {
        disk_bytes: 200 * MB,
        original_bytes: 2 * zram_used_mb * MB,
        used_bytes: zram_used_mb * MB,
        limit_bytes: 100 * MB,
        ..ZramReading::default()
    };
    Snapshot {
        now_ns: 100 * SECOND_NS,
        screen_on: true,
        focus_told: true,
        focused_ns: None,
        cpu_busy: false,
        memory: MemoryState {
            free_bytes: free_mb * MB,
            file_bytes: file_mb * MB,
            swap: Some(SwapState {
                free_bytes: 200 * MB - 2 * zram_used_mb * MB,
                total_bytes: 200 * MB,
                zram: Some(zram),
            }),
            stalled_us: 5000,
            ..Default::default()
        },
        kill_pending: false,
        apps,
        ..Snapshot::default()
    }
}

fn household() -> Vec<AppState> {
    vec![
        app("front", Importance::Foreground, 9, 60),
        app("ime", Importance::Visible, 0, 20),
        app("mail", Importance::Service, 0, 10),
        app("old-hidden", Importance::Hidden, 3, 30),
        app("new-hidden", Importance::Hidden, 8, 40),
        app("old-empty", Importance::Empty, 1, 20),
        app("new-empty", Importance::Empty, 7, 50),
    ]
}

fn done(mut apps: Vec<AppState>, names: &[&str]) -> Vec<AppState> {
    for a in &mut apps {
        a.exhausted |= names.contains(&a.name.as_str());
    }
    apps
}

/// What a phone's maker sets: the paper's thresholds, and background apps are frozen.
fn freezing() -> Config {
    let classes = vec![Importance::Hidden, Importance::Empty];
    let memory = MemoryConfig {
        minfree_pages: Some(PAPER_PAGES),
        thrash_refaults_per_s: Some(600),
        kill_grace_ms: 0,
        ..MemoryConfig::default()
    };
    Config { memory, freeze: FreezeConfig { classes, ..FreezeConfig::default() } }
}

fn only_step(s: &Snapshot) -> Option<(String, Reason)> {
    let d = decide(s, &freezing());
    assert!(d.actions.len() <= 1, "{d:?}");
    d.actions.into_iter().next().map(|(a, r)| {
        let verb = match a {
            Action::Compress { .. } => "compress",
            Action::Kill { .. } => "kill",
            _ => "other",
        };
        (format!("{verb} {}", a.app()), r)
    })
}

#[test]
fn the_ladder_runs_in_the_seeds_order() {
    let step = |apps| only_step(&phone(10, 10, 0, apps));
    assert_eq!(step(household()), Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)));
    let apps = done(household(), &["old-empty"]);
    assert_eq!(step(apps), Some(("compress new-empty".into(), Reason::ShortOfMemoryEmpty)));
    let apps = done(household(), &["old-empty", "new-empty"]);
    assert_eq!(step(apps), Some(("compress old-hidden".into(), Reason::ShortOfMemoryHidden)));
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    assert_eq!(step(done(household(), &all)), None, "the kernel can still swap services' idle pages");
    let mut thrashing = phone(10, 10, 0, done(household(), &all));
    thrashing.memory.psi_full_avg10 = 30.0;
    assert_eq!(only_step(&thrashing), Some(("kill new-empty".into(), Reason::Thrash)));
}

#[test]
fn a_full_zram_is_seen_though_swap_free_says_otherwise() {
    let mut s = phone(10, 10, 0, household());
    let swap = s.memory.swap.as_mut().unwrap();
    let zram = swap.zram.as_mut().unwrap();
    // Incompressible pages: 100 MB of memory hold 110 MB; SwapFree claims 90 MB.
    (zram.original_bytes, zram.used_bytes, swap.free_bytes) = (110 * MB, 100 * MB, 90 * MB);
    assert_eq!(only_step(&s), Some(("kill new-empty".into(), Reason::SwapFull)));
}

#[test]
fn with_the_screen_off_only_empty_apps_are_compressed_ahead_of_need() {
    let mut s = phone(200, 100, 0, household());
    s.memory.stalled_us = 0;
    assert_eq!(only_step(&s), None);
    s.screen_on = false;
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ScreenOff)));
    s.apps = done(household(), &["old-empty", "new-empty"]);
    assert_eq!(only_step(&s), None);
    s.apps = household();
    s.memory.swap.as_mut().unwrap().zram.as_mut().unwrap().used_bytes = 100 * MB;
    assert_eq!(only_step(&s), None, "until the swap is full");
}

#[test]
fn an_app_that_comes_to_the_screen_has_the_cpu_to_itself_unless_memory_is_critical() {
    let mut s = phone(10, 10, 0, household());
    s.focused_ns = Some(s.now_ns - SECOND_NS / 4);
    assert_eq!(only_step(&s), None);
    assert_eq!(decide(&s, &freezing()).wake_at_ns, Some(s.now_ns + 50_000_000), "memory is watched meanwhile");
    s.memory.stalled_us = 0;
    assert_eq!(decide(&s, &freezing()).wake_at_ns, Some(s.now_ns + SECOND_NS / 4 * 3));
    s.memory.free_bytes = 7 * MB;
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)));
    s.memory.free_bytes = 10 * MB;
    s.now_ns += SECOND_NS;
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)));
    s.cpu_busy = true;
    assert_eq!(only_step(&s), None);
    assert_eq!(decide(&s, &freezing()).wake_at_ns, Some(s.now_ns + 50_000_000));
    s.memory.free_bytes = 7 * MB;
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)));
}

#[test]
fn what_a_return_touched_is_left_resident_ahead_of_need_but_not_under_pressure() {
    let mut s = phone(200, 100, 0, household());
    (s.screen_on, s.memory.stalled_us) = (false, 0);
    s.apps[5].returned = true;
    s.apps[5].swap_bytes = 20 * MB;
    assert_eq!(only_step(&s), Some(("compress new-empty".into(), Reason::ScreenOff)));
    s.apps[5].swap_bytes = 5 * MB;
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ScreenOff)), "most of it is resident again");
    s.apps[5].swap_bytes = 20 * MB;
    (s.memory.free_bytes, s.memory.file_bytes) = (10 * MB, 10 * MB);
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)));
}

#[test]
fn with_caches_spent_a_background_app_dies_before_anybody_has_to_wait() {
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut s = phone(7, 1, 100, done(household(), &all));
    s.memory.stalled_us = 0;
    assert_eq!(only_step(&s), Some(("kill new-empty".into(), Reason::SwapFull)));
    s.memory.file_bytes = 9 * MB;
    assert_eq!(only_step(&s), None, "the kernel still has cache to drop");
    s.memory.file_bytes = MB;
    s.apps.retain(|a| a.importance == Importance::Foreground);
    assert_eq!((s.apps.len(), only_step(&s)), (1, None), "the app in front, only when somebody waits");
    s.memory.stalled_us = 1;
    assert!(only_step(&s).is_some());
}

#[test]
fn where_nothing_tells_of_a_shortage_memory_is_looked_at_and_that_is_no_work() {
    let config = freezing();
    let mut s = phone(300, 100, 0, household());
    (s.memory.stalled_us, s.memory.available_bytes) = (1, 400 * MB);
    assert_eq!(decide(&s, &config).watch_at_ns, None, "PSI tells");
    s.memory.untold = true;
    let d = decide(&s, &config);
    assert!(d.watch_at_ns.is_some_and(|at_ns| at_ns > s.now_ns));
    assert_eq!((d.wake_at_ns, d.actions.len()), (None, 0));
    // Short, with nothing left to do: looked at on and on, yet the daemon has done its work.
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut s = phone(10, 10, 0, done(household(), &all));
    (s.memory.untold, s.memory.stalled_us) = (true, 1);
    let d = decide(&s, &config);
    assert_eq!((d.wake_at_ns, d.actions.len()), (None, 0));
    assert_eq!(d.watch_at_ns, Some(s.now_ns + 200_000_000));
    // Short, with something to do: done at the usual pace.
    s.apps = household();
    assert_eq!(decide(&s, &config).wake_at_ns, Some(s.now_ns + 50_000_000));
}

#[test]
fn where_memory_allows_an_app_is_asked_first() {
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut config = freezing();
    config.memory.kill_grace_ms = 1000;
    let mut s = phone(12, 12, 100, done(household(), &all));
    let app: fovea_apps::AppName = "new-empty".parse().unwrap();
    let thaw = (Action::Thaw { app: app.clone() }, Reason::Needed);
    let ask = (Action::Ask { app: app.clone() }, Reason::SwapFull);
    assert_eq!(decide(&s, &config).actions, [thaw, ask], "frozen, it could not answer");
    let kill = |reason| (Action::Kill { app: "new-empty".parse().unwrap() }, reason);
    s.memory.free_bytes = 7 * MB;
    assert_eq!(decide(&s, &config).actions, [kill(Reason::SwapFull)], "whoever allocates waits already");
    s.memory.free_bytes = 12 * MB;
    s.memory.psi_full_avg10 = 30.0;
    assert_eq!(decide(&s, &config).actions, [kill(Reason::SwapFull)], "everybody waits");
}

#[test]
fn whoever_was_asked_to_end_has_its_time_and_is_not_frozen_meanwhile() {
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut config = freezing();
    config.memory.kill_grace_ms = 1000;
    let mut s = phone(12, 12, 100, done(household(), &all));
    let app: fovea_apps::AppName = "new-empty".parse().unwrap();
    s.kill_pending = true;
    s.asked = Some(Asked { app: app.clone(), reason: Reason::SwapFull, since_ns: s.now_ns - 900_000_000 });
    s.apps.iter_mut().filter(|a| a.name == app).for_each(|a| a.frozen = false);
    assert_eq!(decide(&s, &config).actions, []);
    let kill = (Action::Kill { app: app.clone() }, Reason::SwapFull);
    s.now_ns += 100_000_000;
    assert_eq!(decide(&s, &config).actions, std::slice::from_ref(&kill), "its time is over");
    s.now_ns -= 50_000_000;
    s.memory.free_bytes = 7 * MB;
    assert_eq!(decide(&s, &config).actions, [kill], "those who wait for its memory cannot");
    s.apps.iter_mut().filter(|a| a.name == app).for_each(|a| a.standing = Standing::Protect);
    assert_eq!(decide(&s, &config).actions, [], "its owner has put it on a list meanwhile");
}

#[test]
fn one_that_was_killed_in_vain_or_gives_nothing_back_is_passed_over() {
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut s = phone(10, 10, 100, done(household(), &all));
    s.apps[6].spared = true;
    assert_eq!(only_step(&s), Some(("kill old-empty".into(), Reason::SwapFull)));
    s.apps[5].anon_bytes = 0;
    assert_eq!(only_step(&s), Some(("kill new-hidden".into(), Reason::SwapFull)));
}

#[test]
fn nothing_is_killed_while_a_victims_memory_is_awaited() {
    let mut s = phone(5, 5, 100, household());
    s.kill_pending = true;
    assert_eq!(only_step(&s), None);
}

#[test]
fn background_apps_are_frozen_after_the_debounce_and_thawed_when_needed() {
    let config = freezing();
    let mut s = phone(300, 100, 0, household());
    s.apps[3].frozen = false;
    s.apps[3].background_since_ns = s.now_ns - 4 * SECOND_NS;
    assert_eq!(decide(&s, &config).wake_at_ns, Some(s.now_ns + 6 * SECOND_NS));
    s.now_ns += 6 * SECOND_NS;
    let d = decide(&s, &config);
    assert_eq!(d.actions, [(Action::Freeze { app: "old-hidden".parse().unwrap() }, Reason::Background)]);
    s.apps[3].frozen = true;
    s.apps[3].importance = Importance::Foreground;
    assert_eq!(decide(&s, &config).actions, [(Action::Thaw { app: "old-hidden".parse().unwrap() }, Reason::Needed)]);
    let never = Config { freeze: FreezeConfig { debounce_ms: 0, ..config.freeze.clone() }, ..config.clone() };
    s.apps[3].importance = Importance::Hidden;
    assert!(decide(&s, &never).actions.iter().any(|(a, _)| matches!(a, Action::Thaw { .. })), "off means off");
}

#[test]
fn while_nobody_tells_who_is_in_front_all_are_left_alone_and_the_frozen_thawed() {
    let mut s = phone(300, 100, 0, household());
    s.screen_on = false;
    s.focus_told = false;
    let d = decide(&s, &freezing());
    let thawed: Vec<_> =
        d.actions.iter().map(|(a, r)| (a.app().as_str(), matches!(a, Action::Thaw { .. }), *r)).collect();
    let names = ["old-hidden", "new-hidden", "old-empty", "new-empty"];
    assert_eq!(thawed, names.map(|n| (n, true, Reason::Untold)), "and nothing is compressed ahead");
    assert_eq!(d.wake_at_ns, None);
    // Short of memory: what the user closed may go, what is only hidden may be in front for all we know.
    s.apps.iter_mut().for_each(|a| a.frozen = false);
    (s.memory.free_bytes, s.memory.file_bytes) = (10 * MB, 10 * MB);
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)));
    s.apps = done(s.apps, &["old-empty", "new-empty"]);
    assert_eq!(only_step(&s), None);
}

#[test]
fn by_default_nobody_is_frozen_and_an_app_that_was_never_seen_is_not_either() {
    let mut s = phone(300, 100, 0, household());
    s.apps.iter_mut().for_each(|a| a.frozen = false);
    assert_eq!(decide(&s, &Config::default()).actions, []);
    s.apps.iter_mut().for_each(|a| a.seen = false);
    let d = decide(&s, &freezing());
    assert_eq!((d.actions, d.wake_at_ns), (vec![], None));
    let config = FreezeConfig { classes: vec![Importance::Empty, Importance::Visible], ..FreezeConfig::default() };
    assert!(config.check().is_err());
}

#[test]
fn a_stock_ladder_kills_by_thresholds_and_lmkd_waits_for_swap_free() {
    let config =
        Config { memory: MemoryConfig { mode: Mode::Ladder, ..freezing().memory }, freeze: FreezeConfig::default() };
    let mut apps = household();
    apps.iter_mut().for_each(|a| a.frozen = false);
    let mut s = phone(10, 20, 0, apps);
    assert!(decide(&s, &config).actions.is_empty());
    s.memory.swap = None;
    let kill = (Action::Kill { app: "new-empty".parse().unwrap() }, Reason::Minfree);
    assert_eq!(decide(&s, &config).actions, [kill]);
}

#[test]
fn what_its_owner_protects_lives_thawed_and_that_nobody_else_is_left_is_said() {
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut s = phone(10, 10, 100, done(household(), &all));
    s.apps.retain(|a| a.importance == Importance::Foreground || a.importance >= Importance::Hidden);
    s.apps[1..].iter_mut().for_each(|a| a.standing = Standing::Protect);
    let d = decide(&s, &freezing());
    let thawed: Vec<_> = d.actions.iter().map(|(a, _)| (a.app().as_str(), matches!(a, Action::Thaw { .. }))).collect();
    assert_eq!(thawed, ["old-hidden", "new-hidden", "old-empty", "new-empty"].map(|name| (name, true)));
    assert!(d.only_listed, "nobody else of those classes is there");
    s.apps.iter_mut().for_each(|a| a.frozen = false);
    assert!(decide(&s, &freezing()).only_listed, "and they stay thawed: {:?}", decide(&s, &freezing()));
    s.memory.stalled_us = 0;
    assert!(!decide(&s, &freezing()).only_listed, "nobody waits");
    s.memory.stalled_us = 1;
    s.apps[4].standing = Standing::Plain;
    s.apps[4].frozen = true;
    let d = decide(&s, &freezing());
    assert!(!d.only_listed && matches!(&d.actions[..], [(Action::Kill { app }, _)] if app.as_str() == "new-empty"));
    s.apps[4].standing = Standing::Ignore;
    s.memory = phone(10, 10, 0, vec![]).memory;
    s.apps.iter_mut().for_each(|a| (a.exhausted, a.frozen) = (false, false));
    assert_eq!(
        only_step(&s),
        Some(("compress old-empty".into(), Reason::ShortOfMemoryEmpty)),
        "protected is not resident"
    );
    s.apps.retain(|a| a.importance != Importance::Hidden && a.name.as_str() != "old-empty");
    assert_eq!(only_step(&s), None, "no action whatever");
}

const STANDINGS: [Standing; 5] =
    [Standing::Plain, Standing::Prefer, Standing::Avoid, Standing::Protect, Standing::Ignore];

fn arbitrary_app() -> impl Strategy<Value = (usize, u64, u64, bool, bool, usize)> {
    (0usize..6, 0u64..9, 0u64..100, any::<bool>(), any::<bool>(), 0usize..5)
}

proptest! {
    #[test]
    fn every_decision_is_safe(
        picks in prop::collection::vec(arbitrary_app(), 0..24),
        free_mb in 0u64..120, file_mb in 0u64..120, used_mb in 0u64..=100,
        stalled_us in prop::sample::select(vec![0u64, 1, 9000]), psi in 0.0f64..50.0,
        screen_on: bool, kill_pending: bool, ladder: bool,
    ) {
        let apps: Vec<_> = picks.iter().enumerate().map(|(i, &(class, seq, anon, frozen, compressed, standing))| AppState {
            frozen, exhausted: compressed, standing: STANDINGS[standing], ..app(&format!("a{i}"), Importance::ALL[class], seq, anon)
        }).collect();
        let mut s = phone(free_mb, file_mb, used_mb, apps);
        (s.memory.stalled_us, s.memory.psi_full_avg10) = (stalled_us, psi);
        (s.screen_on, s.kill_pending) = (screen_on, kill_pending);
        let mut config = freezing();
        if ladder { config.memory.mode = Mode::Ladder; }
        let d = decide(&s, &config);
        prop_assert_eq!(&d, &decide(&s, &config), "pure");

        let of = |n: &fovea_apps::AppName| s.apps.iter().find(|a| a.name == *n).unwrap();
        let class_of = |n: &fovea_apps::AppName| of(n).importance;
        let spared = |a: &AppState| matches!(a.standing, Standing::Protect | Standing::Ignore);
        let steps: Vec<_> = d.actions.iter().filter(|(a, _)| matches!(a, Action::Kill { .. } | Action::Compress { .. })).collect();
        prop_assert!(steps.len() <= 1);
        for (action, _) in &d.actions {
            match action {
                Action::Freeze { app } =>
                    prop_assert!(matches!(class_of(app), Importance::Hidden | Importance::Empty) && !spared(of(app))),
                Action::Compress { app, .. } => {
                    prop_assert!(matches!(class_of(app), Importance::Hidden | Importance::Empty));
                    prop_assert!(of(app).standing != Standing::Ignore);
                }
                Action::Kill { app } => {
                    let nothing_left = free_mb < 8 && file_mb < 8 && class_of(app) > Importance::Foreground;
                    prop_assert!(!kill_pending && (stalled_us > 0 || nothing_left));
                    prop_assert!(free_mb < 32 && file_mb < 32);
                    prop_assert!(!spared(of(app)) && !d.only_listed);
                    let giving = || s.apps.iter().filter(|a| a.anon_bytes > 0);
                    let plain = giving().filter(|a| a.standing <= Standing::Prefer).map(|a| a.importance).max();
                    match of(app).standing {
                        Standing::Avoid => prop_assert!(plain.is_none() && free_mb < 8 && file_mb < 8),
                        _ => prop_assert_eq!(Some(class_of(app)), plain, "highest adj first"),
                    }
                }
                Action::Ask { .. } => prop_assert!(false, "no grace is configured"),
                Action::Rank { .. } | Action::Prefetch { .. } => prop_assert!(false, "not about memory"),
                Action::Thaw { app } => prop_assert!(
                    class_of(app) < Importance::Hidden || class_of(app) == Importance::ContentProvider || spared(of(app))
                ),
            }
            if let Action::Compress { pages, .. } = action {
                prop_assert!(*pages >= 1 && *pages <= s.memory.room_pages());
                prop_assert!(!ladder);
            }
        }
        if !steps.is_empty() {
            prop_assert!(d.wake_at_ns.is_some(), "each step is followed by another look");
        }
    }

    /// Doing what is decided, again and again, ends: the daemon never spins.
    #[test]
    fn the_screen_off_loop_ends(picks in prop::collection::vec((3usize..6, 1u64..40), 0..12)) {
        let apps: Vec<_> = picks.iter().enumerate()
            .map(|(i, &(class, anon))| app(&format!("a{i}"), Importance::ALL[class], i as u64, anon)).collect();
        let mut s = phone(300, 100, 0, apps);
        s.screen_on = false;
        s.memory.stalled_us = 0;
        for _ in 0..10_000 {
            let d = decide(&s, &freezing());
            let Some((Action::Compress { app, pages }, _)) = d.actions.first() else { return Ok(()) };
            let a = s.apps.iter_mut().find(|a| a.name == *app).unwrap();
            let moved = (pages * 4096).min(a.anon_bytes);
            a.anon_bytes -= moved;
            a.exhausted = a.anon_bytes == 0;
            let swap = s.memory.swap.as_mut().unwrap();
            swap.free_bytes -= moved;
            let zram = swap.zram.as_mut().unwrap();
            zram.original_bytes += moved;
            zram.used_bytes += moved * 2 / 5;
        }
        prop_assert!(false, "still compressing after 10,000 steps");
    }
}
