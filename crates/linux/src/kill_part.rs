// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Ending a process of a unit and its descendants, while the rest of the unit lives on.

use std::collections::BTreeSet;

use fovea_apps::ProcessId;
use rustix::process::Signal;

use crate::cgroup::Cgroups;
use crate::clock::now_ns;
use crate::file::Root;
use crate::kill::{refuse_own, signal, with_pidfds, Asked, HELD_MAX, ROUNDS_MAX};
use crate::probe::inspect::{Inspect, AT_ONCE};
use crate::proc::Stat;
use crate::process::{open_folder, read_at, Process};
use crate::{Error, KillOutcome, NormalPriority};

/// Kills these processes of a cgroup and their descendants in it. A process that has ended, left the cgroup, or whose PID was
/// given to another one is passed over.
///
/// They are stopped first and killed when no new child is found. A child that was forked before its parent
/// was stopped still names that parent, for a stopped parent lives; once a parent is dead its children name whoever adopted them.
/// A stopped process forks no more: the kernel lets no fork end with a signal pending (kernel/fork.c, `copy_process`).
pub(crate) fn kill(
    root: &Root,
    inspect: &mut Inspect<'_>,
    cgroups: &Cgroups,
    cgroup: &str,
    part: &[ProcessId],
) -> Result<KillOutcome, Error> {
    let (mut held, mut others) = (Vec::new(), Vec::new());
    let mut stopped = BTreeSet::new();
    let mut fresh = part.to_vec();
    for _ in 0..ROUNDS_MAX {
        stopped.extend(&fresh);
        for some in fresh.chunks(AT_ONCE) {
            for (id, process) in open(root, inspect, cgroup, some)? {
                signal(&process, Signal::STOP, cgroup)?;
                match held.len() < HELD_MAX {
                    true => held.push(process),
                    false => others.push(id),
                }
            }
        }
        fresh = children(inspect, cgroups, cgroup, &stopped)?;
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
    for some in others.chunks(AT_ONCE) {
        for (_, process) in open(root, inspect, cgroup, some)? {
            outcome.signalled += u32::from(signal(&process, Signal::KILL, cgroup)?);
        }
    }
    outcome.signalled_ns = now_ns();
    let _normal_priority = NormalPriority::of_thread();
    let killed = with_pidfds(killed);
    outcome.released = inspect.release(cgroup, &killed)?;
    outcome.pidfds.extend(killed.into_iter().map(|(_, pidfd)| pidfd));
    Ok(outcome)
}

/// Asks these processes of a cgroup to end (SIGTERM). The outcome holds those that were asked; their ends can be waited for.
pub(crate) fn terminate(
    root: &Root,
    inspect: &mut Inspect<'_>,
    cgroup: &str,
    part: &[ProcessId],
    asked: &mut Asked,
) -> Result<KillOutcome, Error> {
    let mut outcome = KillOutcome::default();
    let mut held = Vec::new();
    for some in part.chunks(AT_ONCE) {
        for (id, process) in open(root, inspect, cgroup, some)? {
            if signal(&process, Signal::TERM, cgroup)? {
                outcome.signalled += 1;
                if let Some(pidfd) = process.into_pidfd().filter(|_| outcome.pidfds.len() < HELD_MAX) {
                    held.extend(pidfd.try_clone().ok().map(|pidfd| (id.pid, pidfd)));
                    outcome.pidfds.push(pidfd);
                }
            }
        }
    }
    asked.hold(cgroup, held);
    outcome.signalled_ns = now_ns();
    Ok(outcome)
}

/// The name of a process (`/proc/PID/comm`), as its owner chose it; empty once it has ended.
pub(crate) fn name(root: &Root, inspect: &mut Inspect<'_>, id: ProcessId) -> String {
    let mut text = Vec::new();
    let read = open_folder(root, id.pid).and_then(|folder| {
        read_at(&folder, "comm", &mut text)?;
        // Asked last: the folder's process has had its PID all along if it is the one that has it now.
        let (stats, _) = inspect.stats_of_any(&[id.pid]);
        if !stats.iter().any(|stat| stat.start_ticks == id.start_ticks) {
            text.clear();
        }
        Ok(())
    });
    match read {
        Ok(()) => String::from_utf8_lossy(text.trim_ascii_end()).escape_default().to_string(),
        Err(_) => String::new(),
    }
}

/// Takes hold of those of them that still live.
fn open(
    root: &Root,
    inspect: &mut Inspect<'_>,
    cgroup: &str,
    ids: &[ProcessId],
) -> Result<Vec<(ProcessId, Process)>, Error> {
    let mut held = Vec::new();
    for &id in ids {
        refuse_own(cgroup, id.pid)?;
        // Of the same start it is the very process that was found in the cgroup.
        let listed = Process::open_listed(inspect, root, cgroup, id.pid, id.start_ticks.saturating_add(1))?;
        held.extend(listed.map(|process| (id, process)));
    }
    let pids: Vec<u32> = held.iter().map(|(id, _)| id.pid).collect();
    let stats = stats(inspect, cgroup, &pids)?;
    let is_same = |id: ProcessId| stats.iter().any(|stat| stat.pid == id.pid && stat.start_ticks == id.start_ticks);
    // Held before they were asked about: one that lives is the one that was meant.
    held.retain(|(id, process)| is_same(*id) && !process.has_ended());
    Ok(held)
}

fn stats(inspect: &mut Inspect<'_>, cgroup: &str, pids: &[u32]) -> Result<Vec<Stat>, Error> {
    inspect.stats(cgroup, pids).map_err(|e| Error::call("looking into processes", cgroup, e))
}

/// Processes of the cgroup whose parent is one of these, and that are not of these.
fn children(
    inspect: &mut Inspect<'_>,
    cgroups: &Cgroups,
    cgroup: &str,
    of: &BTreeSet<ProcessId>,
) -> Result<Vec<ProcessId>, Error> {
    let mut pids = Vec::new();
    cgroups.processes(cgroup, &mut pids)?;
    // Whether it is in the cgroup is looked at when it is opened to be signalled.
    let found = stats(inspect, cgroup, &pids)?.into_iter().filter_map(|stat| {
        let id = ProcessId { pid: stat.pid, start_ticks: stat.start_ticks };
        let is_child = of.iter().any(|parent| parent.pid == stat.parent && parent.start_ticks <= stat.start_ticks);
        (is_child && !of.contains(&id)).then_some(id)
    });
    Ok(found.collect())
}
