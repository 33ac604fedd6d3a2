// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reads what a memory decision may depend on: memory, pressure, and what the apps occupy.

use fovea_apps::{AppName, Holder, Importance, Kind, MemoryReading};
use fovea_linux::{Device, Error};
use fovea_policy::memory::{
    begins_as_a_bomb, is_due_ahead, is_left_to_the_front, is_several_times_any_other, pressure, MemoryState, Mode,
    LEAST_GAINED_BYTES,
};
use fovea_policy::Snapshot;

use super::state::AppMemory;
use super::Memory;
use crate::config::PSI_WINDOW_US;
use crate::engine::engine_state::EngineState;

/// An app's usage may be this old for a decision while memory is short.
const USAGE_FRESH_NS: u64 = 200_000_000;

/// The same where nothing is short, and an app may only be compressed ahead of need.
const USAGE_IDLE_NS: u64 = 10_000_000_000;

/// How old the zones' watermarks may be.
const WATERMARKS_FRESH_NS: u64 = 10_000_000_000;

/// An app whose charge has changed by this much is read in full again, however large it is: it may
/// be the one that takes the memory.
const GROWN_BYTES: u64 = 8 << 20;

/// The same for an app that may be compressed: its resident pages are what can be taken.
const IDLE_CHANGED_BYTES: u64 = 1 << 20;

/// An app is read in full again after this time: pages that are swapped out while it grows do not
/// show in its charge.
const SIZED_NS: u64 = 2_000_000_000;

/// A process that has run for this long is no short step of a build. If it is one, it counts as a
/// hog.
const STAYS_NS: u64 = 10_000_000_000;

