// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to freeze: apps that nobody looks at and that serve nobody, once they have been so for a while.

use fovea_apps::Importance;
use serde::{Deserialize, Serialize};

use crate::{Action, AppState, Decision, Reason, Snapshot};

/// The freezer. Off by default: what an app does in the background, only its user can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FreezeConfig {
    /// Which apps may be frozen; only hidden and empty ones can be.
    pub classes: Vec<Importance>,
    /// Time an app must have been in the background before it is frozen; 0 for never.
    pub debounce_ms: u64,
}

impl Default for FreezeConfig {
    fn default() -> Self {
        Self { classes: Vec::new(), debounce_ms: 10_000 }
    }
}

impl FreezeConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        match self.classes.iter().all(|class| matches!(class, Importance::Hidden | Importance::Empty)) {
            true => Ok(()),
            false => {
                Err(("classes", "may name hidden and empty: apps of the other classes work for the user or for others"))
            }
        }
    }
}

/// Who is to be frozen, and who thawed.
pub fn decide(snapshot: &Snapshot, config: &FreezeConfig) -> Decision {
    let mut decision = Decision::default();
    for app in &snapshot.apps {
        match freezing(app, snapshot, config) {
            Freezing::Freeze => decision.push(Action::Freeze { app: app.name.clone() }, Reason::Background),
            Freezing::Thaw => {
                let reason = if snapshot.focus_told { Reason::Needed } else { Reason::Untold };
                decision.push(Action::Thaw { app: app.name.clone() }, reason);
            }
            Freezing::At(ns) => decision.wake_by(ns),
            Freezing::Leave => {}
        }
    }
    decision
}

/// What to do about one app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freezing {
    /// Nothing.
    Leave,
    /// Freeze it.
    Freeze,
    /// Thaw it.
    Thaw,
    /// Look again at this time.
    At(u64),
}

/// Decides for one app. While nobody tells who is in front, whoever is frozen may be what the user looks at, so nobody is. Nor is an app that
/// was never seen, whose first window the user may be waiting for; one that its owner protects; one that is heard; one that was asked to
/// end and saves its work. What can be seen ranks as visible and is of no class here. One that is asked for by name while a source says that
/// another is in front has the time of a debounce to get there.
fn freezing(app: &AppState, snapshot: &Snapshot, config: &FreezeConfig) -> Freezing {
    let now_ns = snapshot.now_ns;
    let asked = snapshot.asked.as_ref().is_some_and(|asked| asked.app == app.name);
    let left_alone = app.standing.is_spared() || asked || app.is_perceptible();
    let wanted = snapshot.focus_told
        && app.seen
        && !left_alone
        && config.debounce_ms > 0
        && config.classes.contains(&app.importance);
    let due_ns = app.background_since_ns.saturating_add(config.debounce_ms.saturating_mul(1_000_000));
    match (wanted, app.frozen) {
        (true, false) if now_ns >= due_ns => Freezing::Freeze,
        (true, false) => Freezing::At(due_ns),
        (true, true) if now_ns < due_ns => Freezing::Thaw,
        (false, true) => Freezing::Thaw,
        _ => Freezing::Leave,
    }
}
