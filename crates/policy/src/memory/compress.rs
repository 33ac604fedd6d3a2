// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Whom to compress (LowMem13, section 3.3): empty apps, then hidden ones; within a class the one longest unused. Ahead of need, only those
//! that nobody uses, while the device idles.

use fovea_apps::{Importance, Standing, PAGE_BYTES};

use super::growth::LEAST_BYTES_PER_S;
use super::thresholds::thresholds;
use super::{MemoryConfig, MemoryState, Pressure, Rule};
use crate::{AppState, Snapshot};

/// Memory is plentiful while so many times what a shortage begins at is available: a large app can start and nothing is short. Pages would be
/// compressed for nothing.
const PLENTIFUL: u64 = 4;

/// The same for an app that is open: its user is likelier to come back to it, and then pays for what was taken.
const PLENTIFUL_OPEN: u64 = 2;

/// The next app to compress among the given classes: first what nobody is known to need, of closed apps before open ones; then, in the same
/// order, what apps' last returns touched, for their next ones will touch it again.
///
/// While memory is merely short some apps are spared: free memory that is kept for the next app is worth less than what the next return will
/// touch. What last returns touched stays until whoever allocates has to wait, and that of an app that was left only just now, to which people
/// return most often, until the kernel has next to nothing left. Of an open app that was left just now all stays, unless the next step is a kill.
pub fn candidate<'a>(
    snapshot: &'a Snapshot,
    classes: &[Importance],
    config: &MemoryConfig,
    pressure: &Pressure,
) -> Option<&'a AppState> {
    let is_spared = |a: &AppState| {
        let just_left = config.has(Rule::JustLeftStays) && is_just_left(a, snapshot, config);
        let is_open = a.importance != Importance::Empty;
        let needed = comes_back(a, config) && !(if just_left { pressure.drained } else { pressure.critical });
        needed || (just_left && is_open && !pressure.critical && pressure.ladder.is_none())
    };
    let order = |a: &AppState| (comes_back(a, config), a.importance != Importance::Empty, a.focus_seq);
    let apps = snapshot.apps.iter().filter(|a| classes.contains(&a.importance) && is_worth(a, config));
    apps.filter(|a| !is_spared(a)).min_by(|a, b| (order(a), &a.name).cmp(&(order(b), &b.name)))
}

/// Whether what an app has in memory is what its last return touched, as far as anybody knows, and what does not compress.
pub fn comes_back(app: &AppState, config: &MemoryConfig) -> bool {
    config.has(Rule::LastReturnStays)
        && app.returned
        && app.looked_through
        && app.anon_bytes * 100 <= (app.anon_bytes + app.swap_bytes) * config.keep_returned_percent
}

/// Whether an app went to the background, or was closed, so short a time ago that the user may well come back to it.
pub(crate) fn is_just_left(app: &AppState, snapshot: &Snapshot, config: &MemoryConfig) -> bool {
    matches!(app.importance, Importance::Hidden | Importance::Empty)
        && was_left_within(config.just_left_ms, app, snapshot)
}

pub(crate) fn was_left_within(ms: u64, app: &AppState, snapshot: &Snapshot) -> bool {
    app.background_since_ns > snapshot.now_ns.saturating_sub(ms.saturating_mul(1_000_000))
}

/// The next app to compress ahead of need. What the last return of an app touched is spared: its next return will touch it again (LowMem13,
/// section 3.1, counts that double cost against compression that does not know whose pages it takes).
pub fn candidate_ahead<'a>(snapshot: &'a Snapshot, config: &MemoryConfig) -> Option<&'a AppState> {
    let is_due = |a: &&AppState| due_ns(a, snapshot, config).is_some_and(|due_ns| snapshot.now_ns >= due_ns);
    let order = |a: &AppState| (a.importance != Importance::Empty, a.focus_seq);
    let due = snapshot.apps.iter().filter(is_due).filter(|a| is_worth(a, config) && !comes_back(a, config));
    due.min_by(|a, b| (order(a), &a.name).cmp(&(order(b), &b.name)))
}

