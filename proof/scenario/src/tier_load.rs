// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps in fast and slow memory: what they do, and what comes of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Apps that read and write their pages, in memory of two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TierLoad {
    /// Fast memory that is left to apps, of what they have in all.
    pub fast_percent: u32,
    /// Apps; the last one started is in front first.
    pub apps: u32,
    /// Pages of each.
    pub pages: u64,
    /// Pages of each that most of its requests are for.
    pub set_pages: u64,
    /// Requests that are for these.
    pub set_percent: u32,
    /// Requests that write.
    pub write_percent: u32,
    /// Requests a second of the app in front.
    pub front_per_s: u64,
    /// How many times as many it makes as all others together.
    pub ratio: u64,
    /// Computing time between two requests.
    pub compute_insns: u64,
    /// New pages that the first app takes in a second while it is in the background, every other one of a file.
    pub taken_per_s: u64,
    /// After so long the next app comes to the front; 0: it stays.
    pub switch_ns: u64,
    /// How long all take.
    pub ns: u64,
}

impl Default for TierLoad {
    fn default() -> Self {
        TierLoad {
            fast_percent: 5,
            apps: 4,
            pages: 16_384,
            set_pages: 2_048,
            set_percent: 95,
            write_percent: 30,
            front_per_s: 10_000,
            ratio: 15,
            compute_insns: 50_000,
            taken_per_s: 0,
            switch_ns: 0,
            ns: 30_000_000_000,
        }
    }
}

impl TierLoad {
    /// The app in front so long after the beginning, and since when.
    pub fn front(&self, ns: u64) -> (u64, u64) {
        let last = u64::from(self.apps.max(1)) - 1;
        match ns.checked_div(self.switch_ns) {
            None => (last, 0),
            Some(turn) => ((last + turn) % (last + 1), turn * self.switch_ns),
        }
    }

    /// How often an app comes to the front, the first included.
    pub fn turns(&self) -> u64 {
        if self.switch_ns == 0 {
            1
        } else {
            self.ns.div_ceil(self.switch_ns)
        }
    }

    /// Requests that an app makes in a time.
    pub fn requests(&self, in_front: bool, ns: u64) -> u64 {
        let all = self.front_per_s * ns / 1_000_000_000;
        let others = u64::from(self.apps.max(2)) - 1;
        if in_front {
            all
        } else {
            all / (self.ratio.max(1) * others)
        }
    }

    /// The app that takes new pages, while it is behind.
    const TAKER: u64 = 0;

    /// New pages that an app takes in a time.
    pub fn taken(&self, app: u64, in_front: bool, ns: u64) -> u64 {
        if app == Self::TAKER && !in_front {
            self.taken_per_s * ns / 1_000_000_000
        } else {
            0
        }
    }

    /// Fast memory that is left to apps.
    pub fn fast_bytes(&self) -> u64 {
        u64::from(self.apps) * self.pages * crate::PAGE_BYTES as u64 * u64::from(self.fast_percent) / 100
    }

    /// Name of an app.
    pub fn name(app: u64) -> String {
        format!("app-{app}")
    }
}

/// Requests by what they do, and by the memory in which they found their page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Reads in fast memory.
    pub fast_reads: u64,
    /// Writes there.
    pub fast_writes: u64,
    /// Reads in slow memory.
    pub slow_reads: u64,
    /// Writes there.
    pub slow_writes: u64,
}

impl Requests {
    /// In fast memory.
    pub fn fast(&self) -> u64 {
        self.fast_reads + self.fast_writes
    }

    /// In all.
    pub fn all(&self) -> u64 {
        self.fast() + self.slow_reads + self.slow_writes
    }
}

/// What an app did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierApp {
    /// While it was in front.
    pub front: Requests,
    /// Of these, from two seconds after it had come there.
    pub settled: Requests,
    /// While it was not.
    pub back: Requests,
    /// Pages that did not hold what had been written there.
    pub wrong_pages: u64,
}

/// What all did, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierUse {
    /// By name.
    pub apps: BTreeMap<String, TierApp>,
    /// Pages that the kernel moved meanwhile, in either direction and for whatever reason.
    pub moved_pages: u64,
    /// CPU time that it spent meanwhile, for apps or for itself.
    pub system_ns: u64,
    /// Fast memory, but for what was taken from apps.
    pub fast_bytes: u64,
    /// Slow memory.
    pub slow_bytes: u64,
    /// Apps that the daemon kept out of fast memory at the end.
    #[serde(default)]
    pub kept_out: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_take_turns_in_front_if_they_are_to() {
        let stays = TierLoad::default();
        assert_eq!((stays.front(0), stays.front(u64::MAX)), ((3, 0), (3, 0)));
        let turns = TierLoad { switch_ns: 5, ..stays };
        let seen: Vec<_> = [0, 4, 5, 10, 19, 20].map(|ns| turns.front(ns)).into();
        assert_eq!(seen, [(3, 0), (3, 0), (0, 5), (1, 10), (2, 15), (3, 20)]);
        let turns = |ns| TierLoad { ns, ..turns }.turns();
        assert_eq!((stays.turns(), turns(5), turns(6), turns(10)), (1, 1, 2, 2));
    }

    #[test]
    fn requests_have_the_ratio() {
        let load = TierLoad { front_per_s: 9_000, ratio: 3, ..TierLoad::default() };
        let second = 1_000_000_000;
        assert_eq!((load.requests(true, second), load.requests(false, second)), (9_000, 1_000));
        assert_eq!(TierLoad::default().fast_bytes(), 256 * 1024 * 1024 / 20);
    }
}
