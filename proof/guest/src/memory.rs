// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Anonymous memory of an app: pages whose content is known, so that each can be checked whatever was done to it meanwhile.

use fovea_scenario::{page_content, Mix, PAGE_BYTES};
use rustix::mm::{madvise, mmap_anonymous, Advice, MapFlags, ProtFlags};

use crate::outcome::{At, Outcome};
use crate::pagemap::{Pagemap, WINDOW_PAGES};
use crate::wire::Count;

/// 64-bit words of a page.
pub const WORDS: usize = PAGE_BYTES / 8;

/// Mappings that an app's memory is made of, as a heap would be.
const REGIONS: u64 = 4;

/// One private anonymous mapping.
struct Region {
    base: *mut [u64; WORDS],
    /// Index of its first page in the app's memory.
    first: u64,
    pages: u64,
}

/// How often each page was written, in a byte: 0 for never, then 1 to 255 and again from 1. What a page holds follows from this
/// number alone, so a page that is one to 254 writes behind is noticed.
#[derive(Debug, Default)]
pub struct Versions(Vec<u8>);

impl Versions {
    fn grow(&mut self, pages: u64) {
        self.0.resize(self.0.len() + pages as usize, 0);
    }

    /// The version of a page's content, or `None` if it was never written.
    pub fn get(&self, page: u64) -> Option<u64> {
        self.0[page as usize].checked_sub(1).map(u64::from)
    }

    /// The version of the next write, which is noted as done.
    pub fn bump(&mut self, page: u64) -> u64 {
        let entry = &mut self.0[page as usize];
        *entry = if *entry == u8::MAX { 1 } else { *entry + 1 };
        u64::from(*entry - 1)
    }
}

/// The memory.
pub struct Anon {
    regions: Vec<Region>,
    versions: Versions,
    mix: Mix,
    seed: u64,
    scratch: Box<[u64; WORDS]>,
    /// Pages that were wrong when they were written anew, since the last `verify`: a rewrite must not hide what was lost.
    wrong_before_rewrite: u64,
    /// MAP_PRIVATE or MAP_SHARED.
    flags: MapFlags,
}

impl Anon {
    /// Reserves `pages` pages; none is written yet.
    pub fn new(pages: u64, mix: Mix, seed: u64) -> Outcome<Self> {
        Self::mapped(MapFlags::PRIVATE, pages, mix, seed)
    }

    /// The same of memory that children would share: the kernel counts it as shmem.
    pub fn shared(pages: u64, mix: Mix, seed: u64) -> Outcome<Self> {
        Self::mapped(MapFlags::SHARED, pages, mix, seed)
    }

    fn mapped(flags: MapFlags, pages: u64, mix: Mix, seed: u64) -> Outcome<Self> {
        let mut anon = Self {
            regions: Vec::new(),
            versions: Versions::default(),
            mix,
            seed,
            scratch: Box::new([0; WORDS]),
            wrong_before_rewrite: 0,
            flags,
        };
        let share = pages.div_ceil(REGIONS);
        let mut left = pages;
        while left > 0 {
            anon.grow(share.min(left))?;
            left -= share.min(left);
        }
        Ok(anon)
    }

    /// Reserves more pages at the end.
    pub fn grow(&mut self, pages: u64) -> Outcome<()> {
        let first = self.pages();
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                pages as usize * PAGE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                self.flags | MapFlags::NORESERVE,
            )
        }
        .at(|| format!("reserving {pages} pages"))?;
        self.regions.push(Region { base: base.cast(), first, pages });
        self.versions.grow(pages);
        Ok(())
    }

    /// Pages reserved.
    pub fn pages(&self) -> u64 {
        self.versions.0.len() as u64
    }

    fn address(&self, page: u64) -> *mut [u64; WORDS] {
        let region = self.regions.iter().find(|r| page < r.first + r.pages).expect("callers stay below pages()");
        // SAFETY: `page` lies in this region, so the result stays inside its mapping.
        unsafe { region.base.add((page - region.first) as usize) }
    }

    /// Reads a page and writes it anew.
    pub fn rewrite(&mut self, page: u64) {
        self.wrong_before_rewrite += u64::from(self.check(page) == Some(false));
        self.write(page);
    }

    fn write(&mut self, page: u64) {
        let version = self.versions.bump(page);
        let at = self.address(page);
        // SAFETY: `at` is a page of a private mapping that lives as long as the process, page-aligned, and reached only
        // through `self`, which is borrowed mutably.
        page_content(&self.mix, self.seed, page, version, unsafe { &mut *at });
    }

    /// Writes a page if it never was.
    pub fn fill(&mut self, page: u64) {
        if self.versions.get(page).is_none() {
            self.write(page);
        }
    }

    /// Reads a page: whether it holds what was last written; `None` if nothing was.
    pub fn check(&mut self, page: u64) -> Option<bool> {
        let version = self.versions.get(page)?;
        let at = self.address(page);
        page_content(&self.mix, self.seed, page, version, &mut self.scratch);
        // SAFETY: as in `write`; read only.
        Some(self.scratch.as_slice() == unsafe { &*at }.as_slice())
    }

    /// Reads a word of every page that was written.
    pub fn reread(&self) {
        for page in (0..self.pages()).filter(|&page| self.versions.get(page).is_some()) {
            // SAFETY: as in `write`; read only.
            std::hint::black_box(unsafe { std::ptr::read_volatile(self.address(page).cast::<u64>()) });
        }
    }

    /// Checks every page that was written, window by window; counts as wrong also the pages that were so when they were rewritten.
    pub fn verify(&mut self, pagemap: &Pagemap) -> Outcome<Count> {
        let mut count = Count { checked: 0, wrong: std::mem::take(&mut self.wrong_before_rewrite) };
        for i in 0..self.regions.len() {
            let Region { base, first, pages } = self.regions[i];
            count += verify_windows(base.cast(), pages, pagemap, |page| self.check(first + page))?;
        }
        Ok(count)
    }
}

