// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runaways: who eats what is left, told from who is merely large.

use fovea_apps::{Importance, Kind, Standing, PAGE_BYTES};

use super::growth::{per_s, LEAST_BYTES_PER_S, LEAST_GAINED_BYTES};
use super::thresholds::thresholds;
use super::victim::{size_bytes, victim, Need};
use super::{MemoryConfig, MemoryState, Rule};
use crate::{AppState, Outsider, Snapshot};

/// A runaway would use up what is left within this time.
const HORIZON_S: u64 = 5;

/// Time in which an app starts: until then nobody knows where its growth ends, and its user waits for it.
const STARTING_NS: u64 = 10_000_000_000;

/// Growth that has gone on for so long is no start of anything, and is expected to go on for as long again.
const LONG_NS: u64 = 5_000_000_000;

/// Slower, it is nobody's emergency either, unless it has gained as much as is asked of what is in front.
const LEAST_LONG_BYTES_PER_S: u64 = 1 << 20;

/// What an app in front has gained must be so many-th of what all others in the background could give together: else a few of them feed it.
/// All of it while it may be starting: then not even all of them could, if it went on for as long again.
const FRONT_SHARE: u64 = 2;

/// No app starts with so many processes.
const BOMB_PROCESSES: u32 = 64;

/// Whether growth of that speed uses up what is left before anything slower than a kill helps.
pub fn eats_what_is_left(growth_bytes_per_s: u64, memory: &MemoryState) -> bool {
    let left_bytes = memory.left_bytes();
    growth_bytes_per_s >= LEAST_BYTES_PER_S && growth_bytes_per_s.saturating_mul(HORIZON_S) >= left_bytes
}

/// The runaway to kill in place of a bystander, where `least_important` and less important classes may be killed.
///
/// In the background one dies whenever a bystander would die for it. What the user sees dies so only if it has grown for long and gained
/// much of what all others together could give: they would die one after the other, and it after them. Else
/// only where the kernel would be next (any class may be killed, and somebody waits) and all others together could not feed it for long.
pub(crate) fn runaway<'a>(
    snapshot: &'a Snapshot,
    config: &MemoryConfig,
    least_important: Importance,
) -> Option<&'a AppState> {
    let memory = &snapshot.memory;
    let need = Need::new(snapshot, config);
    let speed = |app: &AppState| bytes_per_s(app, snapshot);
    let mut suspects: Vec<&AppState> = snapshot
        .apps
        .iter()
        .filter(|a| {
            config.has(Rule::FastGrowth) && eats_what_is_left(speed(a), memory)
                || config.has(Rule::LongGrowth) && app_outgrows(a, need, snapshot)
                || config.has(Rule::Size) && is_hog(a, snapshot)
        })
        .filter(|a| need.is_met_by(a))
        .filter(|a| matches!(a.standing, Standing::Plain | Standing::Prefer))
        .collect();
    suspects.sort_by(|a, b| (speed(b), b.hog_bytes, &a.name).cmp(&(speed(a), a.hog_bytes, &b.name)));
    // The bystander.
    victim(&snapshot.apps, &need, least_important)?;
    let is_let_start =
        |a: &AppState| config.has(Rule::StartGrace) && is_starting(a, snapshot) && !is_job_beyond_all(a, snapshot);
    let in_background = suspects.iter().find(|a| a.dies_as() > Importance::Visible && !is_let_start(a));
    if let Some(suspect) = in_background {
        return Some(suspect);
    }
    let is_leak = |a: &AppState| {
        let share = if is_starting(a, snapshot) && !grew_before(a) { 1 } else { FRONT_SHARE };
        let took_bytes = if app_outgrows(a, need, snapshot) { a.gained_bytes } else { hog_bytes_in_sight(a, snapshot) };
        took_bytes > 0 && took_bytes.saturating_mul(share) >= given_bytes(Some(a), need, snapshot)
    };
    let kernel_is_next = least_important == Importance::Foreground && memory.stalled_us > 0;
    suspects.into_iter().find(|a| is_leak(a) || (kernel_is_next && !can_be_fed(a, need, snapshot)))
}

/// Whether compressing is for nothing: a runaway in the background would use up within the horizon what is left and all that swap can take.
/// By the time that swap is full, whoever could end it waits for memory too, and the kernel's OOM killer is nearer.
pub(crate) fn outruns_swap(snapshot: &Snapshot, config: &MemoryConfig, least_important: Importance) -> bool {
    if !config.has(Rule::BeyondSwap) {
        return false;
    }
    let left_bytes = snapshot.memory.left_with_swap_bytes();
    runaway(snapshot, config, least_important).is_some_and(|app| {
        app.dies_as() > Importance::Visible && bytes_per_s(app, snapshot).saturating_mul(HORIZON_S) >= left_bytes
    })
}

