// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The decision as a whole: here the order of the ladder.

mod always;
mod freeze;
mod order;

use fovea_apps::{Importance, Standing, ZramReading};
use fovea_policy::memory::{MemoryConfig, MemoryState, Mode, SwapState, PAPER_PAGES};
use fovea_policy::*;

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
    Config { memory, freeze: FreezeConfig { classes, ..FreezeConfig::default() }, ..Config::default() }
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
    (thrashing.memory.psi_full_avg10, thrashing.memory.stall_percent) = (30.0, 40.0);
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
fn what_a_return_touched_is_left_resident_ahead_of_need_and_goes_last_under_pressure() {
    let mut s = phone(200, 100, 0, household());
    (s.screen_on, s.memory.stalled_us) = (false, 0);
    (s.apps[5].returned, s.apps[5].looked_through) = (true, true);
    s.apps[5].swap_bytes = 20 * MB;
    assert_eq!(only_step(&s), Some(("compress new-empty".into(), Reason::ScreenOff)));
    s.apps[5].swap_bytes = 5 * MB;
    assert_eq!(only_step(&s), Some(("compress old-empty".into(), Reason::ScreenOff)), "most of it is resident again");
    s.apps[5].swap_bytes = 20 * MB;
    (s.memory.free_bytes, s.memory.file_bytes) = (10 * MB, 10 * MB);
    assert_eq!(only_step(&s), Some(("compress new-empty".into(), Reason::ShortOfMemoryEmpty)));
    s.apps = done(s.apps, &["new-empty", "old-hidden", "new-hidden"]);
    assert_eq!(only_step(&s), None, "the next return needs it more than the next start");
    s.memory.free_bytes = 7 * MB;
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
    s.memory.polled = true;
    let d = decide(&s, &config);
    assert!(d.watch_at_ns.is_some_and(|at_ns| at_ns > s.now_ns));
    assert_eq!((d.wake_at_ns, d.actions.len()), (None, 0));
    // Short, with nothing left to do: looked at on and on, yet the daemon has done its work.
    let all = ["old-empty", "new-empty", "old-hidden", "new-hidden"];
    let mut s = phone(10, 10, 0, done(household(), &all));
    (s.memory.polled, s.memory.stalled_us) = (true, 1);
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
    (s.memory.psi_full_avg10, s.memory.stall_percent) = (30.0, 40.0);
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
    s.apps[6].kill_failed = true;
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
fn a_stock_ladder_kills_by_thresholds_and_lmkd_waits_for_swap_free() {
    let config = Config { memory: MemoryConfig { mode: Mode::Ladder, ..freezing().memory }, ..Config::default() };
    let mut apps = household();
    apps.iter_mut().for_each(|a| a.frozen = false);
    let mut s = phone(10, 20, 0, apps);
    assert!(decide(&s, &config).actions.is_empty());
    s.memory.swap = None;
    let kill = (Action::Kill { app: "new-empty".parse().unwrap() }, Reason::Minfree);
    assert_eq!(decide(&s, &config).actions, [kill]);
}

#[test]
fn a_batch_is_small_while_an_app_comes_to_the_screen_and_free_memory_is_critical() {
    let batch = |focused_ns| {
        let mut s = phone(7, 10, 0, household());
        s.focused_ns = focused_ns;
        match &decide(&s, &freezing()).actions[..] {
            [(Action::Compress { pages, .. }, _)] => *pages,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(batch(Some(100 * SECOND_NS - SECOND_NS / 2)), 64);
    assert_eq!(batch(Some(98 * SECOND_NS)), freezing().memory.batch_pages);
    assert_eq!(batch(None), freezing().memory.batch_pages);
}
