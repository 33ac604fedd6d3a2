// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The stable harness of the fuzz targets, which a crate's own tests include: every seed, all its beginnings, and what a
//! fixed generator makes of the seeds. The same inputs each time, in about a second a target; `make test-deep` lets libFuzzer
//! look for more.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

/// Inputs that the generator makes for each target.
const MADE: u32 = 4_000;

/// Longest input that it makes.
const MADE_MAX_BYTES: usize = 4_096;

/// A target: what reads bytes, and the name of its folder of seeds.
pub type Target = (fn(&[u8]), &'static str);

/// Plays it all; a panic says for which input.
pub fn play(targets: &[Target]) {
    for &(target, name) in targets {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let seeds: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
        assert!(!seeds.is_empty(), "{name} has no seeds");
        let read = |bytes: &[u8]| {
            if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
                panic!("{name} panicked on {} bytes: {bytes:02x?}", bytes.len());
            }
        };
        for seed in &seeds {
            (0..=seed.len()).for_each(|length| read(&seed[..length]));
        }
        let mut made = Generator(0x9e37_79b9_7f4a_7c15);
        (0..MADE).for_each(|_| read(&made.input(&seeds)));
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// A seed that was changed in one to eight places, or now and then bytes that nobody wrote.
    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if self.below(16) == 0 {
            return (0..self.below(300)).map(|_| self.next() as u8).collect();
        }
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(8) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                // Lengths and types are where readers go wrong: none, one, the largest, the most negative.
                1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 if bytes.len() >= at + 4 => {
                    let number = [0, 1, u32::MAX, 1 << 31, i32::MAX as u32][self.below(5)];
                    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                }
                3 => bytes.truncate(at),
                4 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len());
                    let rest = other[from..].to_vec();
                    bytes.splice(at.., rest);
                }
                _ => {
                    let some: Vec<u8> = bytes[at..].iter().copied().take(1 + self.below(32)).collect();
                    bytes.splice(at..at, some);
                }
            }
            bytes.truncate(MADE_MAX_BYTES);
        }
        bytes
    }
}
