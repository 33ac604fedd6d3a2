// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pure decisions: a snapshot and a configuration in, actions with reasons out. No clock, no I/O, no hidden state: the same
//! snapshot gives the same decision in the daemon, in the lab and in a replay from the journal (`fovea explain --replay`).
//!
//! One module a mechanism: [`rank`], [`freeze`], [`memory`].

mod action;
mod config;
mod decision;
pub mod freeze;
pub mod memory;
mod plan;
pub mod rank;
mod snapshot;

pub use action::{Action, Reason};
pub use config::{Config, FreezeConfig};
pub use decision::Decision;
pub use plan::{plan, Plan, Step};
pub use snapshot::{AppState, Asked, Snapshot};

/// What is due on a look at the device: the freezer's part, then memory's.
pub fn decide(snapshot: &Snapshot, config: &Config) -> Decision {
    freeze::decide(snapshot, &config.freeze).and(memory::decide(snapshot, &config.memory))
}

/// All that any mechanism would do, each on what is in the snapshot: the list that a replay of the journal goes through.
pub fn everything(snapshot: &Snapshot, config: &Config) -> Decision {
    rank::decide(snapshot).and(memory::read_back(snapshot, &config.memory)).and(decide(snapshot, config))
}
