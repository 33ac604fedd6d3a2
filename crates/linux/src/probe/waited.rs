// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! For how long the loop has waited for answers.

use std::time::{Duration, Instant};

/// In the long run answers are waited for one part in so many of the time.
const WAITED_ONE_IN: u32 = 5;

/// What is left of the time for which answers may be waited for: a turn asks several things, and somebody may have each
/// of the answers come at the last moment.
#[derive(Debug)]
pub(super) struct Waited {
    left: Duration,
    filled: Instant,
}

impl Waited {
    /// Nothing has been waited for of this much.
    pub(super) fn full(limit: Duration) -> Waited {
        Waited { left: limit, filled: Instant::now() }
    }

    /// So much is left, and for an hour no more.
    #[cfg(test)]
    pub(super) fn stands_at(left: Duration) -> Waited {
        Waited { left, filled: Instant::now() + Duration::from_secs(3600) }
    }

    /// What may be waited for an answer now, of this much at most; none where less than the half of that is left, for
    /// who answers no later than others would be blamed.
    pub(super) fn may_wait(&mut self, most: Duration) -> Option<Duration> {
        let now = Instant::now();
        let since = now.duration_since(std::mem::replace(&mut self.filled, now));
        self.left = most.min(self.left + since / WAITED_ONE_IN);
        (self.left >= most / 2).then_some(self.left)
    }

    pub(super) fn spend(&mut self, waited: Duration) {
        self.left = self.left.saturating_sub(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_in_a_row_may_take_what_one_may_and_later_a_part_of_the_time() {
        let (most, ms) = (Duration::from_millis(40), Duration::from_millis);
        let mut waited = Waited::full(most);
        assert_eq!(waited.may_wait(most), Some(most));
        waited.spend(ms(21));
        waited.filled = Instant::now() + Duration::from_secs(3600);
        assert_eq!(waited.may_wait(most), None);
        waited.filled = Instant::now() - ms(200);
        assert_eq!(waited.may_wait(most), Some(most));
    }
}
