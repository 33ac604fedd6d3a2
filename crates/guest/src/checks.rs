// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Steps that examine the daemon: idle cost, what its violent death leaves behind, what it says is frozen.

use std::collections::BTreeSet;

use fovea_linux::psi::Pressure;
use fovea_scenario::EventBody;
use rustix::process::{kill_process, Pid, Signal};

use crate::daemon::socket_path;
use crate::outcome::{At, Outcome};
use crate::phone::Phone;
use crate::readings::{now_ns, processes, Activity};
use crate::restore::{frozen_cgroups, Baseline};
use crate::setup::{cgroup_path, DAEMON};

/// How long the daemon's supervisor may take to put everything back.
const RESTORE_LIMIT_NS: u64 = 10_000_000_000;

/// Rows of `fovea check` that tell of the machine and are no lack of the daemon's own: a swap may be none by configuration, and
/// most devices have no eCache.
const UNUSED: [&str; 3] = ["swap", "swap-codec", "ecache"];

/// Waiting for memory for which the kernel calls the daemon (`psi_stall_us`), microseconds.
const CALLING_STALL_US: u64 = 2000;

/// How long its process may still live after its socket is gone.
const END_LIMIT_NS: u64 = 2_000_000_000;

/// The daemon's processes now: one reading of each, PID first.
fn activities() -> Vec<(u32, Activity)> {
    processes(&cgroup_path(DAEMON)).into_iter().map(|pid| (pid, Activity::of(pid))).collect()
}

/// Parts that a watch is made of; each counts or does not.
const PARTS: u64 = 60;

/// How many times as long as asked for a watch may take because parts of it did not count.
const LONGEST: u64 = 4;

/// Waiting for memory since boot; 0 where the kernel does not tell.
fn stalled_us() -> u64 {
    let text = std::fs::read("/proc/pressure/memory").unwrap_or_default();
    Pressure::parse(&text).some.map_or(0, |some| some.total_us)
}

/// Watches the daemon (supervisor and worker together) while nothing happens, this process included. A kernel that has somebody wait
/// for memory calls the daemon, and rightly: what it does then and right after is not counted, and it is watched for longer.
pub fn idle(phone: &mut Phone, ns: u64) -> Outcome<()> {
    let deadline_ns = now_ns() + ns * LONGEST;
    let (mut seen, mut left_out, mut before_us) = (Watch::default(), 0, [0, 0]);
    while seen.watched_ns < ns && now_ns() < deadline_ns {
        let stalled_before_us = stalled_us();
        let part = watch(phone, (ns / PARTS).max(1))?;
        let waited_us = stalled_us() - stalled_before_us;
        // The kernel counts over half a second and calls after that; on a busy host the daemon's look may end in the part after the next.
        match before_us[0] + before_us[1] + waited_us < CALLING_STALL_US {
            true => seen.add(&part),
            false => left_out += 1,
        }
        before_us = [before_us[1], waited_us];
    }
    let Watch { wakeups, cpu_ns, resident_bytes, watched_ns, processes, peaks_bytes } = seen;
    if watched_ns == 0 {
        return Err("somebody waited for memory all the time: the daemon could not be watched while idle".into());
    }
    println!(
        "fovea-guest: daemon: {processes} processes, {peaks_bytes} bytes at their peaks together; \
         {left_out} parts of the watch not counted, for somebody waited for memory"
    );
    phone.channel.emit(EventBody::DaemonIdle { wakeups, cpu_ns, resident_bytes, watched_ns })
}

/// What was seen of the daemon.
#[derive(Default)]
struct Watch {
    wakeups: u64,
    cpu_ns: u64,
    /// The highest peak of one process.
    resident_bytes: u64,
    watched_ns: u64,
    processes: usize,
    /// Of all processes together.
    peaks_bytes: u64,
}

impl Watch {
    fn add(&mut self, part: &Watch) {
        self.wakeups += part.wakeups;
        self.cpu_ns += part.cpu_ns;
        self.watched_ns += part.watched_ns;
        self.resident_bytes = self.resident_bytes.max(part.resident_bytes);
        (self.processes, self.peaks_bytes) = (part.processes, part.peaks_bytes);
    }
}

