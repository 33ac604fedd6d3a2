// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The paper's buffer cache against a slow twin written from the paper's figure 1, and what holds for every buffer cache.

use fovea_lab::hybrid::{
    Buffer, Candidate, CaseE, Frames, Ledger, OnSwitch, Policy, ReadOnly, Readings, Request, Tier,
};
use proptest::prelude::*;

/// A page in memory.
#[derive(Clone, Copy, Debug)]
struct Page {
    number: u32,
    references: u32,
    written: bool,
    last_used_by_foreground: bool,
    brought_by_foreground: bool,
}

/// Hybrid15's two lists as plain vectors, the MRU end first.
#[derive(Default)]
struct Slow {
    dram: Vec<Page>,
    pcm: Vec<Page>,
    moves: [u64; 2],
    evictions: u64,
    write_backs: u64,
}

/// Takes the page that leaves a list: from the LRU end, those with references left lose one and go to the MRU end.
/// With `hold`, the background's stay at the LRU end until they have none.
fn leave(list: &mut Vec<Page>, hold: bool) -> Page {
    loop {
        let mut page = list.pop().unwrap();
        if page.references == 0 {
            return page;
        }
        if hold && !page.last_used_by_foreground {
            page.references -= 1;
            list.push(page);
            continue;
        }
        page.references -= 1;
        list.insert(0, page);
    }
}

impl Slow {
    fn push_pcm(&mut self, page: Page, frames: Frames, hold: bool) {
        // g
        if self.pcm.len() == frames.pcm as usize {
            let gone = leave(&mut self.pcm, hold);
            self.evictions += 1;
            self.write_backs += u64::from(gone.written);
        }
        self.pcm.insert(0, page);
    }

    fn push_dram(&mut self, page: Page, frames: Frames, hold: bool) {
        // f
        if self.dram.len() == frames.dram as usize {
            let moved = leave(&mut self.dram, hold);
            self.moves[1] += 1;
            self.push_pcm(moved, frames, hold);
        }
        self.dram.insert(0, page);
    }

