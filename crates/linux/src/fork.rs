// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Splitting the daemon in two.

use rustix::process::Pid;

use crate::Error;

/// Which side of the fork this is.
pub enum Forked {
    /// The parent; the worker's PID.
    Supervisor(Pid),
    /// The child.
    Worker,
}

/// Forks. Refused in a process with more than one thread, of which only one would live on in the child.
pub fn fork_worker() -> Result<Forked, Error> {
    let failed = |source| Error::Call { call: "fork", what: "the daemon".into(), source };
    let threads = std::fs::read_dir("/proc/self/task").map_err(failed)?.count();
    if threads != 1 {
        return Err(failed(std::io::Error::other(format!("{threads} threads are running, only one may"))));
    }
    // SAFETY: the process has this thread only, so no lock is held by a thread that the child lacks and the child may go on
    // as an ordinary process.
    match unsafe { libc::fork() } {
        -1 => Err(failed(std::io::Error::last_os_error())),
        0 => Ok(Forked::Worker),
        pid => Pid::from_raw(pid).map(Forked::Supervisor).ok_or_else(|| failed(std::io::Error::other("no PID"))),
    }
}

/// Lets signals through that whoever started this process had blocked: a program inherits that.
pub fn unblock_signals(signals: &[i32]) -> Result<(), Error> {
    let failed = |source| Error::Call { call: "sigprocmask", what: "the daemon".into(), source };
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written by sigemptyset before it is read, and only read by the call that follows.
    let done = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut())
    };
    match done {
        0 => Ok(()),
        error => Err(failed(std::io::Error::from_raw_os_error(error))),
    }
}
