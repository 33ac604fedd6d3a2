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
mod readings;
mod seed;
mod trace;

pub use clock_dwf::ClockDwf;
pub use ledger::{Class, Ledger};
pub use mix::{AppMix, Mix, LIFETIME_WRITES, MIXED_PERMILLE, REQUESTS_PER_S};
pub use oblivious::{Lru, TopLru, TwoQueue};
pub use readings::{Candidate, CaseE, OnSwitch, Place, ReadOnly, Readings};
pub use seed::SeedPolicy;
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

    /// As a policy takes them that knows nothing of kinds.
    fn at(self, place: Place) -> Self {
        match place {
            Place::Pcm => Frames { dram: 0, pcm: self.total() },
            Place::Free | Place::Top => self,
        }
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
    Seed(Readings),
    /// LRU that knows nothing of kinds.
    Lru(Place),
    /// 2Q that knows nothing of kinds. It has no one list whose top could lie in DRAM.
    TwoQueue(Place),
    /// CLOCK-DWF.
    ClockDwf,
}

/// The policies that are compared unless others are named.
pub const POLICIES: [Policy; 4] =
    [Policy::Seed(Readings::OURS), Policy::Lru(Place::Free), Policy::TwoQueue(Place::Free), Policy::ClockDwf];

/// Every policy in every reading.
fn named() -> impl Iterator<Item = Policy> {
    let others = [
        Policy::Lru(Place::Free),
        Policy::Lru(Place::Pcm),
        Policy::Lru(Place::Top),
        Policy::TwoQueue(Place::Free),
        Policy::TwoQueue(Place::Pcm),
        Policy::ClockDwf,
    ];
    Readings::all().into_iter().map(Policy::Seed).chain(others)
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = |place: Place| match place {
            Place::Free => "",
            Place::Pcm => ":place=pcm",
            Place::Top => ":place=top",
        };
        match *self {
            Policy::Seed(readings) => write!(f, "seed{}", readings.name()),
            Policy::Lru(at) => write!(f, "lru{}", place(at)),
            Policy::TwoQueue(at) => write!(f, "2q-lru{}", place(at)),
            Policy::ClockDwf => f.write_str("clock-dwf"),
        }
    }
}

impl std::str::FromStr for Policy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        named().find(|policy| policy.to_string() == name.trim()).ok_or_else(|| {
            Error::Usage(format!(
                "hybrid policy {name:?}: not known; take one of seed, lru, 2q-lru, clock-dwf, with other readings of the paper \
                 behind the first three, in this order: seed:switch=move:read-only=page:e=owner:candidate=hold:count=1, \
                 lru:place=pcm, lru:place=top, 2q-lru:place=pcm"
            ))
        })
    }
}

impl Policy {
    /// An empty buffer cache for pages below `pages`.
    pub fn build(self, frames: Frames, pages: u32) -> Box<dyn Buffer> {
        match self {
            Policy::Seed(readings) => Box::new(SeedPolicy::new(frames, pages, readings)),
            Policy::Lru(Place::Top) if frames.pcm > 0 => Box::new(TopLru::new(frames, pages)),
            Policy::Lru(place) => Box::new(Lru::new(frames.at(place), pages)),
            Policy::TwoQueue(place) => Box::new(TwoQueue::new(frames.at(place), pages)),
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
        let mut names = std::collections::BTreeSet::new();
        for policy in named() {
            let name = policy.to_string();
            assert_eq!(name.parse::<Policy>().unwrap(), policy);
            assert!(names.insert(name));
        }
        assert_eq!(names.len(), 32 + 6);
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
