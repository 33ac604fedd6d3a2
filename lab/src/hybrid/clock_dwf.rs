// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! CLOCK-DWF, CLOCK with Dirty bits and Write Frequency (Lee, Bahn, Noh: "CLOCK-DWF: A write-history-aware page replacement
//! algorithm for hybrid PCM and DRAM memory architectures", IEEE Transactions on Computers 63(9), 2014; Hybrid15's reference 4).
//!
//! It puts pages that are written into DRAM and the others into PCM, and estimates future writes from the history of writes
//! alone, by their frequency (the paper's two observations):
//!
//! - A page missing comes in to DRAM if it is written, to PCM if it is read.
//! - A write to a page in PCM first moves it to DRAM: PCM is written by moves only.
//! - No room in DRAM: a hand goes round its pages. A page whose dirty bit is set loses it and gains one in write frequency; one
//!   without loses one in frequency; one with neither is the victim and moves to PCM.
//! - No room in PCM: CLOCK with reference bits; the victim leaves memory.
//!
//! Reads in DRAM leave no trace. The dirty bit here is the clock's; whether storage has the page is kept apart. The paper's bound on
//! frequencies is not in its abstract nor in descriptions by others; [`MOST`] keeps the hand's work bounded.

use super::{Buffer, Frames, Ledger, Request, Tier};
use crate::policy::{Slot, Table};

const DRAM: u8 = 1;
const PCM: u8 = 2;

/// Highest write frequency kept.
const MOST: u8 = 15;

#[derive(Clone, Copy, Default)]
struct Page {
    /// Of the clock: written (DRAM) or referenced (PCM) since the hand passed.
    bit: bool,
    frequency: u8,
    /// Storage does not have it.
    unsaved: bool,
}

/// The buffer cache. Each clock is a list cut open at the hand: the back is under the hand, the front is what it passed last.
pub struct ClockDwf {
    frames: Frames,
    clocks: Table<2>,
    pages: Vec<Page>,
}

impl ClockDwf {
    /// An empty one.
    pub fn new(frames: Frames, pages: u32) -> Self {
        let mut clocks = Table::default();
        clocks.ensure_ids(pages);
        ClockDwf { frames, clocks, pages: vec![Page::default(); pages as usize] }
    }

    fn page(&mut self, slot: Slot) -> &mut Page {
        &mut self.pages[Table::<2>::id(slot) as usize]
    }

    fn room_in_pcm(&mut self, request: Request, ledger: &mut Ledger) {
        while self.clocks.weight(PCM) >= u64::from(self.frames.pcm) {
            let Some(slot) = self.clocks.back(PCM) else { return };
            let page = self.page(slot);
            if page.bit {
                page.bit = false;
                self.clocks.refresh(slot);
            } else {
                let unsaved = page.unsaved;
                self.clocks.remove(slot);
                ledger.evicted(request, unsaved);
            }
        }
    }

    fn room_in_dram(&mut self, request: Request, ledger: &mut Ledger) {
        while self.clocks.weight(DRAM) >= u64::from(self.frames.dram) {
            let Some(slot) = self.clocks.back(DRAM) else { return };
            let page = self.page(slot);
            if page.bit {
                page.bit = false;
                page.frequency = (page.frequency + 1).min(MOST);
                self.clocks.refresh(slot);
            } else if page.frequency > 0 {
                page.frequency -= 1;
                self.clocks.refresh(slot);
            } else {
                let unsaved = page.unsaved;
                self.clocks.remove(slot);
                if self.frames.pcm == 0 {
                    ledger.evicted(request, unsaved);
                    continue;
                }
                self.room_in_pcm(request, ledger);
                self.clocks.push_front(PCM, slot, 1);
                ledger.moved(request, Tier::Pcm);
            }
        }
    }
}

impl Buffer for ClockDwf {
    fn access(&mut self, request: Request, ledger: &mut Ledger) {
        let slot = Table::<2>::slot(request.page);
        match self.clocks.place(slot) {
            DRAM => {
                self.page(slot).bit |= request.write;
                ledger.hit(request, Tier::Dram);
            }
            PCM if request.write => {
                self.clocks.remove(slot);
                self.room_in_dram(request, ledger);
                self.clocks.push_front(DRAM, slot, 1);
                let page = self.page(slot);
                (page.bit, page.frequency) = (true, 0);
                ledger.moved(request, Tier::Dram);
                ledger.hit(request, Tier::Dram);
            }
            PCM => {
                self.page(slot).bit = true;
                ledger.hit(request, Tier::Pcm);
            }
            _ => {
                let tier = if request.write || self.frames.pcm == 0 { Tier::Dram } else { Tier::Pcm };
                let list = if tier == Tier::Dram {
                    self.room_in_dram(request, ledger);
                    DRAM
                } else {
                    self.room_in_pcm(request, ledger);
                    PCM
                };
                self.clocks.push_front(list, slot, 1);
                *self.page(slot) = Page { bit: request.write, ..Page::default() };
                ledger.miss(request, tier);
            }
        }
        self.page(slot).unsaved |= request.write;
    }

    fn tier_of(&self, page: u32) -> Option<Tier> {
        match self.clocks.place_of(page) {
            DRAM => Some(Tier::Dram),
            PCM => Some(Tier::Pcm),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(clock: &mut ClockDwf, ledger: &mut Ledger, page: u32, write: bool) -> Option<Tier> {
        clock.access(Request { page, foreground: true, write }, ledger);
        clock.tier_of(page)
    }

    #[test]
    fn written_pages_are_in_dram_and_pcm_is_written_by_moves_only() {
        let (mut clock, mut ledger) = (ClockDwf::new(Frames { dram: 2, pcm: 2 }, 8), Ledger::default());
        assert_eq!(touch(&mut clock, &mut ledger, 1, false), Some(Tier::Pcm));
        assert_eq!(touch(&mut clock, &mut ledger, 2, true), Some(Tier::Dram));
        assert_eq!(touch(&mut clock, &mut ledger, 1, true), Some(Tier::Dram));
        assert_eq!(ledger.foreground.pcm_write_hits, 0);
        assert_eq!(touch(&mut clock, &mut ledger, 3, true), Some(Tier::Dram));
        assert_eq!((ledger.foreground.promotions, ledger.foreground.demotions), (1, 1));
    }

    #[test]
    fn the_page_written_again_stays_in_dram() {
        let (mut clock, mut ledger) = (ClockDwf::new(Frames { dram: 3, pcm: 4 }, 16), Ledger::default());
        // The fourth page sends the hand round twice: it takes every bit and frequency, and then page 1.
        for page in 1..=4 {
            touch(&mut clock, &mut ledger, page, true);
        }
        assert_eq!(clock.tier_of(1), Some(Tier::Pcm));
        // Page 2 is next under the hand, but was written again.
        touch(&mut clock, &mut ledger, 2, true);
        touch(&mut clock, &mut ledger, 5, true);
        assert_eq!((clock.tier_of(2), clock.tier_of(3)), (Some(Tier::Dram), Some(Tier::Pcm)));
    }

    #[test]
    fn a_page_read_again_stays_in_pcm() {
        let (mut clock, mut ledger) = (ClockDwf::new(Frames { dram: 1, pcm: 2 }, 8), Ledger::default());
        touch(&mut clock, &mut ledger, 1, false);
        touch(&mut clock, &mut ledger, 2, false);
        touch(&mut clock, &mut ledger, 1, false);
        touch(&mut clock, &mut ledger, 3, false);
        assert_eq!((clock.tier_of(1), clock.tier_of(2)), (Some(Tier::Pcm), None));
    }
}