/// When an app's turn comes to be compressed ahead of need; `None` if it has none as things stand.
///
/// With the screen off, one that is closed has it at once. The paper compresses those until the swap is full, whatever is free, and by its
/// thresholds so do we, but for one that the user has come back to before: it is left alone while a large app could start all the same. A device
/// with more memory is left alone while that is plentiful. One that is open, or with the screen on any, must have been unused for a while.
fn due_ns(app: &AppState, snapshot: &Snapshot, config: &MemoryConfig) -> Option<u64> {
    // What a runaway gets compressed it takes again; and nothing is written to storage that may never have to be.
    if !config.has(Rule::Ahead)
        || app.growth_bytes_per_s >= LEAST_BYTES_PER_S
        || snapshot.memory.spills(config.room_least_pages)
    {
        return None;
    }
    if app.importance == Importance::Empty && !snapshot.screen_on {
        let is_left_alone = match config.minfree_pages.is_some() {
            true => app.uses > 1 && is_plentiful(&snapshot.memory, config, PLENTIFUL_OPEN),
            false => is_plentiful(&snapshot.memory, config, PLENTIFUL),
        };
        return (!is_left_alone).then_some(0);
    }
    let in_background = matches!(app.importance, Importance::Hidden | Importance::Empty) && app.seen;
    let unused_ns = config.idle_ms.saturating_mul(1_000_000);
    let plentiful = is_plentiful(&snapshot.memory, config, PLENTIFUL_OPEN);
    (in_background && !plentiful && unused_ns > 0).then(|| app.background_since_ns.saturating_add(unused_ns))
}

/// When the next app's turn comes, of those whose turn has not come yet or has to wait for the app that has just come to the screen.
pub(crate) fn next_due_ns(snapshot: &Snapshot, config: &MemoryConfig) -> Option<u64> {
    let apps = snapshot.apps.iter().filter(|a| may_be_compressed(a) && !comes_back(a, config));
    let due = apps.filter_map(|a| due_ns(a, snapshot, config)).map(|ns| ns.max(grace_ends_ns(snapshot, config)));
    due.filter(|&due_ns| due_ns > snapshot.now_ns).min()
}

/// Whether what apps occupy must be known, for the turn of one that was not compressed yet has come. Not while the CPU is left to an app that
/// has just come to the screen.
pub fn is_due_ahead(snapshot: &Snapshot, config: &MemoryConfig) -> bool {
    let due = |a: &AppState| due_ns(a, snapshot, config).is_some_and(|due_ns| snapshot.now_ns >= due_ns);
    snapshot.focus_told
        && grace_ends_ns(snapshot, config) <= snapshot.now_ns
        && snapshot.apps.iter().any(|a| may_be_compressed(a) && due(a) && !comes_back(a, config))
}

/// Until when the CPU is left to the app that came to the screen last.
pub fn grace_ends_ns(snapshot: &Snapshot, config: &MemoryConfig) -> u64 {
    match snapshot.focused_ns {
        Some(focused_ns) if snapshot.screen_on && config.has(Rule::FocusGrace) => {
            focused_ns + config.focus_grace_ms * 1_000_000
        }
        _ => 0,
    }
}

/// Whether so much memory is available that compressing any ahead of need is for nothing. What is available and not what is free: a desktop's
/// free memory is file cache after a while.
fn is_plentiful(memory: &MemoryState, config: &MemoryConfig, times: u64) -> bool {
    let begins_pages = thresholds(memory, config).file_pages[Importance::Empty.index()];
    config.has(Rule::Plentiful)
        && memory.available_bytes >= (times * begins_pages * PAGE_BYTES).saturating_add(memory.low_bytes)
}

fn may_be_compressed(app: &AppState) -> bool {
    app.standing != Standing::Ignore && !app.is_perceptible() && !app.exhausted
}

fn is_worth(app: &AppState, config: &MemoryConfig) -> bool {
    may_be_compressed(app) && app.anon_bytes >= config.compress_least_pages * PAGE_BYTES
}
