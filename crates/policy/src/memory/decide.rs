// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The memory ladder in the paper's order (LowMem13, figures 3-10 and 3-11).

use fovea_apps::{AppName, Importance};

use super::compress::{candidate, candidate_ahead, grace_ends_ns, is_just_left, next_due_ns, was_left_within};
use super::interval::interval_ns;
use super::pressure::{pressure, Pressure};
use super::runaway::{leak_outside, outruns_swap, runaway, runaway_beyond_swap};
use super::victim::{is_kept_by_owner, victim, victim_among, Need, Order};
use super::warning::warning;
use super::{MemoryConfig, MemoryState, Mode, Rule};
use crate::{Action, AppState, Asked, Decision, Reason, Snapshot};

/// Time until a busy device is looked at again for whether it has become idle.
const IDLE_AGAIN_NS: u64 = 10_000_000_000;

/// Pages compressed between two looks while an app comes to the screen and free memory is critical all the same: its return needs the CPU, and no
/// more than makes that end.
const GRACE_BATCH_PAGES: u64 = 64;

/// Time in which one who has left an app opens the next, if he goes straight to it.
const BETWEEN_APPS_NS: u64 = 100_000_000;

/// Time between two looks whether somebody outside of apps still leaks.
const LEAK_CHECK_NS: u64 = 500_000_000;

/// Time after a leak was last seen in which nobody dies yet: whoever leaked was ended since then, and what he had is still coming back.
const LEAK_OVER_NS: u64 = 2 * LEAK_CHECK_NS;

/// Decides. At most one compression or kill at a time: each is followed by another look at memory.
pub fn decide(snapshot: &Snapshot, config: &MemoryConfig) -> Decision {
    let pressure = pressure(&snapshot.memory, config);
    let mut decision = steps(snapshot, config, pressure);
    decision.warning = warning(&decision, &pressure, snapshot, config);
    decision
}

