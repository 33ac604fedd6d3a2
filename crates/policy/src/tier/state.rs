// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What decisions on memory of two speeds depend on.

use serde::{Deserialize, Serialize};

/// Fast and slow memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierState {
    /// All fast memory; 0 on a machine with one kind of memory, or where it is not for us to move pages.
    pub fast_pages: u64,
    /// What is free of it, above what the kernel keeps.
    pub fast_free_pages: u64,
    /// All slow memory.
    pub slow_pages: u64,
    /// What is free of it, above what the kernel keeps.
    pub slow_free_pages: u64,
    /// Room for promotions is being made.
    pub demoting: bool,
    /// Pages that may move now.
    pub budget_pages: u64,
    /// Nothing is moved before: what was moved has cost its share of the CPU.
    pub rests_until_ns: u64,
    /// Nobody who was kept out of fast memory is let in before.
    pub release_ns: u64,
    /// When it is looked at again, if nothing happens.
    pub look_ns: u64,
}

/// An app's part in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppTier {
    /// Its pages in fast memory, when that was last looked at.
    pub fast_pages: u64,
    /// New pages of it go to slow memory only.
    pub steered: bool,
    /// Somebody else has said where its pages go: it is left alone.
    pub foreign: bool,
    /// A look found none of its pages unused for long: it is not asked again before.
    pub hot_until_ns: u64,
    /// Pages that it has more, fast and slow, than when it left the front or was kept out.
    pub grown_pages: u64,
}
