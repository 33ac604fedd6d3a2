// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Killing an app: every process of it, also those it forks meanwhile, and their memory freed before we return.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{pidfd_send_signal, Signal};

use crate::cgroup::{is_unsupported, is_within, parse_membership, Cgroups};
use crate::clock::now_ns;
use crate::error::is_gone;
use crate::file::{read, Root};
use crate::probe::inspect::Inspect;
use crate::process::{has_ended, now_ticks, Process};
use crate::{sys, Error, KillOutcome, NormalPriority};

/// Rounds of looking for processes that were forked while we killed, where the kernel cannot kill a cgroup in one stroke. A process with
/// SIGKILL pending cannot fork, so each round leaves fewer; a cgroup that someone else fills meanwhile is not ours to chase.
pub(crate) const ROUNDS_MAX: usize = 32;

/// Processes held at once, at two descriptors each: far below the usual limit of 1024 files, however many a victim has.
pub(crate) const HELD_MAX: usize = 64;

/// Processes of an app that are held from before they are asked to end, at one descriptor each.
const ASKED_MAX: usize = 256;

/// `process_mrelease` answers EAGAIN while the process itself holds its mapping lock.
const RELEASE_TRIES: usize = 3;

/// Processes of apps that were asked to end, held since before they were asked: one may leave its
/// cgroup on the signal, and its memory with it.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    by_cgroup: BTreeMap<String, Vec<(u32, OwnedFd)>>,
}

impl Asked {
    /// Those of an app that still live, wherever they are.
    fn take(&mut self, cgroup: &str) -> Vec<(u32, OwnedFd)> {
        let mut held = self.by_cgroup.remove(cgroup).unwrap_or_default();
        held.retain(|(_, pidfd)| !has_ended(pidfd.as_fd()));
        held
    }

    /// Holds these of an app from now on. What is held of others that have ended by now is let go.
    pub(crate) fn hold(&mut self, cgroup: &str, held: Vec<(u32, OwnedFd)>) {
        self.by_cgroup.insert(cgroup.to_owned(), held);
        self.by_cgroup.retain(|_, held| {
            held.retain(|(_, pidfd)| !has_ended(pidfd.as_fd()));
            !held.is_empty()
        });
    }
}

/// Kills what is in the cgroup, and those that were asked to end there and have left it.
pub(crate) fn kill(
    root: &Root,
    inspect: &mut Inspect<'_>,
    cgroups: &Cgroups,
    cgroup: &str,
    asked: &mut Asked,
) -> Result<KillOutcome, Error> {
    spare_ourselves(root, cgroup)?;
    let ticks = now_ticks();
    let mut pids = Vec::new();
    // What is wrong with a list, or with one process, keeps nobody alive: the kernel knows them all.
    let listed = list(cgroups, cgroup, &mut pids);
    let populated = listed.is_err() || cgroups.events(cgroup).map_or(true, |events| events.populated);
    let left = asked.take(cgroup).into_iter().filter(|(pid, _)| !pids.contains(pid)).collect();
    if pids.is_empty() && !populated {
        return kill_held(inspect, cgroup, left);
    }
    // Held before they die, for afterwards nobody could tell them from whoever is given their PIDs.
    let mut held = hold(inspect, root, cgroup, &pids[..pids.len().min(HELD_MAX)], ticks);
    let stroke = cgroups.path(cgroup)?.join("cgroup.kill");
    let signalled = match crate::file::write(&stroke, "1") {
        // No fork escapes it, and no depth (since 5.14): what we could not list dies too.
        Ok(()) => pids.len().max(1),
        Err(e) if is_gone(&e) || is_unsupported(&e) => {
            by_signals(inspect, root, cgroups, cgroup, &mut held, &mut pids)?
        }
        Err(e) => return Err(Error::file("writing", stroke, e)),
    };
    if signalled == 0 && cgroups.events(cgroup)?.populated {
        listed?;
        return Err(Error::Refused {
            what: format!("killing cgroup {cgroup:?}"),
            mend: "processes live in it that cannot be found: Linux 5.14 or newer kills them all the same".into(),
        });
    }
    let mut outcome = kill_held(inspect, cgroup, left)?;
    outcome.signalled += signalled as u32;
    outcome.signalled_ns = now_ns();
    // The victim is dying by itself too, and whoever has the CPU may not be waiting for memory.
    let _normal_priority = NormalPriority::of_thread();
    pids.retain(|pid| !held.iter().any(|process| process.pid == *pid));
    for some in pids.chunks(HELD_MAX) {
        let others = hold(inspect, root, cgroup, some, ticks);
        outcome.released += inspect.release(cgroup, &with_pidfds(others))?;
    }
    let held = with_pidfds(held);
    outcome.released += inspect.release(cgroup, &held)?;
    outcome.pidfds.extend(held.into_iter().map(|(_, pidfd)| pidfd));
    Ok(outcome)
}

