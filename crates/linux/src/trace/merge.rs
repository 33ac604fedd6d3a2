// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The events of all CPUs in the order of their time.

use super::Seen;

/// Holds events back until no earlier one can come any more. Each CPU's buffer is in order and was read to its end after the moment
/// `seen_to_ns`, so what is before that moment is complete; an interrupted writer can be late by a little, which `SLACK_NS` covers.
#[derive(Debug, Default)]
pub struct Merger {
    held: Vec<Seen>,
    released_ns: u64,
    late: u64,
}

/// What a CPU may take between the time it stamps an event with and the event's being readable.
const SLACK_NS: u64 = 5_000_000;

impl Merger {
    /// Where the readers put what they read.
    pub fn incoming(&mut self) -> &mut Vec<Seen> {
        &mut self.held
    }

    /// Appends to `ordered` all that happened before `seen_to_ns`, less the slack; `u64::MAX` releases everything.
    pub fn release(&mut self, seen_to_ns: u64, ordered: &mut Vec<Seen>) {
        let until_ns = if seen_to_ns == u64::MAX { u64::MAX } else { seen_to_ns.saturating_sub(SLACK_NS) };
        // Runs of a CPU each, which is what this sort is fast at; equal times keep the order of reading.
        self.held.sort_by_key(|seen| seen.time_ns);
        let count = match until_ns {
            u64::MAX => self.held.len(),
            _ => self.held.partition_point(|seen| seen.time_ns < until_ns),
        };
        let late = self.held[..count].partition_point(|seen| seen.time_ns < self.released_ns);
        self.late += late as u64;
        self.released_ns =
            self.held[..count].last().map_or(self.released_ns, |seen| seen.time_ns.max(self.released_ns));
        ordered.extend(self.held.drain(..count));
    }

    /// Events that came after later ones had been released.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Comm, Event};
    use proptest::prelude::*;

    fn seen(time_ns: u64, pid: u32) -> Seen {
        Seen { time_ns, pid, event: Event::Exit { pid, comm: Comm::default() } }
    }

    #[test]
    fn a_late_event_is_not_lost_and_is_counted() {
        let (mut merger, mut out) = (Merger::default(), Vec::new());
        merger.incoming().push(seen(100 * SLACK_NS, 0));
        merger.release(102 * SLACK_NS, &mut out);
        merger.incoming().extend([seen(99 * SLACK_NS, 1), seen(101 * SLACK_NS, 0)]);
        merger.release(103 * SLACK_NS, &mut out);
        assert_eq!((out.len(), merger.late()), (3, 1));
    }

    proptest! {
        #[test]
        fn events_of_cpus_read_one_after_the_other_come_out_in_order(
            steps in prop::collection::vec((0u32..4, 0u64..2 * SLACK_NS), 0..200),
            reads in prop::collection::vec(0usize..200, 0..20),
        ) {
            let mut time_ns = 0;
            let all: Vec<Seen> = steps.iter().map(|&(cpu, delta)| { time_ns += delta; seen(time_ns, cpu) }).collect();
            let (mut merger, mut out, mut read) = (Merger::default(), Vec::new(), 0);
            let mut reads = reads;
            reads.sort_unstable();
            for upto in reads.into_iter().map(|upto| upto.min(all.len())).chain([all.len()]) {
                // CPU by CPU, as the buffers are read.
                for cpu in 0..4 {
                    merger.incoming().extend(all[read..upto].iter().filter(|s| s.pid == cpu).cloned());
                }
                let now_ns = all.get(upto).map_or(u64::MAX, |next| next.time_ns);
                merger.release(now_ns, &mut out);
                read = upto;
            }
            prop_assert_eq!(out.iter().map(|s| s.time_ns).collect::<Vec<_>>(), all.iter().map(|s| s.time_ns).collect::<Vec<_>>());
            prop_assert_eq!(merger.late(), 0);
        }
    }
}