    fn access(&mut self, request: Request, frames: Frames, readings: Readings) {
        let hold = readings.candidate == Candidate::Hold;
        let Request { page: number, foreground, write } = request;
        let used = |mut page: Page| {
            page.references += 1;
            page.written |= write;
            page.last_used_by_foreground = foreground;
            page
        };
        if let Some(at) = self.dram.iter().position(|p| p.number == number) {
            let page = used(self.dram.remove(at));
            // e: the background's hit, or any hit of the background's page, leaves it where it is.
            let moves = match readings.case_e {
                CaseE::Requester => foreground,
                CaseE::Owner => page.brought_by_foreground,
            };
            self.dram.insert(if moves { 0 } else { at }, page);
        } else if let Some(at) = self.pcm.iter().position(|p| p.number == number) {
            let before = self.pcm.remove(at);
            let page = used(before);
            let hot = page.references > 2;
            let only_read = match readings.read_only {
                ReadOnly::Request => !write,
                ReadOnly::Page => !page.written,
            };
            let came_back = readings.on_switch == OnSwitch::Move && !before.last_used_by_foreground;
            let to_dram = match (foreground, only_read) {
                (true, true) => false,             // c
                (true, false) => hot || came_back, // a, b
                (false, _) => hot,                 // d
            };
            if to_dram {
                self.moves[0] += 1;
                let page = Page { brought_by_foreground: foreground, ..page };
                self.push_dram(page, frames, hold);
            } else {
                self.pcm.insert(0, page);
            }
        } else {
            let page = Page {
                number,
                references: readings.first_reference,
                written: write,
                last_used_by_foreground: foreground,
                brought_by_foreground: foreground,
            };
            if foreground {
                self.push_dram(page, frames, hold);
            } else {
                self.push_pcm(page, frames, hold);
            }
        }
    }
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let page = prop_oneof![4 => 0..6u32, 3 => 6..20u32, 1 => 20..50u32];
    prop::collection::vec(
        (page, any::<bool>(), any::<bool>()).prop_map(|(page, foreground, write)| Request { page, foreground, write }),
        1..500,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_seeds_algorithm_agrees_with_its_slow_twin(requests in requests(), dram in 1..8u32, pcm in 1..24u32) {
        let frames = Frames { dram, pcm };
        for readings in Readings::all() {
            let mut fast = Policy::Seed(readings).build(frames, 50);
            let (mut slow, mut ledger) = (Slow::default(), Ledger::default());
            for (at, &request) in requests.iter().enumerate() {
                fast.access(request, &mut ledger);
                slow.access(request, frames, readings);
                for page in 0..50 {
                    let of = |list: &[Page], tier| list.iter().any(|p| p.number == page).then_some(tier);
                    let expected = of(&slow.dram, Tier::Dram).or(of(&slow.pcm, Tier::Pcm));
                    prop_assert_eq!(fast.tier_of(page), expected, "request {} {:?}, page {}", at, request, page);
                }
            }
            let all = ledger.all();
            prop_assert_eq!([all.promotions, all.demotions], slow.moves);
            prop_assert_eq!((all.evictions, all.write_backs), (slow.evictions, slow.write_backs));
        }
    }

    #[test]
    fn every_buffer_cache_keeps_within_its_frames_and_accounts_for_every_request(
        requests in requests(), dram in 1..8u32, pcm in 1..24u32,
    ) {
        let frames = Frames { dram, pcm };
        for policy in ["seed", "seed:e=owner:candidate=hold:count=1", "lru", "lru:place=top", "2q-lru", "clock-dwf"].map(|name| name.parse::<Policy>().unwrap()) {
            let mut buffer: Box<dyn Buffer> = policy.build(frames, 50);
            let mut ledger = Ledger::default();
            for &request in &requests {
                let before = (buffer.tier_of(request.page), ledger.all().hits());
                buffer.access(request, &mut ledger);
                prop_assert!(buffer.tier_of(request.page).is_some(), "{} did not keep {:?}", policy, request);
                prop_assert_eq!(ledger.all().hits() - before.1, u64::from(before.0.is_some()), "{}", policy);
                let held = |tier| (0..50).filter(|&p| buffer.tier_of(p) == Some(tier)).count() as u32;
                prop_assert!(held(Tier::Dram) <= dram && held(Tier::Pcm) <= pcm, "{} over its frames", policy);
            }
            let all = ledger.all();
            let resident = (0..50).filter(|&p| buffer.tier_of(p).is_some()).count() as u64;
            prop_assert_eq!(all.requests, requests.len() as u64);
            prop_assert_eq!(all.hits() + all.read_misses + all.write_misses, all.requests);
            prop_assert_eq!(all.dram_fills + all.pcm_fills - all.evictions, resident, "{}", policy);
            let fronts = requests.iter().filter(|r| r.foreground).count() as u64;
            prop_assert_eq!(ledger.foreground.requests, fronts);
        }
    }

    #[test]
    fn lru_and_2q_hit_what_the_labs_own_policies_hit(requests in requests(), total in 2..30u32) {
        let frames = Frames::split(u64::from(total), 5.0).unwrap();
        let pairs =
            [("lru", "lru"), ("lru:place=pcm", "lru"), ("lru:place=top", "lru"), ("2q-lru", "2q"), ("2q-lru:place=pcm", "2q")];
        for (here, there) in pairs {
            let mut buffer = here.parse::<Policy>().unwrap().build(frames, 50);
            let mut cache = there.parse::<fovea_lab::policy::Choice>().unwrap().build(u64::from(total));
            cache.ensure_ids(50);
            let mut ledger = Ledger::default();
            for &request in &requests {
                buffer.access(request, &mut ledger);
                let next_distance = fovea_lab::policy::NEVER;
                cache.access(fovea_lab::policy::Request { id: request.page, size: 1, next_distance, time_ns: 0 });
                for page in 0..50 {
                    prop_assert_eq!(buffer.tier_of(page).is_some(), cache.contains(page), "{}", here);
                }
            }
        }
    }
}
