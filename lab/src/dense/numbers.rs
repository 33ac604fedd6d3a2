// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Gives objects and pages their numbers, in the order of their first requests. One hash table, looked into once a request: what
//! making a trace dense costs.
//!
//! Open addressing with linear probing (Knuth, The Art of Computer Programming 3, section 6.4), so that a look-up mostly touches one
//! cache line. Requests come in batches: a first pass looks only at the place where each object belongs. Its look-ups do not depend on
//! one another, so the processor waits for many lines of memory at once. The few that are not found there are then probed for in order.

use std::hash::BuildHasher;

/// The key, and volume and number plus 1 in one word; 0 there is an empty place.
type Entry = [u64; 2];

/// Requests looked up at a time: their places stay in the first-level cache between the passes.
const BATCH: usize = 256;

/// Not found where it belongs.
const ELSEWHERE: u32 = u32::MAX;

/// The numbers given so far.
pub(super) struct Numbers {
    /// As many as a power of two.
    entries: Vec<Entry>,
    used: usize,
    /// Drawn once a process, so that nobody can make a trace whose objects all belong to one place.
    seeds: [u64; 2],
}

fn place(seeds: [u64; 2], volume: u32, key: u64) -> usize {
    // A multiplication of 64 by 64 bits, folded, as in wyhash and foldhash. Odd and far from 0, the second factor takes no key's bits away.
    let other = (seeds[1] ^ u64::from(volume).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | (1 << 63) | 1;
    let product = u128::from(key ^ seeds[0]) * u128::from(other);
    // Multiplied once more: of keys that are far apart the folded product's low bits alone are a progression with gaps.
    let folded = ((product >> 64) as u64 ^ product as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The upper bits first, to which all others have come.
    (folded ^ folded.swap_bytes()) as usize
}

impl Numbers {
    pub(super) fn new() -> Self {
        let random = std::hash::RandomState::new();
        Numbers { entries: vec![[0; 2]; 1024], used: 0, seeds: [random.hash_one(0), random.hash_one(1)] }
    }

    /// The number of an object, if it has one; else the place that awaits it.
    fn find(&self, volume: u32, key: u64) -> Result<u32, usize> {
        let mask = self.entries.len() - 1;
        let mut at = place(self.seeds, volume, key) & mask;
        loop {
            let [known, rest] = self.entries[at];
            if rest == 0 {
                return Err(at);
            }
            if known == key && (rest >> 32) as u32 == volume {
                return Ok(rest as u32 - 1);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![[0; 2]; 2 * self.entries.len()];
        let mask = larger.len() - 1;
        for entry in std::mem::replace(&mut self.entries, larger).into_iter().filter(|entry| entry[1] != 0) {
            let mut at = place(self.seeds, (entry[1] >> 32) as u32, entry[0]) & mask;
            while self.entries[at][1] != 0 {
                at = (at + 1) & mask;
            }
            self.entries[at] = entry;
        }
    }

    /// The number of an object, and whether it is a new one; none if all numbers are given.
    pub(super) fn of(&mut self, volume: u32, key: u64) -> Option<(u32, bool)> {
        let mut place = match self.find(volume, key) {
            Ok(number) => return Some((number, false)),
            Err(place) => place,
        };
        // The policies' tables put a few list heads before the objects.
        let number = u32::try_from(self.used).ok().filter(|&number| number < u32::MAX - 16)?;
        // At three quarters chains of full places are still short.
        if 4 * (self.used + 1) > 3 * self.entries.len() {
            self.grow();
            place = self.find(volume, key).err()?;
        }
        self.entries[place] = [key, u64::from(volume) << 32 | u64::from(number + 1)];
        self.used += 1;
        Some((number, true))
    }

    /// The numbers of objects, put into `numbers`; `new` is told the place in `keys` of each that is new. Fails with the place of the first
    /// that can have none.
    pub(super) fn of_all(
        &mut self,
        volume: u32,
        keys: &[u64],
        numbers: &mut Vec<u32>,
        mut new: impl FnMut(usize),
    ) -> Result<(), usize> {
        numbers.clear();
        for keys in keys.chunks(BATCH) {
            let start = numbers.len();
            let (seeds, mask) = (self.seeds, self.entries.len() - 1);
            let entries = &self.entries[..=mask];
            numbers.extend(keys.iter().map(|&key| {
                let [known, rest] = entries[place(seeds, volume, key) & mask];
                // Of an empty place the number is 0 less 1, which is ELSEWHERE.
                let number = (rest as u32).wrapping_sub(1);
                if known == key && (rest >> 32) as u32 == volume {
                    number
                } else {
                    ELSEWHERE
                }
            }));
            for (at, number) in numbers[start..].iter_mut().enumerate().filter(|(_, number)| **number == ELSEWHERE) {
                let (found, is_new) = self.of(volume, keys[at]).ok_or(start + at)?;
                *number = found;
                if is_new {
                    new(start + at);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn numbers_are_those_of_a_map_one_by_one_and_in_batches(
            requests in prop::collection::vec((0..3u32, prop_oneof![0..3000u64, any::<u64>(), Just(0), Just(u64::MAX)]), 1..6000),
        ) {
            let (mut one_by_one, mut batches) = (Numbers::new(), Numbers::new());
            let (mut known, mut numbers) = (HashMap::new(), Vec::new());
            for requests in requests.chunk_by(|a, b| a.0 == b.0 || a.1 % 4 > 0) {
                let volume = requests[0].0;
                let keys: Vec<u64> = requests.iter().map(|r| r.1).collect();
                let mut new = Vec::new();
                batches.of_all(volume, &keys, &mut numbers, |at| new.push(at)).unwrap();
                let mut expected_new = Vec::new();
                for (at, &key) in keys.iter().enumerate() {
                    let next = known.len() as u32;
                    let number = *known.entry((volume, key)).or_insert(next);
                    if number == next {
                        expected_new.push(at);
                    }
                    prop_assert_eq!(one_by_one.of(volume, key), Some((number, number == next)));
                    prop_assert_eq!(numbers[at], number);
                }
                prop_assert_eq!(new, expected_new);
            }
        }
    }

    #[test]
    fn keys_in_a_row_and_far_apart_spread_over_the_places() {
        for step in [1, 4096, 1 << 32, 1 << 44, u64::MAX / 100_000] {
            for seed in 0..50u64 {
                let seeds = [seed.wrapping_mul(0x2545_f491_4f6c_dd1d), !seed.wrapping_mul(0x9fb2_1c65_1e98_df25)];
                let places = (0..50_000u64).map(|key| place(seeds, 7, key.wrapping_mul(step)) & 0xffff);
                let distinct = places.collect::<std::collections::BTreeSet<_>>().len();
                // Drawn at random they would be 65536 (1 - e^(-50000/65536)) = 34,980; fewer than nine tenths of that is no spread.
                assert!(distinct > 31_500, "{distinct} places for keys {step} apart, seed {seed}");
            }
        }
    }
}
