// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What was read of an app before it was started, and what became of it.

use crate::score::{percent, EVIDENCE_PAGES, STOP_PERCENT};

/// Pages read before a start, of all starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Of starts that came: so many were read, those forgiven left out.
    pub read: u64,
    /// Of these, in memory when the app was started.
    pub used: u64,
    /// Read for the start that has not come yet.
    pub waits: u64,
}

impl Ahead {
    /// Takes in what was read.
    pub fn reads(&mut self, pages: u64) {
        self.waits = self.waits.saturating_add(pages);
    }

    /// Takes in a start that found so many of the expected pages in memory. An eighth of what was wasted before is forgiven: who was given up
    /// is tried again some time.
    pub fn starts(&mut self, in_memory: u64) {
        self.read -= self.read.saturating_sub(self.used) / 8;
        self.used = self.used.saturating_add(self.waits.min(in_memory));
        self.read = self.read.saturating_add(self.waits);
        self.waits = 0;
    }

    /// Percent of what was read that was of use.
    pub fn accuracy(&self) -> Option<u64> {
        percent(self.used, self.read)
    }

    /// Whether more is read, of so many pages: what was evicted again is read a second time, and no third.
    pub fn may(&self, pages: u64) -> bool {
        let is_poor = self.read >= EVIDENCE_PAGES && self.accuracy().is_some_and(|percent| percent < STOP_PERCENT);
        !is_poor && self.waits < pages.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_evicted_before_the_start_is_read_twice_and_what_is_never_used_no_more_until_it_is_forgiven() {
        let mut ahead = Ahead::default();
        for _ in 0..2 {
            assert!(ahead.may(100));
            ahead.reads(100);
        }
        assert!(!ahead.may(100), "it was evicted twice");
        ahead.starts(100);
        assert_eq!((ahead.accuracy(), ahead.may(100)), (Some(50), true));
        for _ in 0..3 {
            ahead.reads(200);
            ahead.starts(0);
        }
        assert!(!ahead.may(100), "{ahead:?}");
        let mut starts = 0;
        while !ahead.may(100) && starts < 100 {
            ahead.starts(0);
            starts += 1;
        }
        assert!((1..20).contains(&starts), "{starts}");
    }
}
