// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The algorithm of Hybrid15, section 3 (Oh, Kang, Lee, Eom: "A Buffer Cache Algorithm for Hybrid Memory Architecture in Mobile
//! Devices"), with the cases of its figure 1.
//!
//! | case | when | what |
//! |---|---|---|
//! | a | foreground hit in PCM, referenced more than twice | to the MRU end of DRAM |
//! | b | foreground hit in PCM, referenced less | to the MRU end of PCM |
//! | c | foreground hit in PCM of a read-only page | to the MRU end of PCM, whatever its count |
//! | d | background hit in PCM | to the MRU end of PCM; referenced more than twice, to that of DRAM |
//! | e | background hit in DRAM | stays where it is in the list |
//! | f | no room in DRAM | the page at its LRU end goes to the MRU end of PCM |
//! | g | no room in PCM | the page at its LRU end is evicted |
//!
//! New pages come in at the MRU end: the foreground's in DRAM, the background's in PCM. A hit counts one reference up. A page at
//! an LRU end that is looked at for leaving counts one down, and leaves only with none left (section 3, first paragraph).
//!
//! What the paper leaves open is one of the [`Readings`] each, in `readings.rs`. *Exactly two references* is between its "bigger than two" and
//! "lower than two": not hot here.

use super::readings::{Candidate, CaseE, OnSwitch, ReadOnly, Readings};
use super::{Buffer, Frames, Ledger, Request, Tier};
use crate::policy::{Slot, Table};

const DRAM: u8 = 1;
const PCM: u8 = 2;

/// References above which a page is hot.
const HOT: u32 = 2;

#[derive(Clone, Copy, Default)]
struct Page {
    references: u32,
    dirty: bool,
    /// Who used it last.
    foreground: bool,
    /// Who brought it into the list in which it is.
    brought_by_foreground: bool,
}

/// The buffer cache.
pub struct SeedPolicy {
    frames: Frames,
    readings: Readings,
    lists: Table<2>,
    pages: Vec<Page>,
}

impl SeedPolicy {
    /// An empty one.
    pub fn new(frames: Frames, pages: u32, readings: Readings) -> Self {
        let mut lists = Table::default();
        lists.ensure_ids(pages);
        SeedPolicy { frames, readings, lists, pages: vec![Page::default(); pages as usize] }
    }

    fn page(&mut self, slot: Slot) -> &mut Page {
        &mut self.pages[Table::<2>::id(slot) as usize]
    }

    /// The page at the LRU end that has no reference left; those before it lose one and go to the MRU end.
    fn candidate(&mut self, list: u8) -> Option<Slot> {
        loop {
            let slot = self.lists.back(list)?;
            let holds = self.readings.candidate == Candidate::Hold;
            let page = self.page(slot);
            if page.references == 0 || (holds && !page.foreground) {
                page.references = 0;
                return Some(slot);
            }
            page.references -= 1;
            self.lists.refresh(slot);
        }
    }

    /// Case g.
    fn room_in_pcm(&mut self, request: Request, ledger: &mut Ledger) {
        while self.lists.weight(PCM) >= u64::from(self.frames.pcm) {
            let Some(slot) = self.candidate(PCM) else { return };
            self.lists.remove(slot);
            let dirty = self.page(slot).dirty;
            ledger.evicted(request, dirty);
        }
    }

    /// Case f. Where there is no PCM at all the page leaves memory.
    fn room_in_dram(&mut self, request: Request, ledger: &mut Ledger) {
        while self.lists.weight(DRAM) >= u64::from(self.frames.dram) {
            let Some(slot) = self.candidate(DRAM) else { return };
            self.lists.remove(slot);
            if self.frames.pcm == 0 {
                let dirty = self.page(slot).dirty;
                ledger.evicted(request, dirty);
                continue;
            }
            self.room_in_pcm(request, ledger);
            self.lists.push_front(PCM, slot, 1);
            ledger.moved(request, Tier::Pcm);
        }
    }

    /// Whether a page in PCM that was hit moves to DRAM: cases a to d.
    fn is_hot(&self, request: Request, page: Page) -> bool {
        if !request.foreground {
            return page.references > HOT;
        }
        let read_only = match self.readings.read_only {
            ReadOnly::Request => !request.write,
            ReadOnly::Page => !request.write && !page.dirty,
        };
        let switched = self.readings.on_switch == OnSwitch::Move && !page.foreground;
        !read_only && (switched || page.references > HOT)
    }
}

impl Buffer for SeedPolicy {
    fn access(&mut self, request: Request, ledger: &mut Ledger) {
        let slot = Table::<2>::slot(request.page);
        match self.lists.place(slot) {
            DRAM => {
                let case_e = self.readings.case_e;
                let page = self.page(slot);
                page.references += 1;
                let refreshes = match case_e {
                    CaseE::Requester => request.foreground,
                    CaseE::Owner => page.brought_by_foreground,
                };
                if refreshes {
                    self.lists.refresh(slot);
                }
                ledger.hit(request, Tier::Dram);
            }
            PCM => {
                let page = self.page(slot);
                page.references += 1;
                let page = *page;
                if self.is_hot(request, page) {
                    self.lists.remove(slot);
                    self.room_in_dram(request, ledger);
                    self.lists.push_front(DRAM, slot, 1);
                    self.page(slot).brought_by_foreground = request.foreground;
                    ledger.moved(request, Tier::Dram);
                    // Served where it is now: the move comes first, so that a write goes to DRAM.
                    ledger.hit(request, Tier::Dram);
                } else {
                    self.lists.refresh(slot);
                    ledger.hit(request, Tier::Pcm);
                }
            }
            _ => {
                let tier = if request.foreground || self.frames.pcm == 0 { Tier::Dram } else { Tier::Pcm };
                let list = if tier == Tier::Dram {
                    self.room_in_dram(request, ledger);
                    DRAM
                } else {
                    self.room_in_pcm(request, ledger);
                    PCM
                };
                self.lists.push_front(list, slot, 1);
                *self.page(slot) = Page {
                    references: self.readings.first_reference,
                    brought_by_foreground: request.foreground,
                    ..Page::default()
                };
                ledger.miss(request, tier);
            }
        }
        let page = self.page(slot);
        page.dirty |= request.write;
        page.foreground = request.foreground;
    }

