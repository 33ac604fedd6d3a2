// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pure decisions: a snapshot and a configuration in, actions with reasons out. No clock, no I/O, no hidden state: the same
//! snapshot gives the same decision in the daemon, in the lab and in a replay from the journal.

mod compress;
mod config;
mod decide;
mod freeze;
mod growth;
mod ladder;
mod plan;
mod pressure;
mod snapshot;
mod thresholds;
mod watch;

pub use compress::is_due_ahead;
pub use config::{Config, FreezeConfig, MemoryConfig, Mode};
pub use decide::{decide, Action, Decision, Reason};
pub use growth::{eats_what_is_left, Growth};
pub use plan::{plan, Plan, Step};
pub use pressure::{pressure, Pressure, Shortage};
pub use snapshot::{AppState, MemoryState, Snapshot, SwapState};
pub use thresholds::PAPER_PAGES;
