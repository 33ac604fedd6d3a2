// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is a runaway and who a bystander.

use fovea_apps::Kind;
use proptest::prelude::*;

use super::*;
use crate::memory::victim::tests::app;
use crate::memory::{MemoryConfig, Mode, SwapState};
use crate::{decide, Action, Config, Reason};

#[path = "left_tests.rs"]
mod left;
#[path = "outside_tests.rs"]
mod outside;
#[path = "start_tests.rs"]
mod start;

const MB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

fn growing(name: &str, importance: Importance, anon_mb: u64, mb_per_s: u64) -> AppState {
    AppState { growth_bytes_per_s: mb_per_s * MB, ..app(name, importance, anon_mb) }
}

/// Short of memory with swap full, by the paper's thresholds.
fn short(free_mb: u64, apps: Vec<AppState>) -> Snapshot {
    let swap = Some(SwapState { free_bytes: 0, total_bytes: 100 * MB, zram: None });
    let memory = MemoryState {
        free_bytes: free_mb * MB,
        file_bytes: free_mb * MB,
        swap,
        stalled_us: 5000,
        ..MemoryState::default()
    };
    let now_ns = 100 * SECOND_NS;
    Snapshot { now_ns, screen_on: true, focus_told: true, memory, apps, ..Snapshot::default() }
}

fn config(mode: Mode) -> Config {
    let memory = MemoryConfig {
        mode,
        minfree_pages: Some(crate::memory::PAPER_PAGES),
        kill_grace_ms: 0,
        ..MemoryConfig::default()
    };
    Config { memory, ..Config::default() }
}

fn killed(snapshot: &Snapshot) -> Option<(String, bool)> {
    decide(snapshot, &config(Mode::Full)).actions.into_iter().find_map(|(action, reason)| match action {
        Action::Kill { app } => Some((app.to_string(), reason == Reason::Runaway)),
        _ => None,
    })
}

#[test]
fn a_leak_in_a_background_service_dies_and_not_the_bystanders() {
    let mut s = short(
        10,
        vec![
            app("front", Importance::Foreground, 90),
            growing("indexer", Importance::Service, 60, 16),
            app("big", Importance::Hidden, 200),
            app("closed", Importance::Empty, 30),
        ],
    );
    assert_eq!(killed(&s), Some(("indexer".into(), true)));
    let stock = decide(&s, &config(Mode::Ladder)).actions;
    assert!(matches!(&stock[..], [(Action::Kill { app }, Reason::Minfree)] if app.as_str() == "closed"), "{stock:?}");
    s.apps[1].growth_bytes_per_s = 3 * MB;
    assert_eq!(killed(&s), Some(("closed".into(), false)), "a slow grower");
    s.apps[1].growth_bytes_per_s = 16 * MB;
    s.apps[1].background_since_ns = s.now_ns - 2 * SECOND_NS;
    assert_eq!(killed(&s), Some(("closed".into(), false)), "it is starting: its user waits for it");
    s.apps[1].background_since_ns = 0;
    s.apps[1].standing = Standing::Protect;
    assert_eq!(killed(&s), Some(("closed".into(), false)));
    s.apps[1].standing = Standing::Avoid;
    assert_eq!(killed(&s), Some(("closed".into(), false)));
    s.apps[1].standing = Standing::Plain;
    s.memory.stalled_us = 0;
    assert_eq!(killed(&s), None, "nobody waits");
    s.memory.stalled_us = 1;
    s.apps.truncate(2);
    assert_eq!(killed(&s).map(|(app, _)| app), Some("indexer".into()), "at 10 MB a service may be killed anyway");
    s.memory.free_bytes = 30 * MB;
    assert_eq!(killed(&s), None, "at 30 MB only empty apps may, and none dies for it");
}

/// Memory is short, and an app of 200 processes that nobody has seen, the second one, has so much and grows by so much.
fn with_bomb(bomb_mb: u64, mb_per_s: u64, big_mb: u64) -> Snapshot {
    let bomb = growing("bomb", Importance::Service, bomb_mb, mb_per_s);
    let apps = vec![
        app("front", Importance::Foreground, 90),
        AppState { seen: false, processes: 200, ..bomb },
        app("big", Importance::Hidden, big_mb),
    ];
    short(10, apps)
}