fn steps(snapshot: &Snapshot, config: &MemoryConfig, pressure: Pressure) -> Decision {
    let mut decision = Decision { pressure: Some(pressure), ..Decision::default() };
    let look_again_ns = snapshot.now_ns + config.watch_ms * 1_000_000;
    // Stalls without a shortage are the kernel shrinking its caches: its right, and PSI will call again.
    if pressure.shortage.is_some() && snapshot.memory.stalled_us > 0 && !snapshot.memory.polled {
        decision.wake_by(look_again_ns);
    }
    if let Some(until_ns) = between_apps_until_ns(snapshot, config).filter(|_| pressure.little_left) {
        decision.wake_by(until_ns);
    }
    if pressure.shortage.is_some() && is_left_to_the_front(snapshot, &pressure, config) {
        decision.wake_by(grace_ends_ns(snapshot, config));
    }
    decision.watch_at_ns = interval_ns(snapshot, config).map(|ns| snapshot.now_ns + ns);
    if let Some(asked) = snapshot.asked.as_ref().filter(|asked| grace_is_over(asked, snapshot, &pressure, config)) {
        decision.push(Action::Kill { app: asked.app.clone() }, asked.reason);
    }
    if snapshot.kill_pending {
        return decision;
    }
    if config.mode == Mode::Full && snapshot.focus_told && has_room(snapshot, config) {
        next_due_ns(snapshot, config).into_iter().for_each(|due_ns| decision.watch_by(due_ns));
    }
    if config.mode == Mode::Full {
        if let Some(who) = leak_outside(snapshot) {
            decision.left_to_kernel = Some(who.cgroup.clone());
            decision.wake_by(snapshot.now_ns + LEAK_CHECK_NS);
            return decision;
        }
        let over_ns = snapshot.leaked_ns.map_or(0, |leaked_ns| leaked_ns + LEAK_OVER_NS);
        if snapshot.now_ns < over_ns {
            decision.wake_by(over_ns);
            return decision;
        }
    }
    let step = match config.mode {
        Mode::Ladder => ladder_step(snapshot, config, &pressure),
        Mode::Full => full_step(snapshot, config, &pressure),
    };
    let step = match step {
        Step::Kill(class, reason) => {
            let found = kill_step(snapshot, config, class, reason, &pressure).map(|step| {
                match runaway(snapshot, config, class) {
                    Some(app) if config.mode == Mode::Full => (Action::Kill { app: app.name.clone() }, Reason::Runaway),
                    _ => step,
                }
            });
            let need = Need::new(snapshot, config);
            let kept = || snapshot.apps.iter().any(|app| is_kept_by_owner(app, &need, class));
            let is_due = snapshot.memory.stalled_us > 0 || class == Importance::Foreground;
            let nobody = victim(&snapshot.apps, &need, class).is_none();
            decision.only_listed = is_due && nobody && kept();
            found
        }
        Step::KillRunaway(app) => Some((Action::Kill { app: app.clone() }, Reason::Runaway)),
        Step::Compress(app, pages, reason) => Some((Action::Compress { app: app.clone(), pages }, reason)),
        Step::Nothing => None,
    };
    let waits_for_cpu = config.has(Rule::IdleCpu) && snapshot.cpu_busy && snapshot.screen_on;
    match step {
        // An app that comes to the screen needs the CPU more than memory needs to be ready for the next.
        Some((Action::Compress { .. }, _))
            if !pressure.critical && grace_ends_ns(snapshot, config) > snapshot.now_ns =>
        {
            decision.wake_by(grace_ends_ns(snapshot, config));
        }
        // Nobody waits for it: it is not worth looking often.
        Some((Action::Compress { .. }, Reason::Idle)) if waits_for_cpu => {
            decision.watch_by(snapshot.now_ns + IDLE_AGAIN_NS);
        }
        // Neither does it need the CPU less when it takes longer; a phone in use is idle most of the time.
        Some((Action::Compress { .. }, _)) if !pressure.critical && waits_for_cpu => {
            decision.wake_by(look_again_ns);
        }
        // What an app wants to save is worth a moment, unless those who wait for its memory cannot wait.
        Some((Action::Kill { app }, reason)) if config.kill_grace_ms > 0 && !pressure.critical && !pressure.thrash => {
            // Frozen, it could not answer.
            if snapshot.apps.iter().any(|a| a.name == app && a.frozen) {
                decision.push(Action::Thaw { app: app.clone() }, Reason::Needed);
            }
            decision.push(Action::Ask { app }, reason);
            decision.wake_by(look_again_ns);
        }
        Some(step) => {
            decision.actions.push(step);
            decision.wake_by(look_again_ns);
        }
        None => {}
    }
    decision
}

/// Whoever was asked to end has had the time, or those who wait for its memory cannot wait any longer. One that its owner spares by now is
/// let off.
fn grace_is_over(asked: &Asked, snapshot: &Snapshot, pressure: &Pressure, config: &MemoryConfig) -> bool {
    if snapshot.apps.iter().any(|app| app.name == asked.app && app.standing.is_spared()) {
        return false;
    }
    let waited_ns = snapshot.now_ns.saturating_sub(asked.since_ns);
    pressure.critical || pressure.thrash || waited_ns >= config.kill_grace_ms * 1_000_000
}

/// Whether the CPU is the front's for now: the screen has just come to show something else, and nothing would be done to anybody before that has
/// had its time: pages are compressed afterwards, and nobody is to be killed. So nothing need be read either.
pub fn is_left_to_the_front(snapshot: &Snapshot, pressure: &Pressure, config: &MemoryConfig) -> bool {
    grace_ends_ns(snapshot, config) > snapshot.now_ns
        && !pressure.critical
        && pressure.ladder.is_none()
        && has_room(snapshot, config)
        && !snapshot.memory.is_swap_nearly_full()
}

pub(super) fn has_room(snapshot: &Snapshot, config: &MemoryConfig) -> bool {
    snapshot.memory.room_pages() >= config.room_least_pages.max(1)
}

