// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What Hybrid15 compares with: LRU and 2Q over the same two kinds of memory, of which they know nothing. The paper does not say
//! where they put pages: see [`Place`](super::Place). With DRAM only they are what the paper calls "traditional".

use super::{Buffer, Frames, Ledger, Request, Tier};
use crate::policy::{Slot, Table, ABSENT};

/// Which frame each page has.
struct Placement {
    free: Frames,
    tiers: Vec<Tier>,
    dirty: Vec<bool>,
}

impl Placement {
    fn new(frames: Frames, pages: u32) -> Self {
        Placement { free: frames, tiers: vec![Tier::Dram; pages as usize], dirty: vec![false; pages as usize] }
    }

    fn has_room(&self) -> bool {
        self.free.total() > 0
    }

    fn hit(&mut self, request: Request, ledger: &mut Ledger) {
        self.dirty[request.page as usize] |= request.write;
        ledger.hit(request, self.tiers[request.page as usize]);
    }

    fn fill(&mut self, request: Request, ledger: &mut Ledger) {
        let tier = if self.free.dram > 0 { Tier::Dram } else { Tier::Pcm };
        *(if tier == Tier::Dram { &mut self.free.dram } else { &mut self.free.pcm }) -= 1;
        self.tiers[request.page as usize] = tier;
        self.dirty[request.page as usize] = request.write;
        ledger.miss(request, tier);
    }

    fn evict(&mut self, page: u32, request: Request, ledger: &mut Ledger) {
        *(if self.tiers[page as usize] == Tier::Dram { &mut self.free.dram } else { &mut self.free.pcm }) += 1;
        ledger.evicted(request, self.dirty[page as usize]);
    }
}

const ALL: u8 = 1;

/// Least recently used.
pub struct Lru {
    list: Table<1>,
    placement: Placement,
}

impl Lru {
    /// An empty one.
    pub fn new(frames: Frames, pages: u32) -> Self {
        let mut list = Table::default();
        list.ensure_ids(pages);
        Lru { list, placement: Placement::new(frames, pages) }
    }
}

impl Buffer for Lru {
    fn access(&mut self, request: Request, ledger: &mut Ledger) {
        let slot = Table::<1>::slot(request.page);
        if self.list.place(slot) != ABSENT {
            self.list.refresh(slot);
            return self.placement.hit(request, ledger);
        }
        if !self.placement.has_room() {
            if let Some(victim) = self.list.back(ALL) {
                self.list.remove(victim);
                self.placement.evict(Table::<1>::id(victim), request, ledger);
            }
        }
        self.list.push_front(ALL, slot, 1);
        self.placement.fill(request, ledger);
    }

    fn tier_of(&self, page: u32) -> Option<Tier> {
        (self.list.place_of(page) != ABSENT).then(|| self.placement.tiers[page as usize])
    }
}

const BOTTOM: u8 = 2;

/// Least recently used, with the top of the list in DRAM.
pub struct TopLru {
    frames: Frames,
    lists: Table<2>,
    dirty: Vec<bool>,
}

impl TopLru {
    /// An empty one.
    pub fn new(frames: Frames, pages: u32) -> Self {
        let mut lists = Table::default();
        lists.ensure_ids(pages);
        TopLru { frames, lists, dirty: vec![false; pages as usize] }
    }

    /// Makes room at the top, and below it for what comes from there.
    fn room(&mut self, request: Request, ledger: &mut Ledger) {
        if self.lists.weight(ALL) < u64::from(self.frames.dram) {
            return;
        }
        let Some(last) = self.lists.back(ALL) else { return };
        if self.lists.weight(BOTTOM) >= u64::from(self.frames.pcm) {
            if let Some(victim) = self.lists.back(BOTTOM) {
                self.lists.remove(victim);
                ledger.evicted(request, self.dirty[Table::<2>::id(victim) as usize]);
            }
        }
        self.lists.move_to(BOTTOM, last);
        ledger.moved(request, Tier::Pcm);
    }
}

impl Buffer for TopLru {
    fn access(&mut self, request: Request, ledger: &mut Ledger) {
        let slot = Table::<2>::slot(request.page);
        let dirty = &mut self.dirty[request.page as usize];
        match self.lists.place(slot) {
            ALL => {
                *dirty |= request.write;
                self.lists.refresh(slot);
                ledger.hit(request, Tier::Dram);
            }
            BOTTOM => {
                *dirty |= request.write;
                self.lists.remove(slot);
                self.room(request, ledger);
                self.lists.push_front(ALL, slot, 1);
                ledger.moved(request, Tier::Dram);
                ledger.hit(request, Tier::Dram);
            }
            _ => {
                *dirty = request.write;
                self.room(request, ledger);
                self.lists.push_front(ALL, slot, 1);
                ledger.miss(request, Tier::Dram);
            }
        }
    }

    fn tier_of(&self, page: u32) -> Option<Tier> {
        match self.lists.place_of(page) {
            ALL => Some(Tier::Dram),
            BOTTOM => Some(Tier::Pcm),
            _ => None,
        }
    }
}

const IN: u8 = 1;
const OUT: u8 = 2;
const MAIN: u8 = 3;

/// 2Q, the full version, with the paper's Kin of 25 % and Kout of 50 % (Johnson and Shasha, VLDB 1994, section 2.2), which Hybrid15
/// cites as "2QLRU".
pub struct TwoQueue {
    first: u64,
    ghosts: u64,
    lists: Table<3>,
    placement: Placement,
}

impl TwoQueue {
    /// An empty one.
    pub fn new(frames: Frames, pages: u32) -> Self {
        let mut lists = Table::default();
        lists.ensure_ids(pages);
        let total = u64::from(frames.total());
        let (first, ghosts) = ((total / 4).max(1), total / 2);
        TwoQueue { first, ghosts, lists, placement: Placement::new(frames, pages) }
    }

    fn victim(&mut self) -> Option<Slot> {
        if self.lists.weight(IN) <= self.first {
            if let Some(victim) = self.lists.back(MAIN) {
                self.lists.remove(victim);
                return Some(victim);
            }
        }
        let victim = self.lists.back(IN)?;
        self.lists.remove(victim);
        if self.ghosts > 0 {
            while self.lists.weight(OUT) >= self.ghosts {
                let Some(oldest) = self.lists.back(OUT) else { break };
                self.lists.remove(oldest);
            }
            self.lists.push_front(OUT, victim, 1);
        }
        Some(victim)
    }
}

impl Buffer for TwoQueue {
    fn access(&mut self, request: Request, ledger: &mut Ledger) {
        let slot = Table::<3>::slot(request.page);
        let place = self.lists.place(slot);
        match place {
            MAIN => {
                self.lists.refresh(slot);
                return self.placement.hit(request, ledger);
            }
            IN => return self.placement.hit(request, ledger),
            OUT => self.lists.remove(slot),
            _ => {}
        }
        if !self.placement.has_room() {
            if let Some(victim) = self.victim() {
                self.placement.evict(Table::<3>::id(victim), request, ledger);
            }
        }
        self.lists.push_front(if place == OUT { MAIN } else { IN }, slot, 1);
        self.placement.fill(request, ledger);
    }

    fn tier_of(&self, page: u32) -> Option<Tier> {
        (!matches!(self.lists.place_of(page), ABSENT | OUT)).then(|| self.placement.tiers[page as usize])
    }
}
