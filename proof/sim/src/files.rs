// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Files on the simulated flash, the page cache over them, and reading ahead (mm/filemap.c, mm/readahead.c).

use std::ops::Range;

use fovea_scenario::FileUse;

use super::costs::*;
use super::machine::Machine;
use super::memory::{Kind, ListsId, PageId, Place};
use crate::PAGE_BYTES;

/// Read-ahead window: 128 KiB, the kernel's default (VM_READAHEAD_PAGES).
const WINDOW_PAGES: u64 = 32;

/// Pages of a file that its inode names itself; those behind need an indirect block (ext2).
const DIRECT_PAGES: u64 = 12;

/// A file.
#[derive(Debug)]
pub struct File {
    /// Its first page; behind the last stands one for its inode and folder and one for its indirect block.
    first: PageId,
    pages: u64,
    /// Touching this page starts the next window (PG_readahead).
    marker: Option<u64>,
    /// Pages that are being read, and when they are there.
    coming: Vec<(Range<u64>, u64)>,
}

impl Machine {
    /// The file that an app uses; made at its first use.
    pub fn file(&mut self, usage: &FileUse) -> usize {
        if let Some(&index) = self.file_names.get(&usage.path) {
            return index;
        }
        let pages = usage.size_bytes.div_ceil(PAGE_BYTES);
        let first = self.memory.add_pages(Kind::File, pages + 2);
        self.files.push(File { first, pages, marker: None, coming: Vec::new() });
        self.file_names.insert(usage.path.clone(), self.files.len() - 1);
        self.files.len() - 1
    }

    /// Pages of a file.
    pub fn file_pages(&self, file: usize) -> u64 {
        self.files[file].pages
    }

    /// Opening a file needs its folder and inode.
    pub fn open_file(&mut self, file: usize, lists: ListsId) {
        let inode = self.files[file].pages;
        self.fetch_alone(file, inode, lists);
        self.work(FILE_USE_NS / 2);
    }

    /// Uses a run of a file's pages, mapped or read.
    pub fn touch_file(&mut self, file: usize, run: Range<u64>, mapped: bool, lists: ListsId) {
        if run.end > DIRECT_PAGES {
            let indirect = self.files[file].pages + 1;
            self.fetch_alone(file, indirect, lists);
        }
        for page in run.clone() {
            if !self.is_there(file, page) {
                let window = if mapped { self.around(file, page) } else { self.ahead(file, page, run.end) };
                self.read(file, window, lists, Some(page));
            } else if self.files[file].marker == Some(page) {
                // page_cache_async_ra: the next window, without waiting.
                let next = (page / WINDOW_PAGES + 1) * WINDOW_PAGES;
                let start = (next..self.files[file].pages).find(|&p| !self.is_there(file, p)).unwrap_or(next);
                self.read(file, start..start + WINDOW_PAGES, lists, None);
                self.files[file].marker = Some(start);
            }
            self.await_page(file, page);
            let id = self.files[file].first + page as PageId;
            // It can have been reclaimed again while others of its window came: then it is read alone.
            if self.memory.page(id).place == Place::Memory {
                self.memory.page_mut(id).young = true;
            }
            self.work(FILE_CHECK_NS);
        }
    }

    fn is_there(&self, file: usize, page: u64) -> bool {
        self.memory.page(self.files[file].first + page as PageId).place == Place::Memory
    }

    /// do_sync_mmap_readahead: half a window to either side.
    fn around(&mut self, file: usize, page: u64) -> Range<u64> {
        let start = page.saturating_sub(WINDOW_PAGES / 2);
        self.files[file].marker = Some(start + WINDOW_PAGES - WINDOW_PAGES / 4);
        start..start + WINDOW_PAGES
    }

    /// page_cache_sync_ra: a window from the start of the file or behind what is there, else what is asked for.
    fn ahead(&mut self, file: usize, page: u64, end: u64) -> Range<u64> {
        if page == 0 || self.is_there(file, page - 1) {
            self.files[file].marker = Some(end);
            page..(page + WINDOW_PAGES)
        } else {
            page..end
        }
    }

    /// Reads what of a range is not there, a request for each gap; waits if `wanted` is among it.
    fn read(&mut self, file: usize, range: Range<u64>, lists: ListsId, wanted: Option<u64>) {
        let end = range.end.min(self.files[file].pages);
        let (mut stalls, mut read, mut gap) = (false, 0, None);
        for page in range.start..end {
            if self.is_there(file, page) || !self.allocate() {
                gap = None;
                continue;
            }
            let id = self.files[file].first + page as PageId;
            stalls |= self.refault(id, lists);
            // Mapped pages begin young, those read ahead of need old (folio_add_lru, lru_gen_add_folio).
            let lists_of = self.memory.lists(lists);
            let old = lists_of.min_gen[Kind::File as usize].max(lists_of.max_gen - 1);
            let gen = if wanted == Some(page) { lists_of.max_gen } else { old };
            self.memory.bring_in(id, lists, gen);
            self.memory.page_mut(id).young = wanted == Some(page);
            read += 1;
            gap.get_or_insert(page);
        }
        if read == 0 {
            return;
        }
        self.work(read * READ_PAGE_NS);
        self.counts.read_bytes += read * PAGE_BYTES;
        let ready_ns = self.now_ns + self.request_ns;
        match wanted {
            Some(_) => self.wait_for_flash(ready_ns, stalls),
            None => self.files[file].coming.push((range.start..end, ready_ns)),
        }
    }

    fn fetch_alone(&mut self, file: usize, page: u64, lists: ListsId) {
        if self.is_there(file, page) || !self.allocate() {
            return;
        }
        let id = self.files[file].first + page as PageId;
        let stalls = self.refault(id, lists);
        let gen = self.memory.lists(lists).max_gen;
        self.memory.bring_in(id, lists, gen);
        self.work(READ_PAGE_NS);
        self.counts.read_bytes += PAGE_BYTES;
        self.wait_for_flash(self.now_ns + self.request_ns, stalls);
    }

    fn await_page(&mut self, file: usize, page: u64) {
        let now_ns = self.now_ns;
        let coming = &mut self.files[file].coming;
        if coming.is_empty() {
            return;
        }
        coming.retain(|(_, ready_ns)| *ready_ns > now_ns);
        if let Some(ready_ns) = coming.iter().find(|(range, _)| range.contains(&page)).map(|c| c.1) {
            self.wait_for_flash(ready_ns, false);
        }
    }
}
