// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! LFU with dynamic aging (Arlitt et al., "Evaluating content management techniques for web proxy caches", ACM SIGMETRICS Performance
//! Evaluation Review 27(4), 2000): the object with the least count of requests plus age goes, and its sum becomes the age. An object
//! takes the age of its last request. Of equal ones the one whose last request is longest ago goes.

use crate::policy::{Aged, Descriptor};

/// The registry's entry.
pub static POLICY: Descriptor = Descriptor {
    name: "lfu-da",
    source: "Arlitt et al., SIGMETRICS PER 27(4), 2000",
    parameters: &[],
    needs_future: false,
    bytes_per_object: Aged::<fn(u64, u32, u64) -> u64>::BYTES_PER_OBJECT,
    build: |capacity, _| Box::new(Aged::new(capacity, |age, count, _| age + u64::from(count))),
};
