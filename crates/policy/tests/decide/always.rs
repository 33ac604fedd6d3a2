// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What must hold for every snapshot.

use fovea_apps::{Importance, Standing};
use fovea_policy::memory::Mode;
use fovea_policy::*;
use proptest::prelude::*;

use super::{app, freezing, phone};

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
        stalled_us in prop::sample::select(vec![0u64, 1, 9000]), psi in 0.0f64..50.0, stall_percent in 0.0f64..50.0,
        screen_on: bool, kill_pending: bool, ladder: bool,
    ) {
        let apps: Vec<_> = picks.iter().enumerate().map(|(i, &(class, seq, anon, frozen, compressed, standing))| AppState {
            frozen, exhausted: compressed, standing: STANDINGS[standing], ..app(&format!("a{i}"), Importance::ALL[class], seq, anon)
        }).collect();
        let mut s = phone(free_mb, file_mb, used_mb, apps);
        (s.memory.stalled_us, s.memory.psi_full_avg10) = (stalled_us, psi);
        s.memory.stall_percent = stall_percent;
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
                    // With swap full, closed apps make room for files as soon as compressing would be due, were there room for that.
                    let swap_full = !ladder && s.memory.room_pages() < config.memory.room_least_pages;
                    let files_mb = if swap_full && class_of(app) == Importance::Empty { 48 } else { 32 };
                    prop_assert!(free_mb < 32 && file_mb < files_mb);
                    prop_assert!(!spared(of(app)) && !d.only_listed);
                    let giving = || s.apps.iter().filter(|a| a.anon_bytes > 0);
                    let plain = giving().filter(|a| a.standing <= Standing::Prefer).map(|a| a.importance).max();
                    match of(app).standing {
                        Standing::Avoid => prop_assert!(plain.is_none() && free_mb < 8 && file_mb < 8),
                        _ => prop_assert_eq!(Some(class_of(app)), plain, "highest adj first"),
                    }
                }
                Action::Ask { .. } => prop_assert!(false, "no grace is configured"),
                Action::DiskClass { .. } | Action::DiskForget { .. } | Action::DiskLimit { .. } => prop_assert!(false, "there is no disk"),
                Action::HoldWindow { .. } | Action::ReleaseWindow { .. } | Action::LimitUdp { .. } | Action::ReleaseUdp { .. } => prop_assert!(false, "nothing is received"),
                Action::Merge { .. } | Action::StopMerging { .. } => prop_assert!(false, "nobody is registered"),
                Action::Demote { .. } | Action::KeepOut { .. } | Action::LetIn { .. } => prop_assert!(false, "there is one kind of memory"),
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
