// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A page cache as Linux 2.6.35 has it, the paper's kernel: an inactive and an active list of file pages, each a queue, with one
//! reference bit a page.
//!
//! A page comes in inactive. A second reference makes it active. What leaves is the inactive list's oldest page, unless it
//! was referenced since it came in (then it goes round once more); the active list's oldest go over, their bit cleared, while it is
//! the longer (`inactive_file_is_low`). The capacity moves: it is what anonymous memory leaves.

use crate::policy::Table;

const INACTIVE: u8 = 1;
const ACTIVE: u8 = 2;

/// Bits of a page, in the table's small number.
const REFERENCED: u8 = 1;

/// The page cache.
#[derive(Default)]
pub struct PageCache {
    lists: Table<2>,
}

impl PageCache {
    /// Announces pages below `pages`.
    pub fn ensure_pages(&mut self, pages: u32) {
        self.lists.ensure_ids(pages);
    }

    /// Pages in it.
    pub fn len(&self) -> u64 {
        self.lists.weight(INACTIVE) + self.lists.weight(ACTIVE)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a page is in it.
    pub fn contains(&self, page: u32) -> bool {
        self.lists.place_of(page) != crate::policy::ABSENT
    }

    /// Refers to a page: whether it was there. A missing page comes in; [`PageCache::shrink`] makes room afterwards.
    pub fn access(&mut self, page: u32) -> bool {
        let slot = Table::<2>::slot(page);
        match self.lists.place(slot) {
            INACTIVE if self.lists.count(slot) & REFERENCED != 0 => {
                self.lists.remove(slot);
                self.lists.push_front(ACTIVE, slot, 1);
                self.lists.set_count(slot, 0);
                true
            }
            INACTIVE | ACTIVE => {
                self.lists.set_count(slot, REFERENCED);
                true
            }
            _ => {
                self.lists.push_front(INACTIVE, slot, 1);
                self.lists.set_count(slot, 0);
                false
            }
        }
    }

    /// Drops a page without evicting it.
    pub fn forget(&mut self, page: u32) {
        let slot = Table::<2>::slot(page);
        if self.contains(page) {
            self.lists.remove(slot);
        }
    }

    /// Evicts the next page if there are more than `capacity`.
    pub fn shrink(&mut self, capacity: u64) -> Option<u32> {
        if self.len() <= capacity {
            return None;
        }
        while self.lists.weight(ACTIVE) > self.lists.weight(INACTIVE) {
            let slot = self.lists.back(ACTIVE)?;
            self.lists.remove(slot);
            self.lists.push_front(INACTIVE, slot, 1);
            self.lists.set_count(slot, 0);
        }
        loop {
            let slot = self.lists.back(INACTIVE)?;
            if self.lists.count(slot) & REFERENCED != 0 {
                self.lists.set_count(slot, 0);
                self.lists.refresh(slot);
                continue;
            }
            self.lists.remove(slot);
            return Some(Table::<2>::id(slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(accesses: &[u32], capacity: u64) -> (PageCache, Vec<u32>) {
        let (mut cache, mut evicted) = (PageCache::default(), Vec::new());
        cache.ensure_pages(100);
        for &page in accesses {
            cache.access(page);
            evicted.extend(std::iter::from_fn(|| cache.shrink(capacity)));
            assert!(cache.len() <= capacity);
        }
        (cache, evicted)
    }

    #[test]
    fn pages_used_once_leave_in_order_and_do_not_push_out_those_used_often() {
        let (cache, evicted) = run(&[1, 1, 1, 2, 3, 4, 5, 6, 7], 4);
        assert!(cache.contains(1));
        assert_eq!(evicted, [2, 3, 4]);
    }

    #[test]
    fn active_pages_leave_too_once_they_are_the_most() {
        let often = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4];
        let (cache, evicted) = run(&[&often[..], &[5, 6, 7, 8]].concat(), 4);
        assert_eq!(cache.len(), 4);
        assert!(evicted.iter().any(|p| (1..=4).contains(p)), "{evicted:?}");
    }

    #[test]
    fn a_smaller_capacity_evicts_down_to_it() {
        let (mut cache, _) = run(&[1, 2, 3, 4], 4);
        assert_eq!(std::iter::from_fn(|| cache.shrink(1)).collect::<Vec<_>>(), [1, 2, 3]);
        cache.forget(4);
        assert!(cache.is_empty());
    }
}
