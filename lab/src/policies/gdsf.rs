// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Greedy-Dual-Size with frequency (Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy", HP
//! Laboratories HPL-98-69, 1998), with the same cost for every object: the one with the least age + requests / size goes, and its sum
//! becomes the age. As in libCacheSim the quotient is scaled by a million, and of equal ones the one whose last request is longest
//! ago goes.

use crate::policy::{Aged, Descriptor};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "gdsf",
    source: "Cherkasova, HP Laboratories HPL-98-69, 1998",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Aged::<fn(u64, u32, u64) -> u64>::BYTES_PER_OBJECT,
    build: |capacity, _| Box::new(Aged::new(capacity, rank)),
};

const SCALE: f64 = 1.0e6;

/// Age and rank are the bits of their numbers: those that are not negative are in the order of their bits.
fn rank(age: u64, count: u32, size: u64) -> u64 {
    (f64::from_bits(age) + f64::from(count) * SCALE / size as f64).to_bits()
}
