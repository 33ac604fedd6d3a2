// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whose disk requests come first (Aciom11, section 4): which class each app has with the disk, or, where the disk knows no classes, how much
//! bursty apps may have of it.

use fovea_apps::{DiskControl, IoClass, Standing};
use serde::{Deserialize, Serialize};

use crate::{Action, AppState, Decision, Reason, Snapshot};

/// Disk requests by what apps are doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskConfig {
    /// Whether the daemon sees to it.
    pub enabled: bool,
    /// What the disk can do, bytes a second. 0: not known; dm-aciom then finds it, and without dm-aciom nobody is limited.
    pub cmax_bytes_per_s: u64,
    /// Time an app must have had a class that is not time-sensitive before the disk is told.
    pub settle_ms: u64,
    /// Time between two looks at what time-sensitive apps take, where bursty ones are limited by that.
    pub look_ms: u64,
    /// Whether the `io` controller is enabled above apps where it is not; else that is left as the system has it.
    pub enable_controller: bool,
}

impl Default for DiskConfig {
    fn default() -> Self {
        Self { enabled: true, cmax_bytes_per_s: 0, settle_ms: 1000, look_ms: 500, enable_controller: false }
    }
}

impl DiskConfig {
    /// Checks what serde cannot; the error is the key and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        match () {
            () if self.cmax_bytes_per_s != 0 && !(1 << 16..=1 << 40).contains(&self.cmax_bytes_per_s) => {
                Err(("cmax_bytes_per_s", "must be 0 or 65536 to 2^40, in bytes a second"))
            }
            () if !(100..=60_000).contains(&self.settle_ms) => Err(("settle_ms", "must be 100 to 60000")),
            () if !(100..=60_000).contains(&self.look_ms) => Err(("look_ms", "must be 100 to 60000")),
            () => Ok(()),
        }
    }
}

/// The disk, as far as a decision depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskState {
    /// By what classes count.
    pub control: DiskControl,
    /// What time-sensitive apps take, bytes a second.
    #[serde(default)]
    pub sensitive_bytes_per_s: u64,
    /// Whether one of them has used the disk of late.
    #[serde(default)]
    pub is_used: bool,
    /// Looks, one after the other, at which none had.
    #[serde(default)]
    pub idle_looks: u32,
    /// When that was last looked at.
    #[serde(default)]
    pub looked_ns: u64,
}

/// What the disk is to be told.
pub fn decide(snapshot: &Snapshot, config: &DiskConfig) -> Decision {
    let mut decision = Decision::default();
    for app in &snapshot.apps {
        match class_update(app, snapshot, config) {
            ClassUpdate::Set(class) => {
                decision.push(Action::DiskClass { app: app.name.clone(), class }, Reason::IoClass);
            }
            ClassUpdate::Unset => decision.push(Action::DiskForget { app: app.name.clone() }, Reason::Unmanaged),
            ClassUpdate::Later(ns) => decision.wake_by(ns),
            ClassUpdate::Keep => {}
        }
    }
    limit(snapshot, config, &mut decision);
    decision
}

fn is_managed(app: &AppState, config: &DiskConfig) -> bool {
    config.enabled && app.standing != Standing::Ignore
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClassUpdate {
    Keep,
    Set(IoClass),
    Unset,
    Later(u64),
}

/// What the disk is told of one app's class. That it has become time-sensitive cannot wait; what else it becomes waits until it has been that for a
/// while: so an app that changes every few milliseconds costs two messages in `settle_ms` at most.
fn class_update(app: &AppState, snapshot: &Snapshot, config: &DiskConfig) -> ClassUpdate {
    if !snapshot.disk.control.takes_classes() || !is_managed(app, config) {
        return if app.disk_class.is_some() { ClassUpdate::Unset } else { ClassUpdate::Keep };
    }
    let class = app.io_class.class;
    let due_ns = app.io_class_since_ns.saturating_add(config.settle_ms.saturating_mul(1_000_000));
    match app.disk_class {
        Some(told) if told == class => ClassUpdate::Keep,
        Some(_) if class != IoClass::TimeSensitive && snapshot.now_ns < due_ns => ClassUpdate::Later(due_ns),
        // The first word about an app is no change.
        _ => ClassUpdate::Set(class),
    }
}

/// A limit that is not further off than an eighth stays as it is.
const CLOSE_SHIFT: u32 = 3;

/// Longest time between two looks at apps that do not use the disk: that many times doubled.
const IDLE_DOUBLINGS_MAX: u32 = 4;

/// Where the disk knows no classes: what bursty apps may have of it (Aciom11, 4.2: RB). There is no limit while no time-sensitive app uses the
/// disk, and nobody looks while there is none, or none to be limited.
fn limit(snapshot: &Snapshot, config: &DiskConfig, decision: &mut Decision) {
    let disk = &snapshot.disk;
    let limited = disk.control == DiskControl::Limits && config.cmax_bytes_per_s > 0;
    let of = |class| {
        let managed = move |app: &&AppState| is_managed(app, config) && app.io_class.class == class;
        snapshot.apps.iter().filter(managed)
    };
    let bursty = of(IoClass::Bursty).count() as u64;
    let is_watched = limited && bursty > 0 && of(IoClass::TimeSensitive).next().is_some();
    let budget =
        (is_watched && disk.is_used).then(|| budget(config.cmax_bytes_per_s, disk.sensitive_bytes_per_s, bursty));
    for app in &snapshot.apps {
        let wanted = budget.filter(|_| is_managed(app, config) && app.io_class.class == IoClass::Bursty);
        let bytes_per_s = match (app.disk_limit, wanted) {
            (None, None) => continue,
            (Some(now), Some(wanted)) if now.abs_diff(wanted) <= now >> CLOSE_SHIFT => continue,
            (_, wanted) => wanted,
        };
        let reason = if bytes_per_s.is_some() { Reason::Budget } else { Reason::NobodyWaits };
        decision.push(Action::DiskLimit { app: app.name.clone(), bytes_per_s }, reason);
    }
    if is_watched {
        decision.watch_by(next_look_ns(disk, config));
    }
}

/// When to look again at what time-sensitive apps take: less often the longer they have taken nothing.
pub fn next_look_ns(disk: &DiskState, config: &DiskConfig) -> u64 {
    let look_ns = config.look_ms.saturating_mul(1_000_000);
    disk.looked_ns.saturating_add(look_ns << disk.idle_looks.min(IDLE_DOUBLINGS_MAX))
}

/// What one of so many bursty apps may have, bytes a second: what time-sensitive ones and the headroom, a tenth, leave over; in all not less than a
/// sixteenth, so that nobody starves.
pub fn budget(cmax: u64, sensitive: u64, bursty: u64) -> u64 {
    /// What the smallest limit is for one app: some requests a second.
    const LEAST: u64 = 16 << 10;
    let left = cmax.saturating_sub(sensitive).saturating_sub(cmax / 10);
    (left.max(cmax / 16) / bursty.max(1)).max(LEAST)
}
