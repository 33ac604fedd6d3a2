// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon would do: the decision on what it knows, with nothing done.

use super::*;
use crate::simulate::simulation;
use fovea_client::{Assumed, Simulation};

impl<D: Device> Engine<D> {
    pub(super) fn simulate(&mut self, assumed: Assumed, now_ns: u64) -> Result<Simulation, Error> {
        let reading = self.device.memory()?;
        let memory = self.with_stalls(&reading, now_ns);
        self.read_sizes(now_ns);
        self.perceive(now_ns);
        // One that dies now is told of in a note; what comes after it is asked for.
        let snapshot = Snapshot { kill_pending: false, ..self.snapshot(memory, now_ns) };
        let mut notes = Vec::new();
        if let Some(victim) = &self.victim {
            notes.push(format!("{} has been asked to end or killed, and its memory is awaited", victim.app));
        }
        Ok(simulation(snapshot, &self.policy, assumed, true, notes))
    }
}
