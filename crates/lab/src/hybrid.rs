// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Buffer caches in a memory of two kinds: a little DRAM and much PCM (Hybrid15). A [`Buffer`] is a policy that says at each
//! request what it does to which page; a [`Ledger`] counts that; [`cost`] turns counts into time and energy afterwards, so that
//! another price needs no other run.

mod clock_dwf;
pub mod compare;
pub mod cost;
mod ledger;
mod mix;
mod oblivious;
mod seed;
mod trace;

pub use clock_dwf::ClockDwf;
pub use ledger::{Class, Ledger};
pub use mix::{AppMix, Mix};
pub use oblivious::{Lru, TwoQueue};
pub use seed::{OnSwitch, ReadOnly, SeedPolicy};
pub use trace::{foreground_of, HybridTrace};

use crate::{Error, Result};

/// One request for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The page's dense number.
    pub page: u32,
    /// Whether the app that asks is in the foreground.
    pub foreground: bool,
    /// Written, not read.
    pub write: bool,
}

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Fast, and refreshed all the time.
    Dram,
    /// Slow to write, and idle for nothing.
    Pcm,
}

/// Pages that each kind of memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Of DRAM.
    pub dram: u32,
    /// Of PCM.
    pub pcm: u32,
}

impl Frames {
    /// `total` pages, of which `dram_percent` are DRAM; at least one of each kind, unless all are DRAM.
    ///
    /// # Errors
    /// If there are too few pages for both kinds.
    pub fn split(total: u64, dram_percent: f64) -> Result<Self> {
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        if total < 2 {
            return Err(Error::Usage(format!("memory of {total} pages: too small for two kinds; take a larger size")));
        }
        if dram_percent >= 100.0 {
            return Ok(Frames { dram: total, pcm: 0 });
        }
        let dram = ((f64::from(total) * dram_percent / 100.0).round() as u32).clamp(1, total - 1);
        Ok(Frames { dram, pcm: total - dram })
    }

    /// All of them.
    pub fn total(self) -> u32 {
        self.dram + self.pcm
    }
}

/// A buffer cache over both kinds of memory.
pub trait Buffer {
    /// Serves a request, and enters all that it did in the ledger.
    fn access(&mut self, request: Request, ledger: &mut Ledger);

    /// Where a page is, if it is in memory.
    fn tier_of(&self, page: u32) -> Option<Tier>;
}

/// A policy by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Hybrid15.
    Seed(OnSwitch, ReadOnly),
    /// LRU that knows nothing of kinds.
    Lru,
    /// 2Q that knows nothing of kinds.
    TwoQueue,
    /// CLOCK-DWF.
    ClockDwf,
}

/// The policies that are compared unless others are named.
pub const POLICIES: [Policy; 4] =
    [Policy::Seed(OnSwitch::Rules, ReadOnly::Request), Policy::Lru, Policy::TwoQueue, Policy::ClockDwf];

const NAMED: [(&str, Policy); 7] = [
    ("seed", Policy::Seed(OnSwitch::Rules, ReadOnly::Request)),
    ("seed:read-only=page", Policy::Seed(OnSwitch::Rules, ReadOnly::Page)),
    ("seed:switch=move", Policy::Seed(OnSwitch::Move, ReadOnly::Request)),
    ("seed:switch=move:read-only=page", Policy::Seed(OnSwitch::Move, ReadOnly::Page)),
    ("lru", Policy::Lru),
    ("2q-lru", Policy::TwoQueue),
    ("clock-dwf", Policy::ClockDwf),
];

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(NAMED.iter().find(|(_, p)| p == self).map_or("?", |(name, _)| name))
    }
}

impl std::str::FromStr for Policy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        NAMED.iter().find(|(n, _)| *n == name.trim()).map(|&(_, policy)| policy).ok_or_else(|| {
            let known: Vec<_> = NAMED.iter().map(|(n, _)| *n).collect();
            Error::Usage(format!("hybrid policy {name:?}: not known; take one of {}", known.join(", ")))
        })
    }
}

impl Policy {
    /// An empty buffer cache for pages below `pages`.
    pub fn build(self, frames: Frames, pages: u32) -> Box<dyn Buffer> {
        match self {
            Policy::Seed(on_switch, read_only) => Box::new(SeedPolicy::new(frames, pages, on_switch, read_only)),
            Policy::Lru => Box::new(Lru::new(frames, pages)),
            Policy::TwoQueue => Box::new(TwoQueue::new(frames, pages)),
            Policy::ClockDwf => Box::new(ClockDwf::new(frames, pages)),
        }
    }

    /// Runs a trace through an empty cache.
    pub fn run(self, trace: &HybridTrace, frames: Frames) -> Ledger {
        let mut buffer = self.build(frames, trace.pages);
        let mut ledger = Ledger::default();
        for &request in &trace.requests {
            buffer.access(request, &mut ledger);
        }
        ledger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_unknown_ones_are_answered() {
        for (name, policy) in NAMED {
            assert_eq!(name.parse::<Policy>().unwrap(), policy);
            assert_eq!(policy.to_string(), name);
        }
        assert_eq!("arc".parse::<Policy>().unwrap_err().exit_code(), 2);
    }

    #[test]
    fn memory_is_split_into_two_kinds() {
        assert_eq!(Frames::split(1000, 5.0).unwrap(), Frames { dram: 50, pcm: 950 });
        assert_eq!(Frames::split(3, 5.0).unwrap(), Frames { dram: 1, pcm: 2 });
        assert_eq!(Frames::split(10, 100.0).unwrap(), Frames { dram: 10, pcm: 0 });
        assert!(Frames::split(1, 5.0).is_err());
    }
}