#[test]
fn a_fork_bomb_is_not_waited_for_as_an_app_that_starts_is() {
    let mut s = with_bomb(60, 16, 200);
    s.apps[1].background_since_ns = s.now_ns - 2 * SECOND_NS;
    assert_eq!(killed(&s), Some(("bomb".into(), true)));
    s.apps[1].processes = BOMB_PROCESSES - 1;
    assert_eq!(killed(&s), Some(("big".into(), false)), "a browser that starts");
    s.apps[1].processes = 200;
    s.apps[1].seen = true;
    assert_eq!(killed(&s), Some(("big".into(), false)), "a terminal that was just left, with a build in it");
    s.apps[1].seen = false;
    s.apps[1].growth_bytes_per_s = 0;
    assert_eq!(killed(&s), Some(("big".into(), false)), "many, but they take no more");
}

/// By a boot of the desktop: 670 MB in 200 processes when memory was first looked at, 5 s after the first of them.
#[test]
fn a_bomb_is_known_at_the_first_look() {
    let mut s = with_bomb(670, 0, 300);
    s.apps[1].background_since_ns = s.now_ns - 5 * SECOND_NS;
    assert_eq!(killed(&s), Some(("big".into(), false)), "nobody saw it begin");
    s.apps[1].born_ns = s.now_ns - 5 * SECOND_NS;
    assert_eq!(killed(&s), Some(("bomb".into(), true)));
    s.apps[1].anon_bytes = 15 * MB;
    assert_eq!(killed(&s), Some(("big".into(), false)), "it takes little");
    s.apps[1].anon_bytes = 670 * MB;
    s.apps[1].processes = 20;
    assert_eq!(killed(&s), Some(("big".into(), false)), "a browser that starts");
    s.apps[1].processes = 200;
    s.apps[1].born_ns = s.now_ns - 11 * SECOND_NS;
    assert_eq!(killed(&s), Some(("big".into(), false)), "by now its growth would have been measured");
}

/// A service that leaked 64 MB a second was started anew each time that it had died, and each time an app died for it.
#[test]
fn what_died_as_a_runaway_and_began_anew_is_known_at_the_first_look() {
    let again = AppState {
        seen: false,
        ran_away: true,
        born_ns: 96 * SECOND_NS,
        background_since_ns: 60 * SECOND_NS,
        ..app("indexer", Importance::Service, 250)
    };
    let mut s = short(10, vec![app("front", Importance::Foreground, 90), again, app("big", Importance::Hidden, 300)]);
    assert_eq!(killed(&s), Some(("indexer".into(), true)));
    s.apps[1].anon_bytes = 8 * MB;
    assert_eq!(killed(&s), Some(("big".into(), false)), "this time it takes little");
    s.apps[1].anon_bytes = 250 * MB;
    s.apps[1].ran_away = false;
    assert_eq!(killed(&s), Some(("big".into(), false)), "nobody knows how it grows");
    s.apps[1].ran_away = true;
    s.apps[1].born_ns = 0;
    assert_eq!(killed(&s), Some(("big".into(), false)), "it has paused since");
}

/// Its user goes to and fro between it and another app, so that it has always just been left.
#[test]
fn growth_in_the_background_that_went_on_from_one_stay_to_the_next_is_no_start() {
    let leak = AppState {
        gained_bytes: 120 * MB,
        growing_since_ns: 88 * SECOND_NS,
        background_since_ns: 97 * SECOND_NS,
        ..app("leak", Importance::Hidden, 240)
    };
    let mut s = short(10, vec![app("front", Importance::Foreground, 60), leak, app("old", Importance::Hidden, 200)]);
    assert_eq!(killed(&s), Some(("leak".into(), true)));
    s.apps[1].growing_since_ns = 97 * SECOND_NS;
    assert_eq!(killed(&s), Some(("old".into(), false)), "it has just been left");
    s.apps[1].growing_since_ns = 88 * SECOND_NS;
    s.apps[1].gained_bytes = 90 * MB;
    assert_eq!(killed(&s), Some(("old".into(), false)), "others can feed it");
}

