// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Sizes of requests in bytes: 64 bits, of which the upper half is 0 for all but objects of 4 GiB and more, and then takes no room.

use std::io::Result;

use super::{builder::repeated, Column, DenseOptions};

/// A column of sizes.
pub struct Sizes {
    low: Column,
    high: Column,
}

impl Sizes {
    pub(super) fn new(memory_limit_bytes: u64) -> Self {
        Sizes { low: Column::new(memory_limit_bytes), high: Column::new(memory_limit_bytes) }
    }

    /// Of columns that were kept. Nothing can be added.
    pub(super) fn of_columns(low: Column, high: Column) -> Self {
        Sizes { low, high }
    }

    /// Halves, the lower first.
    pub(super) fn columns(&self) -> [&Column; 2] {
        [&self.low, &self.high]
    }

    #[inline]
    pub(super) fn push(&mut self, size: u64) -> Result<()> {
        self.low.push(size as u32)?;
        self.high.push((size >> 32) as u32)
    }

    pub(super) fn push_all(&mut self, sizes: &[u64]) -> Result<()> {
        let low: Vec<u32> = sizes.iter().map(|&size| size as u32).collect();
        let high: Vec<u32> = sizes.iter().map(|&size| (size >> 32) as u32).collect();
        self.low.push_all(&low)?;
        self.high.push_all(&high)
    }

    pub(super) fn seal(&mut self) -> Result<()> {
        self.low.seal()?;
        self.high.seal()
    }

    pub(super) fn repeated(self, repeat: u64, options: &DenseOptions) -> Result<Self> {
        Ok(Sizes { low: repeated(self.low, repeat, options)?, high: repeated(self.high, repeat, options)? })
    }

    /// Sizes of `count` requests from `start` on.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn chunk<'a>(&self, start: u64, count: usize, scratch: &'a mut Vec<u64>) -> Result<&'a [u64]> {
        let mut halves = Vec::new();
        scratch.clear();
        scratch.extend(self.low.chunk(start, count, &mut halves)?.iter().map(|&low| u64::from(low)));
        if self.high.all_the_same() != Some(0) {
            let high = self.high.chunk(start, count, &mut halves)?;
            scratch.iter_mut().zip(high).for_each(|(size, &high)| *size |= u64::from(high) << 32);
        }
        Ok(scratch)
    }
}
