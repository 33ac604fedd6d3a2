// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Content of an app's anonymous pages: a function of the app, the page and how often it was written, so that any page can be
//! verified at any time against nothing but arithmetic.

use crate::hash::mix64;
use crate::Mix;

/// Bytes of a page.
pub const PAGE_BYTES: usize = fovea_apps::PAGE_BYTES as usize;

/// Kind of a page's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// All zero.
    Zero,
    /// The same in every app that has a duplicate page of that index.
    Duplicate,
    /// A random head and a repeating tail.
    Compressible,
    /// Random throughout.
    Random,
}

/// The kind of page `index`: runs of 32 pages are alike, as neighbouring pages of one data structure are.
pub fn page_kind(mix: &Mix, app_seed: u64, index: u64) -> PageKind {
    let draw = (mix64(app_seed ^ mix64(index / 32)) % 100) as u32;
    if draw < mix.zero_percent {
        PageKind::Zero
    } else if draw < mix.zero_percent + mix.duplicate_percent {
        PageKind::Duplicate
    } else if draw < mix.zero_percent + mix.duplicate_percent + mix.compressible_percent {
        PageKind::Compressible
    } else {
        PageKind::Random
    }
}

/// Writes what page `index` of the app holds after `version` rewrites.
pub fn page_content(mix: &Mix, app_seed: u64, index: u64, version: u64, page: &mut [u64; PAGE_BYTES / 8]) {
    let kind = page_kind(mix, app_seed, index);
    let (mut state, random_words) = match kind {
        PageKind::Zero => {
            page.fill(0);
            return;
        }
        // Duplicate pages are never rewritten differently: they stand for preloaded classes and resources.
        PageKind::Duplicate => (mix64(index), PAGE_BYTES / 8 * mix.compressed_percent as usize / 100),
        PageKind::Compressible => (
            mix64(app_seed ^ mix64(index) ^ mix64(version).rotate_left(17)),
            PAGE_BYTES / 8 * mix.compressed_percent as usize / 100,
        ),
        PageKind::Random => (mix64(app_seed ^ mix64(index) ^ mix64(version).rotate_left(17)), PAGE_BYTES / 8),
    };
    state |= 1;
    let (head, tail) = page.split_at_mut(random_words);
    for word in head {
        // xorshift64 (Marsaglia 2003): three shifts a word, so that filling a page is cheap under instruction counting.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *word = state;
    }
    tail.fill(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIX: Mix = Mix {
        zero_percent: 10,
        duplicate_percent: 20,
        compressible_percent: 50,
        random_percent: 20,
        compressed_percent: 40,
    };

    #[test]
    fn the_mix_is_what_was_asked() {
        let mut counts = [0u32; 4];
        for index in 0..320_000 {
            counts[page_kind(&MIX, 7, index) as usize] += 1;
        }
        let percent: Vec<f64> = counts.iter().map(|&c| f64::from(c) / 3200.0).collect();
        for (found, asked) in percent.iter().zip([10.0, 20.0, 50.0, 20.0]) {
            assert!((found - asked).abs() < 2.0, "{percent:?}");
        }
    }

    #[test]
    fn versions_differ_and_duplicates_do_not() {
        let (mut a, mut b) = ([0u64; 512], [0u64; 512]);
        for index in (0..2000).step_by(32) {
            page_content(&MIX, 1, index, 0, &mut a);
            page_content(&MIX, 1, index, 1, &mut b);
            let same = matches!(page_kind(&MIX, 1, index), PageKind::Zero | PageKind::Duplicate);
            assert_eq!(a == b, same, "page {index}");
        }
    }
}