/// By another boot of the desktop: swap filled within 2 s, and the OOM killer was faster.
#[test]
fn what_swap_cannot_hold_is_not_waited_for() {
    let mut s = with_bomb(500, 0, 300);
    s.apps[1].born_ns = s.now_ns - 5 * SECOND_NS;
    s.memory.swap = Some(SwapState { free_bytes: 200 * MB, total_bytes: 900 * MB, zram: None });
    assert_eq!(killed(&s), Some(("bomb".into(), true)), "100 MB a second");
    s.memory.swap = Some(SwapState { free_bytes: 600 * MB, total_bytes: 900 * MB, zram: None });
    assert_eq!(killed(&s), None, "swap may hold it all");
    s.memory.swap = Some(SwapState { free_bytes: 200 * MB, total_bytes: 900 * MB, zram: None });
    s.memory.stalled_us = 0;
    assert_eq!(killed(&s), None, "nobody waits");
    s.memory.stalled_us = 1;
    s.memory.file_bytes = 60 * MB;
    assert_eq!(killed(&s), None, "caches first");
    s.memory.file_bytes = 10 * MB;
    s.apps[1].processes = 20;
    assert_eq!(killed(&s), None, "a browser that starts");
    s.apps[1] = growing("leak", Importance::Foreground, 500, 100);
    assert_eq!(killed(&s), None, "it is in front");
}

/// By a boot of the netbook: a leak of 8 MB a second lived six seconds longer than under those who kill by thresholds, and for all that time
/// everybody else was compressed for it.
#[test]
fn a_slow_leak_dies_once_swap_cannot_end_the_shortage_and_nobody_waits_for_it() {
    let beside = |change: &dyn Fn(&mut Snapshot)| {
        let job = AppState { kind: Kind::Job, ..app("job", Importance::Service, 120) };
        let leak = AppState { growing_since_ns: 80 * SECOND_NS, gained_bytes: 90 * MB, ..job };
        let apps = vec![app("front", Importance::Foreground, 90), leak, app("left", Importance::Hidden, 100)];
        let mut s = short(20, apps);
        s.memory.swap = Some(SwapState { free_bytes: 38 * MB, total_bytes: 100 * MB, zram: None });
        s.memory.stalled_us = 0;
        change(&mut s);
        killed(&s)
    };
    assert_eq!(
        beside(&|_| {}),
        Some(("job".into(), true)),
        "78 MB are left with swap: less than where memory is short"
    );
    assert_eq!(beside(&|s| s.memory.swap.as_mut().unwrap().free_bytes = 40 * MB), None, "swap ends the shortage");
    assert_eq!(beside(&|s| s.memory.file_bytes = 60 * MB), None, "caches first");
    // Each of these grows, or is large, and may stop before memory ends.
    assert_eq!(beside(&|s| s.apps[1].gained_bytes = 77 * MB), None, "as much again would fit");
    assert_eq!(beside(&|s| s.apps[1].gained_bytes = 0), None, "it has stopped");
    assert_eq!(beside(&|s| s.apps[1].growing_since_ns = 96 * SECOND_NS), None, "it loads something");
    assert_eq!(beside(&|s| s.apps[1].background_since_ns = 91 * SECOND_NS), None, "it starts");
    assert_eq!(beside(&|s| s.apps[2] = app("left", Importance::Hidden, 120)), None, "another one holds as much");
    assert_eq!(beside(&|s| s.apps[1].importance = Importance::Visible), None, "its user sees it");
    assert_eq!(beside(&|s| s.apps[1].standing = Standing::Avoid), None);
}

#[test]
fn a_leak_in_front_that_has_outgrown_the_others_dies_before_the_first_of_them() {
    let mut s = short(
        14,
        vec![
            growing("leak", Importance::Foreground, 200, 16),
            app("launcher", Importance::Service, 20),
            app("left", Importance::Hidden, 100),
            app("closed", Importance::Empty, 60),
        ],
    );
    s.now_ns = 300 * SECOND_NS;
    s.focused_ns = Some(s.now_ns - 20 * SECOND_NS);
    (s.apps[0].growing_since_ns, s.apps[0].gained_bytes) = (s.now_ns - 8 * SECOND_NS, 130 * MB);
    assert_eq!(killed(&s), Some(("leak".into(), true)));
    s.focused_ns = Some(s.now_ns - 9 * SECOND_NS);
    assert_eq!(killed(&s), Some(("closed".into(), false)), "it is starting");
    s.apps[0].gained_bytes = 170 * MB;
    assert_eq!(killed(&s), Some(("leak".into(), true)), "no start is as large as all others together");
    s.focused_ns = Some(s.now_ns - 20 * SECOND_NS);
    s.apps[0].gained_bytes = 70 * MB;
    assert_eq!(killed(&s), Some(("closed".into(), false)), "the others have 160 MB");
    (s.apps[0].growing_since_ns, s.apps[0].gained_bytes) = (s.now_ns - 4 * SECOND_NS, 130 * MB);
    assert_eq!(killed(&s), Some(("closed".into(), false)), "for a moment");
    s.apps[0].growing_since_ns = s.now_ns - 60 * SECOND_NS;
    s.apps[0].growth_bytes_per_s = 0;
    assert_eq!(killed(&s), Some(("leak".into(), true)), "slowly, for a minute");
    s.apps[0].growing_since_ns = s.now_ns - 200 * SECOND_NS;
    assert_eq!(killed(&s), Some(("leak".into(), true)), "however slowly: it took the memory");
    s.apps[0].gained_bytes = 79 * MB;
    assert_eq!(killed(&s), Some(("closed".into(), false)), "slowly, and not so much");
    s.apps[0].gained_bytes = 130 * MB;
    s.apps[0].growing_since_ns = s.now_ns - 60 * SECOND_NS;
    s.apps[0].standing = Standing::Avoid;
    assert_eq!(killed(&s), Some(("closed".into(), false)));
}