impl Memory {
    /// Reads memory and, where an app may be compressed or killed, what the apps occupy.
    pub(super) fn look<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        self.look_at_ns = None;
        if self.can_wait(shared, now_ns) {
            self.look_at_ns = Some(shared.grace_ends_ns());
            self.state = MemoryState { stalled_us: 0, stall_percent: 0.0, refaults_per_s: 0, ..self.state };
            shared.perceive_in_time(false, now_ns);
            return Ok(());
        }
        let last = self.reading;
        let now = shared.device.memory()?;
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns).max(1);
        let file_refaults = now.refault_file.saturating_sub(last.refault_file);
        let refaults = file_refaults + now.refault_anon.saturating_sub(last.refault_anon);
        // Over less than 10 ms a rate says nothing.
        let rate_over_ns = elapsed_ns.max(10_000_000);
        let in_memory = now.zram.is_some();
        self.storage_refaults.record(if in_memory { file_refaults } else { refaults }, elapsed_ns);
        let memory = self.with_stalls(shared, &now, now_ns);
        self.state = MemoryState {
            storage_refaults_per_s: self.storage_refaults.per_s(),
            stall_percent: memory.stalled_us as f64 * 100_000.0 / rate_over_ns as f64,
            refaults_per_s: (u128::from(refaults) * 1_000_000_000 / u128::from(rate_over_ns)) as u64,
            ..memory
        };
        (self.reading, shared.memory) = (now, now);
        self.looked_ns = now_ns;
        shared.psi_fired = false;
        let short = pressure(&self.state, &shared.policy.memory);
        shared.short = short.shortage.is_some() || short.ladder.is_some();
        let is_fronts = is_left_to_the_front(&self.moment(shared, now_ns), &short, &shared.policy.memory);
        if !is_fronts {
            self.read_who_left(shared, now_ns);
        }
        let full = shared.config.memory.mode == Mode::Full;
        let read_of_late = self.usage_read_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < USAGE_IDLE_NS);
        let is_due = || {
            let mut snapshot = shared.snapshot(now_ns);
            self.describe_all(&mut snapshot);
            is_due_ahead(&snapshot, &shared.policy.memory)
        };
        let may_harm = !is_fronts
            && (short.shortage.is_some()
                || short.ladder.is_some()
                || !shared.attention.screen_on
                || (full && !read_of_late && is_due()));
        if may_harm {
            self.refresh_usage(shared, now_ns);
            shared.identify_all(now_ns);
        }
        if full && (self.outside.is_watched() || (may_harm && (short.shortage.is_some() || short.ladder.is_some()))) {
            self.outside.look(shared, &self.state, now_ns);
        } else {
            self.outside.forget_outsiders();
        }
        shared.perceive_in_time(may_harm, now_ns);
        self.cpus.look(shared, now_ns);
        Ok(())
    }

    /// Whether the look can wait until the grace time of the app in the foreground ends: PSI has
    /// not fired, and by the last look nothing would be done before.
    fn can_wait<D: Device>(&self, shared: &EngineState<D>, now_ns: u64) -> bool {
        let moment = self.moment(shared, now_ns);
        let config = &shared.policy.memory;
        !(shared.psi_fired || shared.polls_memory)
            && is_left_to_the_front(&moment, &pressure(&self.state, config), config)
    }

    /// A snapshot without apps: `is_left_to_the_front` needs no more.
    fn moment<D: Device>(&self, shared: &EngineState<D>, now_ns: u64) -> Snapshot {
        Snapshot {
            now_ns,
            screen_on: shared.attention.screen_on,
            focused_ns: shared.attention.focused_ns,
            memory: self.state,
            ..Snapshot::default()
        }
    }

    /// A reading as a state, with the time that tasks waited for memory since the last look.
    pub(super) fn with_stalls<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        now: &MemoryReading,
        now_ns: u64,
    ) -> MemoryState {
        let is_late = now_ns.saturating_sub(self.looked_ns) > watching_ns(shared);
        let stalled_us = match (now.psi_some_total_us, self.reading.psi_some_total_us) {
            // Stalls that add up since a look long ago were each too short for the trigger.
            (Some(_), Some(_)) if !(shared.psi_fired || shared.polls_memory) && is_late => 0,
            // What the kernel would not have told of is nobody's waiting: it found memory at once.
            (Some(now), Some(last)) => {
                let (stalled_us, elapsed_ns) = (now.saturating_sub(last), now_ns.saturating_sub(self.looked_ns));
                // Shares of time, each multiplied by both times.
                let stalled = u128::from(stalled_us) * u128::from(PSI_WINDOW_US * 1000);
                let least = u128::from(shared.config.daemon.psi_stall_us) * u128::from(elapsed_ns);
                if shared.psi_fired || shared.polls_memory || stalled >= least {
                    stalled_us
                } else {
                    0
                }
            }
            // Without PSI, each look counts as one that a stall asked for.
            _ => 1,
        };
        let polled = shared.polls_memory || now.psi_some_total_us.is_none();
        let state = MemoryState { stalled_us, polled, ..MemoryState::of_reading(now, self.low_bytes(shared, now_ns)) };
        // Reading the pool costs as much as reading memory.
        let second_level = match pressure(&state, &shared.policy.memory).little_left {
            true => shared.device.ecache().ok().flatten().map(|pool| self.recent_hits.record(&pool)),
            false => None,
        };
        MemoryState { second_level, ..state }
    }

    /// The kernel's low watermarks; 0 with Android's thresholds, which do not count from them. They
    /// change with huge pages and `vm.min_free_kbytes`, so they are read again now and then.
    pub(super) fn low_bytes<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> u64 {
        if shared.config.memory.minfree_pages.is_some() {
            return 0;
        }
        match self.watermarks {
            Some((read_ns, low_bytes)) if now_ns.saturating_sub(read_ns) < WATERMARKS_FRESH_NS => low_bytes,
            _ => {
                let low_bytes = shared.device.low_watermark_bytes().unwrap_or_else(|e| {
                    say!("fovea: {e}");
                    self.watermarks.map_or(0, |(_, low_bytes)| low_bytes)
                });
                self.watermarks = Some((now_ns, low_bytes));
                low_bytes
            }
        }
    }

    /// Reads what these apps occupy, to be shown.
    pub(super) fn read_sizes<D: Device>(&mut self, shared: &mut EngineState<D>, shown: &[AppName], now_ns: u64) {
        for app in shown.iter().filter_map(|name| shared.registry.get(name)) {
            if let Some(known) = self.apps.get_mut(&app.name) {
                let since_ns = shared.apps.get(&app.name).map_or(0, |known| known.background_since_ns);
                let how = How { in_full: true, changed_bytes: u64::MAX, fresh_ns: u64::MAX, since_ns };
                // Where the read fails, the last known usage is shown.
                let _ = read_usage(&mut shared.device, &app.cgroup, known, &how, now_ns);
            }
        }
    }

    /// Reads what an app occupies as it comes to the front, short or not, if it has more than when it was left: nobody wanted that. With
    /// readings from a shortage on alone, an app that its user goes to and fro between has grown for too short a time when swap is full.
    pub(super) fn read_who_came<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        for (name, came_ns) in std::mem::take(&mut self.came_to_front) {
            let (Some(app), Some(known)) = (shared.registry.get(&name), self.apps.get_mut(&name)) else { continue };
            let is_read =
                shared.config.memory.mode == Mode::Full && shared.registry.importance(app) == Importance::Foreground;
            // The charge alone at first: the CPU is the app's that comes.
            let then_bytes = known.sized.filter(|_| is_read).map(|(_, then_bytes)| then_bytes);
            let charge = then_bytes.and_then(|then_bytes| {
                shared.device.charge(&app.cgroup).ok().filter(|now_bytes| *now_bytes >= then_bytes + LEAST_GAINED_BYTES)
            });
            if charge.is_some() {
                read_growth(&mut shared.device, &app.cgroup, known, now_ns);
            }
            known.growth.fronted(came_ns);
        }
    }

    /// Reads what an app has that was left, to be compared with what it has when its user comes back.
    fn read_who_left<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        for name in std::mem::take(&mut self.left_front) {
            let (Some(app), Some(known)) = (shared.registry.get(&name), self.apps.get_mut(&name)) else { continue };
            if shared.config.memory.mode == Mode::Full && shared.registry.importance(app) != Importance::Foreground {
                known.growth.left(shared.apps.get(&name).map_or(0, |known| known.background_since_ns));
                read_growth(&mut shared.device, &app.cgroup, known, now_ns);
            }
        }
    }

    /// Reads what the apps occupy. A kill may have to wait for this. So an app is read in full only
    /// if it went to the background since the last full reading, or if its charge has changed. Of
    /// the others the charge alone is read, at a tenth of the cost. Pages that the daemon
    /// compresses itself are accounted for, and do not count as a change.
    fn refresh_usage<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        if self.usage_read_ns.is_some_and(|t| now_ns.saturating_sub(t) < USAGE_FRESH_NS) {
            return;
        }
        self.usage_read_ns = Some(now_ns);
        let compresses = shared.config.memory.mode == Mode::Full;
        // In the mode `ladder` growth does not matter.
        let (changed_bytes, fresh_ns) = if compresses { (GROWN_BYTES, SIZED_NS) } else { (u64::MAX, u64::MAX) };
        for app in shared.registry.iter() {
            let Some(known) = self.apps.get_mut(&app.name) else { continue };
            let idle = shared.registry.importance(app) >= Importance::Hidden;
            let since_ns = shared.apps.get(&app.name).map_or(0, |known| known.background_since_ns);
            let changed_bytes = if compresses && idle { changed_bytes.min(IDLE_CHANGED_BYTES) } else { changed_bytes };
            let how = How { in_full: false, changed_bytes, fresh_ns, since_ns };
            if let Err(e) = read_usage(&mut shared.device, &app.cgroup, known, &how, now_ns) {
                say!("fovea: {e}");
                continue;
            }
            if idle {
                known.growth.left(since_ns);
            }
            known.growth.record(now_ns, known.usage.own_bytes());
            // A fork bomb in its first seconds is judged by all its memory: reading each of its
            // processes takes too long.
            let born_ns = known.growth.born_ns().unwrap_or(0);
            let begins = begins_as_a_bomb(app.seen, known.usage.processes, born_ns, now_ns);
            // What has a window and was in front its user may have wanted. A terminal's jobs were not, though it was.
            let is_unasked = !app.seen || app.kind != Kind::App;
            let grows = known.growth.bytes_per_s() > 0 && known.usage.own_bytes() >= LEAST_GAINED_BYTES;
            if compresses && (known.growth.is_suspect() || (is_unasked && grows)) && !begins {
                // What could not be read now is known as it was.
                let Ok(holders) = shared.device.holders(&app.cgroup) else { continue };
                if is_unasked {
                    known.growth.note_largest(&holders, now_ns);
                }
                known.growth.take_off_replaced(&holders);
                known.baseline.record(&holders);
            }
        }
        if compresses {
            self.find_hog(shared, now_ns);
        }
    }

    /// Sets `hog_bytes` of the app or job that holds several times as much as any other, if there
    /// is one: the memory of its largest process that has run for [`STAYS_NS`]. Of an app only
    /// memory taken in the background counts, because before that its user may have wanted it.
    fn find_hog<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        let mut sizes = Vec::with_capacity(self.apps.len());
        for (name, known) in &mut self.apps {
            known.hog_bytes = 0;
            sizes.push((known.usage.own_bytes(), name.clone()));
        }
        sizes.sort_unstable();
        let Some((bytes, name)) = sizes.pop() else { return };
        let second_bytes = sizes.last().map(|&(bytes, _)| bytes);
        if bytes < LEAST_GAINED_BYTES || !is_several_times_any_other(bytes, second_bytes) {
            return;
        }
        let (Some(app), Some(known)) = (shared.registry.get(&name), self.apps.get_mut(&name)) else { return };
        let most_bytes = if app.kind == Kind::App { known.growth.hoarded_bytes() } else { u64::MAX };
        if most_bytes < LEAST_GAINED_BYTES {
            return;
        }
        let holders = shared.device.holders(&app.cgroup).unwrap_or_default();
        let stays = |holder: &&Holder| now_ns.saturating_sub(holder.started_ns) >= STAYS_NS;
        let largest_bytes = holders.iter().filter(stays).map(|holder| holder.bytes).max().unwrap_or(0);
        known.hog_bytes = largest_bytes.min(most_bytes);
    }
}