/// What memory needs, before it is known whether there is a victim.
enum Step<'a> {
    Nothing,
    Compress(&'a AppName, u64, Reason),
    Kill(Importance, Reason),
    /// In nobody's place.
    KillRunaway(&'a AppName),
}

/// What a stock device does: kill by thresholds; with swap, only once the kernel says that little of it is free.
fn ladder_step<'a>(snapshot: &Snapshot, config: &MemoryConfig, pressure: &Pressure) -> Step<'a> {
    let Some(class) = pressure.ladder else { return Step::Nothing };
    let memory = &snapshot.memory;
    let swap_low = memory.swap.is_none_or(|s| s.free_bytes * 100 <= s.total_bytes * config.ladder_swap_free_percent);
    if !(swap_low || pressure.thrash) {
        return Step::Nothing;
    }
    Step::Kill(class, if swap_low { Reason::Minfree } else { Reason::Thrash })
}

/// The optimised policy.
fn full_step<'a>(snapshot: &'a Snapshot, config: &MemoryConfig, pressure: &Pressure) -> Step<'a> {
    let memory = &snapshot.memory;
    let room_pages = memory.room_pages();
    let has_room = has_room(snapshot, config);
    let comes = grace_ends_ns(snapshot, config) > snapshot.now_ns;
    let batch_pages =
        if comes { config.batch_pages.min(GRACE_BATCH_PAGES) } else { config.batch_pages }.min(room_pages);

    let is_due = has_room && memory.stalled_us > 0;
    if let Some(class) = pressure.ladder.filter(|&class| is_due && outruns_swap(snapshot, config, class)) {
        return Step::Kill(class, Reason::Runaway);
    }
    if let Some(app) = runaway_beyond_swap(snapshot, config).filter(|_| has_room && pressure.shortage.is_some()) {
        return Step::KillRunaway(&app.name);
    }
    if has_room {
        let short = pressure.shortage.is_some();
        // While nobody tells, a hidden app may be the one that the user looks at: the kernel knows its idle pages better than we do.
        let classes: &[Importance] =
            if snapshot.focus_told { &[Importance::Empty, Importance::Hidden] } else { &[Importance::Empty] };
        let app = match short {
            true => candidate(snapshot, classes, config, pressure),
            false if snapshot.focus_told => candidate_ahead(snapshot, config),
            false => None,
        };
        if let Some(app) = app {
            let reason = match (short, app.importance) {
                (true, Importance::Empty) => Reason::ShortOfMemoryEmpty,
                (true, _) => Reason::ShortOfMemoryHidden,
                (false, Importance::Empty) if !snapshot.screen_on => Reason::ScreenOff,
                (false, _) => Reason::Idle,
            };
            return Step::Compress(&app.name, batch_pages, reason);
        }
    }

    // With swap full nothing but the file cache is left to shrink, and what is opened next is read from it: an app that was closed is worth
    // less, and not only once somebody waits, for by then every return reads its files anew. So is one that was left long ago, where it is known
    // which one the user looks at; by thresholds of a phone only, whose apps save what they have as they leave the front. A desktop's do not.
    let swap_full = !has_room && memory.swap.is_some();
    let ends_open = snapshot.focus_told && config.minfree_pages.is_some();
    let keeps_room =
        ends_open && config.has(Rule::LeftForFiles) && pressure.little_left && memory.is_swap_nearly_full();
    let for_files = if keeps_room {
        Some(Importance::Hidden)
    } else {
        let closed_may_die = swap_full && config.has(Rule::ClosedForFiles);
        (closed_may_die && (pressure.shortage.is_some() || pressure.little_left)).then_some(Importance::Empty)
    };
    let Some(class) = pressure.ladder.into_iter().chain(for_files).min() else { return Step::Nothing };
    if config.has(Rule::SwapFirst) && !worth_killing(memory, has_room && !keeps_room, pressure) {
        return Step::Nothing;
    }
    let reason = if swap_full || keeps_room {
        Reason::SwapFull
    } else if pressure.thrash {
        Reason::Thrash
    } else {
        Reason::NothingToCompress
    };
    Step::Kill(class, reason)
}

