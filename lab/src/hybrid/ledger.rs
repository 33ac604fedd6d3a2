// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a buffer cache did, counted. Whose request caused it is kept apart: the foreground waits for its own only.

use super::{Request, Tier};

/// Counts of what requests of one class (foreground or background) caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Requests.
    pub requests: u64,
    /// Reads served from DRAM.
    pub dram_read_hits: u64,
    /// Writes to pages in DRAM.
    pub dram_write_hits: u64,
    /// Reads served from PCM.
    pub pcm_read_hits: u64,
    /// Writes to pages in PCM.
    pub pcm_write_hits: u64,
    /// Reads of pages not in memory: each is a page read from storage.
    pub read_misses: u64,
    /// Writes of pages not in memory. A page is written whole, so storage is not read.
    pub write_misses: u64,
    /// Missing pages that went to DRAM.
    pub dram_fills: u64,
    /// Missing pages that went to PCM.
    pub pcm_fills: u64,
    /// Pages moved from PCM to DRAM.
    pub promotions: u64,
    /// Pages moved from DRAM to PCM.
    pub demotions: u64,
    /// Pages dropped from memory.
    pub evictions: u64,
    /// Of them, pages that had to be written to storage.
    pub write_backs: u64,
}

impl Class {
    /// Requests for pages in memory.
    pub fn hits(&self) -> u64 {
        self.dram_read_hits + self.dram_write_hits + self.pcm_read_hits + self.pcm_write_hits
    }

    /// Share of requests for pages in memory; 0 without requests.
    pub fn hit_ratio(&self) -> f64 {
        self.hits() as f64 / self.requests.max(1) as f64
    }

    /// Pages written to PCM, for its cells wear out.
    pub fn pcm_page_writes(&self) -> u64 {
        self.pcm_write_hits + self.pcm_fills + self.demotions
    }
}

impl std::ops::Add for Class {
    type Output = Class;

    fn add(self, other: Class) -> Class {
        Class {
            requests: self.requests + other.requests,
            dram_read_hits: self.dram_read_hits + other.dram_read_hits,
            dram_write_hits: self.dram_write_hits + other.dram_write_hits,
            pcm_read_hits: self.pcm_read_hits + other.pcm_read_hits,
            pcm_write_hits: self.pcm_write_hits + other.pcm_write_hits,
            read_misses: self.read_misses + other.read_misses,
            write_misses: self.write_misses + other.write_misses,
            dram_fills: self.dram_fills + other.dram_fills,
            pcm_fills: self.pcm_fills + other.pcm_fills,
            promotions: self.promotions + other.promotions,
            demotions: self.demotions + other.demotions,
            evictions: self.evictions + other.evictions,
            write_backs: self.write_backs + other.write_backs,
        }
    }
}

/// Counts by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Of requests by the foreground.
    pub foreground: Class,
    /// Of requests by the background.
    pub background: Class,
}

impl Ledger {
    /// Both classes.
    pub fn all(&self) -> Class {
        self.foreground + self.background
    }

    pub(super) fn class(&mut self, request: Request) -> &mut Class {
        if request.foreground {
            &mut self.foreground
        } else {
            &mut self.background
        }
    }

    /// The page was in memory there, and was read or written in place.
    pub fn hit(&mut self, request: Request, tier: Tier) {
        let class = self.class(request);
        class.requests += 1;
        *match (tier, request.write) {
            (Tier::Dram, false) => &mut class.dram_read_hits,
            (Tier::Dram, true) => &mut class.dram_write_hits,
            (Tier::Pcm, false) => &mut class.pcm_read_hits,
            (Tier::Pcm, true) => &mut class.pcm_write_hits,
        } += 1;
    }

    /// The page was not in memory, and came in there.
    pub fn miss(&mut self, request: Request, tier: Tier) {
        let class = self.class(request);
        class.requests += 1;
        *(if request.write { &mut class.write_misses } else { &mut class.read_misses }) += 1;
        *(if tier == Tier::Dram { &mut class.dram_fills } else { &mut class.pcm_fills }) += 1;
    }

    /// A page moved to the other kind of memory.
    pub fn moved(&mut self, request: Request, to: Tier) {
        let class = self.class(request);
        *(if to == Tier::Dram { &mut class.promotions } else { &mut class.demotions }) += 1;
    }

    /// A page left memory.
    pub fn evicted(&mut self, request: Request, dirty: bool) {
        let class = self.class(request);
        class.evictions += 1;
        class.write_backs += u64::from(dirty);
    }
}