#[test]
fn a_slow_leak_in_the_background_dies_once_it_has_gone_on_for_long() {
    let mut s = short(
        30,
        vec![
            app("front", Importance::Foreground, 90),
            growing("indexer", Importance::Service, 90, 4),
            app("closed", Importance::Empty, 60),
        ],
    );
    assert_eq!(killed(&s), Some(("closed".into(), false)), "60 MB are left");
    (s.apps[1].growing_since_ns, s.apps[1].gained_bytes) = (s.now_ns - 16 * SECOND_NS, 64 * MB);
    assert_eq!(killed(&s), Some(("indexer".into(), true)));
    s.apps[1].gained_bytes = 50 * MB;
    assert_eq!(killed(&s), Some(("closed".into(), false)));
}

#[test]
fn a_leak_in_front_dies_only_when_the_others_cannot_feed_it_and_before_the_services() {
    let household = || {
        vec![
            growing("leak", Importance::Foreground, 200, 16),
            app("launcher", Importance::Service, 20),
            app("phone", Importance::Service, 15),
            app("left", Importance::Hidden, 100),
        ]
    };
    let mut s = short(5, household());
    s.focused_ns = Some(s.now_ns - 60 * SECOND_NS);
    assert_eq!(killed(&s), Some(("left".into(), false)), "100 MB feed it for 6 s");
    s.apps[3].anon_bytes = 60 * MB;
    s.apps[3].current_bytes = 60 * MB;
    assert_eq!(killed(&s), Some(("leak".into(), true)));
    s.focused_ns = Some(s.now_ns - SECOND_NS);
    assert_eq!(killed(&s), Some(("left".into(), false)), "it has just come to the screen");
    s.apps.truncate(3);
    assert_eq!(killed(&s), Some(("leak".into(), true)), "the services would not feed it for long");
    s.memory.free_bytes = 14 * MB;
    assert_eq!(killed(&s).map(|(app, _)| app), Some("launcher".into()), "the kernel is not yet next");
}

#[test]
fn who_holds_far_more_than_anybody_else_dies_though_it_does_not_grow() {
    let job = |importance, mb| AppState { kind: Kind::Job, hog_bytes: mb * MB, ..app("job", importance, mb) };
    let beside = |job: AppState| {
        let apps = vec![app("front", Importance::Foreground, 90), job, app("left", Importance::Hidden, 100)];
        let mut s = short(10, apps);
        s.now_ns = 300 * SECOND_NS;
        killed(&s)
    };
    let bystander = Some(("left".to_owned(), false));
    let runaway = Some(("job".to_owned(), true));
    assert_eq!(beside(job(Importance::Service, 300)), runaway);
    assert_eq!(beside(job(Importance::Service, 299)), bystander, "not several times as much");
    assert_eq!(beside(AppState { hog_bytes: 0, ..job(Importance::Service, 900) }), bystander, "a build");
    assert_eq!(beside(job(Importance::Visible, 300)), runaway, "in a terminal that is seen");
    assert_eq!(beside(job(Importance::Foreground, 900)), bystander, "it has a window in front: a game");
    let app = |importance, mb| AppState { kind: Kind::App, ..job(importance, mb) };
    assert_eq!(beside(app(Importance::Hidden, 300)), runaway, "it took that in the background");
    assert_eq!(beside(app(Importance::Visible, 900)), bystander);
    assert_eq!(beside(AppState { standing: Standing::Protect, ..job(Importance::Service, 300) }), bystander);
}

