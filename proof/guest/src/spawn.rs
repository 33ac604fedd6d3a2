// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Processes that begin inside their cgroup, so that every page they ever touch is charged to it.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fovea_scenario::Syscall;

use crate::deny;
use crate::outcome::{At, Outcome};
use crate::wire::SOCKET_FD;

/// From linux/sched.h; libc's constant of that name is too narrow for bit 33.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Which side of a clone this is.
pub enum Side {
    /// The caller; the child's PID.
    Parent(u32),
    /// The child.
    Child,
}

/// Whose child a clone becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// The caller's.
    Caller,
    /// The caller's own parent's (CLONE_PARENT).
    Parent,
}

/// Forks this process into a cgroup (clone3 with CLONE_INTO_CGROUP). The child must not return from its caller's frame: it ends in
/// [`std::process::exit`] or exec.
pub fn clone_into(cgroup: BorrowedFd<'_>, parent: Parent) -> Outcome<Side> {
    // SAFETY: clone_args is plain numbers, for which zero is "not used".
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = cgroup.as_raw_fd() as u64;
    match parent {
        Parent::Caller => args.exit_signal = libc::SIGCHLD as u64,
        // The signal is then that of the caller, which is SIGCHLD too; the kernel wants no other named.
        Parent::Parent => args.flags |= libc::CLONE_PARENT as u64,
    }
    // SAFETY: without CLONE_VM and a stack this is fork: the child gets a copy of everything. This program has one thread, so no
    // lock is held by a thread that the child lacks; `args` outlives the call.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &args, size_of::<libc::clone_args>()) };
    match pid {
        0 => Ok(Side::Child),
        1.. => Ok(Side::Parent(pid as u32)),
        _ => Err(format!("clone3 into a cgroup: {}", std::io::Error::last_os_error())),
    }
}

/// In a child: keeps standard input, output and error, makes `socket` descriptor 3, and closes everything else.
pub fn keep_only(socket: &OwnedFd) {
    // SAFETY: descriptors of the parent are not used in the child afterwards, except 3, which is taken over by `inherited_socket`.
    unsafe {
        if socket.as_raw_fd() == SOCKET_FD {
            libc::fcntl(SOCKET_FD, libc::F_SETFD, 0);
        } else {
            libc::dup2(socket.as_raw_fd(), SOCKET_FD);
        }
        libc::syscall(libc::SYS_close_range, SOCKET_FD + 1, u32::MAX, 0);
    }
}

/// The socket that [`keep_only`] left.
pub fn inherited_socket() -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: `keep_only` made it, and a process calls this once.
    unsafe { OwnedFd::from_raw_fd(SOCKET_FD) }
}

/// Lets a child have the signals that the first process takes through its signalfd.
pub fn unblock_signals() {
    // SAFETY: an empty set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
    }
}

/// What a program finds when it starts.
#[derive(Clone, Copy, Default)]
pub struct Setting<'a> {
    /// Becomes descriptor 3; everything else above 2 is closed then.
    pub socket: Option<&'a OwnedFd>,
    /// Becomes standard output.
    pub stdout: Option<&'a OwnedFd>,
    /// Its pages may be merged with others'.
    pub merged: bool,
    /// Answer ENOSYS to it and to all it starts.
    pub denied: &'a [Syscall],
    /// Runs as this user (and group of the same number), who is nobody's superior.
    pub user: Option<User<'a>>,
}

/// A user as whom programs are started.
#[derive(Clone, Copy)]
pub struct User<'a> {
    /// UID and GID.
    pub id: u32,
    /// What else is in the environment.
    pub environment: &'a [&'static CStr],
    /// `oom_score_adj`, which is the user's session's.
    pub oom_score_adj: i32,
}

impl User<'_> {
    /// Becomes this user.
    fn become_this(&self) -> std::io::Result<()> {
        std::fs::write("/proc/self/oom_score_adj", self.oom_score_adj.to_string())?;
        // SAFETY: plain numbers, and an empty list of groups; this process has one thread.
        let done = unsafe {
            libc::setgroups(0, std::ptr::null()) == 0 && libc::setgid(self.id) == 0 && libc::setuid(self.id) == 0
        };
        if done {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    }
}

/// Forks this process, in its cgroup. As of [`clone_into`], the child must not return from its caller's frame.
pub fn fork() -> Outcome<Side> {
    // SAFETY: this program has one thread, so no lock is held by a thread that the child lacks.
    match unsafe { libc::fork() } {
        0 => Ok(Side::Child),
        pid if pid > 0 => Ok(Side::Parent(pid as u32)),
        _ => Err(format!("fork: {}", std::io::Error::last_os_error())),
    }
}

/// Starts a program in a cgroup. Returns its PID.
pub fn exec_into(cgroup: &File, program: &Path, args: &[&str], setting: Setting<'_>) -> Outcome<u32> {
    use std::os::fd::AsFd;
    let text = |t: &[u8]| CString::new(t).at(|| format!("starting {}", program.display()));
    let path = text(program.as_os_str().as_bytes())?;
    let args = args.iter().map(|a| text(a.as_bytes())).collect::<Outcome<Vec<_>>>()?;
    let mut argv: Vec<*const libc::c_char> = args.iter().map(|a| a.as_ptr()).collect();
    argv.push(std::ptr::null());
    let mut env = vec![c"PATH=/bin".as_ptr(), c"HOME=/tmp".as_ptr(), c"RUST_BACKTRACE=1".as_ptr()];
    env.extend(setting.user.iter().flat_map(|user| user.environment).map(|text| text.as_ptr()));
    env.push(std::ptr::null());
    match clone_into(cgroup.as_fd(), Parent::Caller)? {
        Side::Parent(pid) => Ok(pid),
        Side::Child => {
            unblock_signals();
            if let Some(stdout) = setting.stdout {
                // SAFETY: standard output is used through its number only.
                unsafe { libc::dup2(stdout.as_raw_fd(), 1) };
            }
            if let Some(socket) = setting.socket {
                keep_only(socket);
            }
            if let Some(Err(error)) = setting.merged.then(fovea_linux::register_for_merging) {
                eprintln!("fovea-guest: starting {}: {error}", program.display());
                std::process::exit(127);
            }
            if let Err(error) = deny::deny(setting.denied) {
                eprintln!("fovea-guest: starting {}: {error}", program.display());
                std::process::exit(127);
            }
            if let Some(Err(error)) = setting.user.map(|user| user.become_this()) {
                eprintln!("fovea-guest: starting {} as a user: {error}", program.display());
                std::process::exit(127);
            }
            // SAFETY: `path`, `argv` and `env` are null-terminated and live until the call; on success nothing of this
            // process is left.
            unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr()) };
            eprintln!("fovea-guest: starting {}: {}", program.display(), std::io::Error::last_os_error());
            std::process::exit(127);
        }
    }
}

/// The end of a program that the first process started: what it found on standard output, or why it found nothing.
pub fn end_with(done: Outcome<String>) -> ! {
    match done {
        Ok(text) => {
            print!("{text}");
            let _ = std::io::stdout().flush();
            std::process::exit(0);
        }
        Err(error) => {
            eprintln!("fovea-guest: {error}");
            std::process::exit(1);
        }
    }
}
