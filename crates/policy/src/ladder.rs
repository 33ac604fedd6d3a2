// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to kill (seed 002, figures 2-18 to 2-20): highest adj first, largest first within a class.

use fovea_apps::Importance;

use crate::{AppState, MemoryState, SwapState, PAGE_BYTES};

/// A kill that gives back less than this ends an app for nothing.
const LEAST_GAIN_BYTES: u64 = 1 << 20;

/// The app to kill among those of class `least_important` and less important ones. Not one that was killed in vain, nor one of which nothing
/// would come back: however little they matter, memory is found elsewhere.
pub fn victim<'a>(apps: &'a [AppState], memory: &MemoryState, least_important: Importance) -> Option<&'a AppState> {
    let size = |app: &AppState| size_bytes(app, memory.swap);
    apps.iter()
        .filter(|a| a.importance >= least_important && !a.spared && size(a) >= LEAST_GAIN_BYTES)
        .max_by(|a, b| (a.importance, size(a), &b.name).cmp(&(b.importance, size(b), &a.name)))
}

/// What killing it gives back: its anonymous memory, and what its compressed pages occupy. Not the page cache that it is charged for:
/// that stays when it dies, and could be had without.
fn size_bytes(app: &AppState, swap: Option<SwapState>) -> u64 {
    let page_cost_bytes = swap.and_then(|s| s.zram).map_or(0, |zram| zram.page_cost_bytes());
    // Its charge is the fresher of the two.
    app.anon_bytes.min(app.current_bytes) + app.swap_bytes / PAGE_BYTES * page_cost_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn app(name: &str, importance: Importance, anon_mb: u64) -> AppState {
        let anon_bytes = anon_mb << 20;
        AppState {
            name: name.parse().unwrap(),
            importance,
            focus_seq: 0,
            background_since_ns: 0,
            seen: true,
            spared: false,
            frozen: false,
            anon_bytes,
            current_bytes: anon_bytes,
            swap_bytes: 0,
            returned: false,
            compressed: false,
        }
    }

    #[test]
    fn class_goes_before_size() {
        let apps = [
            app("game", Importance::Hidden, 90),
            app("mail", Importance::Empty, 10),
            app("maps", Importance::Empty, 20),
            app("front", Importance::Foreground, 500),
        ];
        assert_eq!(victim(&apps, &MemoryState::default(), Importance::Hidden).unwrap().name.as_str(), "maps");
        assert_eq!(victim(&apps[..1], &MemoryState::default(), Importance::Hidden).unwrap().name.as_str(), "game");
        assert!(victim(&apps[3..], &MemoryState::default(), Importance::Visible).is_none());
    }

    #[test]
    fn what_a_kill_gives_back_is_what_counts() {
        let reader = AppState { current_bytes: 300 << 20, ..app("reader", Importance::Hidden, 10) };
        let compressed = AppState { swap_bytes: 40 << 20, ..app("sleeper", Importance::Hidden, 1) };
        let game = app("game", Importance::Hidden, 12);
        let shrunk = AppState { current_bytes: 5 << 20, ..app("shrunk", Importance::Hidden, 90) };
        let apps = [reader, compressed, game, shrunk];
        let pick = |zram| {
            let swap = Some(SwapState { zram, ..SwapState::default() });
            victim(&apps, &MemoryState { swap, ..MemoryState::default() }, Importance::Hidden).unwrap().name.to_string()
        };
        assert_eq!(pick(None), "game");
        // At 3:1 the sleeper's 40 MB occupy more than the game does.
        let zram = crate::ZramState { original_bytes: 90 << 20, used_bytes: 30 << 20, ..Default::default() };
        assert_eq!(pick(Some(zram)), "sleeper");
    }

    proptest! {
        /// Reference: sort all, take the last.
        #[test]
        fn the_victim_is_the_worst_of_all(picks in prop::collection::vec((0usize..6, 0u64..9, any::<bool>()), 0..30), least in 0usize..6) {
            let apps: Vec<_> = picks.iter().enumerate()
                .map(|(i, &(class, size, spared))| AppState { spared, ..app(&format!("a{i:02}"), Importance::ALL[class], size) }).collect();
            let least = Importance::ALL[least];
            let mut order: Vec<_> = apps.iter().filter(|a| a.importance >= least && !a.spared && a.anon_bytes > 0).collect();
            order.sort_by_key(|a| (a.importance.weight(), a.anon_bytes, std::cmp::Reverse(a.name.clone())));
            prop_assert_eq!(victim(&apps, &MemoryState::default(), least).map(|a| &a.name), order.last().map(|a| &a.name));
        }
    }
}
