// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Killing an app: every process of it, also those it forks meanwhile, and their memory freed before we return.

use std::os::fd::{AsFd, OwnedFd};

use crate::cgroup::Cgroups;
use crate::error::is_gone;
use crate::file::Root;
use crate::process::Process;
use crate::{sys, Error, KillOutcome};

/// Rounds of looking for processes that were forked while we killed. A process with SIGKILL pending cannot fork, so each round
/// leaves fewer; a cgroup that someone else fills meanwhile is not ours to chase.
const ROUNDS_MAX: usize = 32;

/// `process_mrelease` answers EAGAIN while the process itself holds its mapping lock.
const RELEASE_TRIES: usize = 3;

pub(crate) fn kill(root: &Root, cgroups: &Cgroups, cgroup: &str) -> Result<KillOutcome, Error> {
    let mut killed: Vec<Process> = Vec::new();
    let mut pids = Vec::new();
    for round in 0..ROUNDS_MAX {
        pids.clear();
        cgroups.processes(cgroup, &mut pids)?;
        if pids.contains(&std::process::id()) {
            return Err(Error::Refused {
                what: format!("killing cgroup {cgroup:?}"),
                mend: "this very process is in it: run the daemon in a cgroup of its own".into(),
            });
        }
        // Whoever ended under a PID does not hide a new process that was given the same one.
        pids.retain(|&pid| !killed.iter().any(|known| known.pid == pid && !known.has_ended()));
        let mut fresh = Vec::with_capacity(pids.len());
        for &pid in &pids {
            fresh.extend(Process::open_in(root, cgroup, pid)?);
        }
        if fresh.is_empty() {
            break;
        }
        // All are held before the first is killed: a parent that dies may change what its children do.
        for process in fresh {
            let pid = process.pid;
            if process.kill().map_err(|e| Error::call("pidfd_send_signal", format!("process {pid} of {cgroup}"), e))? {
                killed.push(process);
            }
        }
        // Somebody forked. The kernel can kill a cgroup in one stroke that no fork escapes (since 5.14), which ends a race that
        // a storm of forks could win; without it the rounds go on.
        if round > 0 {
            let _ = crate::file::write(&cgroups.path(cgroup)?.join("cgroup.kill"), "1");
        }
    }
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let signalled_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    let mut outcome = KillOutcome { signalled: killed.len() as u32, signalled_ns, ..KillOutcome::default() };
    for process in killed {
        let pid = process.pid;
        if let Some(pidfd) = process.into_pidfd() {
            outcome.released += u32::from(release(pid, &pidfd)?);
            outcome.pidfds.push(pidfd);
        }
    }
    Ok(outcome)
}

/// Frees a dying process's memory; false if it is gone already, shares it with one that lives, or the kernel cannot (before 5.15).
fn release(pid: u32, pidfd: &OwnedFd) -> Result<bool, Error> {
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
