// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon would do, one decision after the other, if each did what it is expected to do.

use fovea_apps::{Importance, Standing, PAGE_BYTES};
use serde::{Deserialize, Serialize};

use crate::memory::victim::size_bytes;
use crate::memory::{pressure, Pressure};
use crate::{decide, Action, AppState, Config, Reason, Snapshot};

/// Decisions followed, at most: a whole swap in batches.
const DECISIONS_MAX: usize = 20_000;

/// Steps told, at most.
const STEPS_MAX: usize = 256;

/// One thing that would be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What. Batches of one app's compression are one step.
    #[serde(flatten)]
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// The app's rank.
    pub importance: Importance,
    /// What its owner says of it.
    pub standing: Standing,
    /// Free memory before.
    pub free_bytes: u64,
    /// What it would give: of a kill what the app occupies, of a compression what zram's experience so far says, half where there is none.
    pub gives_bytes: u64,
}

/// All that would be done until nothing is due any more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Steps in order.
    pub steps: Vec<Step>,
    /// How short memory is before the first.
    pub before: Option<Pressure>,
    /// And after the last.
    pub after: Option<Pressure>,
    /// In the end only apps on their owner's lists were left.
    pub only_listed: bool,
}

/// Follows [`decide`] on a snapshot that is changed as its steps would change the device. Time passes only where a step waits for it.
pub fn plan(mut snapshot: Snapshot, config: &Config) -> Plan {
    let mut plan = Plan { before: Some(pressure(&snapshot.memory, &config.memory)), ..Plan::default() };
    for _ in 0..DECISIONS_MAX {
        if plan.steps.len() >= STEPS_MAX {
            return plan;
        }
        let decision = decide(&snapshot, config);
        plan.after = decision.pressure;
        plan.only_listed = decision.only_listed;
        if decision.actions.is_empty() {
            // A step that memory needs may wait for the CPU or a grace; the freezer's debounce is a matter of its own.
            let waits = snapshot.cpu_busy || snapshot.focused_ns.is_some();
            if decision.pressure.is_none_or(|p| p.shortage.is_none()) || !waits {
                return plan;
            }
            (snapshot.cpu_busy, snapshot.focused_ns) = (false, None);
            continue;
        }
        let mut changed = false;
        for (action, reason) in decision.actions {
            let Some(at) = snapshot.apps.iter().position(|app| app.name == *action.app()) else { continue };
            let free_bytes = snapshot.memory.free_bytes;
            let AppState { importance, standing, .. } = snapshot.apps[at];
            let applied = apply(&mut snapshot, at, &action);
            changed |= applied.is_some();
            if applied.is_none() && plan.steps.iter().any(|step| step.action == action) {
                continue;
            }
            let gives_bytes = applied.unwrap_or(0);
            match plan.steps.last_mut() {
                Some(Step { action: Action::Compress { app, pages }, gives_bytes: gives, reason: why, .. })
                    if matches!(&action, Action::Compress { app: same, .. } if same == app) && *why == reason =>
                {
                    let Action::Compress { pages: more, .. } = action else { continue };
                    *pages += more;
                    *gives += gives_bytes;
                }
                _ => plan.steps.push(Step { action, reason, importance, standing, free_bytes, gives_bytes }),
            }
        }
        if !changed {
            return plan;
        }
    }
    plan
}

/// Changes the snapshot as the action would change the device; returns the memory that it gives, or nothing if what it changes is not followed:
/// it would be decided again, and is told once.
fn apply(snapshot: &mut Snapshot, at: usize, action: &Action) -> Option<u64> {
    let memory = &mut snapshot.memory;
    let app = &mut snapshot.apps[at];
    let gives_bytes = match action {
        Action::Freeze { .. } => {
            app.frozen = true;
            return Some(0);
        }
        Action::Thaw { .. } => {
            app.frozen = false;
            return Some(0);
        }
        Action::Compress { pages, .. } => {
            let moved_bytes = (pages * PAGE_BYTES).min(app.anon_bytes);
            app.anon_bytes -= moved_bytes;
            app.swap_bytes += moved_bytes;
            let mut costs_bytes = 0;
            if let Some(swap) = &mut memory.swap {
                swap.free_bytes = swap.free_bytes.saturating_sub(moved_bytes);
                if let Some(zram) = &mut swap.zram {
                    costs_bytes = moved_bytes / PAGE_BYTES * zram.page_cost_bytes();
                    zram.original_bytes += moved_bytes;
                    zram.used_bytes += costs_bytes;
                }
            }
            // The kernel was asked for all of it; less would be moved only of what does not compress.
            app.exhausted = moved_bytes < pages * PAGE_BYTES;
            moved_bytes.saturating_sub(costs_bytes)
        }
        Action::Ask { .. } | Action::Kill { .. } => {
            let gives_bytes = size_bytes(app, memory.swap);
            if let Some(swap) = &mut memory.swap {
                swap.free_bytes = (swap.free_bytes + app.swap_bytes).min(swap.total_bytes);
                if let Some(zram) = &mut swap.zram {
                    let costs_bytes = app.swap_bytes / PAGE_BYTES * zram.page_cost_bytes();
                    zram.used_bytes = zram.used_bytes.saturating_sub(costs_bytes);
                    zram.original_bytes = zram.original_bytes.saturating_sub(app.swap_bytes);
                }
            }
            snapshot.apps.remove(at);
            gives_bytes
        }
        Action::DiskClass { class, .. } => {
            app.disk_class = Some(*class);
            return Some(0);
        }
        Action::DiskForget { .. } => {
            app.disk_class = None;
            return Some(0);
        }
        Action::DiskLimit { bytes_per_s, .. } => {
            app.disk_limit = *bytes_per_s;
            return Some(0);
        }
        _ => return None,
    };
    snapshot.memory.free_bytes += gives_bytes;
    snapshot.memory.available_bytes += gives_bytes;
    Some(gives_bytes)
}
