// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Looking at the device: what a decision may depend on, put together.

use super::*;

/// An app whose charge has changed by so much is read in full again, however large it is: it may be what memory is short of.
const GROWN_BYTES: u64 = 8 << 20;

impl<D: Device> Engine<D> {
    /// Reads the device and puts together what the decision may depend on.
    pub(super) fn look(&mut self, now_ns: u64) -> Result<Snapshot, Error> {
        let last = self.memory;
        let now = self.device.memory()?;
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns).max(1);
        let refaults = (now.refault_file + now.refault_anon).saturating_sub(last.refault_file + last.refault_anon);
        // Over less than 10 ms a rate says nothing.
        let rate_over_ns = elapsed_ns.max(10_000_000);
        let memory = self.with_stalls(&now, now_ns);
        let memory = MemoryState {
            stall_percent: memory.stalled_us as f64 * 100_000.0 / rate_over_ns as f64,
            refaults_per_s: (u128::from(refaults) * 1_000_000_000 / u128::from(rate_over_ns)) as u64,
            ..memory
        };
        self.memory = now;
        self.looked_ns = now_ns;
        self.called = false;
        let short = fovea_policy::pressure(&memory, &self.policy.memory);
        let full = self.config.memory.mode == fovea_policy::Mode::Full;
        let read_of_late = self.usage_read_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < USAGE_IDLE_NS);
        let is_due =
            || !read_of_late && fovea_policy::is_due_ahead(&self.snapshot(memory, now_ns), &self.policy.memory);
        let may_harm = short.shortage.is_some() || short.ladder.is_some() || !self.screen_on || (full && is_due());
        if may_harm {
            self.refresh_usage(now_ns);
            self.identify_all(now_ns);
            if full && (short.shortage.is_some() || short.ladder.is_some()) {
                self.look_outside(&memory, now_ns);
            }
        }
        self.perceive_in_time(may_harm, now_ns);
        self.look_at_cpus(now_ns);
        Ok(self.snapshot(memory, now_ns))
    }

    /// A reading, and how long somebody waited for memory since the last look.
    pub(super) fn with_stalls(&mut self, now: &MemoryReading, now_ns: u64) -> MemoryState {
        let is_late = now_ns.saturating_sub(self.looked_ns) > self.watching_ns();
        let stalled_us = match (now.psi_some_total_us, self.memory.psi_some_total_us) {
            // Stalls too short for the trigger, long ago, are not what this look is about.
            (Some(_), Some(_)) if !(self.called || self.uncalled) && is_late => 0,
            (Some(now), Some(last)) => now.saturating_sub(last),
            // Without PSI every look counts as called for.
            _ => 1,
        };
        let untold = self.uncalled || now.psi_some_total_us.is_none();
        MemoryState { stalled_us, untold, ..state_of_memory(now, self.low_bytes(now_ns)) }
    }

    /// What is known, put together with memory as it is now.
    pub(super) fn snapshot(&self, memory: MemoryState, now_ns: u64) -> Snapshot {
        Snapshot {
            now_ns,
            screen_on: self.screen_on,
            focus_told: self.registry.is_told(),
            focused_ns: self.focused_ns,
            cpu_busy: self.cpu_busy,
            memory,
            kill_pending: self.victim.is_some(),
            apps: self.registry.iter().filter_map(|app| self.state_of(app, now_ns)).collect(),
        }
    }

    /// The kernel's low watermarks, where the thresholds count from them. They change when huge pages or `vm.min_free_kbytes` are set, so
    /// they are read now and then.
    pub(super) fn low_bytes(&mut self, now_ns: u64) -> u64 {
        if self.config.memory.minfree_pages.is_some() {
            return 0;
        }
        match self.watermarks {
            Some((read_ns, low_bytes)) if now_ns.saturating_sub(read_ns) < WATERMARKS_FRESH_NS => low_bytes,
            _ => {
                let low_bytes = self.device.low_watermark_bytes().unwrap_or_else(|e| {
                    say!("fovea: {e}");
                    self.watermarks.map_or(0, |(_, low_bytes)| low_bytes)
                });
                self.watermarks = Some((now_ns, low_bytes));
                low_bytes
            }
        }
    }

    /// Looks that follow each other within this time watch one and the same shortage.
    pub(super) fn watching_ns(&self) -> u64 {
        4 * self.config.memory.watch_ms * 1_000_000
    }

    /// Whether the others kept the CPUs busy for more than half of the time that the daemon left them.
    pub(super) fn look_at_cpus(&mut self, now_ns: u64) {
        let (then_ns, then) = self.cpu_looked;
        let elapsed_ns = now_ns.saturating_sub(then_ns);
        if elapsed_ns < IDLE_OVER_NS {
            return;
        }
        let now = match self.device.cpu() {
            Ok(now) => now,
            // What was last known of them stands; it only says when to compress.
            Err(e) => {
                if !std::mem::replace(&mut self.cpu_unread, true) {
                    say!("fovea: {e}: going on without");
                }
                return;
            }
        };
        self.cpu_unread = false;
        self.cpu_looked = (now_ns, now);
        let own_ns = now.own_ns.saturating_sub(then.own_ns);
        let left_ns = (elapsed_ns * self.cpus as u64).saturating_sub(own_ns);
        let idle_ns = now.idle_ns.saturating_sub(then.idle_ns);
        // The idle time is counted in 10 ms: less left than that says nothing.
        self.cpu_busy = left_ns > 10_000_000 && idle_ns * 2 < left_ns;
    }

    pub(super) fn state_of(&self, app: &fovea_apps::App, now_ns: u64) -> Option<AppState> {
        let runtime = self.runtime.get(&app.name)?;
        let usage = &runtime.usage;
        Some(AppState {
            name: app.name.clone(),
            importance: self.registry.importance(app),
            standing: runtime.standing(),
            perceived: runtime.perceived,
            focus_seq: app.focus_seq,
            background_since_ns: runtime.background_since_ns,
            seen: app.seen,
            spared: now_ns < runtime.spared_until_ns,
            frozen: runtime.frozen,
            anon_bytes: usage.anon_bytes,
            current_bytes: usage.current_bytes,
            swap_bytes: usage.swap_bytes,
            growth_bytes_per_s: runtime.growth.bytes_per_s(),
            processes: usage.processes,
            returned: runtime.returned,
            compressed: runtime.compressed_at_bytes.is_some_and(|then| usage.anon_bytes < then + REGAINED_BYTES),
        })
    }

    /// Reads what the apps occupy. A kill may have to wait for this, so in full only of those that may be compressed, that went to the
    /// background since they were last read in full, or whose charge is a quarter off; of the others the charge alone, at a tenth of the cost.
    pub(super) fn refresh_usage(&mut self, now_ns: u64) {
        if self.usage_read_ns.is_some_and(|t| now_ns.saturating_sub(t) < USAGE_FRESH_NS) {
            return;
        }
        self.usage_read_ns = Some(now_ns);
        let compresses = self.config.memory.mode == fovea_policy::Mode::Full;
        // The plain ladder does not ask who grows.
        let changed_bytes = if compresses { GROWN_BYTES } else { u64::MAX };
        for app in self.registry.iter() {
            let Some(runtime) = self.runtime.get_mut(&app.name) else { continue };
            let idle = self.registry.importance(app) >= Importance::Hidden;
            if let Err(e) =
                read_usage(&mut self.device, &app.cgroup, runtime, compresses && idle, changed_bytes, now_ns)
            {
                say!("fovea: {e}");
                continue;
            }
            runtime.growth.record(now_ns, runtime.usage.anon_bytes.saturating_add(runtime.usage.swap_bytes));
        }
    }
}