/// Those of them that have one.
pub(crate) fn with_pidfds(held: Vec<Process>) -> Vec<(u32, OwnedFd)> {
    held.into_iter().filter_map(|process| Some((process.pid, process.into_pidfd()?))).collect()
}

/// Kills those that were asked to end in a cgroup, have left it, and live.
pub(crate) fn kill_left(
    root: &Root,
    inspect: &mut Inspect<'_>,
    cgroups: &Cgroups,
    cgroup: &str,
    asked: &mut Asked,
) -> Result<KillOutcome, Error> {
    let mut pids = Vec::new();
    list(cgroups, cgroup, &mut pids)?;
    spare_ourselves(root, cgroup)?;
    kill_held(inspect, cgroup, asked.take(cgroup).into_iter().filter(|(pid, _)| !pids.contains(pid)).collect())
}

fn kill_held(inspect: &mut Inspect<'_>, cgroup: &str, held: Vec<(u32, OwnedFd)>) -> Result<KillOutcome, Error> {
    let mut outcome = KillOutcome::default();
    let mut killed = Vec::new();
    for (pid, pidfd) in held {
        match pidfd_send_signal(&pidfd, Signal::KILL).map_err(io::Error::from) {
            Err(e) if is_gone(&e) => continue,
            sent => sent.map_err(|e| Error::call("pidfd_send_signal", format!("process {pid}"), e))?,
        }
        outcome.signalled += 1;
        killed.push((pid, pidfd));
    }
    outcome.signalled_ns = now_ns();
    outcome.released = inspect.release(cgroup, &killed)?;
    outcome.pidfds.extend(killed.into_iter().map(|(_, pidfd)| pidfd));
    Ok(outcome)
}

/// Asks every process of an app to end (SIGTERM); returns how many were asked.
pub(crate) fn terminate(
    root: &Root,
    inspect: &mut Inspect<'_>,
    cgroups: &Cgroups,
    cgroup: &str,
    asked: &mut Asked,
) -> Result<u32, Error> {
    spare_ourselves(root, cgroup)?;
    let ticks = now_ticks();
    let mut pids = Vec::new();
    list(cgroups, cgroup, &mut pids)?;
    let (mut count, mut held) = (0, Vec::new());
    for pid in pids {
        if let Some(process) = open(inspect, root, cgroup, pid, ticks) {
            count += u32::from(signal(&process, Signal::TERM, cgroup)?);
            if held.len() < ASKED_MAX {
                held.extend(process.into_pidfd().map(|pidfd| (pid, pidfd)));
            }
        }
    }
    asked.hold(cgroup, held);
    Ok(count)
}

/// Refuses a cgroup that holds this very process, however deep it is in it.
fn spare_ourselves(root: &Root, cgroup: &str) -> Result<(), Error> {
    let own = read(&root.join("proc/self/cgroup")).ok().and_then(|text| parse_membership(&text));
    match own.is_some_and(|own| is_within(&own, cgroup)) {
        false => Ok(()),
        true => Err(Error::Refused {
            what: format!("killing cgroup {cgroup:?}"),
            mend: "this very process is in it: run the daemon in a cgroup of its own".into(),
        }),
    }
}

/// The processes of a cgroup.
fn list(cgroups: &Cgroups, cgroup: &str, pids: &mut Vec<u32>) -> Result<(), Error> {
    pids.clear();
    cgroups.processes(cgroup, pids)
}

