// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Looking into apps' processes. The loop itself touches nothing of a process that takes a lock which the process, or
//! whom it waits for, can hold. All that does goes through [`Inspect`]: in the daemon to a probe, which is given up when it
//! waits for others too long.
//!
//! Two locks matter, and any user can have both held for as long as he likes:
//!
//! - `signal->exec_update_lock`: execve holds it while it closes files (fs/exec.c, `begin_new_exec`, `do_close_on_exec`), and
//!   a file of a FUSE server that is silent closes when that server likes (fs/fuse/file.c, `fuse_flush`). A signal does not end
//!   that wait. (Since "exec: do_close_on_exec() before taking exec_update_lock", after 7.3, execve closes them before.)
//! - `mm->mmap_lock`: a fault that is tried again holds it while it reads a page of such a file, or of userfaultfd's
//!   (mm/filemap.c, `filemap_fault`), and once a writer waits, readers wait behind it.
//!
//! What takes which, by kernel (tried on 6.18.44, with a process in that state; read in the others' sources):
//!
//! | of /proc/PID, or a call | 6.1 | 6.12 | 6.18, 7.x |
//! |---|---|---|---|
//! | stat (fs/proc/array.c, `do_task_stat`), links exe, cwd, root, fd/N, ns/N (fs/proc/base.c, `call_proc_get_link`) | - | - | exec |
//! | the same as backported in 2026: "proc: protect ptrace_may_access() with exec_update_lock" | exec | exec | exec |
//! | maps, smaps, pagemap, mem, environ, auxv, map_files (`proc_mem_open`: `mm_access`) | exec, mmap | exec, mmap | exec, mmap |
//! | io, syscall, stack, personality, wchan | exec | exec | exec |
//! | cmdline (`access_remote_vm`) | mmap | mmap | mmap |
//! | process_madvise, process_vm_readv (`mm_access`), pidfd_getfd (kernel/pid.c, `__pidfd_fget`) | exec, mmap | exec, mmap | exec, mmap |
//! | process_mrelease (mm/oom_kill.c, `mmap_read_lock_killable`), cpuset.mems (`mpol_rebind_mm`) | mmap | mmap | mmap |
//! | status, statm, comm, cgroup, oom_score_adj, schedstat, limits, ksm_stat, the names in fd and task | - | - | - |
//! | pidfd_open, pidfd_send_signal, setns by pidfd, cgroup.kill, cgroup.freeze, all of memory.* | - | - | - |
//!
//! Only the last two rows are for the loop.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use super::blame::Owner;
use super::inspector::Inspector;
use super::task::{Outcome, Task};
use super::{Places, Probe};
use crate::file::Root;
use crate::proc::Stat;
use crate::process::Process;
use crate::Error;

/// Processes that are asked about at once.
pub(crate) const AT_ONCE: usize = 32;

/// The daemon's probes, and where they look.
#[derive(Debug)]
pub(crate) struct Probes {
    /// Files, sockets and connections.
    pub files: Probe,
    /// Processes and their memory.
    pub processes: Inspector,
    pub places: Places,
}

impl Probes {
    /// Asks about a cgroup's processes.
    pub fn ask(&mut self, cgroup: &str, task: Task) -> Result<Outcome, Error> {
        self.processes.ask(&self.places, &Owner::of_cgroup(cgroup), task)
    }
}

