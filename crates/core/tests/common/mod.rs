// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the tests of both systems' cores share.

/// Pseudo-random inputs for a fuzz driver, of so many bytes each, the same on every run.
pub fn inputs(count: u64, bytes: usize) -> impl Iterator<Item = Vec<u8>> {
    (1..=count).map(move |seed| {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let byte = |_| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
        };
        (0..bytes).map(byte).collect()
    })
}
