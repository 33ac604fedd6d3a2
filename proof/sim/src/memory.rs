// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The simulated device's pages: where each is, in whose lists, and the account of memory that follows from it.
//!
//! Lists are those of the kernel's multi-generational LRU (mm/vmscan.c, which Debian's kernel uses), one set per memory cgroup: a page
//! belongs to a generation, reclaim takes the oldest. See `reclaim.rs`.

use std::collections::BTreeMap;

/// A page.
pub type PageId = u32;
/// A set of lists, one per life of an app.
pub type ListsId = u16;

/// No page.
const NONE: PageId = PageId::MAX;

/// Generations there can be at once (MAX_NR_GENS).
pub const GENS_MAX: u32 = 4;
/// Generations that are always there (MIN_NR_GENS).
pub const GENS_MIN: u32 = 2;

/// Whose page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An app's own.
    Anon = 0,
    /// A file's.
    File = 1,
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: never written, or only on flash.
    Nowhere,
    /// In memory.
    Memory,
    /// In zram.
    Swap,
}

/// One page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Where it is.
    pub place: Place,
    /// Whose.
    pub kind: Kind,
    /// Used since the kernel last looked.
    pub young: bool,
    /// What zram takes for it, in bytes.
    pub packed_bytes: u16,
    /// Lists that it is charged to.
    pub lists: ListsId,
    gen: u32,
    prev: PageId,
    next: PageId,
    /// Lists and oldest generation when it was last evicted (the kernel's shadow entry).
    pub shadow: Option<(ListsId, u32)>,
}

/// Refaults and evictions, on which the choice between app and file pages rests (vmscan.c: `struct ctrl_pos`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Control {
    /// Of this generation.
    pub refaulted: u64,
    /// Of this generation.
    pub evicted: u64,
    /// Moving average of the earlier ones.
    pub refaulted_before: u64,
    /// Moving average of the earlier ones.
    pub evicted_before: u64,
}

/// The lists of one memory cgroup.
#[derive(Clone, Debug)]
pub struct Lists {
    /// Whether the cgroup is still there.
    pub online: bool,
    /// Youngest generation.
    pub max_gen: u32,
    /// Oldest generation, by kind.
    pub min_gen: [u32; 2],
    /// By kind.
    pub control: [Control; 2],
    ends: [[(PageId, PageId); GENS_MAX as usize]; 2],
    counts: [[u64; GENS_MAX as usize]; 2],
}

impl Lists {
    fn new() -> Self {
        // vmscan.c: lru_gen_init_lruvec.
        Self {
            online: true,
            max_gen: GENS_MIN + 1,
            min_gen: [0; 2],
            control: [Control::default(); 2],
            ends: [[(NONE, NONE); GENS_MAX as usize]; 2],
            counts: [[0; GENS_MAX as usize]; 2],
        }
    }

    /// Pages of a kind in a generation.
    pub fn count(&self, kind: Kind, gen: u32) -> u64 {
        self.counts[kind as usize][(gen % GENS_MAX) as usize]
    }

    /// Pages of a kind.
    pub fn pages(&self, kind: Kind) -> u64 {
        self.counts[kind as usize].iter().sum()
    }

    /// The page longest in a generation.
    pub fn oldest(&self, kind: Kind, gen: u32) -> Option<PageId> {
        let (_, tail) = self.ends[kind as usize][(gen % GENS_MAX) as usize];
        (tail != NONE).then_some(tail)
    }
}

/// The compressed swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zram {
    /// What it can hold.
    pub disk_bytes: u64,
    /// Memory it may take.
    pub limit_bytes: u64,
    /// Pages it holds.
    pub pages: u64,
    /// Memory they take.
    pub used_bytes: u64,
}

/// All pages and the account of memory.
#[derive(Debug)]
pub struct Memory {
    pages: Vec<Page>,
    spare: BTreeMap<u64, Vec<PageId>>,
    lists: Vec<Lists>,
    /// Memory there is, in pages.
    pub total: u64,
    /// What the kernel and processes take beside pages of apps, files and zram.
    pub kernel: u64,
    /// Free pages.
    pub free: u64,
    /// Pages of a kind in memory.
    pub resident: [u64; 2],
    /// The compressed swap, if it is set up.
    pub zram: Option<Zram>,
    /// Most that `kernel` may be asked for is what is free: what could not be had.
    pub overdraft: u64,
}