/// Who has grown for long, holds more than anybody else, and has brought it so far that swap cannot end the shortage: with all that it can
/// still take memory would be short. Nobody need wait for memory yet, and nobody else is compressed or killed for it first. What merely is
/// large, or has grown by less than what is left in all, lives on until a bystander would die.
pub(crate) fn runaway_beyond_swap<'a>(snapshot: &'a Snapshot, config: &MemoryConfig) -> Option<&'a AppState> {
    let left_bytes = snapshot.memory.left_with_swap_bytes();
    let short_bytes = thresholds(&snapshot.memory, config).short_pages().saturating_mul(PAGE_BYTES);
    if !config.has(Rule::BeyondSwap) || left_bytes >= short_bytes {
        return None;
    }
    let need = Need::new(snapshot, config);
    let holds_most = |app: &AppState| others_bytes(app, snapshot).all(|bytes| bytes < app.taken_bytes());
    let is_runaway = |app: &&AppState| {
        app.dies_as() > Importance::Visible
            && app.gained_bytes > 0
            && !is_starting(app, snapshot)
            && need.is_met_by(app)
            && matches!(app.standing, Standing::Plain | Standing::Prefer)
            && outgrows(app.growing_since_ns, app.gained_bytes, u64::MAX, left_bytes, snapshot.now_ns)
    };
    snapshot.apps.iter().filter(is_runaway).find(|app| holds_most(app))
}

/// How fast it grows. What has just begun may not have been looked at often enough to say: a bomb, and what died as a runaway and was
/// started anew, grow as they have since they began. A service that systemd starts again each time has an app die in each of its lives
/// otherwise.
fn bytes_per_s(app: &AppState, snapshot: &Snapshot) -> u64 {
    let is_bomb = begins_as_a_bomb(app.seen, app.processes, app.born_ns, snapshot.now_ns);
    let runs_away_again = app.ran_away && app.born_ns > 0;
    if app.growth_bytes_per_s > 0 || !(is_bomb || runs_away_again) {
        return app.growth_bytes_per_s;
    }
    per_s(app.taken_bytes(), snapshot.now_ns.saturating_sub(app.born_ns))
}

/// Whether growth has gone on for long, and would use up what is left in as long again. However slow it is where it has gained so much
/// that it matters.
fn outgrows(growing_since_ns: u64, gained_bytes: u64, matters_bytes: u64, left_bytes: u64, now_ns: u64) -> bool {
    let for_ns = now_ns.saturating_sub(growing_since_ns);
    for_ns >= LONG_NS
        && (per_s(gained_bytes, for_ns) >= LEAST_LONG_BYTES_PER_S || gained_bytes >= matters_bytes)
        && gained_bytes >= left_bytes.max(LEAST_GAINED_BYTES)
}

fn app_outgrows(app: &AppState, need: Need, snapshot: &Snapshot) -> bool {
    if app.gained_bytes == 0 {
        return false;
    }
    let matters_bytes = given_bytes(Some(app), need, snapshot) / FRONT_SHARE;
    outgrows(app.growing_since_ns, app.gained_bytes, matters_bytes, snapshot.memory.left_bytes(), snapshot.now_ns)
}

/// How many times as much as anybody else one holds who needs far more than anybody else does.
const SEVERAL: u64 = 3;

/// Whether one holds several times as much as any other, given what each holds.
pub fn is_several_times_any_other(held_bytes: u64, others_bytes: impl IntoIterator<Item = u64>) -> bool {
    held_bytes >= others_bytes.into_iter().max().unwrap_or(0).saturating_mul(SEVERAL)
}

/// What each of the others holds.
fn others_bytes<'a>(app: &'a AppState, snapshot: &'a Snapshot) -> impl Iterator<Item = u64> + 'a {
    snapshot.apps.iter().filter(move |other| other.name != app.name).map(AppState::taken_bytes)
}

/// Whether a process holds far more than anybody else, and what is left: whether it grows now or not, memory is short by what it
/// holds. A leak may pause, be slowed by the shortage that it made, or have ended.
fn is_hog(app: &AppState, snapshot: &Snapshot) -> bool {
    app.hog_bytes >= snapshot.memory.left_bytes().max(LEAST_GAINED_BYTES)
        && is_several_times_any_other(app.hog_bytes, others_bytes(app, snapshot))
}

/// Whether a job that nobody has seen holds several times as much as any other. It may be starting, but no start of a job needs that, and
/// a bystander that died for it would only feed it for as long as it takes to know.
fn is_job_beyond_all(app: &AppState, snapshot: &Snapshot) -> bool {
    app.kind != Kind::App && !app.seen && is_several_times_any_other(app.taken_bytes(), others_bytes(app, snapshot))
}

/// The same of a job that is seen, in a terminal that is; 0 if it is none. What has a window in front may be merely large: a game.
fn hog_bytes_in_sight(app: &AppState, snapshot: &Snapshot) -> u64 {
    let is_seen_job = app.importance != Importance::Foreground && app.kind != Kind::App;
    if is_seen_job && is_hog(app, snapshot) {
        app.hog_bytes
    } else {
        0
    }
}

