// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How often something happened over the last seconds.

/// What lies so far back counts for 1/e of what happens now.
const OVER_NS: f64 = 2e9;

/// Events per second; what lies further back counts ever less.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// Events, each by how long ago it was.
    events: f64,
}

impl Rate {
    /// So many events happened in the time since the last call.
    pub fn record(&mut self, events: u64, elapsed_ns: u64) {
        // When in that time is not known; as if at its end, for a rate that is told late is told too late.
        self.events = self.events * (-(elapsed_ns as f64) / OVER_NS).exp() + events as f64;
    }

    /// The rate; steady events come to their number per second.
    pub fn per_s(&self) -> u64 {
        (self.events * 1e9 / OVER_NS) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK_NS: u64 = 50_000_000;

    fn after(looks: &[u64]) -> u64 {
        let mut rate = Rate::default();
        looks.iter().for_each(|&events| rate.record(events, LOOK_NS));
        rate.per_s()
    }

    #[test]
    fn what_goes_on_comes_to_its_number_per_second() {
        let steady = after(&[50; 400]);
        assert!((980..=1030).contains(&steady), "{steady}");
    }

    #[test]
    fn what_lasts_for_a_moment_is_no_rate() {
        // 2000 a second for a fifth of a second.
        assert!(after(&[100; 4]) < 200);
        // And for two seconds.
        assert!(after(&[100; 40]) > 1200);
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut rate = Rate::default();
        rate.record(10_000, LOOK_NS);
        rate.record(0, 60_000_000_000);
        assert_eq!(rate.per_s(), 0);
        rate.record(0, u64::MAX);
        assert_eq!(rate.per_s(), 0);
    }
}
