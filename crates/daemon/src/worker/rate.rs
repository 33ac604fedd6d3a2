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

    /// Once more; the error is when that may be.
    pub(super) fn take(&mut self, now_ns: u64) -> Result<(), u64> {
        let full_at_ns = self.full_at_ns.max(now_ns) + self.apart_ns;
        if full_at_ns > now_ns + SECOND_NS {
            return Err(full_at_ns - SECOND_NS);
        }
        self.full_at_ns = full_at_ns;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_s_worth_goes_at_once_and_then_one_after_the_other() {
        let mut rate = Rate::new(20, 7);
        let taken = std::iter::from_fn(|| rate.take(7).ok()).count();
        assert_eq!(taken, 20);
        let due_ns = rate.take(7).unwrap_err();
        assert_eq!(due_ns, 7 + SECOND_NS / 20);
        assert!(rate.take(due_ns - 1).is_err());
        assert_eq!(rate.take(due_ns), Ok(()));
        assert!(rate.take(due_ns).is_err());
        let much_later_ns = 100 * SECOND_NS;
        assert_eq!(std::iter::from_fn(|| rate.take(much_later_ns).ok()).count(), 20, "and no more is saved up");
    }
}