/// Who leaks outside of apps: the kernel's OOM killer is to end him, and no app dies for him, nor is compressed to feed him. Judged as an app
/// in front is, for nobody knows what he is for: only growth that has gone on for long counts, and that has gained much of what all in the
/// background could give. Nor is it left to the kernel if that, going by size, would take an app.
pub fn leak_outside(snapshot: &Snapshot) -> Option<&Outsider> {
    let need = Need::any(&snapshot.memory);
    let held = snapshot.apps.iter().map(AppState::taken_bytes);
    let largest_bytes = held.chain([snapshot.session_bytes]).max().unwrap_or(0);
    let took_bytes = |who: &Outsider| {
        let left_bytes = snapshot.memory.left_bytes();
        let is_hog = who.hoarded_bytes >= left_bytes.max(LEAST_GAINED_BYTES)
            && is_several_times_any_other(who.hoarded_bytes, [largest_bytes]);
        match outgrows(who.growing_since_ns, who.gained_bytes, u64::MAX, left_bytes, snapshot.now_ns) {
            true => who.gained_bytes,
            false if is_hog => who.hoarded_bytes,
            false => 0,
        }
    };
    let is_leak = |who: &&Outsider| {
        let took_bytes = took_bytes(who);
        // For a part of the session apps die: the kernel would end the session.
        !who.of_session
            && who.killable_bytes > largest_bytes
            && took_bytes > 0
            && took_bytes.saturating_mul(FRONT_SHARE) >= given_bytes(None, need, snapshot)
    };
    snapshot.outsiders.iter().filter(is_leak).max_by_key(|who| who.gained_bytes.max(who.hoarded_bytes))
}

/// What parts of the session that leak take within the horizon. Nobody may end them: apps in the background give them time, and
/// whatever gives less than this would die for nothing, the kernel's turn being next.
pub(crate) fn session_leak_bytes(snapshot: &Snapshot) -> u64 {
    let leaks = snapshot.outsiders.iter().filter(|who| who.of_session && who.gained_bytes >= LEAST_GAINED_BYTES);
    let bytes_per_s = |who: &Outsider| per_s(who.gained_bytes, snapshot.now_ns.saturating_sub(who.growing_since_ns));
    leaks.map(bytes_per_s).sum::<u64>().saturating_mul(HORIZON_S)
}

/// Whether what is of use to nobody now could feed it until it may have done what it is at. The system's services are not for that.
fn can_be_fed(suspect: &AppState, need: Need, snapshot: &Snapshot) -> bool {
    let for_s = if is_starting(suspect, snapshot) { 1 } else { HORIZON_S };
    given_bytes(Some(suspect), need, snapshot) >= suspect.growth_bytes_per_s.saturating_mul(for_s)
}

/// What killing all others that are of use to nobody now would give.
fn given_bytes(suspect: Option<&AppState>, need: Need, snapshot: &Snapshot) -> u64 {
    let others = snapshot.apps.iter().filter(|a| {
        a.dies_as() > Importance::Service
            && suspect.is_none_or(|suspect| a.name != suspect.name)
            && need.is_met_by(a)
            && matches!(a.standing, Standing::Plain | Standing::Prefer)
    });
    others.map(|a| size_bytes(a, snapshot.memory.swap)).sum()
}

/// Whether it has so many processes as no app starts with, and nobody has seen it: grown with them, it is a fork bomb. (Browsers start with some
/// twenty; a user who lets a terminal do so much has seen the terminal.)
fn is_bomb(seen: bool, processes: u32) -> bool {
    !seen && processes >= BOMB_PROCESSES
}

/// Whether a bomb began so short a time ago (0: unknown) that it is judged by all that it has. Later a build of as many compilers is told from
/// it: those end, and what they gave back is taken off their growth.
pub fn begins_as_a_bomb(seen: bool, processes: u32, born_ns: u64, now_ns: u64) -> bool {
    is_bomb(seen, processes) && born_ns > 0 && now_ns.saturating_sub(born_ns) < STARTING_NS
}

/// Whether it grew in the background before it was last in front, too: its user did not wait for that.
fn grew_before(app: &AppState) -> bool {
    app.gained_bytes > 0 && app.growing_since_ns < app.background_since_ns
}

fn is_starting(app: &AppState, snapshot: &Snapshot) -> bool {
    if is_bomb(app.seen, app.processes) {
        return false;
    }
    let since_ns = match app.importance {
        Importance::Foreground => snapshot.focused_ns.unwrap_or(0),
        _ => app.background_since_ns,
    };
    snapshot.now_ns.saturating_sub(since_ns) < STARTING_NS
}

#[cfg(test)]
#[path = "runaway_tests.rs"]
mod tests;
