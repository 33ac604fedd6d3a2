// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Runaways: who eats what is left, told from who is merely large. Only growth that goes on counts: what many short-lived processes take and
//! give back does not, nor a program that takes much at once and stays so.

use fovea_apps::{Importance, Standing};

use super::victim::{gives, size_bytes, victim};
use super::MemoryState;
use crate::{AppState, Snapshot};

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

/// No app starts with so many processes: one that nobody has seen and that grows with them is a fork bomb. (Browsers start with some twenty;
/// a user who lets a terminal do so much has seen the terminal.)
const BOMB_PROCESSES: u32 = 64;

/// What one app or service occupied over the last seconds.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// Time and bytes, oldest first.
    readings: [(u64, u64); READINGS],
    length: usize,
}

impl Growth {
    /// Adds a reading of what it occupies, compressed memory included: what is compressed has not been given back.
    pub fn record(&mut self, now_ns: u64, bytes: u64) {
        let known = &self.readings[..self.length];
        if known.last().is_some_and(|&(last_ns, _)| now_ns.saturating_sub(last_ns) < STEP_NS) {
            return;
        }
        let old = known.iter().filter(|&&(then_ns, _)| now_ns.saturating_sub(then_ns) > WINDOW_NS).count();
        let gone = old.max((self.length + 1).saturating_sub(READINGS));
        self.readings.copy_within(gone..self.length, 0);
        self.length -= gone;
        self.readings[self.length] = (now_ns, bytes);
        self.length += 1;
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
        (u128::from(to - from) * 1_000_000_000 / u128::from(span_ns)) as u64
    }
}

/// Whether growth of that speed uses up what is left before anything slower than a kill helps.
pub fn eats_what_is_left(growth_bytes_per_s: u64, memory: &MemoryState) -> bool {
    let left_bytes = memory.free_bytes.saturating_add(memory.file_bytes);
    growth_bytes_per_s >= LEAST_BYTES_PER_S && growth_bytes_per_s.saturating_mul(HORIZON_S) >= left_bytes
}

/// The runaway to kill in place of a bystander, where `least_important` and less important classes may be killed.
///
/// In the background one dies whenever a bystander would die for it. What the user sees, or is starting, dies only where the kernel would be
/// next (any class may be killed, and somebody waits) and all others together could not feed it for long.
pub(crate) fn runaway(snapshot: &Snapshot, least_important: Importance) -> Option<&AppState> {
    let memory = &snapshot.memory;
    let mut suspects: Vec<&AppState> = snapshot
        .apps
        .iter()
        .filter(|a| eats_what_is_left(a.growth_bytes_per_s, memory) && gives(a, memory))
        .filter(|a| matches!(a.standing, Standing::Plain | Standing::Prefer))
        .collect();
    suspects.sort_by(|a, b| (b.growth_bytes_per_s, &a.name).cmp(&(a.growth_bytes_per_s, &b.name)));
    let bystander = victim(&snapshot.apps, memory, least_important)?;
    let in_background = suspects.iter().find(|a| a.dies_as() > Importance::Visible && !is_starting(a, snapshot));
    if let Some(suspect) = in_background.filter(|a| a.dies_as() >= least_important || a.name != bystander.name) {
        return Some(suspect);
    }
    let kernel_is_next = least_important == Importance::Foreground && memory.stalled_us > 0;
    suspects.into_iter().find(|a| kernel_is_next && !can_be_fed(a, snapshot))
}

/// Whether what is of use to nobody now could feed it until it may have done what it is at. The system's services are not for that.
fn can_be_fed(suspect: &AppState, snapshot: &Snapshot) -> bool {
    let others = snapshot.apps.iter().filter(|a| {
        a.dies_as() > Importance::Service
            && a.name != suspect.name
            && gives(a, &snapshot.memory)
            && matches!(a.standing, Standing::Plain | Standing::Prefer)
    });
    let given_bytes: u64 = others.map(|a| size_bytes(a, snapshot.memory.swap)).sum();
    let for_s = if is_starting(suspect, snapshot) { 1 } else { HORIZON_S };
    given_bytes >= suspect.growth_bytes_per_s.saturating_mul(for_s)
}

fn is_starting(app: &AppState, snapshot: &Snapshot) -> bool {
    if !app.seen && app.processes >= BOMB_PROCESSES {
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
