// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Content of the flash's files: a function of path and page, so that whoever reads a page can check it. Cheap to make and to
//! check (an addition a word), and different in every word, so that a block in the wrong place is noticed.

use fovea_scenario::PAGE_BYTES;

use crate::hash::{mix64, name64};

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const WORDS: usize = PAGE_BYTES / 8;

/// Seed of a file's content.
pub fn file_seed(path: &str) -> u64 {
    name64(path)
}

fn first_word(seed: u64, page: u64) -> u64 {
    mix64(seed ^ mix64(page))
}

/// Writes page `page` of the file.
pub fn write_page(seed: u64, page: u64, words: &mut [u64; WORDS]) {
    let mut word = first_word(seed, page);
    for to in words {
        *to = word;
        word = word.wrapping_add(STEP);
    }
}

/// Whether `words`, read from the start of page `page`, are what the file holds there. The last page of a file may be short.
pub fn page_is_right(seed: u64, page: u64, words: &[u64]) -> bool {
    let mut word = first_word(seed, page);
    let mut differ = 0;
    for &found in words {
        differ |= found ^ word;
        word = word.wrapping_add(STEP);
    }
    differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_right_only_in_its_own_place() {
        let mut page = [0u64; WORDS];
        write_page(file_seed("a/b"), 7, &mut page);
        assert!(page_is_right(file_seed("a/b"), 7, &page));
        assert!(page_is_right(file_seed("a/b"), 7, &page[..100]));
        assert!(!page_is_right(file_seed("a/b"), 8, &page));
        assert!(!page_is_right(file_seed("a/c"), 7, &page));
    }

    #[test]
    fn any_single_bit_counts() {
        let mut page = [0u64; WORDS];
        write_page(1, 2, &mut page);
        for (word, bit) in [(0, 0), (511, 63), (300, 17)] {
            page[word] ^= 1 << bit;
            assert!(!page_is_right(1, 2, &page));
            page[word] ^= 1 << bit;
        }
    }
}
