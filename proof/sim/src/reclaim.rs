// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the stock kernel does when memory gets short, in rough terms: the multi-generational LRU of Linux 6.12 (mm/vmscan.c).
//!
//! Like the kernel: lists per memory cgroup; a page's generation; aging, which promotes what was used since; eviction of the oldest
//! generation, from the kind that refaults less; cgroups taken in turn from a drawn one on, 64 pages at a time, until free memory
//! is above the high mark. Unlike it: reclaim runs where memory is asked for and not beside it, tiers of pages read by file descriptor
//! are left out, and there is one zone.

use fovea_scenario::hash::mix64;

use super::costs::*;
use super::machine::{Cpu, Machine};
use super::memory::{Kind, ListsId, PageId, GENS_MAX, GENS_MIN};

/// Pages looked at together (MIN_LRU_BATCH).
const BATCH: u64 = 64;
/// vm.swappiness, and its complement (MAX_SWAPPINESS - swappiness).
const GAIN: [u64; 2] = [60, 140];
/// DEF_PRIORITY.
const PRIORITY_MAX: u32 = 12;
/// The reclaim thread gives up after so many times in which it found nothing, until whoever asks for memory finds some (MAX_RECLAIM_RETRIES).
const FAILURES_MAX: u32 = 16;

impl Machine {
    /// Makes sure that a page is free; false if none can be had and nobody was left to kill.
    pub fn allocate(&mut self) -> bool {
        if self.memory.free < self.marks.low {
            if self.reclaim_failures < FAILURES_MAX {
                self.reclaim();
            }
            // Below the min mark the next allocation waits ([`Machine::retry`]); what is left of it is for the work in hand.
            self.starved |= self.memory.free < self.marks.min;
        }
        while self.memory.free <= self.marks.kept + (self.marks.min - self.marks.kept) / 4 {
            if !self.oom_kill() {
                return self.memory.free > self.marks.kept;
            }
        }
        true
    }

    /// Whoever asked for memory and got none waits a jiffy (VMSCAN_THROTTLE_NOPROGRESS), then tries again; true if there is some now.
    pub fn retry(&mut self) -> bool {
        self.reclaim();
        self.starved = self.memory.free < self.marks.min;
        !self.starved
    }

    /// The reclaim thread's work, up to the high mark or until nothing is left to take.
    fn reclaim(&mut self) {
        if self.memory.free >= self.marks.high {
            return;
        }
        let (began_ns, evicted) = (self.now_ns, self.counts.evicted);
        let mut priority = self.first_priority();
        while self.memory.free < self.marks.high {
            let before = self.counts.evicted;
            self.round(priority);
            if self.counts.evicted == before {
                if priority == 0 {
                    break;
                }
                priority -= 1;
            }
        }
        self.reclaim_failures = if self.counts.evicted > evicted { 0 } else { self.reclaim_failures + 1 };
        let ns = self.now_ns - began_ns;
        if ns > 0 {
            // Somebody can run beside it: the one who asked for memory.
            self.pressure.stall(self.now_ns, ns, false);
        }
    }

    fn can_swap(&self) -> bool {
        // get_swappiness: at least a batch of free slots.
        self.memory.zram.is_some_and(|z| z.disk_bytes / crate::PAGE_BYTES >= z.pages + BATCH)
    }

    /// set_initial_priority: so that the lists shifted by it are about what is wanted.
    fn first_priority(&self) -> u32 {
        let anon = if self.can_swap() { self.memory.resident[0] } else { 0 };
        let reclaimable = self.memory.resident[1] + anon;
        let log2 = |x: u64| 64 - x.leading_zeros();
        let priority = log2(reclaimable).saturating_sub(1).saturating_sub(log2(self.marks.goal.saturating_sub(1)));
        priority.clamp(PRIORITY_MAX / 2, PRIORITY_MAX)
    }

    /// Every cgroup once, from a drawn one on, until there is enough: as many pages as the high mark has (kswapd_shrink_node), however
    /// many are free by then. (should_abort_scan would stop at the high mark if the zone below 16 MB were above its own, too; it never is,
    /// since apps take what they can get of it.)
    fn round(&mut self, priority: u32) {
        let goal = self.counts.evicted + self.marks.goal;
        let mut ids: Vec<ListsId> = (0..self.memory.lists_count() as ListsId)
            .filter(|&id| self.memory.lists(id).pages(Kind::Anon) + self.memory.lists(id).pages(Kind::File) > 0)
            .collect();
        self.draws = mix64(self.draws);
        let first = (self.draws % ids.len().max(1) as u64) as usize;
        ids.rotate_left(first);
        for id in ids {
            self.shrink(id, priority, goal);
            if self.counts.evicted >= goal {
                return;
            }
        }
    }