impl Memory {
    /// A memory of which the kernel has taken its part.
    pub fn new(total: u64, kernel: u64) -> Self {
        let kernel = kernel.min(total);
        Self {
            pages: Vec::new(),
            spare: BTreeMap::new(),
            lists: Vec::new(),
            total,
            kernel,
            free: total - kernel,
            resident: [0; 2],
            zram: None,
            overdraft: 0,
        }
    }

    /// New lists, for a new memory cgroup.
    pub fn add_lists(&mut self) -> ListsId {
        self.lists.push(Lists::new());
        (self.lists.len() - 1) as ListsId
    }

    /// How many sets of lists there ever were.
    pub fn lists_count(&self) -> usize {
        self.lists.len()
    }

    /// Lists.
    pub fn lists(&self, id: ListsId) -> &Lists {
        &self.lists[usize::from(id)]
    }

    /// Lists, to change.
    pub fn lists_mut(&mut self, id: ListsId) -> &mut Lists {
        &mut self.lists[usize::from(id)]
    }

    /// A page.
    pub fn page(&self, id: PageId) -> &Page {
        &self.pages[id as usize]
    }

    /// A page, to change what the account does not rest on.
    pub fn page_mut(&mut self, id: PageId) -> &mut Page {
        &mut self.pages[id as usize]
    }

    /// Makes `count` neighbouring pages that are nowhere yet.
    pub fn add_pages(&mut self, kind: Kind, count: u64) -> PageId {
        let fresh = Page {
            place: Place::Nowhere,
            kind,
            young: false,
            packed_bytes: 0,
            lists: 0,
            gen: 0,
            prev: NONE,
            next: NONE,
            shadow: None,
        };
        if let Some(first) = self.spare.get_mut(&count).and_then(Vec::pop) {
            self.pages[first as usize..][..count as usize].fill(fresh);
            return first;
        }
        let first = self.pages.len() as PageId;
        self.pages.resize(self.pages.len() + count as usize, fresh);
        first
    }

    /// Gives neighbouring pages that are nowhere back, for other pages to take their numbers.
    pub fn remove_pages(&mut self, first: PageId, count: u64) {
        debug_assert!(self.pages[first as usize..][..count as usize].iter().all(|p| p.place == Place::Nowhere));
        self.spare.entry(count).or_default().push(first);
    }

    /// Takes memory for the kernel; what is not there is owed.
    pub fn take_kernel(&mut self, pages: u64) {
        let taken = pages.min(self.free);
        self.overdraft += pages - taken;
        self.kernel += taken;
        self.free -= taken;
    }

    /// Gives memory of the kernel's back.
    pub fn give_kernel(&mut self, pages: u64) {
        let owed = pages.min(self.overdraft);
        self.overdraft -= owed;
        let given = (pages - owed).min(self.kernel);
        self.kernel -= given;
        self.free += given;
    }

    /// Puts a page that is nowhere into memory, at the young end of a generation. There must be a free page.
    pub fn bring_in(&mut self, id: PageId, lists: ListsId, gen: u32) {
        assert!(self.free > 0, "a page was asked for when none was free");
        debug_assert_eq!(self.page(id).place, Place::Nowhere);
        self.free -= 1;
        self.resident[self.page(id).kind as usize] += 1;
        let page = self.page_mut(id);
        (page.place, page.lists, page.young) = (Place::Memory, lists, true);
        self.link(id, gen);
    }

    /// Takes a page out of memory: to nowhere.
    pub fn take_out(&mut self, id: PageId) {
        debug_assert_eq!(self.page(id).place, Place::Memory);
        self.unlink(id);
        let kind = self.page(id).kind;
        self.resident[kind as usize] -= 1;
        self.free += 1;
        self.page_mut(id).place = Place::Nowhere;
    }

    /// Moves a page from memory to zram; false, and nothing done, if zram has no room for it.
    pub fn swap_out(&mut self, id: PageId) -> bool {
        let bytes = u64::from(self.page(id).packed_bytes);
        let Some(zram) = self.zram else { return false };
        let room = zram.disk_bytes / crate::PAGE_BYTES > zram.pages;
        let fits = zram.limit_bytes == 0 || zram.used_bytes + bytes <= zram.limit_bytes;
        if !room || !fits {
            return false;
        }
        self.take_out(id);
        self.page_mut(id).place = Place::Swap;
        self.account_zram(zram, zram.pages + 1, zram.used_bytes + bytes);
        true
    }

