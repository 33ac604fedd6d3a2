// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The simulated device as hardware and kernel: one CPU, one clock, memory, flash, processes. Everything that takes time moves the clock.

use std::collections::BTreeMap;

use fovea_scenario::hash::mix64;
use fovea_scenario::{Mix, Plan};

use super::costs::*;
use super::files::File;
use super::memory::{Kind, ListsId, Memory, PageId, Place};
use super::pressure::Pressure;
use super::process::Process;
use crate::PAGE_BYTES;

/// The PSI window of the daemon's trigger (crates/daemon/src/worker.rs).
const WINDOW_NS: u64 = 500_000_000;

/// Marks of free memory at which the kernel acts, in pages (mm/page_alloc.c, `__setup_per_zone_wmarks`).
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Only the kernel itself may go below.
    pub min: u64,
    /// The reclaim thread is woken below.
    pub low: u64,
    /// It stops above.
    pub high: u64,
    /// Pages that it takes at a time (kswapd_shrink_node: the high mark itself).
    pub goal: u64,
    /// Kept by the lowest zone.
    pub kept: u64,
}

impl Marks {
    /// For a memory of so many pages, with the kernel's defaults.
    pub fn new(pages: u64) -> Self {
        // init_per_zone_wmark_min: 4 * sqrt(lowmem in KiB), 128 KiB to 256 MiB.
        let min_kib = ((pages * PAGE_BYTES / 1024 * 16) as f64).sqrt() as u64;
        let min = min_kib.clamp(128, 262_144) * 1024 / PAGE_BYTES;
        let step = (min / 4).max(pages * 10 / 10_000);
        // The zone below 16 MB keeps one page in 256 of what lies above it (lowmem_reserve_ratio). MemFree counts them, apps never get
        // them: all marks, in terms of MemFree, lie that much higher.
        let kept = pages / 256;
        Self { min: min + kept, low: min + step + kept, high: min + 2 * step + kept, goal: min + 2 * step, kept }
    }
}

/// What the kernel counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Pages read again that were evicted, by kind.
    pub refaults: [u64; 2],
    /// Pages that the kernel took out of memory.
    pub evicted: u64,
    /// Kills by the kernel's OOM killer.
    pub oom_kills: u64,
    /// Read from flash.
    pub read_bytes: u64,
    /// Time the CPU was idle.
    pub idle_ns: u64,
    /// Time the daemon had.
    pub daemon_ns: u64,
}

/// A process that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// Its cgroup.
    pub cgroup: String,
    /// By the OOM killer.
    pub oom: bool,
    /// When it is over: whoever runs has half the CPU until then.
    pub at_ns: u64,
}

/// The device.
#[derive(Debug)]
pub struct Machine {
    /// The clock.
    pub now_ns: u64,
    /// Pages.
    pub memory: Memory,
    /// Stalls.
    pub pressure: Pressure,
    /// The kernel's counters.
    pub counts: Counts,
    /// The kernel's marks.
    pub marks: Marks,
    /// Processes by cgroup. A cgroup without a process has none here.
    pub processes: BTreeMap<String, Process>,
    /// Settings.
    pub sysctls: BTreeMap<String, String>,
    /// Processes that were killed, and whose end nobody has noticed yet.
    pub deaths: Vec<Death>,
    /// The last allocation found free memory below the min mark, and nothing to reclaim.
    pub starved: bool,
    /// How often in a row reclaim found nothing to take.
    pub(super) reclaim_failures: u32,
    /// Where the next round of reclaim begins; the kernel draws it.
    pub(super) draws: u64,
    pub(super) files: Vec<File>,
    pub(super) file_names: BTreeMap<String, usize>,
    pub(super) request_ns: u64,
    pub(super) zygote: Vec<PageId>,
    pub(super) zygote_lists: ListsId,
    pub(super) cpu: Cpu,
    pub(super) next_pid: u32,
    has_zram: bool,
}

/// Who has the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// An app, or the kernel.
    Apps,
    /// The daemon.
    Daemon,
}

