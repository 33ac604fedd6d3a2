// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory of two speeds (Hybrid15, section 3): whose pages move between them, and how many now.
//!
//! Not in the list of mechanisms: none of the daemon's carries these moves out yet (docs/tiers.md says what that takes).

mod budget;
mod decide;

pub use budget::Budget;
pub use decide::{decide, Move, TierApp, TierConfig, TierState};

#[cfg(test)]
#[path = "tier_tests.rs"]
mod tests;