/// Reads an app in full, for its growth. One that cannot be read is gone, and its end is told next.
fn read_growth<D: Device>(device: &mut D, cgroup: &str, known: &mut AppMemory, now_ns: u64) {
    let how = How { in_full: true, changed_bytes: 0, fresh_ns: 0, since_ns: 0 };
    if read_usage(device, cgroup, known, &how, now_ns).is_ok() {
        known.growth.record(now_ns, known.usage.own_bytes());
    }
}

/// Looks that are no further apart than this watch the same shortage.
fn watching_ns<D>(shared: &EngineState<D>) -> u64 {
    4 * shared.config.memory.watch_ms * 1_000_000
}

/// How an app's usage is to be read.
struct How {
    in_full: bool,
    /// In full all the same if the charge has changed by this much since the last full reading.
    changed_bytes: u64,
    /// Or if the last full reading is older than this.
    fresh_ns: u64,
    /// Or if the last full reading was before this time, at which the app went to the background.
    since_ns: u64,
}

/// Reads what an app occupies. In full if `how` says so, if the last full reading is old, or if the
/// charge has changed by a quarter. Else the charge alone.
fn read_usage<D: Device>(
    device: &mut D,
    cgroup: &str,
    known: &mut AppMemory,
    how: &How,
    now_ns: u64,
) -> Result<(), Error> {
    if let (false, Some((sized_ns, then))) = (how.in_full, known.sized) {
        let charge = device.charge(cgroup)?;
        known.usage.current_bytes = charge;
        let is_fresh = sized_ns >= how.since_ns && now_ns.saturating_sub(sized_ns) < how.fresh_ns;
        if is_fresh && charge.abs_diff(then) <= (then / 4).min(how.changed_bytes) {
            return Ok(());
        }
    }
    known.usage = device.usage(cgroup)?;
    known.sized = Some((now_ns, known.usage.current_bytes));
    Ok(())
}