    fn tier_of(&self, page: u32) -> Option<Tier> {
        match self.lists.place_of(page) {
            DRAM => Some(Tier::Dram),
            PCM => Some(Tier::Pcm),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: bool = true;
    const B: bool = false;

    struct Run(SeedPolicy, Ledger);

    impl Run {
        fn new(dram: u32, pcm: u32) -> Self {
            let policy = SeedPolicy::new(Frames { dram, pcm }, 32, Readings::OURS);
            Run(policy, Ledger::default())
        }

        fn read(&mut self, page: u32, foreground: bool) -> Option<Tier> {
            self.0.access(Request { page, foreground, write: false }, &mut self.1);
            self.0.tier_of(page)
        }

        fn write(&mut self, page: u32, foreground: bool) -> Option<Tier> {
            self.0.access(Request { page, foreground, write: true }, &mut self.1);
            self.0.tier_of(page)
        }
    }

    #[test]
    fn new_pages_go_where_their_app_belongs() {
        let mut run = Run::new(2, 4);
        assert_eq!(run.read(1, F), Some(Tier::Dram));
        assert_eq!(run.read(2, B), Some(Tier::Pcm));
    }

    #[test]
    fn a_and_b_a_hot_page_written_by_the_foreground_moves_to_dram_at_the_third_reference() {
        let mut run = Run::new(2, 4);
        run.write(1, B);
        assert_eq!(run.write(1, F), Some(Tier::Pcm));
        assert_eq!(run.write(1, F), Some(Tier::Pcm));
        assert_eq!(run.write(1, F), Some(Tier::Dram));
        assert_eq!((run.1.foreground.promotions, run.1.foreground.dram_write_hits), (1, 1));
    }

    #[test]
    fn c_pages_that_the_foreground_reads_stay_in_pcm_whatever_their_count() {
        let mut run = Run::new(2, 4);
        run.read(1, B);
        for _ in 0..10 {
            assert_eq!(run.read(1, F), Some(Tier::Pcm));
        }
    }

    #[test]
    fn d_hot_pages_of_the_background_move_to_dram() {
        let mut run = Run::new(2, 4);
        run.read(1, B);
        assert_eq!(run.read(1, B), Some(Tier::Pcm));
        assert_eq!(run.read(1, B), Some(Tier::Pcm));
        assert_eq!(run.read(1, B), Some(Tier::Dram));
    }

    #[test]
    fn e_a_background_hit_in_dram_does_not_refresh_the_page() {
        let (mut kept, mut refreshed) = (Run::new(2, 4), Run::new(2, 4));
        for run in [&mut kept, &mut refreshed] {
            run.read(1, F);
            run.read(2, F);
        }
        kept.read(1, B);
        refreshed.read(1, F);
        // Page 1 has one reference and is at the LRU end: it goes round once; then page 2 is at the end, without any.
        kept.read(3, F);
        assert_eq!(kept.0.tier_of(2), Some(Tier::Pcm));
        // Then page 1 is at the end, without any; refreshed, it was not, and has its reference yet.
        kept.read(4, F);
        assert_eq!(kept.0.tier_of(1), Some(Tier::Pcm));
        refreshed.read(3, F);
        refreshed.read(4, F);
        assert_eq!((refreshed.0.tier_of(2), refreshed.0.tier_of(3)), (Some(Tier::Pcm), Some(Tier::Pcm)));
        assert_eq!(refreshed.0.tier_of(1), Some(Tier::Dram));
    }

    #[test]
    fn f_and_g_pages_leave_dram_for_pcm_and_pcm_for_storage() {
        let mut run = Run::new(1, 1);
        run.write(1, F);
        run.read(2, F);
        assert_eq!(run.0.tier_of(1), Some(Tier::Pcm));
        run.read(3, F);
        assert_eq!((run.0.tier_of(1), run.0.tier_of(2), run.0.tier_of(3)), (None, Some(Tier::Pcm), Some(Tier::Dram)));
        let class = run.1.foreground;
        assert_eq!((class.demotions, class.evictions, class.write_backs), (2, 1, 1));
    }

    #[test]
    fn the_two_other_readings_move_what_the_first_leaves() {
        let frames = Frames { dram: 2, pcm: 4 };
        let write = |page, foreground| Request { page, foreground, write: true };
        let read = |page, foreground| Request { page, foreground, write: false };
        let mut ledger = Ledger::default();
        let mut switch = SeedPolicy::new(frames, 8, Readings { on_switch: OnSwitch::Move, ..Readings::OURS });
        switch.access(write(1, B), &mut ledger);
        switch.access(read(1, F), &mut ledger);
        assert_eq!(switch.tier_of(1), Some(Tier::Pcm));
        switch.access(write(2, B), &mut ledger);
        switch.access(write(2, F), &mut ledger);
        assert_eq!(switch.tier_of(2), Some(Tier::Dram));
        let mut page = SeedPolicy::new(frames, 8, Readings { read_only: ReadOnly::Page, ..Readings::OURS });
        page.access(write(1, B), &mut ledger);
        for _ in 0..3 {
            page.access(read(1, F), &mut ledger);
        }
        assert_eq!(page.tier_of(1), Some(Tier::Dram));
    }
}