    /// try_to_shrink_lruvec.
    fn shrink(&mut self, id: ListsId, priority: u32, goal: u64) {
        let swap = self.can_swap();
        let mut scanned = 0;
        loop {
            self.drop_empty_generations(id, swap);
            let lists = self.memory.lists(id);
            let total = lists.pages(Kind::File) + if swap { lists.pages(Kind::Anon) } else { 0 };
            if total == 0 {
                return;
            }
            let online = lists.online;
            let spent = self.is_out_of_cold_pages(id, swap, total);
            if spent.0 && (priority < PRIORITY_MAX || spent.1) {
                self.age(id, swap);
                return;
            }
            let wanted = if online { total >> priority } else { total };
            if scanned >= wanted {
                return;
            }
            match self.evict_batch(id, swap) {
                0 => return,
                more => scanned += more,
            }
            if self.counts.evicted >= goal {
                return;
            }
        }
    }

    /// should_run_aging: whether, and whether nothing at all is cold.
    fn is_out_of_cold_pages(&self, id: ListsId, swap: bool, total: u64) -> (bool, bool) {
        let lists = self.memory.lists(id);
        let oldest = lists.min_gen[usize::from(!swap)];
        if oldest + GENS_MIN > lists.max_gen {
            return (true, true);
        }
        if oldest + GENS_MIN < lists.max_gen {
            return (false, false);
        }
        let of = |gen: u32| lists.count(Kind::File, gen) + if swap { lists.count(Kind::Anon, gen) } else { 0 };
        let (young, old) = (of(lists.max_gen), of(lists.max_gen - GENS_MIN));
        (young * u64::from(GENS_MIN) > total || old * u64::from(GENS_MIN + 2) < total, false)
    }

    /// try_to_inc_min_seq.
    fn drop_empty_generations(&mut self, id: ListsId, swap: bool) {
        let lists = self.memory.lists_mut(id);
        for kind in [Kind::Anon, Kind::File] {
            let mut least = lists.min_gen[kind as usize];
            while least + GENS_MIN <= lists.max_gen && lists.count(kind, least) == 0 {
                least += 1;
            }
            lists.min_gen[kind as usize] = least;
        }
        if swap {
            lists.min_gen[0] = lists.min_gen[0].min(lists.min_gen[1]);
        }
    }

    /// A new youngest generation: what was used since the last goes there (inc_max_seq, after walking the page tables).
    fn age(&mut self, id: ListsId, swap: bool) {
        for kind in [Kind::Anon, Kind::File] {
            let lists = self.memory.lists(id);
            if kind == Kind::Anon && !swap {
                // Without swap the kernel does not look at them; their oldest generation moves along below.
                continue;
            }
            if lists.max_gen + 1 - lists.min_gen[kind as usize] >= GENS_MAX {
                self.merge_oldest(id, kind);
            }
        }
        let lists = self.memory.lists(id);
        let (max_gen, min_gen) = (lists.max_gen, lists.min_gen);
        let mut young: Vec<PageId> = Vec::new();
        let mut walked = 0;
        for kind in [Kind::Anon, Kind::File] {
            if kind == Kind::Anon && !swap {
                continue;
            }
            for gen in min_gen[kind as usize]..=max_gen {
                let mut at = self.memory.lists(id).oldest(kind, gen);
                while let Some(page) = at {
                    walked += 1;
                    if self.memory.page(page).young {
                        young.push(page);
                    }
                    at = self.memory.newer(page);
                }
            }
        }
        if !swap {
            // Their lists must not overtake themselves.
            self.merge_all_anon(id);
        }
        let lists = self.memory.lists_mut(id);
        lists.max_gen += 1;
        for control in &mut lists.control {
            control.refaulted_before = (control.refaulted_before + control.refaulted) / 2;
            control.evicted_before = (control.evicted_before + control.evicted) / 2;
            (control.refaulted, control.evicted) = (0, 0);
        }
        let gen = lists.max_gen;
        for page in young {
            self.memory.page_mut(page).young = false;
            self.memory.move_to(page, gen);
        }
        self.work(walked * AGE_NS);
    }

    /// inc_min_seq: no more than four generations.
    fn merge_oldest(&mut self, id: ListsId, kind: Kind) {
        let gen = self.memory.lists(id).min_gen[kind as usize];
        while let Some(page) = self.memory.lists(id).oldest(kind, gen) {
            self.memory.move_to(page, gen + 1);
        }
        self.memory.lists_mut(id).min_gen[kind as usize] = gen + 1;
    }

