// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A long column of 32-bit numbers: one number and how often, as long as all are the same; else in memory, or past a limit in a file.

use std::{
    fs::File,
    io::{Result, Write},
    os::unix::fs::FileExt,
    sync::Arc,
};

/// Numbers written to the file at a time.
const BUFFER: usize = 65_536;

/// Where the numbers of a column lie in a file.
struct Stored {
    file: Arc<File>,
    start_bytes: u64,
    length: u64,
}

/// The column.
pub struct Column {
    memory_limit: usize,
    /// One number, and how often it came; until another one comes.
    same: Option<(u32, u64)>,
    /// All numbers, or those not yet in the file.
    values: Vec<u32>,
    file: Option<Stored>,
}

pub(super) fn bytes(values: &[u32]) -> Vec<u8> {
    let mut raw = vec![0; 4 * values.len()];
    for (raw, value) in raw.chunks_exact_mut(4).zip(values) {
        raw.copy_from_slice(&value.to_le_bytes());
    }
    raw
}

pub(super) fn numbers(raw: &[u8]) -> impl Iterator<Item = u32> + '_ {
    raw.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

impl Column {
    /// An empty column that takes at most so much memory.
    pub fn new(memory_limit_bytes: u64) -> Self {
        let memory_limit = (memory_limit_bytes / 4).max(1) as usize;
        Column { memory_limit, same: None, values: Vec::new(), file: None }
    }

    /// A number so many times.
    pub(super) fn of_same(value: u32, length: u64, memory_limit_bytes: u64) -> Self {
        let same = (length > 0).then_some((value, length));
        Column { same, ..Column::new(memory_limit_bytes) }
    }

    /// Numbers that lie in a file, little-endian, and stay there. None can be added.
    pub(super) fn of_file(file: Arc<File>, start_bytes: u64, length: u64, memory_limit_bytes: u64) -> Self {
        Column { file: Some(Stored { file, start_bytes, length }), ..Column::new(memory_limit_bytes) }
    }

    /// Whether so many numbers would go to memory.
    pub(super) fn fits(&self, length: u64) -> bool {
        length < self.memory_limit as u64
    }

    /// Takes numbers as they are, into memory.
    pub(super) fn extend(&mut self, values: impl Iterator<Item = u32>) {
        self.values.extend(values);
    }

    /// The one number of the column, if it has only one.
    pub(super) fn all_the_same(&self) -> Option<u32> {
        self.same.map(|(value, _)| value)
    }

    /// A column of zeros as long as this one, which can be overwritten, kept where this one is.
    ///
    /// # Errors
    /// If the temporary file cannot be made.
    pub fn zeroed(&self) -> Result<Self> {
        let mut column = Column { memory_limit: self.memory_limit, same: None, values: Vec::new(), file: None };
        if self.file.is_some() {
            let file = tempfile::tempfile()?;
            file.set_len(4 * self.len())?;
            column.file = Some(Stored { file: Arc::new(file), start_bytes: 0, length: self.len() });
        } else {
            column.values.resize(self.len() as usize, 0);
        }
        Ok(column)
    }

    /// How many numbers.
    pub fn len(&self) -> u64 {
        let same = self.same.map_or(0, |(_, count)| count);
        same + self.file.as_ref().map_or(0, |f| f.length) + self.values.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a number.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, value: u32) -> Result<()> {
        if self.values.is_empty() && self.file.is_none() {
            return self.push_same(value);
        }
        self.append(value)
    }

