// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How well a page would compress, told from compressing it with the codec that the swap uses.

use lz4_flex::block::{compress_into_with_table, CompressTable};

use crate::page::PageSize;

/// zram's default level for zstd (drivers/block/zram/backend_zstd.c: `zstd_default_clevel()`).
const ZSTD_LEVEL: i32 = 3;

/// Codec that samples are compressed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// LZ4 block format, as the kernel's lz4.
    #[default]
    Lz4,
    /// zstd at the kernel's default level.
    Zstd,
}

impl Codec {
    /// The codec to judge by for a kernel algorithm, and whether it is the same one. LZO is close to LZ4 in ratio on pages and has
    /// no sound encoder of the kernel's kind (LZO1X-1) in Rust; lz4hc compresses a little better than lz4, so that judging by lz4
    /// errs to leaving pages alone; deflate is nearest to zstd.
    pub fn for_algorithm(algorithm: &str) -> (Codec, bool) {
        match algorithm {
            "lz4" => (Codec::Lz4, true),
            "zstd" => (Codec::Zstd, true),
            "deflate" => (Codec::Zstd, false),
            _ => (Codec::Lz4, false),
        }
    }
}

/// Compresses samples into buffers of its own, used again and again.
pub(crate) struct Sampler {
    codec: Codec,
    table: CompressTable,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    output: Vec<u8>,
}

impl Sampler {
    pub(crate) fn new(page: PageSize) -> Sampler {
        let bytes = page.bytes() as usize;
        let room = zstd::zstd_safe::compress_bound(bytes).max(lz4_flex::block::get_maximum_output_size(bytes));
        Sampler { codec: Codec::Lz4, table: CompressTable::small(), zstd: None, output: vec![0; room] }
    }

    /// Chooses the codec.
    pub(crate) fn set_codec(&mut self, codec: Codec) {
        if codec == Codec::Zstd && self.zstd.is_none() {
            self.zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok();
        }
        self.codec = codec;
    }

    /// Compressed size of a page in thousandths of a page, at most 1000. A page filled with one word counts as nothing: zram
    /// stores the word beside the index.
    pub(crate) fn permille(&mut self, page: &[u8]) -> u32 {
        if is_same_filled(page) {
            return 0;
        }
        let compressed = match (self.codec, &mut self.zstd) {
            (Codec::Zstd, Some(zstd)) => zstd.compress_to_buffer(page, &mut self.output[..]).ok(),
            _ => compress_into_with_table(page, &mut self.output, &mut self.table).ok(),
        };
        compressed.map_or(1000, |bytes| (bytes * 1000 / page.len().max(1)).min(1000) as u32)
    }
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler").field("codec", &self.codec).finish_non_exhaustive()
    }
}

/// Whether a page repeats its first word throughout (zram's `page_same_filled`). The last word is looked at first, as there:
/// pages that begin alike and end differently are common.
fn is_same_filled(page: &[u8]) -> bool {
    let (Some(first), Some(last)) = (page.first_chunk::<8>(), page.last_chunk::<8>()) else { return page.is_empty() };
    first == last && page.chunks_exact(8).all(|word| word == first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: usize = 4096;

    fn sampler() -> Sampler {
        Sampler::new(PageSize::SMALLEST)
    }

    fn noise(seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let mut page = Vec::with_capacity(PAGE);
        while page.len() < PAGE {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            page.extend(state.to_le_bytes());
        }
        page
    }

    #[test]
    fn same_filled_pages_count_as_nothing_and_noise_as_all() {
        for codec in [Codec::Lz4, Codec::Zstd] {
            let mut sampler = sampler();
            sampler.set_codec(codec);
            assert_eq!(sampler.permille(&[0; PAGE]), 0);
            assert_eq!(sampler.permille(&[0x5a; PAGE]), 0);
            assert_eq!(sampler.permille(&noise(3)), 1000, "{codec:?}");
        }
    }

    /// A larger page compresses better than its quarters; zram compresses it whole.
    #[test]
    fn a_page_of_16_kib_is_compressed_whole() {
        let page = noise(7).repeat(4);
        for codec in [Codec::Lz4, Codec::Zstd] {
            let mut sampler = Sampler::new(PageSize::new(4 * PAGE as u64).unwrap());
            sampler.set_codec(codec);
            let permille = sampler.permille(&page);
            assert!((245..=300).contains(&permille), "{codec:?}: {permille}");
        }
    }

    #[test]
    fn a_page_with_a_random_head_shrinks_to_about_its_head() {
        let mut page = noise(9);
        page[PAGE * 40 / 100..].fill(7);
        for codec in [Codec::Lz4, Codec::Zstd] {
            let mut sampler = sampler();
            sampler.set_codec(codec);
            let permille = sampler.permille(&page);
            assert!((395..=440).contains(&permille), "{codec:?}: {permille}");
        }
    }

    #[test]
    fn the_result_does_not_depend_on_what_was_sampled_before() {
        let mut page = noise(5);
        page[1000..].fill(1);
        let mut used = sampler();
        for seed in 0..50 {
            used.permille(&noise(seed));
        }
        assert_eq!(used.permille(&page), sampler().permille(&page));
    }

    proptest! {
        #[test]
        fn same_filled_means_every_word_equal(mut page in proptest::collection::vec(0u8..2, 64), at in 0usize..64, same: bool) {
            if same {
                let word: Vec<u8> = page[..8].to_vec();
                page = word.repeat(8);
                page[at] ^= u8::from(at % 2 == 0);
            }
            let words: Vec<&[u8]> = page.chunks(8).collect();
            prop_assert_eq!(is_same_filled(&page), words.iter().all(|w| *w == words[0]));
        }

        #[test]
        fn any_bytes_are_sampled_without_panic(page in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut sampler = sampler();
            prop_assert!(sampler.permille(&page) <= 1000);
        }
    }
}
