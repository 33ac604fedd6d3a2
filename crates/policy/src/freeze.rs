// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to freeze: apps that nobody looks at and that serve nobody, once they have been so for a while.

use fovea_apps::Importance;

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

/// Decides for one app. Services, content providers and visible apps work for others and are never frozen.
pub fn freezing(app: &AppState, now_ns: u64, config: &FreezeConfig) -> Freezing {
    let idle = matches!(app.importance, Importance::Hidden | Importance::Empty);
    let wanted = idle && config.debounce_ms > 0;
    let due_ns = app.background_since_ns.saturating_add(config.debounce_ms.saturating_mul(1_000_000));
    match (wanted, app.frozen) {
        (true, false) if now_ns >= due_ns => Freezing::Freeze,
        (true, false) => Freezing::At(due_ns),
        (false, true) => Freezing::Thaw,
        _ => Freezing::Leave,
    }
}
