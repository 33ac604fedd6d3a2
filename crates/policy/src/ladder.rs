// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to kill (seed 002, figures 2-18 to 2-20): highest adj first, largest first within a class.

use fovea_apps::Importance;

use crate::AppState;

/// The app to kill among those of class `least_important` and less important ones.
pub fn victim(apps: &[AppState], least_important: Importance) -> Option<&AppState> {
    apps.iter()
        .filter(|a| a.importance >= least_important)
        .max_by(|a, b| (a.importance, size_bytes(a), &b.name).cmp(&(b.importance, size_bytes(b), &a.name)))
}

/// What killing it gives back: its charge, which counts its compressed pages at their compressed size, and, for kernels without
/// that charge, its resident memory.
fn size_bytes(app: &AppState) -> u64 {
    app.current_bytes.max(app.anon_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn app(name: &str, importance: Importance, anon_bytes: u64) -> AppState {
        AppState {
            name: name.parse().unwrap(),
            importance,
            focus_seq: 0,
            background_since_ns: 0,
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
        assert_eq!(victim(&apps, Importance::Hidden).unwrap().name.as_str(), "maps");
        assert_eq!(victim(&apps[..1], Importance::Hidden).unwrap().name.as_str(), "game");
        assert!(victim(&apps[3..], Importance::Visible).is_none());
    }

    proptest! {
        /// Reference: sort all, take the last.
        #[test]
        fn the_victim_is_the_worst_of_all(picks in prop::collection::vec((0usize..6, 0u64..9), 0..30), least in 0usize..6) {
            let apps: Vec<_> = picks.iter().enumerate()
                .map(|(i, &(class, size))| app(&format!("a{i:02}"), Importance::ALL[class], size)).collect();
            let least = Importance::ALL[least];
            let mut order: Vec<_> = apps.iter().filter(|a| a.importance >= least).collect();
            order.sort_by_key(|a| (a.importance.weight(), a.anon_bytes, std::cmp::Reverse(a.name.clone())));
            prop_assert_eq!(victim(&apps, least).map(|a| &a.name), order.last().map(|a| &a.name));
        }
    }
}
