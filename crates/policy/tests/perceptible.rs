// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps that are heard or waited for without being seen: never frozen, never compressed, killed behind everything else that is not seen.

use fovea_apps::{Importance, Perceived, Standing, ZramReading};
use fovea_policy::memory::{MemoryState, SwapState, PAPER_PAGES};
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

fn heard(app: AppState) -> AppState {
    AppState { perceived: Some(Perceived::PlaysSound), ..app }
}

fn device(free_mb: u64, file_mb: u64, swap_free_mb: u64, apps: Vec<AppState>) -> Snapshot {
    let zram = ZramReading { disk_bytes: 100 * MB, ..ZramReading::default() };
    let swap = SwapState { total_bytes: 100 * MB, free_bytes: swap_free_mb * MB, zram: Some(zram) };
    Snapshot {
        now_ns: 1 << 40,
        screen_on: true,
        focus_told: true,
        memory: MemoryState {
            free_bytes: free_mb * MB,
            // Plentiful, so that nothing is compressed for being idle.
            available_bytes: 400 * MB,
            file_bytes: file_mb * MB,
            swap: Some(swap),
            stalled_us: 5000,
            ..Default::default()
        },
        apps,
        ..Snapshot::default()
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.memory.minfree_pages = Some(PAPER_PAGES);
    config.memory.thrash_refaults_per_s = Some(600);
    config.memory.kill_grace_ms = 0;
    config.freeze.classes = vec![Importance::Hidden, Importance::Empty];
    config
}

fn steps(snapshot: &Snapshot) -> Vec<String> {
    let decision = decide(snapshot, &config());
    decision.actions.iter().map(|(action, _)| format!("{} {}", action.name(), action.app())).collect()
}

#[test]
fn it_is_not_frozen_and_thaws_if_it_was() {
    let frozen = AppState { frozen: true, ..heard(app("call", Importance::Hidden, 9)) };
    let apps = vec![heard(app("music", Importance::Hidden, 9)), frozen, app("game", Importance::Hidden, 9)];
    assert_eq!(steps(&device(300, 300, 100, apps)), ["thaw call", "freeze game"]);
}

#[test]
fn it_is_compressed_neither_in_need_nor_ahead_of_it() {
    let freezes =
        |s: &Snapshot| s.apps.iter().filter(|a| a.importance >= Importance::Hidden && !a.is_perceptible()).count();
    let apps = vec![heard(app("music", Importance::Empty, 90)), app("game", Importance::Hidden, 9)];
    let mut short = device(10, 10, 100, apps);
    assert_eq!(steps(&short)[freezes(&short)..], ["compress game"]);
    short.apps.pop();
    assert_eq!(steps(&short), [""; 0], "the kernel knows which of its pages are idle");
    let mut off = device(50, 300, 100, vec![heard(app("music", Importance::Empty, 90))]);
    (off.screen_on, off.memory.stalled_us) = (false, 0);
    assert_eq!(steps(&off), [""; 0]);
    off.apps[0].perceived = None;
    assert_eq!(steps(&off)[1..], ["compress music"], "else it is");
}

#[test]
fn it_dies_after_all_that_is_not_seen_and_before_what_is() {
    let mut apps = vec![
        app("front", Importance::Foreground, 90),
        heard(app("seen-and-heard", Importance::Visible, 80)),
        app("seen", Importance::Visible, 70),
        heard(app("music", Importance::Empty, 60)),
        heard(app("call", Importance::Service, 65)),
        app("mail", Importance::Service, 10),
        app("game", Importance::Hidden, 20),
        AppState { standing: Standing::Avoid, ..app("editor", Importance::Empty, 30) },
    ];
    // Below the foreground's threshold and with a full swap, so that anybody may be killed.
    for victim in ["game", "mail", "call", "music", "seen-and-heard", "seen", "front", "editor"] {
        apps.iter_mut().for_each(|a| a.frozen = a.importance >= Importance::Hidden && !a.is_perceptible());
        assert_eq!(steps(&device(5, 5, 0, apps.clone())), [format!("kill {victim}")]);
        apps.retain(|a| a.name.as_str() != victim);
    }
    // At the services' threshold (16 MB) it is not in reach yet.
    let music = vec![heard(app("music", Importance::Empty, 60))];
    assert_eq!(steps(&device(14, 14, 0, music.clone())), [""; 0]);
    assert_eq!(steps(&device(10, 10, 0, music)), ["kill music"]);
}

#[test]
fn a_runaway_that_is_heard_dies_only_where_nothing_else_feeds_it() {
    let growing = |app: AppState| AppState { growth_bytes_per_s: 50 * MB, ..app };
    let game = AppState { frozen: true, ..app("game", Importance::Hidden, 400) };
    let s = device(5, 5, 0, vec![growing(heard(app("tabs", Importance::Hidden, 300))), game.clone()]);
    assert_eq!(steps(&s), ["kill game"]);
    let silent = AppState { frozen: true, ..growing(app("tabs", Importance::Hidden, 300)) };
    assert_eq!(steps(&device(5, 5, 0, vec![silent, game])), ["kill tabs"], "else it dies first");
}

proptest! {
    #[test]
    fn nothing_that_is_perceptible_is_harmed_while_another_would_do(
        picks in prop::collection::vec((0usize..6, 1u64..100, any::<bool>(), any::<bool>(), 0u64..100), 1..24),
        free_mb in 0u64..60, file_mb in 0u64..60, swap_free_mb in 0u64..3, screen_on: bool,
    ) {
        let apps = picks.iter().enumerate().map(|(i, &(class, anon_mb, is_heard, frozen, growth_mb))| AppState {
            perceived: is_heard.then_some(Perceived::UsesServer), frozen, growth_bytes_per_s: growth_mb * MB,
            ..app(&format!("a{i}"), Importance::ALL[class], anon_mb)
        }).collect();
        let s = Snapshot { screen_on, ..device(free_mb, file_mb, swap_free_mb, apps) };
        let only_heard = |a: &AppState| a.perceived.is_some() && a.importance > Importance::Visible;
        for (action, _) in decide(&s, &config()).actions {
            let app = s.apps.iter().find(|a| a.name == *action.app()).unwrap();
            match action {
                Action::Freeze { .. } | Action::Compress { .. } => prop_assert!(!only_heard(app)),
                Action::Kill { .. } | Action::Ask { .. } if only_heard(app) => {
                    prop_assert!(free_mb < 12 && file_mb < 12, "the threshold of what is visible");
                    let other = s.apps.iter().find(|a| a.importance > Importance::Visible && !only_heard(a));
                    // A runaway may, where the kernel would be next.
                    prop_assert!(other.is_none() || (app.growth_bytes_per_s > 0 && free_mb < 8 && file_mb < 8));
                }
                _ => {}
            }
        }
    }
}
