// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! /proc/PID/pagemap: where each page of a process is (admin-guide/mm/pagemap).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::file::retry;
use crate::page::PageSize;
use crate::sys::{pagemap_scan, PagemapScan};

/// Pages that one read covers: what one page table of the lowest level maps, so that one read takes the kernel one walk.
pub(crate) const BLOCK_PAGES: usize = 512;

const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;

/// One page's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Entry(pub u64);

impl Entry {
    /// Resident, anonymous and mapped nowhere else: what MADV_PAGEOUT takes. It passes over pages that others map too (a
    /// zygote's, or merged ones), and so do we.
    pub(crate) fn is_private_resident(self) -> bool {
        const PRESENT_FILE_EXCLUSIVE: u64 = 1 << 63 | 1 << 61 | 1 << 56;
        self.0 & PRESENT_FILE_EXCLUSIVE == 1 << 63 | 1 << 56
    }

    /// Present or in swap: the process has touched it, or a neighbour.
    pub(crate) fn is_touched(self) -> bool {
        self.0 & (1 << 63 | 1 << 62) != 0
    }

    /// In swap.
    pub(crate) fn is_swapped(self) -> bool {
        self.0 & (1 << 63 | 1 << 62) == 1 << 62
    }
}

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Resident anonymous pages.
    Resident,
    /// Pages in swap.
    Swapped,
}

/// A process's page map.
#[derive(Debug)]
pub(crate) struct Pagemap {
    fd: OwnedFd,
    page: PageSize,
    scan: bool,
}

impl Pagemap {
    /// Takes an open /proc/PID/pagemap.
    pub(crate) fn new(fd: OwnedFd, page: PageSize) -> Pagemap {
        Pagemap { fd, page, scan: true }
    }

    /// Reads the entries of the pages from `address` on; returns how many were read, fewer at the end of the address space.
    pub(crate) fn read(&self, address: u64, entries: &mut [u64]) -> io::Result<usize> {
        let offset = address / self.page.bytes() * 8;
        let length = entries.len();
        // The kernel writes whole words in the machine's byte order, so they are read in place.
        let bytes = as_bytes(entries);
        let mut got = 0;
        while got < length * 8 {
            match retry(|| rustix::io::pread(&self.fd, &mut bytes[got..], offset + got as u64))? {
                0 => break,
                n => got += n,
            }
        }
        Ok(got / 8)
    }

    /// Skips to the first wanted page in a range. Without the scan call (before 6.7) it stays where it is. `None`: there is none.
    pub(crate) fn skip_to(&mut self, wanted: Wanted, start: u64, end: u64) -> io::Result<Option<u64>> {
        if !self.scan || start >= end {
            return Ok(Some(start).filter(|&s| s < end));
        }
        let (mask, inverted) = match wanted {
            Wanted::Resident => (PAGE_IS_PRESENT | PAGE_IS_FILE | PAGE_IS_PFNZERO, PAGE_IS_FILE | PAGE_IS_PFNZERO),
            Wanted::Swapped => (PAGE_IS_SWAPPED, 0),
        };
        let mut scan = PagemapScan::first(start..end, mask, inverted);
        match pagemap_scan(self.fd.as_fd(), &mut scan) {
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL | libc::EINTR)) => {
                self.scan = e.raw_os_error() == Some(libc::EINTR);
                Ok(Some(start))
            }
            result => result,
        }
    }
}

fn as_bytes(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: the bytes of initialised integers, borrowed for writing; any bytes make valid integers.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Pagemap {
        Pagemap::new(std::fs::File::open("/proc/self/pagemap").unwrap().into(), PageSize::of_system())
    }

    #[test]
    fn entries_are_told_apart() {
        assert!(Entry(1 << 63 | 1 << 56 | 1 << 55 | 12345).is_private_resident());
        assert!(!Entry(1 << 63).is_private_resident());
        assert!(!Entry(1 << 63 | 1 << 61 | 1 << 56).is_private_resident());
        assert!(!Entry(1 << 62 | 1 << 56).is_private_resident());
        assert!(Entry(1 << 62).is_swapped() && !Entry(1 << 63).is_swapped() && !Entry(0).is_swapped());
    }

    #[test]
    fn entries_lie_where_the_kernels_pages_are() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1u64, 2, 3, 4, 5].map(u64::to_ne_bytes).concat()).unwrap();
        let read = |page: u64| {
            let map = Pagemap::new(std::fs::File::open(file.path()).unwrap().into(), PageSize::new(page).unwrap());
            let mut entry = [0];
            map.read(16384, &mut entry).unwrap();
            entry[0]
        };
        assert_eq!((read(4096), read(16384)), (5, 2));
    }

    #[test]
    fn a_touched_page_is_found_resident_and_holes_are_skipped() {
        let length = 64 << 20;
        // SAFETY: a fresh mapping of our own.
        let area = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::NORESERVE,
            )
        }
        .unwrap();
        // SAFETY: inside the mapping, which nobody else knows.
        unsafe { rustix::mm::madvise(area, length, rustix::mm::Advice::LinuxNoHugepage).unwrap() };
        let (start, touched) = (area as u64, area as u64 + (40 << 20));
        // SAFETY: inside the mapping, which is writable.
        unsafe { (touched as *mut u8).write_volatile(1) };
        let mut map = own();
        let mut entries = [0; 3];
        let page = PageSize::of_system().bytes();
        assert_eq!(map.read(touched - page, &mut entries).unwrap(), 3);
        assert_eq!(entries.map(|e| Entry(e).is_private_resident()), [false, true, false]);
        let found = map.skip_to(Wanted::Resident, start, start + length as u64).unwrap();
        assert_eq!(found, Some(if map.scan { touched } else { start }));
        if map.scan {
            assert_eq!(map.skip_to(Wanted::Resident, touched + page, start + length as u64).unwrap(), None);
        }
        // SAFETY: our mapping, not used any more.
        unsafe { rustix::mm::munmap(area, length).unwrap() };
    }
}
