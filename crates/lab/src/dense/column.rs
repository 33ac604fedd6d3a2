// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A long column of 32-bit numbers, in memory or, past a limit, in an unnamed temporary file.

use std::{
    fs::File,
    io::{Result, Write},
    os::unix::fs::FileExt,
};

/// Numbers written to the file at a time.
const BUFFER: usize = 65_536;

/// The column.
pub struct Column {
    memory_limit: usize,
    /// All numbers, or those not yet in the file.
    values: Vec<u32>,
    file: Option<(File, u64)>,
}

fn bytes(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

impl Column {
    /// An empty column that takes at most so much memory.
    pub fn new(memory_limit_bytes: u64) -> Self {
        Column { memory_limit: (memory_limit_bytes / 4).max(1) as usize, values: Vec::new(), file: None }
    }

    /// A column of zeros as long as this one, kept where this one is.
    ///
    /// # Errors
    /// If the temporary file cannot be made.
    pub fn zeroed(&self) -> Result<Self> {
        let mut column = Column { memory_limit: self.memory_limit, values: Vec::new(), file: None };
        if self.file.is_some() {
            let file = tempfile::tempfile()?;
            file.set_len(4 * self.len())?;
            column.file = Some((file, self.len()));
        } else {
            column.values.resize(self.values.len(), 0);
        }
        Ok(column)
    }

    /// How many numbers.
    pub fn len(&self) -> u64 {
        self.file.as_ref().map_or(0, |f| f.1) + self.values.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a number.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn push(&mut self, value: u32) -> Result<()> {
        self.values.push(value);
        let limit = if self.file.is_some() { BUFFER.min(self.memory_limit) } else { self.memory_limit };
        if self.values.len() >= limit {
            self.spill()
        } else {
            Ok(())
        }
    }

    fn spill(&mut self) -> Result<()> {
        if self.file.is_none() {
            self.file = Some((tempfile::tempfile()?, 0));
        }
        if let Some((file, length)) = &mut self.file {
            for part in self.values.chunks(BUFFER) {
                file.write_all(&bytes(part))?;
            }
            *length += self.values.len() as u64;
        }
        self.values = Vec::with_capacity(BUFFER.min(self.memory_limit));
        Ok(())
    }

    /// Makes everything readable. Numbers can still be added; call it again then.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn seal(&mut self) -> Result<()> {
        if self.file.is_some() {
            self.spill()
        } else {
            Ok(())
        }
    }

    /// `count` numbers from `start` on, read into `scratch` if they are not in memory.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn chunk<'a>(&'a self, start: u64, count: usize, scratch: &'a mut Vec<u32>) -> Result<&'a [u32]> {
        let Some((file, _)) = &self.file else {
            return Ok(&self.values[start as usize..start as usize + count]);
        };
        let mut raw = vec![0; 4 * count];
        file.read_exact_at(&mut raw, 4 * start)?;
        scratch.clear();
        scratch.extend(raw.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        Ok(scratch)
    }

    /// Replaces numbers from `start` on.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn overwrite(&mut self, start: u64, values: &[u32]) -> Result<()> {
        match &self.file {
            Some((file, _)) => file.write_all_at(&bytes(values), 4 * start),
            None => {
                self.values[start as usize..start as usize + values.len()].copy_from_slice(values);
                Ok(())
            }
        }
    }
}
