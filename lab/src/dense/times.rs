// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! When each request came, for policies that go by the clock. Made only if one is asked for.

use std::io::Result;

use super::{Column, DenseOptions, CHUNK_REQUESTS};

/// A record in so many ns on average, or less, came from no clock. Formats without times have the number of the line or of the request
/// instead, with gaps where lines are left out.
const LEAST_MEAN_GAP_NS: u64 = 10;

/// Formats whose times only number the requests.
const NUMBERED: [&str; 2] = ["ids", "synthetic"];

/// The times of requests, in the trace's own clock.
pub(crate) struct Times {
    /// Halves of the time in ns: columns are of 32 bits.
    high: Column,
    low: Column,
    now_ns: u64,
    records: u64,
    least_ns: u64,
    greatest_ns: u64,
}

impl Times {
    pub(super) fn new(memory_limit_bytes: u64) -> Self {
        let column = || Column::new(memory_limit_bytes);
        Times { high: column(), low: column(), now_ns: 0, records: 0, least_ns: u64::MAX, greatest_ns: 0 }
    }

    /// Of columns that were kept. Nothing can be added.
    pub(super) fn of_columns(high: Column, low: Column, span_ns: u64) -> Self {
        Times { high, low, now_ns: 0, records: 0, least_ns: 0, greatest_ns: span_ns }
    }

    /// The requests that follow come from a record of this time.
    #[inline]
    pub(super) fn record(&mut self, time_ns: u64) {
        self.now_ns = time_ns;
        self.records += 1;
        self.least_ns = self.least_ns.min(time_ns);
        self.greatest_ns = self.greatest_ns.max(time_ns);
    }

    /// Adds a request of the last record.
    #[inline]
    pub(super) fn request(&mut self) -> Result<()> {
        self.push(self.now_ns)
    }

    fn push(&mut self, time_ns: u64) -> Result<()> {
        self.high.push((time_ns >> 32) as u32)?;
        self.low.push(time_ns as u32)
    }

    pub(super) fn seal(&mut self) -> Result<()> {
        self.high.seal()?;
        self.low.seal()
    }

    /// From the earliest time to the latest.
    pub(super) fn span_ns(&self) -> u64 {
        self.greatest_ns.saturating_sub(self.least_ns)
    }

    pub(super) fn columns(&self) -> [&Column; 2] {
        [&self.high, &self.low]
    }

    /// Says what stands there instead, if the trace tells no times.
    pub(super) fn missing(&self, format: Option<&str>) -> Option<String> {
        let (records, span_ns) = (self.records, self.span_ns());
        if let Some(format) = format.filter(|format| NUMBERED.contains(format)) {
            return Some(format!("a trace of format {format} has none, but the requests' numbers"));
        }
        (span_ns < LEAST_MEAN_GAP_NS.saturating_mul(records)).then(|| {
            format!("none: its {records} records are within {span_ns} ns, as the same or numbers in a row are")
        })
    }

    /// Times of `count` requests from `start` on.
    pub(crate) fn chunk<'a>(&self, start: u64, count: usize, scratch: &'a mut Vec<u64>) -> Result<&'a [u64]> {
        let (mut high, mut low) = (Vec::new(), Vec::new());
        let high = self.high.chunk(start, count, &mut high)?;
        let low = self.low.chunk(start, count, &mut low)?;
        scratch.clear();
        scratch.extend(high.iter().zip(low).map(|(&high, &low)| u64::from(high) << 32 | u64::from(low)));
        Ok(scratch)
    }

    /// The trace so many times in a row: each begins when the one before it ends, for time does not go back.
    pub(super) fn repeated(self, repeat: u64, options: &DenseOptions) -> Result<Self> {
        if repeat == 1 {
            return Ok(self);
        }
        let (mut long, mut scratch) = (Times::new(options.column_memory_bytes), Vec::new());
        for pass in 0..repeat {
            let later_ns = pass.saturating_mul(self.span_ns());
            let mut at = 0;
            while at < self.low.len() {
                options.stop.check().map_err(std::io::Error::other)?;
                let count = CHUNK_REQUESTS.min((self.low.len() - at) as usize);
                for &time_ns in self.chunk(at, count, &mut scratch)? {
                    long.push(time_ns.saturating_add(later_ns))?;
                }
                at += count as u64;
            }
        }
        long.seal()?;
        Ok(long)
    }
}
