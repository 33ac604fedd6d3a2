// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Numbers and strings in bytes, read back with suspicion.

use std::ops::Range;

use crate::{Pages, When};

/// LEB128.
pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A length, and as many bytes.
pub fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

/// The count of ranges, and of each the gap before it and its length.
pub fn put_pages(bytes: &mut Vec<u8>, pages: &Pages) {
    put(bytes, pages.ranges().len() as u64);
    let mut end = 0;
    for range in pages.ranges() {
        put(bytes, u64::from(range.start - end));
        put(bytes, u64::from(range.end - range.start));
        end = range.end;
    }
}

/// The count of entries, and of each the pages since the one before and its step.
pub fn put_when(bytes: &mut Vec<u8>, when: &When) {
    put(bytes, when.entries().len() as u64);
    let mut last = 0;
    for &(page, step) in when.entries() {
        put(bytes, u64::from(page - last));
        put(bytes, step.into());
        last = page;
    }
}

/// FNV-1a (Fowler, Noll, Vo; RFC 9923): against torn and damaged files, not against forgers, who cannot write there.
pub fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// What is left to read. Everything that does not fit is `None`.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// LEB128.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                return None;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number that is no larger.
    pub fn at_most(&mut self, most: u64) -> Option<u64> {
        self.number().filter(|&number| number <= most)
    }

    /// A text that is no longer.
    pub fn text(&mut self, most: usize) -> Option<&'a [u8]> {
        let length = self.at_most(most as u64)? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    /// So many ranges at most, in order and apart.
    pub fn pages(&mut self, most: usize) -> Option<Pages> {
        let count = self.at_most(most as u64)?;
        let mut end = 0u32;
        let ranges: Option<Vec<Range<u32>>> = (0..count)
            .map(|nth| {
                let gap = self.at_most(u64::from(u32::MAX))? as u32;
                let length = self.at_most(u64::from(u32::MAX))? as u32;
                let start = end.checked_add(gap).filter(|_| (nth == 0 || gap > 0) && length > 0)?;
                end = start.checked_add(length)?;
                Some(start..end)
            })
            .collect();
        Some(ranges?.into_iter().collect())
    }
    /// So many entries at most.
    pub fn when(&mut self, most: usize) -> Option<When> {
        let count = self.at_most(most as u64)?;
        let mut page = 0u32;
        let entries: Option<Vec<(u32, u8)>> = (0..count)
            .map(|_| {
                page = page.checked_add(self.at_most(u32::MAX.into())? as u32)?;
                Some((page, self.at_most(u8::MAX.into())? as u8))
            })
            .collect();
        When::from_entries(entries?)
    }
}