impl Machine {
    /// The phone of a plan, booted, with a zygote and no app.
    pub fn new(plan: &Plan, psi_stall_us: u64) -> Self {
        let reserved: u64 = plan.phone.reserved_bytes.values().sum();
        let apps_bytes = plan.phone.memory_bytes.saturating_sub(reserved);
        // The flash is memory that is added to the virtual phone's machine, and counts for the kernel's marks.
        let total = (apps_bytes + plan.phone.flash.size_bytes).saturating_sub(HIDDEN_BYTES) / PAGE_BYTES;
        let kernel = (KERNEL_BYTES + plan.phone.flash.size_bytes) / PAGE_BYTES;
        let mut memory = Memory::new(total, kernel);
        let zygote_lists = memory.add_lists();
        let mut machine = Self {
            now_ns: 0,
            memory,
            pressure: Pressure::new(psi_stall_us * 1000, WINDOW_NS),
            counts: Counts::default(),
            marks: Marks::new(total),
            processes: BTreeMap::new(),
            sysctls: BTreeMap::from([("vm/page-cluster".into(), "3".into())]),
            deaths: Vec::new(),
            starved: false,
            reclaim_failures: 0,
            draws: mix64(plan.seed),
            files: Vec::new(),
            file_names: BTreeMap::new(),
            request_ns: plan.phone.flash.request_ns,
            zygote: Vec::new(),
            zygote_lists,
            cpu: Cpu::Apps,
            next_pid: 100,
            has_zram: plan.configuration.zram,
        };
        machine.preload(plan.zygote_anon_bytes.div_ceil(PAGE_BYTES));
        machine
    }

    /// The zygote loads what its apps share: alike wherever it is loaded (proof/guest/src/zygote.rs).
    fn preload(&mut self, pages: u64) {
        const MIX: Mix = Mix {
            zero_percent: 0,
            duplicate_percent: 100,
            compressible_percent: 0,
            random_percent: 0,
            compressed_percent: 40,
        };
        let first = self.memory.add_pages(Kind::Anon, pages);
        for page in first..first + pages as PageId {
            self.memory.page_mut(page).packed_bytes = packed_bytes(noise_bytes(&MIX, 0, 0));
            let gen = self.memory.lists(self.zygote_lists).max_gen;
            if self.memory.free > 0 {
                self.memory.bring_in(page, self.zygote_lists, gen);
            }
            self.zygote.push(page);
        }
    }

    /// Whether the kernel has zram.
    pub fn has_zram(&self) -> bool {
        self.has_zram
    }

    /// The CPU works.
    pub fn work(&mut self, ns: u64) {
        self.now_ns += ns;
        if self.cpu == Cpu::Daemon {
            self.counts.daemon_ns += ns;
        }
    }

    /// A process has been killed.
    pub fn note_death(&mut self, cgroup: &str, oom: bool) {
        let at_ns = self.now_ns + 2 * END_NS;
        self.deaths.push(Death { cgroup: cgroup.to_owned(), oom, at_ns });
    }

    /// The ends that are over by now.
    pub fn take_deaths(&mut self) -> Vec<Death> {
        let now_ns = self.now_ns;
        let (over, left) = std::mem::take(&mut self.deaths).into_iter().partition(|death| death.at_ns <= now_ns);
        self.deaths = left;
        let over: Vec<Death> = over;
        self.work(over.len() as u64 * END_NS);
        over
    }

    /// No app has anything to do until then; jobs may have. It ends sooner if one of them has to wait for memory.
    pub fn idle_until(&mut self, at_ns: u64) {
        self.run_jobs(at_ns);
        if !self.starved {
            self.stay_idle(at_ns);
        }
    }

    /// Nobody has anything to do until then.
    pub(super) fn stay_idle(&mut self, at_ns: u64) {
        let ns = at_ns.saturating_sub(self.now_ns);
        self.now_ns += ns;
        self.counts.idle_ns += ns;
    }

    /// Everybody who could run waits for memory.
    pub fn throttle(&mut self, ns: u64) {
        self.now_ns += ns;
        self.counts.idle_ns += ns;
        self.pressure.stall(self.now_ns, ns, true);
    }

