// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How often somebody may have something done: so often a second, and a second's worth saved up (a token bucket).

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Rate {
    apart_ns: u64,
    /// When all that can be saved up is there.
    full_at_ns: u64,
}

impl Rate {
    pub(super) fn new(per_s: u32, now_ns: u64) -> Rate {
        Rate { apart_ns: SECOND_NS / u64::from(per_s), full_at_ns: now_ns }
    }

    /// When it may be done again, if not now.
    pub(super) fn due_ns(&self, now_ns: u64) -> Option<u64> {
        let due_ns = (self.full_at_ns + self.apart_ns).saturating_sub(SECOND_NS);
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
