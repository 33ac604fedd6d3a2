// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to freeze: apps that nobody looks at and that serve nobody, once they have been so for a while.

use fovea_apps::Standing;

use crate::{AppState, FreezeConfig};

/// What to do about one app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freezing {
    /// Nothing.
    Leave,
    /// Freeze it.
    Freeze,
    /// Thaw it.
    Thaw,
    /// Look again at this time.
    At(u64),
}

/// Decides for one app. While nobody tells who is in front, whoever is frozen may be what the user looks at, so nobody is; nor is an
/// app that was never seen, whose first window the user may be waiting for, nor one that its owner protects, nor one that is heard. What can
/// be seen ranks as visible and is of no class here.
pub fn freezing(app: &AppState, focus_told: bool, now_ns: u64, config: &FreezeConfig) -> Freezing {
    let listed = matches!(app.standing, Standing::Protect | Standing::Ignore);
    let left_alone = listed || app.is_perceptible();
    let wanted =
        focus_told && app.seen && !left_alone && config.debounce_ms > 0 && config.classes.contains(&app.importance);
    let due_ns = app.background_since_ns.saturating_add(config.debounce_ms.saturating_mul(1_000_000));
    match (wanted, app.frozen) {
        (true, false) if now_ns >= due_ns => Freezing::Freeze,
        (true, false) => Freezing::At(due_ns),
        (false, true) => Freezing::Thaw,
        _ => Freezing::Leave,
    }
}
