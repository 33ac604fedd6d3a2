// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The plan: it is what deciding again and again would do, and it ends.

use fovea_apps::{Importance, Standing, ZramReading, PAGE_BYTES};
use fovea_policy::memory::{MemoryConfig, MemoryState, Mode, SwapState, PAPER_PAGES};
use fovea_policy::*;
use proptest::prelude::*;

const MB: u64 = 1 << 20;

fn app(name: &str, importance: Importance, anon_mb: u64) -> AppState {
    AppState {
        seen: true,
        anon_bytes: anon_mb * MB,
        current_bytes: anon_mb * MB,
        ..AppState::new(name.parse().unwrap(), importance)
    }
}

fn phone(free_mb: u64, zram_used_mb: u64, apps: Vec<AppState>) -> Snapshot {
    let zram = ZramReading {
        disk_bytes: 200 * MB,
        original_bytes: 2 * zram_used_mb * MB,
        used_bytes: zram_used_mb * MB,
        limit_bytes: 100 * MB,
        ..ZramReading::default()
    };
    let free_bytes = 200 * MB - 2 * zram_used_mb * MB;
    let memory = MemoryState {
        free_bytes: free_mb * MB,
        // Plentiful, so that nothing is compressed for being idle.
        available_bytes: 400 * MB,
        file_bytes: 5 * MB,
        swap: Some(SwapState { free_bytes, total_bytes: 200 * MB, zram: Some(zram) }),
        stalled_us: 1,
        ..MemoryState::default()
    };
    Snapshot { now_ns: 1 << 40, screen_on: true, focus_told: true, memory, apps, ..Snapshot::default() }
}

fn config() -> Config {
    let memory = MemoryConfig { minfree_pages: Some(PAPER_PAGES), ..MemoryConfig::default() };
    Config { memory, ..Config::default() }
}

fn steps(plan: &Plan) -> Vec<(String, u64)> {
    let name = |step: &Step| match &step.action {
        Action::Compress { app, .. } => format!("compress {app}"),
        Action::Ask { app } => format!("ask {app}"),
        Action::Kill { app } => format!("kill {app}"),
        other => format!("{other:?}"),
    };
    plan.steps.iter().map(|step| (name(step), step.free_bytes / MB)).collect()
}

#[test]
fn one_apps_batches_are_one_step_and_the_next_begins_with_what_it_gave() {
    let apps = vec![
        app("front", Importance::Foreground, 60),
        app("closed", Importance::Empty, 20),
        app("left", Importance::Hidden, 40),
    ];
    let mut s = phone(10, 0, apps);
    // The app in front has just come there and keeps the CPU busy: that passes.
    (s.cpu_busy, s.focused_ns) = (true, Some(s.now_ns));
    let plan = plan(s.clone(), &config());
    // Half of 20 MB comes back: 20 MB free, and of the other app as much as brings it to 32 MB.
    assert_eq!(steps(&plan), [("compress closed".into(), 10), ("compress left".into(), 20)]);
    let Action::Compress { pages, .. } = plan.steps[1].action else { panic!("{plan:?}") };
    assert_eq!((pages * PAGE_BYTES / MB, plan.steps[1].gives_bytes / MB), (24, 12));
    assert!(plan.before.unwrap().shortage.is_some() && plan.after.unwrap().shortage.is_none());
    s.memory.free_bytes = 400 * MB;
    assert_eq!(fovea_policy::plan(s, &config()).steps, []);
}

#[test]
fn with_swap_full_the_ladder_is_followed_to_its_end_and_what_the_owner_protects_is_named() {
    let mut apps = vec![
        app("front", Importance::Foreground, 60),
        // Each gives more than an eighth of the 27 MB that are missing: less would end it for nothing.
        app("closed", Importance::Empty, 4),
        app("left", Importance::Hidden, 5),
        app("vault", Importance::Hidden, 90),
    ];
    apps[3].standing = Standing::Protect;
    let plan = plan(phone(5, 100, apps), &config());
    assert_eq!(steps(&plan), [("kill closed".into(), 5), ("ask left".into(), 9)]);
    assert!(plan.only_listed, "14 MB are free: more should be found, and only the vault has any");
    let mut alone = phone(5, 100, vec![app("vault", Importance::Hidden, 90)]);
    alone.apps[0].standing = Standing::Protect;
    let plan = fovea_policy::plan(alone, &config());
    assert_eq!((plan.steps.len(), plan.only_listed), (0, true));
}

proptest! {
    #[test]
    fn the_first_step_is_the_decision_and_there_is_an_end(
        picks in prop::collection::vec((0usize..6, 0u64..100, 0usize..5, any::<bool>()), 0..20),
        free_mb in 0u64..120, used_mb in 0u64..=100, ladder: bool, screen_on: bool,
    ) {
        let standings = [Standing::Plain, Standing::Prefer, Standing::Avoid, Standing::Protect, Standing::Ignore];
        let apps = picks.iter().enumerate().map(|(i, &(class, anon_mb, standing, compressed))| AppState {
            exhausted: compressed, standing: standings[standing], ..app(&format!("a{i}"), Importance::ALL[class], anon_mb)
        }).collect();
        let mut s = phone(free_mb, used_mb, apps);
        s.screen_on = screen_on;
        let mut config = config();
        if ladder { config.memory.mode = Mode::Ladder; }
        let plan = plan(s.clone(), &config);
        let decided = decide(&s, &config).actions;
        prop_assert_eq!(
            plan.steps.first().map(|step| (step.action.app().clone(), step.reason)),
            decided.first().map(|(action, reason)| (action.app().clone(), *reason))
        );
        prop_assert!(plan.steps.len() < 60, "{:?}", plan.steps);
        let ends = plan.steps.iter().filter(|step| matches!(step.action, Action::Ask { .. } | Action::Kill { .. }));
        let names: std::collections::BTreeSet<_> = ends.clone().map(|step| step.action.app()).collect();
        prop_assert_eq!(names.len(), ends.count(), "nobody dies twice");
    }
}
