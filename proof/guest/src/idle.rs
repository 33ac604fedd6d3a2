// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the daemon does while nothing happens.

use fovea_scenario::EventBody;

use crate::outcome::Outcome;
use crate::phone::Phone;
use crate::readings::{list, now_ns, processes, Activity};
use crate::recording::Recording;
use crate::setup::{cgroup_path, DAEMON};

/// Parts that a watch is made of; each counts or does not.
const PARTS: u64 = 60;

/// How many times as long as asked for a watch may take because parts of it did not count.
const LONGEST: u64 = 4;

/// A watch that saw less than this share of what was asked for has seen too little.
const SEEN_MIN: u64 = 4;

/// Parts in a row in which a daemon that was called does nothing before it is at rest: on a busy host it gets to its look late.
const PARTS_AT_REST: u32 = 2;

/// Watches the daemon (supervisor and worker together) while nothing happens, this process included. A kernel that has somebody wait
/// for memory calls the daemon, and rightly: what it does from there until it is at rest again is not counted, and it is watched for
/// longer. One that never comes to rest is an error.
pub fn watch(phone: &mut Phone, ns: u64) -> Outcome<()> {
    let deadline_ns = now_ns() + ns * LONGEST;
    let calls = Calls::watch();
    // What the kernel called for right before is not over yet.
    let mut rest = Rest::default();
    let (mut seen, mut left_out, mut calls_before) = (Seen::default(), 0, calls.count()?);
    while seen.watched_ns < ns && now_ns() < deadline_ns {
        let part = part(phone, (ns / PARTS).max(1))?;
        let calls_now = calls.count()?;
        let called = std::mem::replace(&mut calls_before, calls_now) < calls_now;
        if !rest.counts(called, part.wakeups) {
            left_out += 1;
            continue;
        }
        if part.wakeups > 0 {
            println!(
                "fovea-guest: the daemon woke {} times by itself in the part before {} ns",
                part.wakeups,
                now_ns()
            );
        }
        seen.add(&part);
    }
    let Seen { wakeups, cpu_ns, resident_bytes, watched_ns, processes, peaks_bytes } = seen;
    if watched_ns < ns / SEEN_MIN {
        return Err(format!(
            "the daemon was at rest for {watched_ns} of {ns} ns only: it was called {} times, for somebody waited for memory, \
             or it never rests",
            calls_before
        ));
    }
    println!(
        "fovea-guest: daemon: {processes} processes, {peaks_bytes} bytes at their peaks together; \
         {left_out} parts of the watch not counted, for the kernel had called it"
    );
    phone.channel.emit(EventBody::DaemonIdle { wakeups, cpu_ns, resident_bytes, watched_ns })
}

/// Whether the daemon is at rest.
#[derive(Default)]
struct Rest {
    parts: u32,
}

impl Rest {
    /// Takes a part into account in which the kernel called the daemon or did not; says whether it counts.
    fn counts(&mut self, called: bool, wakeups: u64) -> bool {
        let at_rest = self.parts >= PARTS_AT_REST && !called;
        if !at_rest {
            self.parts = if called || wakeups > 0 { 0 } else { self.parts + 1 };
        }
        at_rest
    }
}

/// How often the kernel called the daemon for memory that somebody waited for: wake-ups by the threads that see to triggers. The total in
/// /proc/pressure/memory will not do: each CPU's waiting is weighed by how long that CPU was busy since the figure was last taken, and
/// a call that one window did not give is given at the next stall, however short (kernel/sched/psi.c, `update_triggers`).
struct Calls(Option<Recording>);

impl Calls {
    fn watch() -> Self {
        let callers = callers();
        if callers.is_empty() {
            return Self(None);
        }
        let by: Vec<String> = callers.iter().map(|pid| format!("common_pid == {pid}")).collect();
        let filter = format!("comm == \"fovea\" && ({})", by.join(" || "));
        let recording = Recording::start("calls", "sched/sched_waking", Some(&filter));
        // Without it every wake-up is the daemon's own, and the check is the stricter.
        Self(recording.inspect_err(|e| println!("fovea-guest: calls by the kernel are not seen: {e}")).ok())
    }