    /// Takes a page out of zram: to nowhere.
    pub fn leave_swap(&mut self, id: PageId) {
        debug_assert_eq!(self.page(id).place, Place::Swap);
        let bytes = u64::from(self.page(id).packed_bytes);
        self.page_mut(id).place = Place::Nowhere;
        if let Some(zram) = self.zram {
            self.account_zram(zram, zram.pages - 1, zram.used_bytes - bytes);
        }
    }

    fn account_zram(&mut self, before: Zram, pages: u64, used_bytes: u64) {
        let frames = |bytes: u64| bytes.div_ceil(crate::PAGE_BYTES);
        // One page at a time: at most one frame is taken, of which the caller has made sure, or given back.
        self.free = self.free + frames(before.used_bytes) - frames(used_bytes);
        self.zram = Some(Zram { pages, used_bytes, ..before });
    }

    /// Frames that zram takes.
    pub fn zram_frames(&self) -> u64 {
        self.zram.map_or(0, |z| z.used_bytes.div_ceil(crate::PAGE_BYTES))
    }

    /// Moves a page to the young end of a generation.
    pub fn move_to(&mut self, id: PageId, gen: u32) {
        self.unlink(id);
        self.link(id, gen);
    }

    /// The page that came to its list after this one.
    pub fn newer(&self, id: PageId) -> Option<PageId> {
        let prev = self.page(id).prev;
        (prev != NONE).then_some(prev)
    }

    fn link(&mut self, id: PageId, gen: u32) {
        let Page { kind, lists, .. } = *self.page(id);
        let slot = (gen % GENS_MAX) as usize;
        let lists = &mut self.lists[usize::from(lists)];
        let (head, tail) = &mut lists.ends[kind as usize][slot];
        let old = *head;
        *head = id;
        if *tail == NONE {
            *tail = id;
        }
        lists.counts[kind as usize][slot] += 1;
        if old != NONE {
            self.pages[old as usize].prev = id;
        }
        let page = &mut self.pages[id as usize];
        (page.gen, page.prev, page.next) = (gen, NONE, old);
    }

    fn unlink(&mut self, id: PageId) {
        let Page { kind, lists, gen, prev, next, .. } = *self.page(id);
        let slot = (gen % GENS_MAX) as usize;
        match prev {
            NONE => self.lists[usize::from(lists)].ends[kind as usize][slot].0 = next,
            _ => self.pages[prev as usize].next = next,
        }
        match next {
            NONE => self.lists[usize::from(lists)].ends[kind as usize][slot].1 = prev,
            _ => self.pages[next as usize].prev = prev,
        }
        self.lists[usize::from(lists)].counts[kind as usize][slot] -= 1;
    }

    /// Counts everything anew and compares it with the account; the error says what differs. For tests.
    ///
    /// # Errors
    /// If the account is wrong.
    pub fn audit(&self) -> Result<(), String> {
        let mut resident = [0; 2];
        let (mut swapped, mut used) = (0, 0);
        for page in &self.pages {
            match page.place {
                Place::Nowhere => {}
                Place::Memory => resident[page.kind as usize] += 1,
                Place::Swap => (swapped, used) = (swapped + 1, used + u64::from(page.packed_bytes)),
            }
        }
        let listed = [Kind::Anon, Kind::File].map(|kind| self.lists.iter().map(|l| l.pages(kind)).sum::<u64>());
        let (zram_pages, zram_used) = self.zram.map_or((0, 0), |z| (z.pages, z.used_bytes));
        let sum = self.free + self.kernel + resident[0] + resident[1] + used.div_ceil(crate::PAGE_BYTES);
        for (what, found, account) in [
            ("anonymous pages", resident[0], self.resident[0]),
            ("file pages", resident[1], self.resident[1]),
            ("anonymous pages in lists", listed[0], self.resident[0]),
            ("file pages in lists", listed[1], self.resident[1]),
            ("pages in zram", swapped, zram_pages),
            ("bytes in zram", used, zram_used),
            ("pages in all", sum, self.total),
        ] {
            if found != account {
                return Err(format!("{what}: {found} found, {account} in the account"));
            }
        }
        match self.zram {
            Some(z) if z.limit_bytes > 0 && z.used_bytes > z.limit_bytes => {
                Err(format!("zram takes {} bytes, more than its limit", z.used_bytes))
            }
            _ => Ok(()),
        }
    }
}
