// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An app's device memory: allocated from the device's node, filled and checked as the device would use it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use fovea_heap::{Access, Buffer as DmaBuffer, Heap, Mapping};
use fovea_scenario::{Buffer, BufferUse, PAGE_BYTES};

use crate::hash::{mix64, name64};
use crate::outcome::Outcome;
use crate::readings::now_ns;
use crate::wire::Count;

const WORDS: usize = PAGE_BYTES / 8;

/// Added from word to word of a page, so that a page in another's place is noticed at every word.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Device memory that an app has. It goes back when this is dropped.
pub struct Held {
    device: String,
    // Before the buffer: mappings go first.
    mapping: Mapping,
    buffer: DmaBuffer,
    seed: u64,
    filled: bool,
}

/// Allocates; what came of it is told in either case, since an app goes on without its device.
pub fn allocate(wanted: &Buffer, seed: u64) -> (BufferUse, Option<Held>) {
    let mut outcome = BufferUse {
        device: wanted.device.clone(),
        size_bytes: wanted.size_bytes,
        alloc_ns: 0,
        fill_ns: 0,
        wrong_pages: 0,
        error: None,
    };
    let held = try_allocate(wanted, &mut outcome.alloc_ns).map(|(buffer, mapping)| Held {
        device: wanted.device.clone(),
        mapping,
        buffer,
        seed: mix64(seed ^ name64(&wanted.device)),
        filled: false,
    });
    match held {
        Ok(held) => (outcome, Some(held)),
        Err(error) => {
            outcome.error = Some(error);
            (outcome, None)
        }
    }
}

fn try_allocate(wanted: &Buffer, alloc_ns: &mut u64) -> Result<(DmaBuffer, Mapping), String> {
    let heap = Heap::open(format!("/dev/ecache/{}", wanted.device)).map_err(|e| e.to_string())?;
    let began = now_ns();
    let buffer = heap.allocate(wanted.size_bytes);
    *alloc_ns = now_ns() - began;
    let buffer = buffer.map_err(|e| format!("allocating {} bytes: {e}", wanted.size_bytes))?;
    let mapping = buffer.map().map_err(|e| e.to_string())?;
    Ok((buffer, mapping))
}

impl Held {
    /// Whose it is.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Writes every word; how long that took, the clearing of the memory at its first touch included.
    pub fn fill(&mut self) -> Outcome<u64> {
        let began = now_ns();
        let (mapping, seed) = (&self.mapping, self.seed);
        let fill = || {
            for (page, words) in mapping.words().chunks_exact(WORDS).enumerate() {
                let mut value = mix64(seed ^ page as u64);
                for word in words {
                    word.store(value, Ordering::Relaxed);
                    value = value.wrapping_add(STEP);
                }
            }
        };
        self.buffer.access(Access::Write, fill).map_err(|e| e.to_string())?;
        self.filled = true;
        Ok(now_ns() - began)
    }

    /// Checks every word, if it was filled.
    pub fn verify(&self) -> Outcome<Count> {
        let mut count = Count::default();
        if !self.filled {
            return Ok(count);
        }
        let check = || {
            for (page, words) in self.mapping.words().chunks_exact(WORDS).enumerate() {
                let mut value = mix64(self.seed ^ page as u64);
                let mut differ = 0;
                for word in words {
                    differ |= word.load(Ordering::Relaxed) ^ value;
                    value = value.wrapping_add(STEP);
                }
                count.page(differ == 0);
            }
        };
        self.buffer.access(Access::Read, check).map_err(|e| e.to_string())?;
        Ok(count)
    }
}

/// Sleeps; in exact mode that costs nothing.
pub fn sleep_ns(ns: u64) {
    std::thread::sleep(Duration::from_nanos(ns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_told_and_not_fatal() {
        let wanted = Buffer { device: "none".into(), size_bytes: 4096 };
        let (outcome, held) = allocate(&wanted, 1);
        assert!(held.is_none());
        assert!(outcome.error.is_some_and(|e| e.contains("/dev/ecache/none")));
    }
}
