// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Steps that examine the daemon: what its violent death leaves behind, what it says is frozen.

use std::collections::BTreeSet;

use fovea_scenario::EventBody;
use rustix::process::{kill_process, Pid, Signal};

use crate::daemon::socket_path;
use crate::outcome::{At, Outcome};
use crate::phone::Phone;
use crate::readings::{now_ns, processes};
use crate::restore::{frozen_cgroups, Baseline};
use crate::setup::cgroup_path;

/// How long the daemon's supervisor may take to put everything back.
const RESTORE_LIMIT_NS: u64 = 10_000_000_000;

/// Rows of `fovea check` that tell of the machine and are no lack of the daemon's own: a swap may be none by configuration, and
/// most devices have no eCache. Who is an app is told to the daemon in the phone, where no desktop makes units.
const UNUSED: [&str; 4] = ["swap", "swap-codec", "ecache", "apps"];

/// How long its process may still live after its socket is gone.
const END_LIMIT_NS: u64 = 2_000_000_000;

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