/// An error if the process to be killed is this one.
pub(crate) fn refuse_own(cgroup: &str, pid: u32) -> Result<(), Error> {
    match pid == std::process::id() {
        false => Ok(()),
        true => Err(Error::Refused {
            what: format!("killing cgroup {cgroup:?}"),
            mend: "this very process is in it: run the daemon in a cgroup of its own".into(),
        }),
    }
}

fn hold(inspect: &mut Inspect<'_>, root: &Root, cgroup: &str, pids: &[u32], ticks: u64) -> Vec<Process> {
    pids.iter().filter_map(|&pid| open(inspect, root, cgroup, pid, ticks)).collect()
}

/// Takes hold of one that was listed since then. One that cannot be looked at is passed over: its end is seen by its cgroup.
fn open(inspect: &mut Inspect<'_>, root: &Root, cgroup: &str, pid: u32, ticks: u64) -> Option<Process> {
    Process::open_listed(inspect, root, cgroup, pid, ticks).ok().flatten()
}

pub(crate) fn signal(process: &Process, signal: Signal, cgroup: &str) -> Result<bool, Error> {
    let failed = |e| Error::call("pidfd_send_signal", format!("process {} of {cgroup}", process.pid), e);
    process.signal(signal).map_err(failed)
}

/// One by one, and again until nobody new is there. All held are signalled first: a parent that dies may change what its children do.
/// Returns how many were signalled, and leaves their PIDs in `pids`.
fn by_signals(
    inspect: &mut Inspect<'_>,
    root: &Root,
    cgroups: &Cgroups,
    cgroup: &str,
    held: &mut Vec<Process>,
    pids: &mut Vec<u32>,
) -> Result<usize, Error> {
    let mut done = BTreeSet::new();
    for process in held.iter() {
        if signal(process, Signal::KILL, cgroup)? {
            done.insert(process.pid);
        }
    }
    for _ in 0..ROUNDS_MAX {
        pids.clear();
        let ticks = now_ticks();
        // Nothing else would end those that are not listed.
        cgroups.processes_within(cgroup, usize::MAX, pids)?;
        let fresh: Vec<u32> = pids.iter().copied().filter(|pid| !done.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        for some in fresh.chunks(HELD_MAX) {
            for process in hold(inspect, root, cgroup, some, ticks) {
                if signal(&process, Signal::KILL, cgroup)? {
                    done.insert(process.pid);
                }
                if held.len() < HELD_MAX {
                    held.push(process);
                }
            }
        }
    }
    *pids = done.iter().copied().collect();
    Ok(done.len())
}

/// Frees a dying process's memory; false if it is gone already, shares it with one that lives, or the kernel cannot (before 5.15).
pub(crate) fn release(pid: u32, pidfd: &OwnedFd) -> Result<bool, Error> {
    for _ in 0..RELEASE_TRIES {
        match sys::process_mrelease(pidfd.as_fd()) {
            Ok(()) => return Ok(true),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => (),
            Err(e) if is_gone(&e) || matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => return Ok(false),
            Err(e) => return Err(Error::call("process_mrelease", format!("process {pid}"), e)),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use crate::device_traits::Apps;
    use crate::file::capture;
    use crate::System;

    #[test]
    fn a_list_that_cannot_be_read_keeps_nobody_alive_and_makes_nobody_weigh_nothing() {
        let root = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| capture(root.path(), path, text);
        file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let files = [
            ("cgroup.events", "populated 1\n"),
            ("cgroup.kill", ""),
            ("memory.current", "300\n"),
            ("memory.stat", "anon 200\n"),
            // A folder: EISDIR.
            ("cgroup.procs/x", ""),
        ];
        files.iter().for_each(|(name, text)| file(&format!("sys/fs/cgroup/apps/game/{name}"), text));
        let mut system = System::at(root.path());
        let usage = system.usage("apps/game").unwrap();
        assert_eq!((usage.current_bytes, usage.anon_bytes), (300, 200));
        assert_eq!(system.kill("apps/game").unwrap().signalled, 1);
        let written = std::fs::read_to_string(root.path().join("sys/fs/cgroup/apps/game/cgroup.kill"));
        assert_eq!(written.unwrap(), "1");
    }
}