    fn count(&self) -> Outcome<u64> {
        self.0.as_ref().map_or(Ok(0), Recording::count)
    }
}

/// The kernel's threads that see to triggers.
fn callers() -> Vec<u32> {
    let pids = list("/proc").unwrap_or_default().into_iter().filter_map(|name| name.parse().ok());
    let is_caller =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "psimon");
    pids.filter(is_caller).collect()
}

/// What was seen of the daemon.
#[derive(Default)]
struct Seen {
    wakeups: u64,
    cpu_ns: u64,
    /// The highest peak of one process.
    resident_bytes: u64,
    watched_ns: u64,
    processes: usize,
    /// Of all processes together.
    peaks_bytes: u64,
}

impl Seen {
    fn add(&mut self, part: &Seen) {
        self.wakeups += part.wakeups;
        self.cpu_ns += part.cpu_ns;
        self.watched_ns += part.watched_ns;
        self.resident_bytes = self.resident_bytes.max(part.resident_bytes);
        (self.processes, self.peaks_bytes) = (part.processes, part.peaks_bytes);
    }
}

/// The daemon's processes now: one reading of each, PID first.
fn activities() -> Vec<(u32, Activity)> {
    processes(&cgroup_path(DAEMON)).into_iter().map(|pid| (pid, Activity::of(pid))).collect()
}

/// What the daemon does in that time.
fn part(phone: &mut Phone, ns: u64) -> Outcome<Seen> {
    let before = activities();
    let began = now_ns();
    phone.pass(ns)?;
    let watched_ns = now_ns() - began;
    let after = activities();
    if after.is_empty() {
        return Err("no process of the daemon's is left to watch".into());
    }
    let mut seen = Seen { watched_ns, processes: after.len(), ..Seen::default() };
    for (pid, now) in &after {
        // A process that was not there before did all it did meanwhile.
        let then = before.iter().find(|(old, _)| old == pid).map(|(_, a)| *a).unwrap_or_default();
        seen.wakeups += now.switches.saturating_sub(then.switches);
        seen.cpu_ns += now.cpu_ns.saturating_sub(then.cpu_ns);
        seen.resident_bytes = now.peak_bytes.max(seen.resident_bytes);
        seen.peaks_bytes += now.peak_bytes;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which parts count; each is `(called, wake-ups)`.
    fn counted(parts: &[(bool, u64)]) -> Vec<bool> {
        let mut rest = Rest::default();
        parts.iter().map(|&(called, wakeups)| rest.counts(called, wakeups)).collect()
    }

    const QUIET: (bool, u64) = (false, 0);

    #[test]
    fn what_the_daemon_does_by_itself_counts() {
        assert_eq!(counted(&[QUIET, QUIET, QUIET, (false, 3), (false, 1)]), [false, false, true, true, true]);
    }

    #[test]
    fn a_call_is_not_counted_until_the_daemon_rests() {
        let parts = [QUIET, QUIET, QUIET, (true, 1), (false, 40), QUIET, (false, 2), QUIET, QUIET, QUIET];
        assert_eq!(counted(&parts), [false, false, true, false, false, false, false, false, false, true]);
    }

    #[test]
    fn a_call_whose_work_comes_later_is_none_of_the_daemons_own() {
        let parts = [QUIET, QUIET, (true, 0), QUIET, (false, 5), QUIET, QUIET, (false, 1)];
        assert_eq!(counted(&parts), [false, false, false, false, false, false, false, true]);
    }

    #[test]
    fn who_never_rests_is_never_counted() {
        assert!(!counted(&[(false, 1), QUIET].repeat(50)).contains(&true));
    }
}