/// Kills the worst app of the classes that may be killed, if that is due. The one that was left last dies last of the apps that are not in use,
/// if that was just now: it is what the user comes back to soonest, and another makes room as well. No more than one: where he goes through
/// many in a short time most were just left, and what is spared of them dies when its turn comes. It dies before a service, for that is
/// never left.
///
/// Without a stall the kernel still finds memory by itself, unless free memory and file cache are both under what even the foreground
/// app would be killed for: then there is nothing left to find, and the next to wait for memory waits for the OOM killer. A background
/// app is worth that; the app in front is not before somebody really waits. Nor need anybody wait for one to make room for files that was closed
/// or left long ago.
fn kill_step(
    snapshot: &Snapshot,
    config: &MemoryConfig,
    class: Importance,
    reason: Reason,
    pressure: &Pressure,
) -> Option<(Action, Reason)> {
    let need = Need::new(snapshot, config);
    let stalled = snapshot.memory.stalled_us > 0;
    let by_return = config.mode == Mode::Full && snapshot.focus_told && config.has(Rule::ByReturn);
    let order = if by_return { Order::Return } else { Order::Class };
    let left_long_ago = |app: &AppState| {
        // Only files want its room: it must have been unused for longer.
        let for_files = app.dies_as() < Importance::Empty && pressure.ladder.is_none_or(|least| app.dies_as() < least);
        let is_kept = config.has(Rule::KeepOpen)
            && for_files
            && !pressure.very_little_left
            && was_left_within(config.keep_open_ms, app, snapshot);
        let is_spared = config.has(Rule::LeftLastLives)
            && is_just_left(app, snapshot, config)
            && is_left_last(app, snapshot)
            && goes_back(snapshot);
        config.mode == Mode::Ladder || !(is_kept || is_spared)
    };
    let nothing_left = |app: &AppState| {
        config.has(Rule::BeforeFront) && class == Importance::Foreground && app.dies_as() > Importance::Foreground
    };
    let room_is_wanted = pressure.little_left && reason == Reason::SwapFull;
    let is_between_apps = between_apps_until_ns(snapshot, config).is_some();
    let makes_room = |app: &AppState| room_is_wanted && !is_between_apps && app.dies_as() >= Importance::Hidden;
    let (app, is_due) = match victim_among(&snapshot.apps, &need, class.max(Importance::Hidden), order, left_long_ago) {
        Some(app) => (app, stalled || nothing_left(app) || makes_room(app)),
        None => {
            let app = victim_among(&snapshot.apps, &need, pressure.ladder?, order, |_| true)?;
            (app, stalled || nothing_left(app))
        }
    };
    is_due.then(|| (Action::Kill { app: app.name.clone() }, reason))
}

/// Until when the user may be on his way from one app to the next: no app that nobody needs to die is to die under his finger. None while one is
/// in front.
fn between_apps_until_ns(snapshot: &Snapshot, config: &MemoryConfig) -> Option<u64> {
    let nothing_in_front = config.has(Rule::BetweenApps)
        && snapshot.focus_told
        && !snapshot.apps.iter().any(|a| a.importance == Importance::Foreground);
    let until_ns = snapshot.focused_ns.filter(|_| nothing_in_front)? + BETWEEN_APPS_NS;
    (snapshot.now_ns < until_ns).then_some(until_ns)
}

/// Whether no app in the background was left later.
fn is_left_last(app: &AppState, snapshot: &Snapshot) -> bool {
    in_background(snapshot).all(|a| a.background_since_ns <= app.background_since_ns)
}

fn in_background(snapshot: &Snapshot) -> impl Iterator<Item = &AppState> {
    snapshot.apps.iter().filter(|a| matches!(a.importance, Importance::Hidden | Importance::Empty))
}

/// Whether the user goes back to the app left last as often as chance among those in the background would have it, or more often. If not, he
/// goes through them in turn, and comes to it later than to the others.
fn goes_back(snapshot: &Snapshot) -> bool {
    let count = in_background(snapshot).count();
    count == 1 || snapshot.goes_back_permille.is_none_or(|permille| permille as usize * count >= 1000)
}

/// While swap has true room, the kernel can still move what the daemon would not choose (services' idle pages); a kill is due only
/// when that room is gone or moving pages has become moving them back.
pub(super) fn worth_killing(memory: &MemoryState, has_room: bool, pressure: &Pressure) -> bool {
    !has_room || memory.swap.is_none() || pressure.thrash
}
