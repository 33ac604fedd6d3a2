// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kernel's page size, known when the program runs: 4 KiB on PCs, 16 KiB on a Raspberry Pi 5 or Android 16, 64 KiB on some servers.
//!
//! Policy, configuration and journal count pages of [`PAGE_BYTES`] everywhere, so that they mean the same on every device. This crate
//! converts: every count of pages that enters or leaves it by [`Device`](crate::device_traits::Device) is of that size. Refaults are not
//! converted: they are events, each of which costs one request.

use fovea_apps::PAGE_BYTES;

/// Entry of the auxiliary vector that holds the page size (`AT_PAGESZ`, linux/auxvec.h).
const AUXV_PAGE_SIZE: u64 = 6;

/// The size of the kernel's pages: a power of two, at least [`PAGE_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize(u64);

impl PageSize {
    /// A page of policy.
    pub const SMALLEST: PageSize = PageSize(PAGE_BYTES);

    /// That of this process's kernel.
    pub fn of_system() -> PageSize {
        PageSize::new(rustix::param::page_size() as u64).unwrap_or(PageSize::SMALLEST)
    }

    /// `None` for what no kernel has.
    pub fn new(bytes: u64) -> Option<PageSize> {
        (bytes.is_power_of_two() && (PAGE_BYTES..=1 << 20).contains(&bytes)).then_some(PageSize(bytes))
    }

    /// Of a captured `/proc/PID/auxv` of 64 bits; `None` where it does not say.
    pub(crate) fn of_auxv(auxv: &[u8]) -> Option<PageSize> {
        let mut words = auxv.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
        while let (Some(key), Some(value)) = (words.next(), words.next()) {
            if key == AUXV_PAGE_SIZE {
                return PageSize::new(value);
            }
        }
        None
    }

    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// How many pages of policy one of the kernel's has.
    fn ratio(self) -> u64 {
        self.0 / PAGE_BYTES
    }

    /// So many of the kernel's pages, in policy's.
    pub fn to_policy(self, pages: u64) -> u64 {
        pages.saturating_mul(self.ratio())
    }

    /// So many of policy's pages, in the kernel's, rounded up: what is asked for is never nothing.
    pub fn of_policy(self, pages: u64) -> u64 {
        pages.div_ceil(self.ratio())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_their_bytes_and_a_request_never_becomes_nothing() {
        let page = PageSize::new(16384).unwrap();
        assert_eq!((page.to_policy(3), page.of_policy(12), page.of_policy(1), page.of_policy(0)), (12, 3, 1, 0));
        let same = PageSize::new(PAGE_BYTES).unwrap();
        assert_eq!((same.to_policy(7), same.of_policy(7)), (7, 7));
        assert!([0, 1024, 12288, 2 << 20].iter().all(|&bytes| PageSize::new(bytes).is_none()));
    }

    #[test]
    fn a_captured_vector_says_the_page_size() {
        let auxv = |pairs: &[(u64, u64)]| {
            pairs.iter().flat_map(|&(k, v)| [k, v]).flat_map(u64::to_le_bytes).collect::<Vec<_>>()
        };
        let found = PageSize::of_auxv(&auxv(&[(16, 6), (6, 16384), (0, 0)]));
        assert_eq!(found.map(PageSize::bytes), Some(16384), "6 as a value is no key");
        assert_eq!(PageSize::of_auxv(&auxv(&[(16, 6)])), None);
        assert_eq!(PageSize::of_auxv(b"short"), None);
    }
}
