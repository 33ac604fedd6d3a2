// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runaways: who eats what is left, told from who is merely large. Only growth that goes on counts: what many short-lived processes take and
//! give back does not, nor a program that takes much at once and stays so.

use fovea_apps::{Importance, Standing, PAGE_BYTES};

use super::victim::{gives, size_bytes, victim};
use super::MemoryState;
use crate::{AppState, Outsider, Snapshot};

/// Readings kept of one.
const READINGS: usize = 8;

/// Least time between two of them.
const STEP_NS: u64 = 250_000_000;

/// Older ones say nothing of now.
const WINDOW_NS: u64 = 5_000_000_000;

/// Readings, and time between the first and the last, that growth must have gone on for.
const LEAST_READINGS: usize = 5;
const LEAST_SPAN_NS: u64 = 1_000_000_000;

/// Slower growth is nobody's emergency, however little is left.
pub(crate) const LEAST_BYTES_PER_S: u64 = 4 << 20;

/// A runaway would use up what is left within this time.
const HORIZON_S: u64 = 5;

/// Time in which an app starts: until then nobody knows where its growth ends, and its user waits for it.
const STARTING_NS: u64 = 10_000_000_000;

/// Growth that has gone on for so long is no start of anything, and is expected to go on for as long again.
const LONG_NS: u64 = 5_000_000_000;

/// Readings that it must have grown in. However far apart they are: memory is not looked at while nobody waits for it.
const LEAST_RUN_READINGS: usize = 4;

/// Slower, it is nobody's emergency either.
const LEAST_LONG_BYTES_PER_S: u64 = 1 << 20;

/// However little is left, this much is gained by accident.
pub const LEAST_GAINED_BYTES: u64 = 16 << 20;

/// Growth is over when nothing was added for so long.
const PAUSE_NS: u64 = 5_000_000_000;

/// What a reading may be below an earlier one without anything being given back: the kernel adds its counters up now and then.
const NOISE_BYTES: u64 = 1 << 20;

/// What an app in front has gained must be so many-th of what all others in the background could give together: else a few of them feed it.
/// All of it while it may be starting: then not even all of them could, if it went on for as long again.
const FRONT_SHARE: u64 = 2;

/// No app starts with so many processes: one that nobody has seen and that grows with them is a fork bomb. (Browsers start with some twenty;
/// a user who lets a terminal do so much has seen the terminal.)
pub const BOMB_PROCESSES: u32 = 64;

/// What one app or service occupied over the last seconds.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// Time and bytes, oldest first.
    readings: [(u64, u64); READINGS],
    length: usize,
    /// When it began with nothing, if that was seen.
    born_ns: Option<u64>,
    run: Run,
}

/// Growth without a pause, however long.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    readings: usize,
    from: (u64, u64),
    /// The most it had, and when it first had so much.
    top: (u64, u64),
}

impl Growth {
    /// Of what begins now.
    pub fn born(now_ns: u64) -> Growth {
        Growth { born_ns: Some(now_ns), ..Growth::default() }
    }

    /// Adds a reading of what it occupies, compressed memory included: what is compressed has not been given back.
    pub fn record(&mut self, now_ns: u64, bytes: u64) {
        let known = &self.readings[..self.length];
        if known.last().is_some_and(|&(last_ns, _)| now_ns.saturating_sub(last_ns) < STEP_NS) {
            return;
        }
        let old = known.iter().filter(|&&(then_ns, _)| now_ns.saturating_sub(then_ns) > WINDOW_NS).count();
        let gone = old.max((self.length + 1).saturating_sub(READINGS));
        self.forget(gone);
        self.readings[self.length] = (now_ns, bytes);
        self.length += 1;
        let run = &mut self.run;
        let gave_back = bytes + NOISE_BYTES < run.top.1;
        let paused = bytes <= run.top.1 && now_ns.saturating_sub(run.top.0) > PAUSE_NS;
        if run.readings == 0 || gave_back || paused {
            // What follows is no longer what it has taken since it began.
            if run.readings > 0 {
                self.born_ns = None;
            }
            *run = Run { from: (now_ns, bytes), top: (now_ns, bytes), ..Run::default() };
        } else if bytes > run.top.1 {
            run.top = (now_ns, bytes);
        }
        run.readings += 1;
    }

    /// The oldest readings.
    fn forget(&mut self, count: usize) {
        self.readings.copy_within(count..self.length, 0);
        self.length -= count;
    }

    /// It went to the background at that time. What it took before, its user may have wanted, and while nobody looked its growth may have
    /// ended: from here on only what it takes in the background speaks of a runaway.
    pub fn left(&mut self, at_ns: u64) {
        if self.run.readings > 0 && self.run.from.0 < at_ns {
            self.run = Run::default();
            self.born_ns = None;
        }
    }