/// How processes are looked into.
#[derive(Debug)]
pub(crate) enum Inspect<'a> {
    /// By this process, which may wait.
    Here(&'a Root),
    /// By a probe.
    By(&'a mut Probes),
}

impl<'a> Inspect<'a> {
    pub fn new(root: &'a Root, probes: &'a mut Option<Probes>) -> Inspect<'a> {
        probes.as_mut().map_or(Inspect::Here(root), Inspect::By)
    }

    /// The start and the parent of processes of one cgroup; those are left out that have ended.
    pub fn stats(&mut self, cgroup: &str, pids: &[u32]) -> io::Result<Vec<Stat>> {
        match self {
            Inspect::Here(root) => Ok(super::task::stats(root, pids)),
            Inspect::By(_) if pids.is_empty() => Ok(Vec::new()),
            Inspect::By(probes) => stats(probes, &Owner::of_cgroup(cgroup), pids),
        }
    }

    /// The same of processes that may be anybody's; and why those of an owner are missing, if they are.
    pub fn stats_of_any(&mut self, pids: &[u32]) -> (Vec<Stat>, Option<io::Error>) {
        let probes = match self {
            Inspect::Here(root) => return (super::task::stats(root, pids), None),
            Inspect::By(probes) => probes,
        };
        let mut by_owner: BTreeMap<Owner, Vec<u32>> = BTreeMap::new();
        for &pid in pids {
            if let Some(owner) = Owner::of_process(pid) {
                by_owner.entry(owner).or_default().push(pid);
            }
        }
        let (mut found, mut failure) = (Vec::new(), None);
        for (owner, pids) in by_owner {
            match stats(probes, &owner, &pids) {
                Ok(stats) => found.extend(stats),
                Err(e) => failure = Some(e),
            }
        }
        (found, failure)
    }

    /// The start and parent of a process that is held; `None` if it has ended.
    pub fn stat(&mut self, cgroup: &str, process: &Process) -> io::Result<Option<Stat>> {
        if let Inspect::Here(_) = self {
            return process.stat(&mut Vec::new());
        }
        let found = self.stats(cgroup, &[process.pid])?.pop();
        // It was held before it was asked about, and lives: nobody else has had its PID.
        Ok(found.filter(|_| !process.has_ended()))
    }

    /// What each process has of the shared memory that goes with its last user: [`crate::lasting::going`].
    pub fn going(&mut self, cgroup: &str, pids: &[u32]) -> Option<Vec<u64>> {
        match self {
            Inspect::Here(root) => Some(crate::lasting::going(root, pids, &mut Vec::new())),
            Inspect::By(probes) => match probes.ask(cgroup, Task::Going { pids: pids.to_vec() }) {
                Ok(Outcome::Numbers(bytes)) => Some(bytes),
                _ => None,
            },
        }
    }

    /// Shared memory that may stay whoever dies: [`crate::lasting::find_bytes`].
    pub fn lasting_bytes(&mut self) -> Option<u64> {
        match self {
            Inspect::Here(root) => Some(crate::lasting::find_bytes(root)),
            // The machine's own mounts: none of them is anybody's app.
            Inspect::By(probes) => probes.ask("", Task::LastingBytes).ok().and_then(number),
        }
    }

    /// Frees the memory of processes of a cgroup that were killed; says of how many before this returned.
    pub fn release(&mut self, cgroup: &str, killed: &[(u32, OwnedFd)]) -> Result<u32, Error> {
        match self {
            Inspect::Here(_) => {
                let released = killed.iter().map(|(pid, pidfd)| crate::kill::release(*pid, pidfd));
                released.map(|done| done.map(u32::from)).sum()
            }
            Inspect::By(_) if killed.is_empty() => Ok(0),
            Inspect::By(probes) => {
                let pids = killed.iter().map(|(pid, _)| *pid).collect();
                // They die all the same.
                let done = probes.ask(cgroup, Task::Release { pids });
                Ok(done.ok().and_then(number).unwrap_or(0) as u32)
            }
        }
    }
}

fn stats(probes: &mut Probes, owner: &Owner, pids: &[u32]) -> io::Result<Vec<Stat>> {
    let task = Task::Stats { pids: pids.to_vec() };
    match probes.processes.ask(&probes.places, owner, task).map_err(io::Error::other)? {
        Outcome::Stats(found) => Ok(found),
        _ => Err(super::child::senseless()),
    }
}

/// The number that was asked for.
pub(crate) fn number(outcome: Outcome) -> Option<u64> {
    match outcome {
        Outcome::Numbers(numbers) => numbers.first().copied(),
        _ => None,
    }
}

pub(crate) fn senseless() -> Error {
    Error::call("asking the probe", "processes", super::child::senseless())
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