    /// A request of the flash is waited for: neither work nor idle.
    pub(super) fn wait_for_flash(&mut self, until_ns: u64, stalls: bool) {
        let began_ns = self.now_ns;
        self.run_jobs(until_ns);
        let worked_ns = self.now_ns - began_ns;
        let ns = until_ns.saturating_sub(self.now_ns);
        self.now_ns += ns;
        if stalls && worked_ns > 0 {
            self.pressure.stall(self.now_ns - ns, worked_ns, false);
        }
        if stalls && ns > 0 {
            self.pressure.stall(self.now_ns, ns, true);
        }
    }

    /// What can be had without swapping, as the kernel estimates it (mm/show_mem.c, `si_mem_available`).
    pub fn available_pages(&self) -> u64 {
        let file = self.memory.resident[Kind::File as usize];
        // totalreserve_pages: the high marks and what is kept.
        (self.memory.free + file - (file / 2).min(self.marks.low - self.marks.kept)).saturating_sub(self.marks.high)
    }

    /// An app uses a page of its own; a page that is nowhere is made, one in swap comes back.
    pub fn touch_anon(&mut self, page: PageId, lists: ListsId) {
        match self.memory.page(page).place {
            Place::Memory => self.memory.page_mut(page).young = true,
            Place::Nowhere => {
                if self.allocate() {
                    let gen = self.memory.lists(lists).max_gen;
                    self.memory.bring_in(page, lists, gen);
                }
                self.work(FAULT_NS);
            }
            Place::Swap => self.swap_in(page),
        }
    }

    /// A page comes back from zram.
    pub fn swap_in(&mut self, page: PageId) {
        if !self.allocate() {
            return;
        }
        // Allocating may have killed the page's owner.
        if self.memory.page(page).place != Place::Swap {
            return;
        }
        let lists = self.memory.page(page).lists;
        let recent = self.refault(page, lists);
        self.memory.leave_swap(page);
        let gen = self.memory.lists(lists).max_gen;
        self.memory.bring_in(page, lists, gen);
        let ns = if self.memory.page(page).packed_bytes == 0 { SWAP_IN_SAME_NS } else { SWAP_IN_NS };
        self.work(ns);
        if recent {
            self.pressure.stall(self.now_ns, ns, self.cpu == Cpu::Apps);
        }
    }

    /// Counts the return of a page that was evicted; whether that was so lately that waiting for it is a stall (mm/workingset.c,
    /// `lru_gen_refault`).
    pub(super) fn refault(&mut self, page: PageId, lists: ListsId) -> bool {
        let kind = self.memory.page(page).kind;
        let Some((from, gen)) = self.memory.page_mut(page).shadow.take() else { return false };
        if from != lists {
            return false;
        }
        self.counts.refaults[kind as usize] += 1;
        let lists = self.memory.lists_mut(lists);
        let recent = lists.min_gen[kind as usize] < gen + super::memory::GENS_MAX;
        if recent {
            lists.control[kind as usize].refaulted += 1;
        }
        recent
    }
}

/// Noise in a page's content, in bytes; `None` for a page of zeros.
pub fn noise_bytes(mix: &Mix, seed: u64, page: u64) -> Option<u64> {
    use fovea_scenario::PageKind;
    match fovea_scenario::page_kind(mix, seed, page) {
        PageKind::Zero => None,
        PageKind::Duplicate | PageKind::Compressible => {
            Some(PAGE_BYTES / 8 * u64::from(mix.compressed_percent) / 100 * 8)
        }
        PageKind::Random => Some(PAGE_BYTES),
    }
}

/// What zram takes for a page: nothing for equal words, which it keeps beside its index; a whole page for what does not shrink
/// (drivers/block/zram).
pub fn packed_bytes(noise_bytes: Option<u64>) -> u16 {
    noise_bytes.map_or(0, |noise| ((noise + LZ4_BYTES) * ZRAM_PERMILLE / 1000).min(PAGE_BYTES) as u16)
}
