// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reading an app's swapped pages back before it touches them. MADV_WILLNEED brings them from zram to the swap cache, so that the
//! touch finds them there: a minor fault instead of a decompression.

use std::io;

use rustix::fs::OFlags;

use crate::maps::{Mapping, Maps};
use crate::page::PageSize;
use crate::pagemap::{Entry, Pagemap, Wanted, BLOCK_PAGES};
use crate::process::Process;
use crate::sys::{process_madvise, RemoteRange, RANGES_MAX};
use crate::PageRange;

/// Mappings considered per process; a process with more has its small change left to faults.
const MAPPINGS_MAX: usize = 4096;

/// Page-map entries read per page wanted.
const ENTRIES_PER_PAGE: u64 = 64;

/// Buffers that live as long as the daemon.
#[derive(Debug)]
pub(crate) struct Prefetcher {
    entries: Box<[u64; BLOCK_PAGES]>,
    mappings: Vec<Mapping>,
    page: PageSize,
}

impl Prefetcher {
    pub(crate) fn new(page: PageSize) -> Prefetcher {
        Prefetcher { entries: Box::new([0; BLOCK_PAGES]), mappings: Vec::new(), page }
    }

    /// Asks for at most `pages` pages of a process; returns how many were asked for. Both are the kernel's pages, as everywhere here.
    ///
    /// The largest anonymous mapping, which is the main heap, comes first, then the others in ascending order: what a resuming app
    /// touches is in its heap first of all, and within a mapping the kernel keeps no order that could be read. A page that waits in
    /// the swap cache since an earlier call still counts as swapped and is asked for again, at little cost.
    pub(crate) fn prefetch(&mut self, process: &Process, pages: u64) -> io::Result<u64> {
        let mut maps = Maps::new(process.open_file("maps", OFlags::RDONLY)?);
        let mut pagemap = Pagemap::new(process.open_file("pagemap", OFlags::RDONLY)?, self.page);
        self.mappings.clear();
        let mut address = 0;
        while let Some(mapping) = maps.next(address)?.filter(|_| self.mappings.len() < MAPPINGS_MAX) {
            address = mapping.end;
            self.mappings.push(mapping);
        }
        heap_first(&mut self.mappings);
        let mut asked = 0;
        let mut entries = pages.saturating_mul(ENTRIES_PER_PAGE).saturating_add(8 * BLOCK_PAGES as u64);
        for index in 0..self.mappings.len() {
            let mapping = self.mappings[index];
            let mut address = mapping.start;
            while let Some(start) = pagemap.skip_to(Wanted::Swapped, address, mapping.end)? {
                if asked >= pages || entries == 0 {
                    return Ok(asked);
                }
                let end = mapping.end.min(start + BLOCK_PAGES as u64 * self.page.bytes());
                asked += self.block(process, &pagemap, start, end, pages - asked)?;
                entries = entries.saturating_sub((end - start) / self.page.bytes());
                address = end;
            }
        }
        Ok(asked)
    }

    /// Asks for at most `pages` of the swapped pages within ranges of this process; returns how many were asked for.
    pub(crate) fn prefetch_ranges(&mut self, process: &Process, ranges: &[PageRange], pages: u64) -> io::Result<u64> {
        let pagemap = Pagemap::new(process.open_file("pagemap", OFlags::RDONLY)?, self.page);
        let mut asked = 0;
        for range in ranges.iter().filter(|r| r.pid == process.pid) {
            let mut start = range.start;
            while start < range.end && asked < pages {
                let end = range.end.min(start + BLOCK_PAGES as u64 * self.page.bytes());
                asked += self.block(process, &pagemap, start, end, pages - asked)?;
                start = end;
            }
        }
        Ok(asked)
    }

    /// Adds the resident private pages of a process to `found`, until there are `most` ranges.
    pub(crate) fn resident(&mut self, process: &Process, found: &mut Vec<PageRange>, most: usize) -> io::Result<()> {
        let mut maps = Maps::new(process.open_file("maps", OFlags::RDONLY)?);
        let mut pagemap = Pagemap::new(process.open_file("pagemap", OFlags::RDONLY)?, self.page);
        let mut address = 0;
        while let Some(mapping) = maps.next(address)? {
            address = mapping.start;
            while let Some(start) = pagemap.skip_to(Wanted::Resident, address, mapping.end)? {
                let end = mapping.end.min(start + BLOCK_PAGES as u64 * self.page.bytes());
                let count = pagemap.read(start, &mut self.entries[..((end - start) / self.page.bytes()) as usize])?;
                for index in (0..count).filter(|&i| Entry(self.entries[i]).is_private_resident()) {
                    let page = start + index as u64 * self.page.bytes();
                    let full = found.len() == most;
                    match found.last_mut() {
                        Some(last) if last.pid == process.pid && last.end == page => last.end += self.page.bytes(),
                        _ if full => return Ok(()),
                        _ => found.push(PageRange { pid: process.pid, start: page, end: page + self.page.bytes() }),
                    }
                }
                address = end;
            }
            address = mapping.end;
        }
        Ok(())
    }

    fn block(&mut self, process: &Process, pagemap: &Pagemap, start: u64, end: u64, pages: u64) -> io::Result<u64> {
        let page_bytes = self.page.bytes();
        let count = pagemap.read(start, &mut self.entries[..((end - start) / page_bytes) as usize])?;
        let mut ranges: [RemoteRange; RANGES_MAX] = [(0, 0); RANGES_MAX];
        let (mut runs, mut asked) = (0usize, 0);
        for index in (0..count).filter(|&i| Entry(self.entries[i]).is_swapped()).take(pages as usize) {
            let address = start + index as u64 * page_bytes;
            match runs.checked_sub(1).map(|last| &mut ranges[last]) {
                Some((from, length)) if *from + *length == address => *length += page_bytes,
                _ => {
                    if runs == RANGES_MAX {
                        advise(process, &ranges)?;
                        runs = 0;
                    }
                    ranges[runs] = (address, page_bytes);
                    runs += 1;
                }
            }
            asked += 1;
        }
        if runs > 0 {
            advise(process, &ranges[..runs])?;
        }
        Ok(asked)
    }
}

fn advise(process: &Process, ranges: &[RemoteRange]) -> io::Result<()> {
    match process_madvise(process.pidfd()?, ranges, libc::MADV_WILLNEED) {
        // Unmapped meanwhile, or no memory to read into: the app's own fault will do.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOMEM | libc::EAGAIN | libc::EINTR | libc::EBADF)) => Ok(()),
        result => result.map(drop),
    }
}

/// Moves the largest anonymous mapping to the front; the others keep their ascending order.
fn heap_first(mappings: &mut [Mapping]) {
    let heap = mappings.iter().enumerate().filter(|(_, m)| m.anonymous).max_by_key(|(_, m)| m.end - m.start);
    if let Some((index, _)) = heap {
        mappings[..=index].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_anonymous_mapping_comes_first_and_the_rest_ascend() {
        let mapping = |start, end, anonymous| Mapping { start, end, anonymous };
        let mut mappings =
            vec![mapping(1, 2, true), mapping(10, 90, false), mapping(100, 150, true), mapping(200, 201, true)];
        heap_first(&mut mappings);
        assert_eq!(mappings.iter().map(|m| m.start).collect::<Vec<_>>(), [100, 1, 10, 200]);
        heap_first(&mut []);
    }
}
