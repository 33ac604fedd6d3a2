// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How long a guest is waited for. A loaded host makes every boot slow, so what counts is the time since the guest was last heard of: one that
//! hangs says nothing. One that says the same for ever is ended, too, some time.

use std::time::{Duration, Instant};

/// So many time-outs a boot may take in all, whatever it says.
const TIMEOUTS_MAX: u32 = 8;

/// What a panicked guest is given to print its last lines and leave by itself.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The patience with one boot.
#[derive(Debug)]
pub(crate) struct Patience {
    timeout: Duration,
    /// Unless something is heard.
    end: Instant,
    /// Whatever is heard.
    last: Instant,
    broken: bool,
}

impl Patience {
    pub(crate) fn new(now: Instant, timeout: Duration) -> Patience {
        Patience { timeout, end: now + timeout, last: now + timeout * TIMEOUTS_MAX, broken: false }
    }

    /// The guest has said something.
    pub(crate) fn heard(&mut self, now: Instant) {
        if !self.broken {
            self.end = now + self.timeout;
        }
    }

    /// Its kernel broke down: whatever it says now, it is over soon.
    pub(crate) fn broke_down(&mut self, now: Instant) {
        if !self.broken {
            self.broken = true;
            self.end = self.end.min(now + LAST_WORDS);
        }
    }

    /// What is left; nothing if it is over.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        self.end.min(self.last).saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(100);

    fn after(began: Instant, seconds: u64) -> Instant {
        began + Duration::from_secs(seconds)
    }

    #[test]
    fn a_silent_guest_has_the_timeout() {
        let began = Instant::now();
        let patience = Patience::new(began, TIMEOUT);
        assert_eq!(patience.left(began), TIMEOUT);
        assert_eq!(patience.left(after(began, 101)), Duration::ZERO);
    }

    #[test]
    fn a_slow_guest_that_gets_on_has_more() {
        let began = Instant::now();
        let mut patience = Patience::new(began, TIMEOUT);
        for seconds in (90..=720).step_by(90) {
            assert!(!patience.left(after(began, seconds)).is_zero(), "given up after {seconds} s");
            patience.heard(after(began, seconds));
        }
        assert_eq!(patience.left(after(began, 720)), Duration::from_secs(80), "eight time-outs, and no more");
    }

    #[test]
    fn a_guest_that_broke_down_has_time_for_its_last_words_only() {
        let began = Instant::now();
        let mut patience = Patience::new(began, TIMEOUT);
        patience.broke_down(after(began, 10));
        patience.heard(after(began, 12));
        patience.broke_down(after(began, 13));
        assert_eq!(patience.left(after(began, 14)), Duration::from_secs(1));
    }
}
