// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon would do: the decision on what it knows, with nothing done.

use super::*;
use crate::simulate::{Assumed, Simulation};

impl<D: Device> Engine<D> {
    pub(super) fn simulate(&mut self, assumed: Assumed, now_ns: u64) -> Result<Simulation, Error> {
        let reading = self.device.memory()?;
        let waited_us =
            reading.psi_some_total_us.zip(self.memory.psi_some_total_us).map_or(0, |(now, then)| now - then.min(now));
        // As in a look: stalls of long ago are not what this is about.
        let fresh = self.called || now_ns.saturating_sub(self.looked_ns) <= self.watching_ns();
        let memory = MemoryState {
            stalled_us: if fresh { waited_us } else { 0 },
            ..state_of_memory(&reading, self.low_bytes(now_ns))
        };
        self.read_sizes(now_ns);
        let apps = self.registry.iter().filter_map(|app| self.state_of(app, now_ns)).collect();
        let snapshot = Snapshot {
            now_ns,
            screen_on: self.screen_on,
            focus_told: self.registry.is_told(),
            focused_ns: self.focused_ns,
            cpu_busy: self.cpu_busy,
            memory,
            kill_pending: false,
            apps,
        };
        let mut notes = Vec::new();
        if let Some(victim) = &self.victim {
            notes.push(format!("{} has been asked to end or killed, and its memory is awaited", victim.app));
        }
        Ok(Simulation::of(snapshot, &self.policy, assumed, true, notes))
    }
}