    /// Whether it grows so that it may be taken for a runaway: whose growth it is should be known then.
    pub fn is_suspect(&self) -> bool {
        self.bytes_per_s() >= LEAST_BYTES_PER_S || self.gained().is_some_and(|(_, bytes)| bytes >= LEAST_GAINED_BYTES)
    }

    /// Its largest process began at that time and has so much. What others had before is given back, and what this one has it took since it
    /// began. Memory is looked at while it is short, and that is when a job of many short-lived processes has the most: by readings alone its
    /// peaks look like growth that goes on.
    pub fn count_from_largest(&mut self, began_ns: u64, bytes: u64) {
        let older = self.readings[..self.length].iter().filter(|&&(then_ns, _)| then_ns < began_ns).count();
        self.forget(older);
        let run = &mut self.run;
        if run.readings > 0 && run.from.0 <= began_ns {
            run.from = (began_ns, run.from.1.max(run.top.1.saturating_sub(bytes)));
        }
    }

    /// Since when it has grown without a pause, and by how much, where that is no chance.
    pub fn gained(&self) -> Option<(u64, u64)> {
        let run = &self.run;
        (run.readings >= LEAST_RUN_READINGS && run.top > run.from).then(|| (run.from.0, run.top.1 - run.from.1))
    }

    /// When it began, if that was seen, and nothing speaks against its having grown ever since.
    pub fn born_ns(&self) -> Option<u64> {
        self.born_ns
    }

    /// How fast it grows, if it does all the time; else 0.
    pub fn bytes_per_s(&self) -> u64 {
        let known = &self.readings[..self.length];
        let (Some(&(from_ns, from)), Some(&(to_ns, to))) = (known.first(), known.last()) else { return 0 };
        let span_ns = to_ns - from_ns;
        if self.length < LEAST_READINGS || span_ns < LEAST_SPAN_NS {
            return 0;
        }
        let (earlier, later) = known.split_at(self.length / 2);
        let most_before = earlier.iter().map(|&(_, bytes)| bytes).max().unwrap_or(u64::MAX);
        let never_back = later.iter().all(|&(_, bytes)| bytes >= most_before);
        if !never_back || to <= later[0].1 {
            return 0;
        }
        per_s(to - from, span_ns)
    }
}

/// Whether growth of that speed uses up what is left before anything slower than a kill helps.
pub fn eats_what_is_left(growth_bytes_per_s: u64, memory: &MemoryState) -> bool {
    let left_bytes = memory.free_bytes.saturating_add(memory.file_bytes);
    growth_bytes_per_s >= LEAST_BYTES_PER_S && growth_bytes_per_s.saturating_mul(HORIZON_S) >= left_bytes
}

/// The runaway to kill in place of a bystander, where `least_important` and less important classes may be killed.
///
/// In the background one dies whenever a bystander would die for it. What the user sees dies so only if it has grown for long and gained
/// much of what all others together could give: they would die one after the other, and it after them. Else
/// only where the kernel would be next (any class may be killed, and somebody waits) and all others together could not feed it for long.
pub(crate) fn runaway(snapshot: &Snapshot, least_important: Importance) -> Option<&AppState> {
    let memory = &snapshot.memory;
    let speed = |app: &AppState| bytes_per_s(app, snapshot);
    let mut suspects: Vec<&AppState> = snapshot
        .apps
        .iter()
        .filter(|a| (eats_what_is_left(speed(a), memory) || app_outgrows(a, snapshot)) && gives(a, memory))
        .filter(|a| matches!(a.standing, Standing::Plain | Standing::Prefer))
        .collect();
    suspects.sort_by(|a, b| (speed(b), &a.name).cmp(&(speed(a), &b.name)));
    // The bystander.
    victim(&snapshot.apps, memory, least_important)?;
    let in_background = suspects.iter().find(|a| a.dies_as() > Importance::Visible && !is_starting(a, snapshot));
    if let Some(suspect) = in_background {
        return Some(suspect);
    }
    let is_leak = |a: &AppState| {
        let share = if is_starting(a, snapshot) { 1 } else { FRONT_SHARE };
        app_outgrows(a, snapshot) && a.gained_bytes.saturating_mul(share) >= given_bytes(Some(a), snapshot)
    };
    let kernel_is_next = least_important == Importance::Foreground && memory.stalled_us > 0;
    suspects.into_iter().find(|a| is_leak(a) || (kernel_is_next && !can_be_fed(a, snapshot)))
}