#[test]
fn a_login_is_no_bystander_and_what_another_user_left_goes_first() {
    let login = AppState { kind: Kind::Login, ..app("login", Importance::Service, 200) };
    let beside = |login: &AppState, left_mb| {
        let apps = vec![login.clone(), app("left", Importance::Hidden, left_mb), app("closed", Importance::Empty, 30)];
        killed(&short(10, apps)).map(|(name, _)| name)
    };
    assert_eq!(beside(&login, 60).as_deref(), Some("closed"));
    let alone = |login: AppState| killed(&short(10, vec![login]));
    assert_eq!(alone(login.clone()), None, "all that its user runs may be in it");
    let leak = AppState { growth_bytes_per_s: 16 * MB, ..login.clone() };
    assert_eq!(beside(&leak, 60).as_deref(), Some("login"), "a process in it leaks");
    let absent = AppState { user_absent: true, ..login };
    assert_eq!(beside(&absent, 900).as_deref(), Some("login"));
    assert_eq!(alone(absent.clone()), Some(("login".into(), false)));
    let plays = AppState { perceived: Some(fovea_apps::Perceived::PlaysSound), ..absent.clone() };
    assert_eq!(beside(&plays, 60).as_deref(), Some("closed"), "it is heard");
    let small = AppState { anon_bytes: 2 * MB, current_bytes: 2 * MB, ..absent };
    assert_eq!(beside(&small, 60).as_deref(), Some("closed"), "22 MB are missing");
}

/// By a boot of Debian: the app in front was killed for 3 MB, and its memory was short as before.
#[test]
fn what_is_in_front_does_not_die_for_less_than_is_missing() {
    let front = |mb, free_mb| killed(&short(free_mb, vec![app("front", Importance::Foreground, mb)]));
    assert_eq!(front(3, 2), None, "6 MB are missing");
    assert_eq!(front(6, 2), Some(("front".into(), false)));
    let share = |mb| killed(&short(8, vec![app("closed", Importance::Empty, mb), app("left", Importance::Hidden, 50)]));
    assert_eq!(share(2), Some(("left".into(), false)), "less than an eighth of what is missing");
    assert_eq!(share(3), Some(("closed".into(), false)));
}

proptest! {
    /// A runaway is one: it eats what is left, gives memory, and nobody protects it; in the background nobody dies who does not grow.
    #[test]
    fn whoever_dies_as_a_runaway_is_one(
        picks in prop::collection::vec((0usize..6, 0u64..300, 0u64..40, 0usize..5, 0u64..100), 0..16),
        free_mb in 0u64..40, stalled_us in 0u64..2, focused_s in 0u64..100,
    ) {
        let standings = [Standing::Plain, Standing::Prefer, Standing::Avoid, Standing::Protect, Standing::Ignore];
        let apps = picks.iter().enumerate().map(|(i, &(class, anon_mb, mb_per_s, standing, since_s))| AppState {
            standing: standings[standing], background_since_ns: since_s * SECOND_NS,
            ..growing(&format!("a{i}"), Importance::ALL[class], anon_mb, mb_per_s)
        }).collect();
        let mut s = short(free_mb, apps);
        (s.memory.stalled_us, s.focused_ns) = (stalled_us, Some(focused_s * SECOND_NS));
        let calm = Snapshot {
            apps: s.apps.iter().map(|a| AppState { growth_bytes_per_s: 0, ..a.clone() }).collect(), ..s.clone()
        };
        match killed(&s) {
            Some((name, true)) => {
                let dead = s.apps.iter().find(|a| a.name.as_str() == name).unwrap();
                prop_assert!(eats_what_is_left(dead.growth_bytes_per_s, &s.memory) && dead.anon_bytes > 0);
                prop_assert!(dead.standing <= Standing::Prefer);
                prop_assert!(dead.importance > Importance::Visible || (free_mb < 8 && stalled_us > 0));
                prop_assert!(killed(&calm).is_some(), "a bystander would have died");
            }
            other => prop_assert_eq!(other, killed(&calm), "without a runaway growth changes nothing"),
        }
    }
}
