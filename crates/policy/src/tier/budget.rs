// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The budget of page moves.

use serde::{Deserialize, Serialize};

const SECOND_NS: u64 = 1_000_000_000;

/// A token bucket: in any time T at most `burst_pages + pages_per_s * T` pages move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pages_per_s: u64,
    burst_pages: u64,
    /// In billionths of a page, so that no fraction is lost.
    credit: u128,
    at_ns: u64,
}

impl Budget {
    /// Starts full.
    pub fn new(pages_per_s: u64, burst_pages: u64, now_ns: u64) -> Budget {
        Budget { pages_per_s, burst_pages, credit: u128::from(burst_pages) * u128::from(SECOND_NS), at_ns: now_ns }
    }

    /// Pages that may move now. A clock that goes back gives none.
    pub fn pages(&self, now_ns: u64) -> u64 {
        (self.credit_at(now_ns) / u128::from(SECOND_NS)) as u64
    }

    /// Takes off pages that were moved, or tried: a move that failed cost as much.
    pub fn spend(&mut self, pages: u64, now_ns: u64) {
        self.credit = self.credit_at(now_ns).saturating_sub(u128::from(pages) * u128::from(SECOND_NS));
        self.at_ns = self.at_ns.max(now_ns);
    }

    fn credit_at(&self, now_ns: u64) -> u128 {
        let earned = u128::from(now_ns.saturating_sub(self.at_ns)) * u128::from(self.pages_per_s);
        (self.credit + earned).min(u128::from(self.burst_pages) * u128::from(SECOND_NS))
    }
}
