// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Fast and slow memory (Hybrid15, section 3): whose pages are demoted, and how many now.

mod budget;
mod config;
mod decide;
mod state;

pub use budget::Budget;
pub use config::TierConfig;
pub use decide::{decide, is_settling, let_in, may_be_short, reserve_pages};
pub use state::{AppTier, TierState};

#[cfg(test)]
#[path = "tier_tests.rs"]
mod tests;
