// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pressure stall information and its trigger, after kernel/sched/psi.c: totals, the 10 s average, and a trigger's looks at a window.

/// Period of the averages (PSI_FREQ).
const PERIOD_NS: u64 = 2_000_000_000;
/// What of the 10 s average stays after a period (EXP_10s, of 2048).
const KEPT: f64 = 1677.0 / 2048.0;
/// Looks per window of a trigger (UPDATES_PER_WINDOW).
const LOOKS: u64 = 10;
/// Time from the first stall to the first look: one jiffy of Debian's HZ=250.
const JIFFY_NS: u64 = 4_000_000;

/// Total and average of one line of /proc/pressure/memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Stalled since boot.
    pub total_ns: u64,
    /// Average over 10 s, percent.
    pub avg10: f64,
    at_period: u64,
}

/// Memory pressure.
#[derive(Clone, Copy, Debug)]
pub struct Pressure {
    some: Line,
    full: Line,
    period_ends_ns: u64,
    threshold_ns: u64,
    window_ns: u64,
    polling: Option<Polling>,
    fired_ns: Option<u64>,
}

/// A trigger that is being looked at.
#[derive(Clone, Copy, Debug)]
struct Polling {
    /// Of the window.
    start_ns: u64,
    start_total_ns: u64,
    growth_before_ns: u64,
    /// The window is not set yet: the first look sets it.
    fresh: bool,
    next_ns: u64,
    until_ns: u64,
    seen_total_ns: u64,
    breached: bool,
}

impl Pressure {
    /// Nothing stalled yet; a trigger on `some`.
    pub fn new(threshold_ns: u64, window_ns: u64) -> Self {
        Self {
            some: Line::default(),
            full: Line::default(),
            period_ends_ns: PERIOD_NS,
            threshold_ns,
            window_ns,
            polling: None,
            fired_ns: None,
        }
    }

    /// Some task, and if `full` every task that could run, waited for memory for `ns` until `now_ns`.
    pub fn stall(&mut self, now_ns: u64, ns: u64, full: bool) {
        self.average(now_ns);
        self.some.total_ns += ns;
        if full {
            self.full.total_ns += ns;
        }
        if self.polling.is_none() {
            self.polling = Some(Polling {
                start_ns: now_ns,
                start_total_ns: 0,
                growth_before_ns: 0,
                fresh: true,
                next_ns: now_ns + JIFFY_NS,
                until_ns: now_ns,
                seen_total_ns: self.some.total_ns - ns,
                breached: false,
            });
        }
    }

    /// `some` and `full` as of now.
    pub fn read(&mut self, now_ns: u64) -> (Line, Line) {
        self.average(now_ns);
        (self.some, self.full)
    }

    fn average(&mut self, now_ns: u64) {
        while now_ns >= self.period_ends_ns {
            for line in [&mut self.some, &mut self.full] {
                let share = (line.total_ns - line.at_period) as f64 / PERIOD_NS as f64 * 100.0;
                line.avg10 = line.avg10 * KEPT + share.min(100.0) * (1.0 - KEPT);
                line.at_period = line.total_ns;
            }
            self.period_ends_ns += PERIOD_NS;
        }
    }

    /// When the trigger is looked at next; `None` while nothing stalls.
    pub fn next_look_ns(&self) -> Option<u64> {
        self.polling.map(|p| p.next_ns)
    }

    /// Looks at the trigger if it is time (psi_rtpoll_work); true if it fires.
    pub fn look(&mut self, now_ns: u64) -> bool {
        let Some(mut polling) = self.polling.filter(|p| now_ns >= p.next_ns) else { return false };
        let (total_ns, step_ns) = (self.some.total_ns, self.window_ns / LOOKS);
        let stalled = total_ns != polling.seen_total_ns;
        polling.seen_total_ns = total_ns;
        if stalled {
            polling.until_ns = now_ns + self.window_ns;
        }
        polling.next_ns = now_ns + step_ns + JIFFY_NS;
        if polling.fresh {
            polling = Polling { start_ns: now_ns, start_total_ns: total_ns, fresh: false, ..polling };
            self.polling = Some(polling);
            return false;
        }
        if now_ns > polling.until_ns {
            self.polling = None;
            return false;
        }
        if stalled {
            let elapsed_ns = now_ns - polling.start_ns;
            let mut growth_ns = total_ns - polling.start_total_ns;
            if elapsed_ns > self.window_ns {
                polling =
                    Polling { start_ns: now_ns, start_total_ns: total_ns, growth_before_ns: growth_ns, ..polling };
            } else {
                growth_ns += polling.growth_before_ns * (self.window_ns - elapsed_ns) / self.window_ns;
            }
            polling.breached |= growth_ns >= self.threshold_ns;
        }
        let fires = polling.breached && self.fired_ns.is_none_or(|at| now_ns >= at + self.window_ns);
        if fires {
            polling.breached = false;
            self.fired_ns = Some(now_ns);
        }
        self.polling = Some(polling);
        fires
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn run(stall_ns: u64, every_ns: u64, for_ns: u64) -> u32 {
        let mut pressure = Pressure::new(2 * MS, 500 * MS);
        let (mut now, mut fired) = (0, 0);
        while now < for_ns {
            now += every_ns;
            while let Some(at) = pressure.next_look_ns().filter(|&at| at <= now) {
                fired += u32::from(pressure.look(at));
            }
            pressure.stall(now, stall_ns, false);
        }
        fired
    }

    #[test]
    fn a_trigger_fires_at_most_once_a_window_and_not_below_its_threshold() {
        // 0.1 ms every 100 ms is half a millisecond a window.
        assert_eq!(run(MS / 10, 100 * MS, 5_000 * MS), 0);
        let fired = run(5 * MS, 20 * MS, 5_000 * MS);
        assert!((8..=10).contains(&fired), "{fired}");
    }

    #[test]
    fn looks_end_when_nothing_stalls_any_more() {
        let mut pressure = Pressure::new(2 * MS, 500 * MS);
        pressure.stall(0, MS, false);
        let mut looks = 0;
        while let Some(at) = pressure.next_look_ns() {
            pressure.look(at);
            looks += 1;
            assert!(looks < 20);
        }
        assert!(looks >= 10);
    }

    #[test]
    fn averages_rise_to_the_share_and_fall_to_nothing() {
        let mut pressure = Pressure::new(2 * MS, 500 * MS);
        for ms in (10..60_000).step_by(10) {
            pressure.stall(ms * MS, 2 * MS, ms % 20 == 0);
        }
        let (some, full) = pressure.read(60_000 * MS);
        assert!((some.avg10 - 20.0).abs() < 0.5 && (full.avg10 - 10.0).abs() < 0.5, "{some:?} {full:?}");
        assert!(pressure.read(10_000_000 * MS).0.avg10 < 1e-6);
    }
}
