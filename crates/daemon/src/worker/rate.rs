// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How often somebody may have something done: a rate, and so much saved up (a token bucket).

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Rate {
    apart_ns: u64,
    saved_ns: u64,
    /// When all that can be saved up is there.
    full_at_ns: u64,
}

impl Rate {
    pub(super) fn new(per_s: u32, now_ns: u64) -> Rate {
        Rate { apart_ns: SECOND_NS / u64::from(per_s), saved_ns: SECOND_NS, full_at_ns: now_ns }
    }

    /// So often a minute, and so often at once.
    pub(super) fn per_minute(per_min: u32, at_once: u32, now_ns: u64) -> Rate {
        let apart_ns = 60 * SECOND_NS / u64::from(per_min);
        Rate { apart_ns, saved_ns: apart_ns * u64::from(at_once), full_at_ns: now_ns }
    }

    /// When it may be done again, if not now.
    pub(super) fn due_ns(&self, now_ns: u64) -> Option<u64> {
        let due_ns = (self.full_at_ns + self.apart_ns).saturating_sub(self.saved_ns);
        Some(due_ns).filter(|&due_ns| due_ns > now_ns)
    }

    /// It is done once more.
    pub(super) fn spend(&mut self, now_ns: u64) {
        self.full_at_ns = self.full_at_ns.max(now_ns) + self.apart_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user opens a sound device without a pause: it is looked who plays as often as when nobody did so, and then every
    /// other second.
    #[test]
    fn what_goes_on_without_a_pause_is_done_so_often_a_minute() {
        use fovea_apps::limits::{PERCEIVED_AT_ONCE, PERCEIVED_PER_MIN};
        let mut rate = Rate::per_minute(PERCEIVED_PER_MIN, PERCEIVED_AT_ONCE, 0);
        let (mut now_ns, mut looks) = (0, 0);
        while now_ns < 600 * SECOND_NS {
            if rate.due_ns(now_ns).is_none() {
                rate.spend(now_ns);
                looks += 1;
            }
            now_ns += SECOND_NS / 42;
        }
        assert!(looks <= PERCEIVED_AT_ONCE + 10 * PERCEIVED_PER_MIN, "{looks}");
        assert!(looks >= 10 * PERCEIVED_PER_MIN, "{looks}");
    }

    #[test]
    fn a_second_s_worth_goes_at_once_and_then_one_after_the_other() {
        let mut rate = Rate::new(20, 7);
        let all_at = |rate: &mut Rate, now_ns| {
            std::iter::from_fn(|| rate.due_ns(now_ns).is_none().then(|| rate.spend(now_ns))).count()
        };
        assert_eq!(all_at(&mut rate, 7), 20);
        let due_ns = rate.due_ns(7).unwrap();
        assert_eq!(due_ns, 7 + SECOND_NS / 20);
        assert_eq!(rate.due_ns(due_ns - 1), Some(due_ns));
        assert_eq!(all_at(&mut rate, due_ns), 1);
        assert_eq!(all_at(&mut rate, 100 * SECOND_NS), 20, "and no more is saved up");
    }
}
