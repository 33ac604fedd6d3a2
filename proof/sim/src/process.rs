// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An app's process: its memory as it lies in its address space, what the daemon set about it, and its end.

use fovea_scenario::AppProfile;

use super::costs::*;
use super::job::Job;
use super::machine::{noise_bytes, packed_bytes, Machine};
use super::memory::{Kind, ListsId, PageId, Place};

/// Mappings that an app's memory is made of (proof/guest/src/memory.rs).
const REGIONS: u64 = 4;

/// Where the first mapping ends, as a page number; the next lie below it, as the kernel places them.
const TOP_PAGE: u64 = 0x7_ffff_0000;

/// One anonymous mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first page's number in the address space.
    pub start: u64,
    /// Its first page.
    pub first: PageId,
    /// How many.
    pub pages: u64,
    /// Index of its first page in the app's memory.
    pub index: u64,
}

/// A live process.
#[derive(Clone, Debug)]
pub struct Process {
    /// PID.
    pub pid: u32,
    /// The app that it runs.
    pub profile: AppProfile,
    /// Seed of its content and touch sets.
    pub seed: u64,
    /// The reclaim lists of its cgroup.
    pub lists: ListsId,
    /// Its memory, in ascending order of addresses.
    pub regions: Vec<Region>,
    /// Pages of its memory, in all regions.
    pub pages: u64,
    /// Its job in the background, if it has one.
    pub job: Option<Job>,
    /// Pages that its children have had since it began: each gets content of its own by this number.
    child_pages: u64,
    /// Whether its cgroup is frozen.
    pub frozen: bool,
    /// `oom_score_adj`.
    pub score: i32,
    /// It touched a page while it was frozen: a fault of the simulation, which a test looks for.
    pub ran_frozen: bool,
}

impl Process {
    /// The page at an index of its memory.
    pub fn page(&self, index: u64) -> PageId {
        let region = self.regions.iter().find(|r| (r.index..r.index + r.pages).contains(&index));
        let region = region.expect("callers stay below the number of pages");
        region.first + (index - region.index) as PageId
    }

    /// Noise in the content of a page.
    pub fn noise(&self, index: u64) -> Option<u64> {
        noise_bytes(&self.profile.mix, self.seed, index)
    }

    /// All its memory, its children's with it.
    fn mappings(&self) -> impl Iterator<Item = &Region> {
        let compilers = self.job.iter().flat_map(|job| job.compilers());
        self.regions.iter().chain(compilers.map(|compiler| &compiler.region))
    }
}

impl Machine {
    /// Starts a process in a cgroup of its own.
    pub fn spawn(&mut self, cgroup: &str, profile: &AppProfile, seed: u64) {
        let lists = self.memory.add_lists();
        self.next_pid += 1;
        let mut process = Process {
            pid: self.next_pid,
            profile: profile.clone(),
            seed,
            lists,
            regions: Vec::new(),
            pages: 0,
            job: None,
            child_pages: 0,
            frozen: false,
            score: 0,
            ran_frozen: false,
        };
        self.work(SPAWN_NS);
        self.take_for_kernel(PROCESS_PAGES);
        let pages = profile.anon_bytes.div_ceil(crate::PAGE_BYTES);
        let share = pages.div_ceil(REGIONS);
        let mut left = pages;
        while left > 0 {
            self.map(&mut process, share.min(left));
            left -= share.min(left);
        }
        self.processes.insert(cgroup.to_owned(), process);
    }

    /// More memory for a process: index of its first page.
    pub fn grow(&mut self, cgroup: &str, pages: u64) -> Option<u64> {
        let mut process = self.processes.remove(cgroup)?;
        let first = process.pages;
        self.map(&mut process, pages);
        self.processes.insert(cgroup.to_owned(), process);
        Some(first)
    }

    fn map(&mut self, process: &mut Process, pages: u64) {
        let index = process.pages;
        let first = self.add_filled_by(process, index, pages);
        let end = process.regions.first().map_or(TOP_PAGE, |r| r.start);
        process.regions.insert(0, Region { start: end - pages, first, pages, index });
        process.pages += pages;
    }

    /// New pages that pack as the content does which a process writes to its pages from an index on.
    fn add_filled_by(&mut self, process: &Process, index: u64, pages: u64) -> PageId {
        let first = self.memory.add_pages(Kind::Anon, pages);
        for page in 0..pages {
            self.memory.page_mut(first + page as PageId).packed_bytes = packed_bytes(process.noise(index + page));
        }
        first
    }

    /// A child of a process, with memory of its own; `None` if there is no such process (any more).
    pub fn map_child(&mut self, cgroup: &str, pages: u64) -> Option<Region> {
        self.take_for_kernel(PROCESS_PAGES);
        let Some(mut process) = self.processes.remove(cgroup) else {
            self.memory.give_kernel(PROCESS_PAGES);
            return None;
        };
        let index = process.pages + process.child_pages;
        process.child_pages += pages;
        let first = self.add_filled_by(&process, index, pages);
        self.processes.insert(cgroup.to_owned(), process);
        Some(Region { start: TOP_PAGE - pages, first, pages, index })
    }

    /// The end of a child.
    pub fn unmap_child(&mut self, region: Region) {
        let freed = self.free_region(region);
        self.memory.give_kernel(PROCESS_PAGES);
        self.work(freed * FREE_NS);
    }

    /// Frees a mapping; pages of it that were in memory.
    fn free_region(&mut self, region: Region) -> u64 {
        let mut freed = 0;
        for page in region.first..region.first + region.pages as PageId {
            match self.memory.page(page).place {
                Place::Memory => {
                    freed += 1;
                    self.memory.take_out(page);
                }
                Place::Swap => self.memory.leave_swap(page),
                Place::Nowhere => {}
            }
        }
        self.memory.remove_pages(region.first, region.pages);
        freed
    }

    fn take_for_kernel(&mut self, pages: u64) {
        for _ in 0..pages {
            self.allocate();
            self.memory.take_kernel(1);
        }
    }

    /// Resident and swapped pages of a process.
    pub fn count_anon(&self, process: &Process) -> (u64, u64) {
        let (mut resident, mut swapped) = (0, 0);
        for region in process.mappings() {
            for page in region.first..region.first + region.pages as PageId {
                match self.memory.page(page).place {
                    Place::Memory => resident += 1,
                    Place::Swap => swapped += 1,
                    Place::Nowhere => {}
                }
            }
        }
        (resident, swapped)
    }

    /// Ends a process and frees its memory; its cgroup's file pages stay until they are reclaimed.
    pub fn end(&mut self, cgroup: &str) -> bool {
        let Some(process) = self.processes.remove(cgroup) else { return false };
        let freed: u64 = process.mappings().map(|&region| self.free_region(region)).sum();
        let children = process.job.iter().flat_map(|job| job.compilers()).count() as u64;
        self.memory.give_kernel(PROCESS_PAGES * (1 + children));
        self.memory.lists_mut(process.lists).online = false;
        self.work(freed * FREE_NS);
        true
    }
}