/// Whether compressing is for nothing: a runaway in the background would use up within the horizon what is left and all that swap can take.
/// By the time that swap is full, whoever could end it waits for memory too, and the kernel's OOM killer is nearer.
pub(crate) fn outruns_swap(snapshot: &Snapshot, least_important: Importance) -> bool {
    let memory = &snapshot.memory;
    let room_bytes = memory.room_pages().saturating_mul(PAGE_BYTES);
    let left_bytes = memory.free_bytes.saturating_add(memory.file_bytes).saturating_add(room_bytes);
    runaway(snapshot, least_important).is_some_and(|app| {
        app.dies_as() > Importance::Visible && bytes_per_s(app, snapshot).saturating_mul(HORIZON_S) >= left_bytes
    })
}

/// How fast it grows. A bomb that has just gone off may not have been looked at often enough to say: it grows as it has since it began.
fn bytes_per_s(app: &AppState, snapshot: &Snapshot) -> u64 {
    let for_ns = snapshot.now_ns.saturating_sub(app.born_ns);
    if app.growth_bytes_per_s > 0 || !is_bomb(app) || app.born_ns == 0 || for_ns >= STARTING_NS {
        return app.growth_bytes_per_s;
    }
    per_s(app.anon_bytes.saturating_add(app.swap_bytes), for_ns)
}

fn per_s(bytes: u64, ns: u64) -> u64 {
    (u128::from(bytes) * 1_000_000_000 / u128::from(ns.max(1))).min(u128::from(u64::MAX)) as u64
}

/// Whether growth has gone on for long, and would use up what is left in as long again.
fn outgrows_what_is_left(growing_since_ns: u64, gained_bytes: u64, snapshot: &Snapshot) -> bool {
    let memory = &snapshot.memory;
    let for_ns = snapshot.now_ns.saturating_sub(growing_since_ns);
    for_ns >= LONG_NS
        && per_s(gained_bytes, for_ns) >= LEAST_LONG_BYTES_PER_S
        && gained_bytes >= memory.free_bytes.saturating_add(memory.file_bytes).max(LEAST_GAINED_BYTES)
}

fn app_outgrows(app: &AppState, snapshot: &Snapshot) -> bool {
    outgrows_what_is_left(app.growing_since_ns, app.gained_bytes, snapshot)
}

/// Who leaks outside of apps: the kernel's OOM killer is to end him, and no app dies for him, nor is compressed to feed him. Judged as an app
/// in front is, for nobody knows what he is for: only growth that has gone on for long counts, and that has gained much of what all in the
/// background could give. Nor is it left to the kernel if that, going by size, would take an app.
pub fn leak_outside(snapshot: &Snapshot) -> Option<&Outsider> {
    let largest_bytes =
        snapshot.apps.iter().map(|app| app.anon_bytes.saturating_add(app.swap_bytes)).max().unwrap_or(0);
    let is_leak = |who: &&Outsider| {
        who.killable_bytes > largest_bytes
            && outgrows_what_is_left(who.growing_since_ns, who.gained_bytes, snapshot)
            && who.gained_bytes.saturating_mul(FRONT_SHARE) >= given_bytes(None, snapshot)
    };
    snapshot.outsiders.iter().filter(is_leak).max_by_key(|who| who.gained_bytes)
}

/// Whether what is of use to nobody now could feed it until it may have done what it is at. The system's services are not for that.
fn can_be_fed(suspect: &AppState, snapshot: &Snapshot) -> bool {
    let for_s = if is_starting(suspect, snapshot) { 1 } else { HORIZON_S };
    given_bytes(Some(suspect), snapshot) >= suspect.growth_bytes_per_s.saturating_mul(for_s)
}

/// What killing all others that are of use to nobody now would give.
fn given_bytes(suspect: Option<&AppState>, snapshot: &Snapshot) -> u64 {
    let others = snapshot.apps.iter().filter(|a| {
        a.dies_as() > Importance::Service
            && suspect.is_none_or(|suspect| a.name != suspect.name)
            && gives(a, &snapshot.memory)
            && matches!(a.standing, Standing::Plain | Standing::Prefer)
    });
    others.map(|a| size_bytes(a, snapshot.memory.swap)).sum()
}

fn is_bomb(app: &AppState) -> bool {
    !app.seen && app.processes >= BOMB_PROCESSES
}

fn is_starting(app: &AppState, snapshot: &Snapshot) -> bool {
    if is_bomb(app) {
        return false;
    }
    let since_ns = match app.importance {
        Importance::Foreground => snapshot.focused_ns.unwrap_or(0),
        _ => app.background_since_ns,
    };
    snapshot.now_ns.saturating_sub(since_ns) < STARTING_NS
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
