// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory: how short it is, whom to compress, whom to kill, what to read back (docs/design/lowmem.md).

pub mod compress;
mod config;
mod decide;
mod growth;
mod interval;
mod part;
mod pressure;
mod rate;
mod returning;
mod rules;
mod runaway;
mod second_level;
mod state;
mod thresholds;
pub(crate) mod victim;
mod warning;

pub use compress::{comes_back, grace_ends_ns, is_due_ahead};
pub use config::{MemoryConfig, Mode};
pub use decide::{decide, is_left_to_the_front};
pub use growth::{Growth, LEAST_GAINED_BYTES, YOUNG_NS};
pub use part::{extent, Baseline, Extent, Part};
pub use pressure::{pressure, Pressure, Shortage};
pub use rate::Rate;
pub use returning::{may_read_back, read_back};
pub use rules::{Rule, RulesOff};
pub use runaway::{begins_as_a_bomb, eats_what_is_left, is_several_times_any_other, leak_outside};
pub use second_level::{RecentHits, SecondLevel};
pub use state::{MemoryState, SwapState};
pub use thresholds::PAPER_PAGES;
pub use victim::Need;
pub use warning::{Warned, Warning};