/// Checks `pages` pages from `base` in windows, and returns to swap the pages that only the check brought back from there, so that
/// what comes after the check finds memory as it was. (Pages in memory do become recently used; they belong to the app on the screen.)
pub fn verify_windows(
    base: *mut u8,
    pages: u64,
    pagemap: &Pagemap,
    mut check: impl FnMut(u64) -> Option<bool>,
) -> Outcome<Count> {
    let mut count = Count::default();
    for start in (0..pages).step_by(WINDOW_PAGES) {
        let length = (pages - start).min(WINDOW_PAGES as u64) as usize;
        let address = base.wrapping_add(start as usize * PAGE_BYTES);
        let before = pagemap.window(address as usize, length)?;
        for page in start..start + length as u64 {
            if let Some(right) = check(page) {
                count.page(right);
            }
        }
        for run in runs(&before[..length], |entry| entry.swapped()) {
            // SAFETY: the range lies in the caller's mapping; paging out keeps its content.
            let advised = unsafe {
                madvise(
                    address.wrapping_add(run.start * PAGE_BYTES).cast(),
                    run.len() * PAGE_BYTES,
                    Advice::LinuxPageOut,
                )
            };
            advised.at(|| format!("returning {} pages to swap", run.len()))?;
        }
    }
    Ok(count)
}

/// Runs of neighbours that `is` holds for.
fn runs<T: Copy>(entries: &[T], is: impl Fn(T) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, _) in entries.iter().enumerate().filter(|(_, &entry)| is(entry)) {
        match found.last_mut() {
            Some(run) if run.end == i => run.end = i + 1,
            _ => found.push(i..i + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIX: Mix = Mix {
        zero_percent: 10,
        duplicate_percent: 20,
        compressible_percent: 50,
        random_percent: 20,
        compressed_percent: 40,
    };

    fn filled(pages: u64) -> Anon {
        let mut anon = Anon::new(pages, MIX, 42).unwrap();
        (0..pages).for_each(|page| anon.fill(page));
        anon
    }

    #[test]
    fn what_was_written_is_found_right() {
        let mut anon = filled(333);
        (0..333).step_by(3).for_each(|page| anon.rewrite(page));
        anon.grow(50).unwrap();
        anon.fill(340);
        let count = anon.verify(&Pagemap::open().unwrap()).unwrap();
        assert_eq!(count, Count { checked: 334, wrong: 0 });
    }

    #[test]
    fn every_corrupted_page_is_counted() {
        let mut anon = filled(200);
        for page in [0, 49, 50, 199] {
            // SAFETY: a page of the test's own memory.
            unsafe { (*anon.address(page))[511] ^= 1 << 63 };
        }
        let count = anon.verify(&Pagemap::open().unwrap()).unwrap();
        assert_eq!(count, Count { checked: 200, wrong: 4 });
    }

    #[test]
    fn a_stale_page_is_wrong_unless_its_content_has_one_version() {
        use fovea_scenario::{page_kind, PageKind};
        let mut anon = filled(320);
        let stale = 0..320u64;
        let mut expected = 0;
        for page in stale {
            // The version is noted, the write is lost.
            anon.versions.bump(page);
            expected += u64::from(matches!(page_kind(&MIX, 42, page), PageKind::Compressible | PageKind::Random));
        }
        let count = anon.verify(&Pagemap::open().unwrap()).unwrap();
        assert_eq!(count.wrong, expected);
        assert!(expected > 100);
    }

    #[test]
    fn a_rewrite_does_not_hide_what_was_wrong() {
        let mut anon = filled(64);
        let at = anon.address(9);
        // SAFETY: a page of the test's own memory.
        unsafe { (*at)[100] ^= 2 };
        anon.rewrite(9);
        anon.rewrite(10);
        let pagemap = Pagemap::open().unwrap();
        assert_eq!(anon.verify(&pagemap).unwrap(), Count { checked: 64, wrong: 1 });
        assert_eq!(anon.verify(&pagemap).unwrap(), Count { checked: 64, wrong: 0 });
    }

    #[test]
    fn a_page_in_another_pages_place_is_wrong() {
        let mut anon = filled(64);
        let (a, b) = (anon.address(3), anon.address(60));
        // SAFETY: two different pages of the test's own memory.
        unsafe { std::ptr::swap(a, b) };
        assert!(anon.verify(&Pagemap::open().unwrap()).unwrap().wrong >= 1);
    }

    #[test]
    fn versions_wrap_without_becoming_unwritten() {
        let mut versions = Versions::default();
        versions.grow(1);
        assert_eq!(versions.get(0), None);
        for write in 0..1000 {
            assert_eq!(versions.bump(0), write % 255);
            assert_eq!(versions.get(0), Some(write % 255));
        }
    }

    proptest! {
        #[test]
        fn runs_are_the_maximal_ones(bits in prop::collection::vec(any::<bool>(), 0..40)) {
            let found = runs(&bits, |b| b);
            let mut back = vec![false; bits.len()];
            for run in &found {
                prop_assert!(run.start == 0 || !bits[run.start - 1]);
                prop_assert!(run.end == bits.len() || !bits[run.end]);
                back[run.clone()].fill(true);
            }
            prop_assert_eq!(back, bits);
        }
    }
}
