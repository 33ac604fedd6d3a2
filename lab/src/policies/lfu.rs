// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Least frequently used, in the cache: the object with the fewest requests since it came in goes, and what it had is forgotten (as
//! libCacheSim's LFU has it). Of equal ones the one whose last request is longest ago goes.

use crate::policy::{Aged, Descriptor};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lfu",
    source: "Aho, Denning and Ullman, Journal of the ACM 18(1), 1971",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Aged::<fn(u64, u32, u64) -> u64>::BYTES_PER_OBJECT,
    build: |capacity, _| Box::new(Aged::new(capacity, |_, count, _| u64::from(count))),
};