/// A reading as decisions see it, without what changed since an earlier one.
pub(crate) fn state_of_memory(now: &MemoryReading, low_bytes: u64) -> MemoryState {
    MemoryState {
        free_bytes: now.free_bytes,
        total_bytes: now.total_bytes,
        available_bytes: now.available_bytes,
        low_bytes,
        file_bytes: now.file_bytes,
        swap: (now.swap_total_bytes > 0).then_some(SwapState {
            free_bytes: now.swap_free_bytes,
            total_bytes: now.swap_total_bytes,
            zram: now.zram,
        }),
        psi_full_avg10: now.psi_full_avg10.unwrap_or(0.0),
        untold: now.psi_some_total_us.is_none(),
        ..MemoryState::default()
    }
}

/// Reads what an app occupies, in full if `in_full` or if what is known of it cannot be right any more: its charge is a quarter off, or by
/// `changed_bytes`.
pub(super) fn read_usage<D: Device>(
    device: &mut D,
    cgroup: &str,
    runtime: &mut Runtime,
    in_full: bool,
    changed_bytes: u64,
    now_ns: u64,
) -> Result<(), Error> {
    if let (false, Some((sized_ns, then))) = (in_full, runtime.sized) {
        let charge = device.charge(cgroup)?;
        runtime.usage.current_bytes = charge;
        if sized_ns >= runtime.background_since_ns && charge.abs_diff(then) <= (then / 4).min(changed_bytes) {
            return Ok(());
        }
    }
    runtime.usage = device.usage(cgroup)?;
    runtime.sized = Some((now_ns, runtime.usage.current_bytes));
    Ok(())
}
