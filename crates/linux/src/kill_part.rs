// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Ending a process of a unit and its descendants, while the rest of the unit lives on.

use std::collections::BTreeSet;

use fovea_apps::ProcessId;
use rustix::process::Signal;

use crate::cgroup::Cgroups;
use crate::error::is_gone;
use crate::file::Root;
use crate::kill::{now_ns, refuse_own, release, signal, Asked, HELD_MAX, ROUNDS_MAX};
use crate::proc::Stat;
use crate::process::{open_folder, read_at, Process};
use crate::{Error, KillOutcome, NormalPriority};

/// Kills these processes of a cgroup and their descendants in it. A process that has ended, left the cgroup, or whose PID was
/// given to another one is passed over.
///
/// They are stopped first and killed when no new child is found. A child that was forked before its parent
/// was stopped still names that parent, for a stopped parent lives; once a parent is dead its children name whoever adopted them.
/// A stopped process forks no more: the kernel lets no fork end with a signal pending (kernel/fork.c, `copy_process`).
pub(crate) fn kill(root: &Root, cgroups: &Cgroups, cgroup: &str, part: &[ProcessId]) -> Result<KillOutcome, Error> {
    let (mut held, mut others) = (Vec::new(), Vec::new());
    let mut stopped = BTreeSet::new();
    let mut fresh = part.to_vec();
    for _ in 0..ROUNDS_MAX {
        for id in fresh {
            stopped.insert(id);
            let Some(process) = open(root, cgroup, id)? else { continue };
            signal(&process, Signal::STOP, cgroup)?;
            match held.len() < HELD_MAX {
                true => held.push(process),
                false => others.push(id),
            }
        }
        fresh = children(root, cgroups, cgroup, &stopped)?;
        if fresh.is_empty() {
            break;
        }
    }
    let mut outcome = KillOutcome::default();
    let mut killed = Vec::new();
    for process in held {
        if signal(&process, Signal::KILL, cgroup)? {
            outcome.signalled += 1;
            killed.push(process);
        }
    }
    for id in others {
        if let Some(process) = open(root, cgroup, id)? {
            outcome.signalled += u32::from(signal(&process, Signal::KILL, cgroup)?);
        }
    }
    outcome.signalled_ns = now_ns();
    let _normal_priority = NormalPriority::of_thread();
    for process in killed {
        let pid = process.pid;
        if let Some(pidfd) = process.into_pidfd() {
            outcome.released += u32::from(release(pid, &pidfd)?);
            outcome.pidfds.push(pidfd);
        }
    }
    Ok(outcome)
}

/// Asks these processes of a cgroup to end (SIGTERM). The outcome holds those that were asked; their ends can be waited for.
pub(crate) fn terminate(
    root: &Root,
    cgroup: &str,
    part: &[ProcessId],
    asked: &mut Asked,
) -> Result<KillOutcome, Error> {
    let mut outcome = KillOutcome::default();
    let mut held = Vec::new();
    for &id in part {
        refuse_own(cgroup, id.pid)?;
        let Some(process) = open(root, cgroup, id)? else { continue };
        if signal(&process, Signal::TERM, cgroup)? {
            outcome.signalled += 1;
            if let Some(pidfd) = process.into_pidfd().filter(|_| outcome.pidfds.len() < HELD_MAX) {
                held.extend(pidfd.try_clone().ok().map(|pidfd| (id.pid, pidfd)));
                outcome.pidfds.push(pidfd);
            }
        }
    }
    asked.hold(cgroup, held);
    outcome.signalled_ns = now_ns();
    Ok(outcome)
}

/// The name of a process (`/proc/PID/comm`), as its owner chose it; empty once it has ended.
pub(crate) fn name(root: &Root, id: ProcessId) -> String {
    let mut text = Vec::new();
    let read = open_folder(root, id.pid).and_then(|folder| {
        read_at(&folder, "stat", &mut text)?;
        let is_same = Stat::parse(&text).is_some_and(|stat| stat.start_ticks == id.start_ticks);
        text.clear();
        if is_same {
            read_at(&folder, "comm", &mut text)?;
        }
        Ok(())
    });
    match read {
        Ok(()) => String::from_utf8_lossy(text.trim_ascii_end()).escape_default().to_string(),
        Err(_) => String::new(),
    }
}

fn open(root: &Root, cgroup: &str, id: ProcessId) -> Result<Option<Process>, Error> {
    refuse_own(cgroup, id.pid)?;
    // Of the same start it is the very process that was found in the cgroup.
    let listed = Process::open_listed(root, cgroup, id.pid, id.start_ticks.saturating_add(1))?;
    let Some(process) = listed else { return Ok(None) };
    match process.stat(&mut Vec::new()) {
        Ok(stat) => Ok(stat.filter(|stat| stat.start_ticks == id.start_ticks).map(|_| process)),
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(Error::file("reading", format!("/proc/{}/stat", id.pid), e)),
    }
}

/// Processes of the cgroup whose parent is one of these, and that are not of these.
fn children(root: &Root, cgroups: &Cgroups, cgroup: &str, of: &BTreeSet<ProcessId>) -> Result<Vec<ProcessId>, Error> {
    let (mut pids, mut text, mut found) = (Vec::new(), Vec::new(), Vec::new());
    cgroups.processes(cgroup, &mut pids)?;
    for pid in pids {
        // Whether it is in the cgroup is looked at when it is opened to be signalled.
        let Ok(()) = open_folder(root, pid).and_then(|folder| read_at(&folder, "stat", &mut text)) else { continue };
        let Some(stat) = Stat::parse(&text) else { continue };
        let id = ProcessId { pid, start_ticks: stat.start_ticks };
        let is_child = of.iter().any(|parent| parent.pid == stat.parent && parent.start_ticks <= stat.start_ticks);
        if is_child && !of.contains(&id) {
            found.push(id);
        }
    }
    Ok(found)
}
