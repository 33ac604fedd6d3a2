// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What moves next.

use fovea_apps::{AppName, Importance, Standing};
use serde::{Deserialize, Serialize};

/// Memory of two speeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TierConfig {
    /// Whether the daemon sees to it.
    pub enabled: bool,
    /// Pages that may move in a second, in either direction.
    pub pages_per_s: u64,
    /// Pages that may move at once.
    pub batch_pages: u64,
    /// Fast memory that is to be free, in thousandths: demotion ahead of need begins below it, and ends at half as much again.
    pub reserve_permille: u64,
}

impl Default for TierConfig {
    fn default() -> Self {
        // Choices, not yet measured: 16 MiB a second, 2 MiB at once.
        Self { enabled: true, pages_per_s: 4096, batch_pages: 512, reserve_permille: 50 }
    }
}

impl TierConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        match () {
            () if !(1..=1 << 24).contains(&self.pages_per_s) => Err(("pages_per_s", "must be 1 to 2^24")),
            () if !(1..=1 << 18).contains(&self.batch_pages) => Err(("batch_pages", "must be 1 to 2^18")),
            () if !(1..=500).contains(&self.reserve_permille) => Err(("reserve_permille", "must be 1 to 500")),
            () => Ok(()),
        }
    }
}

/// Fast memory, as far as a decision depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierState {
    /// All of it; 0 on a machine with one kind of memory.
    pub fast_pages: u64,
    /// What is free of it.
    pub free_pages: u64,
    /// Whether an app in front waits for memory now.
    pub foreground_waits: bool,
    /// Demotion has begun and has not come to its end.
    pub demoting: bool,
}

/// An app, as far as a decision depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierApp {
    /// Its name.
    pub name: AppName,
    /// How much it matters.
    pub importance: Importance,
    /// What its owner said of it.
    pub standing: Standing,
    /// Since when it has been in the background; 0 in front.
    pub background_since_ns: u64,
    /// Its pages in fast memory.
    pub fast_pages: u64,
    /// Its pages in slow memory that were written of late; what is only read there stays (Hybrid15, figure 1c).
    pub written_slow_pages: u64,
    /// Its pages in slow memory that were used more than twice of late.
    pub hot_slow_pages: u64,
    /// New pages of it go to slow memory.
    pub steered_slow: bool,
}

impl TierApp {
    fn is_managed(&self) -> bool {
        self.standing != Standing::Ignore
    }

    fn is_in_front(&self) -> bool {
        matches!(self.importance, Importance::Foreground | Importance::Visible)
    }
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "kebab-case")]
pub enum Move {
    /// New pages go to slow memory, or to any.
    Steer {
        /// App.
        app: AppName,
        /// To slow memory only.
        slow: bool,
    },
    /// Its coldest fast pages go to slow memory.
    Demote {
        /// App.
        app: AppName,
        /// How many.
        pages: u64,
    },
    /// Those of its slow pages that it uses go to fast memory.
    Promote {
        /// App.
        app: AppName,
        /// How many at most.
        pages: u64,
    },
}

/// What moves now, by the `budget_pages` there are; and whether demotion is to go on.
pub fn decide(state: TierState, apps: &[TierApp], config: &TierConfig, budget_pages: u64) -> (Vec<Move>, bool) {
    let mut moves = Vec::new();
    if !config.enabled || state.fast_pages == 0 {
        // What was steered is let go, and nothing else is touched.
        let steered = apps.iter().filter(|app| app.steered_slow);
        moves.extend(steered.map(|app| Move::Steer { app: app.name.clone(), slow: false }));
        return (moves, false);
    }
    moves.extend(apps.iter().filter_map(|app| steer(app, config)));
    let mut left = budget_pages.min(config.batch_pages);
    let reserve = (u128::from(state.fast_pages) * u128::from(config.reserve_permille) / 1000) as u64;
    let mut free = state.free_pages;

    // The foreground may use the reserve up to a half: that is what it is for.
    let managed = || apps.iter().filter(|app| app.is_managed());
    for app in managed().filter(|app| app.is_in_front()) {
        let pages = app.written_slow_pages.max(app.hot_slow_pages);
        promote(app, pages, reserve / 2, &mut free, &mut left, &mut moves);
    }
    let enough = reserve + reserve / 2;
    let demoting = free < if state.demoting { enough } else { reserve };
    if demoting && !state.foreground_waits {
        let mut from: Vec<&TierApp> = managed().filter(|app| !app.is_in_front() && app.fast_pages > 0).collect();
        // The least important first, and of these who has been in the background longest.
        from.sort_by_key(|app| (std::cmp::Reverse(app.importance), app.background_since_ns, &app.name));
        let mut wanted = enough - free;
        for app in from {
            let pages = app.fast_pages.min(wanted).min(left);
            if pages > 0 {
                moves.push(Move::Demote { app: app.name.clone(), pages });
                (wanted, left) = (wanted - pages, left - pages);
            }
        }
    }
    if !demoting && !state.foreground_waits {
        // What fast memory nobody in front needs.
        for app in managed().filter(|app| !app.is_in_front()) {
            promote(app, app.hot_slow_pages, enough, &mut free, &mut left, &mut moves);
        }
    }
    (moves, demoting)
}

/// The kernel moves all mapped pages of a cgroup at once when its `cpuset.mems` leaves their node out, so an app is steered to slow memory
/// only when what it still has in fast memory is one batch.
fn steer(app: &TierApp, config: &TierConfig) -> Option<Move> {
    let slow = match app.is_managed() && !app.is_in_front() {
        true => app.steered_slow || app.fast_pages <= config.batch_pages,
        false => false,
    };
    (slow != app.steered_slow).then(|| Move::Steer { app: app.name.clone(), slow })
}

fn promote(app: &TierApp, pages: u64, keep: u64, free: &mut u64, left: &mut u64, moves: &mut Vec<Move>) {
    let pages = pages.min(free.saturating_sub(keep)).min(*left);
    if pages > 0 {
        moves.push(Move::Promote { app: app.name.clone(), pages });
        (*free, *left) = (*free - pages, *left - pages);
    }
}