    /// Adds numbers.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn push_all(&mut self, values: &[u32]) -> Result<()> {
        let mut values = values;
        if self.values.is_empty() && self.file.is_none() {
            let Some(&first) = values.first() else { return Ok(()) };
            let same = self.same.map_or(first, |(same, _)| same);
            let run = values.iter().take_while(|&&value| value == same).count();
            if run > 0 {
                self.same = Some((same, self.same.map_or(0, |(_, count)| count) + run as u64));
            }
            let Some((&other, rest)) = values[run..].split_first() else { return Ok(()) };
            self.push_same(other)?;
            values = rest;
        }
        while !values.is_empty() {
            let room = self.limit().saturating_sub(self.values.len()).clamp(1, values.len());
            self.values.extend_from_slice(&values[..room]);
            values = &values[room..];
            self.spill_if_full()?;
        }
        Ok(())
    }

    fn push_same(&mut self, value: u32) -> Result<()> {
        match &mut self.same {
            None => self.same = Some((value, 1)),
            Some((same, count)) if *same == value => *count += 1,
            Some((same, count)) => {
                let (same, count) = (*same, *count);
                self.same = None;
                for _ in 0..count {
                    self.append(same)?;
                }
                return self.append(value);
            }
        }
        Ok(())
    }

    #[inline]
    fn append(&mut self, value: u32) -> Result<()> {
        self.values.push(value);
        self.spill_if_full()
    }

    #[inline]
    fn limit(&self) -> usize {
        if self.file.is_some() {
            BUFFER.min(self.memory_limit)
        } else {
            self.memory_limit
        }
    }

    #[inline]
    fn spill_if_full(&mut self) -> Result<()> {
        if self.values.len() >= self.limit() {
            self.spill()
        } else {
            Ok(())
        }
    }

    fn spill(&mut self) -> Result<()> {
        if self.file.is_none() {
            self.file = Some(Stored { file: Arc::new(tempfile::tempfile()?), start_bytes: 0, length: 0 });
        }
        if let Some(stored) = &mut self.file {
            for part in self.values.chunks(BUFFER) {
                (&*stored.file).write_all(&bytes(part))?;
            }
            stored.length += self.values.len() as u64;
        }
        self.values = Vec::with_capacity(BUFFER.min(self.memory_limit));
        Ok(())
    }

    /// Makes everything readable. Numbers can still be added; call it again then.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn seal(&mut self) -> Result<()> {
        if self.file.is_some() && !self.values.is_empty() {
            self.spill()
        } else {
            Ok(())
        }
    }

    /// `count` numbers from `start` on, put into `scratch` if they do not lie in memory.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn chunk<'a>(&'a self, start: u64, count: usize, scratch: &'a mut Vec<u32>) -> Result<&'a [u32]> {
        if let Some((value, _)) = self.same {
            scratch.clear();
            scratch.resize(count, value);
            return Ok(scratch);
        }
        let Some(stored) = &self.file else {
            return Ok(&self.values[start as usize..start as usize + count]);
        };
        let mut raw = vec![0; 4 * count];
        stored.file.read_exact_at(&mut raw, stored.start_bytes + 4 * start)?;
        scratch.clear();
        scratch.extend(numbers(&raw));
        Ok(scratch)
    }

    /// Replaces numbers of a [zeroed](Column::zeroed) column, from `start` on.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn overwrite(&mut self, start: u64, values: &[u32]) -> Result<()> {
        match &self.file {
            Some(stored) => stored.file.write_all_at(&bytes(values), stored.start_bytes + 4 * start),
            None => {
                self.values[start as usize..start as usize + values.len()].copy_from_slice(values);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_whether_all_are_the_same_or_not() {
        for limit in [8, 1 << 20] {
            for values in [vec![7; 5], vec![7, 7, 7, 8, 7], vec![1, 2, 3, 4, 5], vec![]] {
                let mut column = Column::new(limit);
                values.iter().for_each(|&v| column.push(v).unwrap());
                column.seal().unwrap();
                assert_eq!(column.len(), values.len() as u64);
                for cut in 0..=values.len() {
                    let mut parts = Column::new(limit);
                    parts.push_all(&values[..cut]).unwrap();
                    parts.push_all(&values[cut..]).unwrap();
                    parts.seal().unwrap();
                    assert_eq!(parts.all_the_same(), column.all_the_same());
                    assert_eq!(parts.len(), column.len());
                    assert_eq!(parts.chunk(0, values.len(), &mut Vec::new()).unwrap(), values);
                }
                let mut scratch = Vec::new();
                for start in 0..values.len() {
                    let count = values.len() - start;
                    assert_eq!(column.chunk(start as u64, count, &mut scratch).unwrap(), &values[start..]);
                }
                let mut zeros = column.zeroed().unwrap();
                assert_eq!(zeros.chunk(0, values.len(), &mut scratch).unwrap(), vec![0; values.len()]);
                zeros.overwrite(0, &values).unwrap();
                assert_eq!(zeros.chunk(0, values.len(), &mut scratch).unwrap(), values);
            }
        }
    }
}
