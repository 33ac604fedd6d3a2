// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The ladder's first step: apps are asked to give memory back before any of them is killed. The levels are those of
//! `org.freedesktop.LowMemoryMonitor`, which GLib's GMemoryMonitor passes on to apps.

use fovea_apps::Importance;
use serde::{Deserialize, Serialize};

use super::decide::{has_room, worth_killing};
use super::{MemoryConfig, Pressure};
use crate::{Action, Decision, Snapshot};

/// What apps are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// Memory is short: caches should go. Idle apps are compressed, and nobody is killed.
    Low,
    /// The ladder's first threshold is reached: apps should try harder.
    Medium,
    /// Compression no longer helps: apps in the background die next, or one dies now.
    Critical,
}

impl Warning {
    /// GLib's number (GMemoryMonitorWarningLevel).
    pub fn level(self) -> u8 {
        match self {
            Self::Low => 50,
            Self::Medium => 100,
            Self::Critical => 255,
        }
    }
}

/// What a decision has to be warned of.
pub(super) fn warning(
    decision: &Decision,
    pressure: &Pressure,
    snapshot: &Snapshot,
    config: &MemoryConfig,
) -> Option<Warning> {
    let ends = |action: &Action| matches!(action, Action::Ask { .. } | Action::Kill { .. });
    let is_last = || worth_killing(&snapshot.memory, has_room(snapshot, config), pressure);
    if decision.actions.iter().any(|(action, _)| ends(action)) {
        return Some(Warning::Critical);
    }
    match pressure.ladder {
        Some(class) if class <= Importance::Hidden && is_last() => Some(Warning::Critical),
        Some(_) => Some(Warning::Medium),
        None => pressure.shortage.map(|_| Warning::Low),
    }
}

/// Time after which a warning is repeated, or taken back: as far as PSI's shortest average reaches back. Whoever gave memory back a moment ago has
/// no more to give.
const AGAIN_NS: u64 = 10_000_000_000;

/// What apps were told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warned {
    last: Option<(Option<Warning>, u64)>,
}

impl Warned {
    /// What holds, as far as apps were told.
    pub fn now(&self) -> Option<Warning> {
        self.last.and_then(|(warning, _)| warning)
    }

    /// Takes what is so now. Returns whether apps are to be told: at once of what is worse than the last, of anything else some time later.
    pub fn is_news(&mut self, warning: Option<Warning>, now_ns: u64) -> bool {
        let is_late = self.last.is_none_or(|(_, told_ns)| now_ns.saturating_sub(told_ns) >= AGAIN_NS);
        let is_news = warning > self.now() || is_late && (warning.is_some() || self.now().is_some());
        if is_news {
            self.last = Some((warning, now_ns));
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{decide, MemoryState, SwapState};
    use crate::AppState;

    const MB: u64 = 1 << 20;

    /// A phone of 512 MB with one app in the background, and so much free and in caches.
    fn phone(free_mb: u64, file_mb: u64, swap: Option<SwapState>) -> Snapshot {
        let memory = MemoryState {
            total_bytes: 512 * MB,
            free_bytes: free_mb * MB,
            file_bytes: file_mb * MB,
            available_bytes: 200 * MB,
            swap,
            ..MemoryState::default()
        };
        let bytes = 90 * MB;
        let mail = AppState {
            anon_bytes: bytes,
            current_bytes: bytes,
            ..AppState::new("mail".parse().unwrap(), Importance::Hidden)
        };
        Snapshot { memory, apps: vec![mail], ..Snapshot::default() }
    }

    fn told(snapshot: &Snapshot) -> Option<Warning> {
        decide(snapshot, &MemoryConfig::default()).warning
    }

    fn swap(free_mb: u64) -> Option<SwapState> {
        Some(SwapState { total_bytes: 256 * MB, free_bytes: free_mb * MB, zram: None })
    }

    #[test]
    fn apps_are_warned_in_glibs_levels_before_one_is_killed() {
        assert_eq!(told(&phone(100, 100, swap(200))), None);
        assert_eq!(told(&phone(20, 47, swap(200))), Some(Warning::Low), "compression begins");
        assert_eq!(told(&phone(10, 31, swap(200))), Some(Warning::Medium), "closed apps may die");
        assert_eq!(told(&phone(10, 23, swap(200))), Some(Warning::Medium), "there is room to compress into");
        assert_eq!(told(&phone(10, 23, swap(0))), Some(Warning::Critical));
        assert_eq!(told(&phone(10, 23, None)), Some(Warning::Critical), "nothing to compress into");
        assert_eq!([Warning::Low, Warning::Medium, Warning::Critical].map(Warning::level), [50, 100, 255]);
    }

    /// The same device, with less and less left: what comes before the decision that ends an app.
    #[test]
    fn the_last_warning_comes_before_the_first_kill() {
        let mut levels = Vec::new();
        for left_mb in (1..60).rev() {
            let mut snapshot = phone(left_mb, left_mb * 3 / 2, swap(0));
            snapshot.memory.stalled_us = if left_mb < 14 { 1000 } else { 0 };
            let decision = decide(&snapshot, &MemoryConfig::default());
            if !decision.actions.is_empty() {
                levels.dedup();
                assert_eq!(levels, [None, Some(Warning::Low), Some(Warning::Medium), Some(Warning::Critical)]);
                assert_eq!(decision.warning, Some(Warning::Critical));
                return;
            }
            levels.push(decision.warning);
        }
        panic!("nobody is killed");
    }

    #[test]
    fn what_goes_up_and_down_is_told_as_often_as_it_helps() {
        let mut warned = Warned::default();
        let second = |s: u64| s * 1_000_000_000;
        let (low, medium) = (Some(Warning::Low), Some(Warning::Medium));
        assert!(!warned.is_news(None, 0), "nothing was ever wrong");
        assert!(warned.is_news(low, second(1)) && warned.is_news(medium, second(1)));
        let flaps = (0..100).filter(|n| warned.is_news([None, medium, low][n % 3], second(2) + *n as u64)).count();
        assert_eq!((flaps, warned.now()), (0, medium));
        assert!(warned.is_news(medium, second(11)), "it goes on");
        assert!(!warned.is_news(None, second(20)));
        assert!(warned.is_news(None, second(21)) && warned.now().is_none());
        assert!(!warned.is_news(None, second(90)));
        assert!(warned.is_news(low, second(91)));
    }
}
