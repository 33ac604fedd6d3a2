// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where a process's own pages are (Documentation/admin-guide/mm/pagemap.rst).

use std::fs::File;
use std::os::unix::fs::FileExt;

use fovea_linux::PageSize;
use fovea_scenario::PAGE_BYTES;

use crate::outcome::{At, Outcome};

/// Pages looked at together.
pub const WINDOW_PAGES: usize = 32;

/// One page's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(pub u64);

impl Entry {
    /// In memory.
    #[cfg(test)]
    pub fn present(self) -> bool {
        self.0 >> 63 & 1 == 1
    }

    /// In swap.
    pub fn swapped(self) -> bool {
        self.0 >> 62 & 1 == 1
    }
}

/// Entries from the bytes that the kernel gives; an incomplete last entry is left out.
pub fn parse(bytes: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    bytes.chunks_exact(8).map(|b| Entry(u64::from_ne_bytes(b.try_into().unwrap_or_default())))
}

/// This process's page map.
pub struct Pagemap {
    file: File,
    page_bytes: usize,
}

impl Pagemap {
    /// Opens it.
    pub fn open() -> Outcome<Self> {
        let file = File::open("/proc/self/pagemap").at(|| "opening /proc/self/pagemap".into())?;
        Ok(Self { file, page_bytes: PageSize::of_system().bytes() as usize })
    }

    /// Entries of at most [`WINDOW_PAGES`] pages of 4 KiB from `address`: each that of the kernel's page which it is part of.
    pub fn window(&self, address: usize, pages: usize) -> Outcome<[Entry; WINDOW_PAGES]> {
        let pages = pages.min(WINDOW_PAGES);
        let first = address / self.page_bytes;
        let count = (address + pages * PAGE_BYTES).div_ceil(self.page_bytes) - first;
        let mut bytes = [0u8; WINDOW_PAGES * 8];
        let bytes = &mut bytes[..count * 8];
        self.file
            .read_exact_at(bytes, (first * 8) as u64)
            .at(|| format!("reading /proc/self/pagemap at {address:#x}"))?;
        let mut found = [Entry::default(); WINDOW_PAGES];
        for (to, from) in found.iter_mut().zip(parse(bytes)) {
            *to = from;
        }
        let mut entries = [Entry::default(); WINDOW_PAGES];
        for (page, entry) in entries.iter_mut().enumerate().take(pages) {
            *entry = found[(address + page * PAGE_BYTES) / self.page_bytes - first];
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_63_and_62_are_present_and_swapped() {
        let entries: Vec<_> = [1u64 << 63, 1 << 62, 0, 1 << 61 | 0xffff]
            .iter()
            .flat_map(|e| e.to_ne_bytes())
            .chain([1, 2, 3])
            .collect::<Vec<u8>>();
        let found: Vec<_> = parse(&entries).map(|e| (e.present(), e.swapped())).collect();
        assert_eq!(found, [(true, false), (false, true), (false, false), (false, false)]);
    }

    #[test]
    fn a_page_of_4_kib_has_the_entry_of_the_kernels_page_around_it() {
        let path = std::env::temp_dir().join(format!("fovea-pagemap-{}", std::process::id()));
        std::fs::write(&path, [0, 1 << 63, 1u64 << 62].map(u64::to_ne_bytes).concat()).unwrap();
        let map = Pagemap { file: File::open(&path).unwrap(), page_bytes: 4 * PAGE_BYTES };
        let window = map.window(6 * PAGE_BYTES, 3).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(window[..4].iter().map(|e| e.0).collect::<Vec<_>>(), [1 << 63, 1 << 63, 1 << 62, 0]);
    }

    #[test]
    fn a_page_written_is_present() {
        let page = vec![1u8; PAGE_BYTES];
        let map = Pagemap::open().unwrap();
        assert!(map.window(page.as_ptr() as usize, 1).unwrap()[0].present());
    }
}
