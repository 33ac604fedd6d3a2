// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Where a process's own pages are (Documentation/admin-guide/mm/pagemap.rst).

use std::fs::File;
use std::os::unix::fs::FileExt;

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
pub struct Pagemap(File);

impl Pagemap {
    /// Opens it.
    pub fn open() -> Outcome<Self> {
        File::open("/proc/self/pagemap").map(Self).at(|| "opening /proc/self/pagemap".into())
    }

    /// Entries of at most [`WINDOW_PAGES`] pages from `address`.
    pub fn window(&self, address: usize, pages: usize) -> Outcome<[Entry; WINDOW_PAGES]> {
        let mut bytes = [0u8; WINDOW_PAGES * 8];
        let bytes = &mut bytes[..pages.min(WINDOW_PAGES) * 8];
        self.0
            .read_exact_at(bytes, (address / PAGE_BYTES * 8) as u64)
            .at(|| format!("reading /proc/self/pagemap at {address:#x}"))?;
        let mut entries = [Entry::default(); WINDOW_PAGES];
        for (to, from) in entries.iter_mut().zip(parse(bytes)) {
            *to = from;
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
    fn a_page_written_is_present() {
        let page = vec![1u8; PAGE_BYTES];
        let map = Pagemap::open().unwrap();
        assert!(map.window(page.as_ptr() as usize, 1).unwrap()[0].present());
    }
}