/// What the daemon does in that time.
fn watch(phone: &mut Phone, ns: u64) -> Outcome<Watch> {
    let before = activities();
    let began = now_ns();
    phone.pass(ns)?;
    let watched_ns = now_ns() - began;
    let after = activities();
    if after.is_empty() {
        return Err("no process of the daemon's is left to watch".into());
    }
    let mut seen = Watch { watched_ns, processes: after.len(), ..Watch::default() };
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

/// Counts processes that are frozen though the daemon does not say that their app is.
pub fn frozen(phone: &mut Phone) -> Outcome<()> {
    let status = phone.daemon.status()?;
    let said: BTreeSet<&str> = status.apps.iter().filter(|app| app.frozen).map(|app| app.cgroup.as_str()).collect();
    let stray: usize = frozen_cgroups()?
        .iter()
        .filter(|cgroup| !said.contains(cgroup.as_str()))
        .map(|cgroup| processes(&cgroup_path(cgroup)).len())
        .sum();
    phone.channel.emit(EventBody::FrozenCheck { stray: stray as u32 })
}

/// Runs `fovea check --json` as the daemon would see the machine, reports it, and holds it and the daemon's status against `expected`.
pub fn machine(phone: &mut Phone, expected: Option<&[String]>) -> Outcome<()> {
    // Asked first: it answers once it is set up, and its swap is part of what is looked at.
    let daemon_missing = phone.daemon.status()?.missing;
    let (exit_code, printed) = phone.run_fovea(&["fovea", "check", "--json"])?;
    let report: serde_json::Value =
        serde_json::from_str(&printed).at(|| format!("what `fovea check` printed: {printed:?}"))?;
    phone.channel.emit(EventBody::Check {
        exit_code,
        report: report.clone(),
        daemon_missing: daemon_missing.clone(),
    })?;
    if !matches!(exit_code, 0 | 3) {
        return Err(format!("`fovea check` ended with {exit_code}: it must be 0, or 3 if the machine lacks something"));
    }
    let Some(expected) = expected else { return Ok(()) };
    let rows = report["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let missing: BTreeSet<&str> =
        rows.iter().filter(|row| row["state"] == "missing").filter_map(|row| row["name"].as_str()).collect();
    let wanted: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    if missing != wanted {
        return Err(format!("`fovea check` names {missing:?} as missing, not {wanted:?}"));
    }
    for name in wanted.iter().filter(|name| !UNUSED.contains(name)) {
        if !daemon_missing.iter().any(|what| what.split(':').next() == Some(name)) {
            return Err(format!("the daemon's status does not name {name} as missing, only {daemon_missing:?}"));
        }
    }
    Ok(())
}

/// Kills the daemon's worker, waits for what should put everything back, compares, and starts the daemon again.
pub fn kill_daemon(phone: &mut Phone, before: &Baseline) -> Outcome<()> {
    let worker = phone.daemon.status()?.pid;
    let pid = Pid::from_raw(worker as i32).ok_or("the daemon says that its PID is 0")?;
    phone.daemon.drain_folder_watch();
    let meddled = before.meddle()?;
    kill_process(pid, Signal::KILL).at(|| format!("killing the daemon's worker {worker}"))?;
    let deadline = now_ns() + RESTORE_LIMIT_NS;
    let mut gone_at = None;
    while phone.daemon.pid.is_some() {
        if gone_at.is_none() && !socket_path().exists() {
            gone_at = Some(now_ns());
        }
        let until = gone_at.map_or(deadline, |at| deadline.min(at + END_LIMIT_NS));
        if !phone.wait_folder(until)? {
            break;
        }
    }
    if phone.daemon.pid.is_some() && gone_at.is_none() {
        return Err(format!(
            "10 s after its worker {worker} was killed the daemon neither ended nor took its socket away"
        ));
    }
    if meddled {
        before.stands()?;
    }
    let left = before.compare(&phone.apps)?;
    phone.channel.emit(left)?;
    if phone.daemon.pid.is_none() {
        phone.start_daemon()?;
    } else {
        phone.reconnect_daemon()?;
    }
    let names: Vec<String> = phone.apps.keys().cloned().collect();
    names.iter().try_for_each(|name| phone.register(name))?;
    phone.retell()
}