    fn merge_all_anon(&mut self, id: ListsId) {
        while self.memory.lists(id).max_gen + 1 - self.memory.lists(id).min_gen[0] >= GENS_MAX {
            self.merge_oldest(id, Kind::Anon);
        }
    }

    /// Looks at up to a batch of the oldest pages (evict_folios); how many it looked at.
    fn evict_batch(&mut self, id: ListsId, swap: bool) -> u64 {
        let mut kind = if swap { self.kind_to_take(id) } else { Kind::File };
        for _ in 0..2 {
            let scanned = self.evict_kind(id, kind);
            if scanned > 0 || !swap {
                return scanned;
            }
            kind = if kind == Kind::Anon { Kind::File } else { Kind::Anon };
        }
        0
    }

    /// isolate_folios and get_type_to_scan: the kind with older pages, else the one that refaults less for its weight.
    fn kind_to_take(&self, id: ListsId) -> Kind {
        let lists = self.memory.lists(id);
        if lists.min_gen[0] < lists.min_gen[1] {
            return Kind::Anon;
        }
        let position = |kind: usize| {
            let c = &lists.control[kind];
            (c.refaulted_before + c.refaulted, c.evicted_before + c.evicted)
        };
        let ((anon_refaulted, anon_total), (file_refaulted, file_total)) = (position(0), position(1));
        // positive_ctrl_err.
        let file = file_refaulted < BATCH
            || file_refaulted * (anon_total + BATCH) * GAIN[0] <= (anon_refaulted + 1) * file_total * GAIN[1];
        if file {
            Kind::File
        } else {
            Kind::Anon
        }
    }

    fn evict_kind(&mut self, id: ListsId, kind: Kind) -> u64 {
        let lists = self.memory.lists(id);
        let gen = lists.min_gen[kind as usize];
        if gen + GENS_MIN > lists.max_gen {
            return 0;
        }
        let mut scanned = 0;
        while scanned < BATCH {
            let Some(page) = self.memory.lists(id).oldest(kind, gen) else { break };
            scanned += 1;
            let max_gen = self.memory.lists(id).max_gen;
            if self.memory.page(page).young {
                self.memory.page_mut(page).young = false;
                self.memory.move_to(page, max_gen);
                self.work(KEEP_NS);
            } else if !self.evict(page) {
                // zram has refused it: it stays, and is looked at late.
                self.memory.move_to(page, max_gen);
            }
        }
        scanned
    }

    /// Takes a page out of memory: a file's is dropped, an app's is compressed. False if zram has no room.
    pub fn evict(&mut self, page: PageId) -> bool {
        let (kind, lists) = (self.memory.page(page).kind, self.memory.page(page).lists);
        let gone = match kind {
            Kind::File => {
                self.memory.take_out(page);
                self.work(RECLAIM_FILE_NS);
                true
            }
            Kind::Anon => {
                let same = self.memory.page(page).packed_bytes == 0;
                self.work(if same { SWAP_OUT_SAME_NS } else { SWAP_OUT_NS });
                self.memory.swap_out(page)
            }
        };
        if gone {
            self.counts.evicted += 1;
            let lists_of = self.memory.lists_mut(lists);
            lists_of.control[kind as usize].evicted += 1;
            let gen = lists_of.min_gen[kind as usize];
            self.memory.page_mut(page).shadow = Some((lists, gen));
        }
        gone
    }

    /// The OOM killer: the process with the greatest memory, `oom_score_adj` thousandths of all memory added (mm/oom_kill.c,
    /// `oom_badness`). False if there is none.
    pub fn oom_kill(&mut self) -> bool {
        let total = self.memory.total as i64;
        let badness = |machine: &Self, cgroup: &str| {
            let process = &machine.processes[cgroup];
            let (resident, swapped) = machine.count_anon(process);
            (resident + swapped) as i64 + i64::from(process.score) * total / 1000
        };
        let worst = self.processes.keys().max_by_key(|cgroup| badness(self, cgroup)).cloned();
        let Some(cgroup) = worst else { return false };
        let cpu = std::mem::replace(&mut self.cpu, Cpu::Apps);
        self.end(&cgroup);
        self.cpu = cpu;
        self.counts.oom_kills += 1;
        self.starved = self.memory.free < self.marks.min;
        self.note_death(&cgroup, true);
        true
    }
}
