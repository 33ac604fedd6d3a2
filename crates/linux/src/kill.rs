// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Killing an app: every process of it, also those it forks meanwhile, and their memory freed before we return.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::Signal;

use crate::cgroup::Cgroups;
use crate::error::is_gone;
use crate::file::Root;
use crate::process::Process;
use crate::{sys, Aside, Error, KillOutcome};

/// Rounds of looking for processes that were forked while we killed, where the kernel cannot kill a cgroup in one stroke. A process with
/// SIGKILL pending cannot fork, so each round leaves fewer; a cgroup that someone else fills meanwhile is not ours to chase.
pub(crate) const ROUNDS_MAX: usize = 32;

/// Processes held at once, at two descriptors each: far below the usual limit of 1024 files, however many a victim has.
pub(crate) const HELD_MAX: usize = 64;

/// `process_mrelease` answers EAGAIN while the process itself holds its mapping lock.
const RELEASE_TRIES: usize = 3;

pub(crate) fn kill(root: &Root, cgroups: &Cgroups, cgroup: &str) -> Result<KillOutcome, Error> {
    let mut pids = Vec::new();
    list(cgroups, cgroup, &mut pids)?;
    if pids.is_empty() {
        return Ok(KillOutcome { signalled_ns: now_ns(), ..KillOutcome::default() });
    }
    // Held before they die, for afterwards nobody could tell them from whoever is given their PIDs.
    let mut held = hold(root, cgroup, &pids[..pids.len().min(HELD_MAX)])?;
    let stroke = cgroups.path(cgroup)?.join("cgroup.kill");
    let signalled = match crate::file::write(&stroke, "1") {
        // No fork escapes it (since 5.14).
        Ok(()) => pids.len(),
        Err(e) if is_gone(&e) => by_signals(root, cgroups, cgroup, &mut held, &mut pids)?,
        Err(e) => return Err(Error::file("writing", stroke, e)),
    };
    let mut outcome = KillOutcome { signalled: signalled as u32, signalled_ns: now_ns(), ..KillOutcome::default() };
    // The victim is dying by itself too, and whoever has the CPU may not be waiting for memory.
    let _aside = Aside::step();
    for pid in pids.into_iter().filter(|pid| !held.iter().any(|process| process.pid == *pid)) {
        if let Some(pidfd) = Process::open_in(root, cgroup, pid)?.and_then(Process::into_pidfd) {
            outcome.released += u32::from(release(pid, &pidfd)?);
        }
    }
    for process in held {
        let pid = process.pid;
        if let Some(pidfd) = process.into_pidfd() {
            outcome.released += u32::from(release(pid, &pidfd)?);
            outcome.pidfds.push(pidfd);
        }
    }
    Ok(outcome)
}

/// Asks every process of an app to end (SIGTERM); returns how many were asked.
pub(crate) fn terminate(root: &Root, cgroups: &Cgroups, cgroup: &str) -> Result<u32, Error> {
    let mut pids = Vec::new();
    list(cgroups, cgroup, &mut pids)?;
    let mut asked = 0;
    for pid in pids {
        if let Some(process) = Process::open_in(root, cgroup, pid)? {
            asked += u32::from(signal(&process, Signal::TERM, cgroup)?);
        }
    }
    Ok(asked)
}

pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The processes of a cgroup, which must not be ours.
fn list(cgroups: &Cgroups, cgroup: &str, pids: &mut Vec<u32>) -> Result<(), Error> {
    pids.clear();
    cgroups.processes(cgroup, pids)?;
    pids.iter().try_for_each(|&pid| refuse_own(cgroup, pid))
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

fn hold(root: &Root, cgroup: &str, pids: &[u32]) -> Result<Vec<Process>, Error> {
    let mut held = Vec::with_capacity(pids.len());
    for &pid in pids {
        held.extend(Process::open_in(root, cgroup, pid)?);
    }
    Ok(held)
}

pub(crate) fn signal(process: &Process, signal: Signal, cgroup: &str) -> Result<bool, Error> {
    let failed = |e| Error::call("pidfd_send_signal", format!("process {} of {cgroup}", process.pid), e);
    process.signal(signal).map_err(failed)
}

/// One by one, and again until nobody new is there. All held are signalled first: a parent that dies may change what its children do.
/// Returns how many were signalled, and leaves their PIDs in `pids`.
fn by_signals(
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
        list(cgroups, cgroup, pids)?;
        let fresh: Vec<u32> = pids.iter().copied().filter(|pid| !done.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        for some in fresh.chunks(HELD_MAX) {
            for process in hold(root, cgroup, some)? {
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
