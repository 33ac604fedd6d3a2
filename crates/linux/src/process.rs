// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A process seen in an app's cgroup, held so that nothing can take its place.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{openat, Mode, OFlags};
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use rustix::time::{clock_gettime, ClockId};

use crate::cgroup::is_member;
use crate::error::is_gone;
use crate::file::Root;
use crate::probe::inspect::Inspect;
use crate::proc::Stat;
use crate::{sys, Error};

/// Threads of a process that are asked for its memory: any that runs knows it.
const THREADS_READ_MAX: usize = 64;

/// A process. Everything done through it reaches that very process or nobody: the pidfd and the open /proc folder both name the
/// process and not its PID.
#[derive(Debug)]
pub struct Process {
    /// PID, for messages and order.
    pub pid: u32,
    /// `None` before Linux 5.3: signals can be sent through the folder since 5.1, and the rest is done without.
    pidfd: Option<OwnedFd>,
    folder: OwnedFd,
}

impl Process {
    /// Takes hold of a process; `None` if there is none of that PID, it has ended, or it is not in the cgroup (any more).
    ///
    /// The order is what makes it safe. The pidfd and the /proc folder may have been opened before and after the PID changed
    /// hands; the cgroup is read through the folder, and the pidfd's process, asked last, still lives, so that its PID was
    /// taken all along and the folder is its own.
    pub fn open_in(root: &Root, cgroup: &str, pid: u32) -> Result<Option<Process>, Error> {
        Process::open_listed(&mut Inspect::Here(root), root, cgroup, pid, 0)
    }

    /// The same of one that was found among the cgroup's processes after so many ticks since boot.
    ///
    /// Some kernels do not say where a process is that its user nested deeper than a path can say (ENAMETOOLONG,
    /// kernel/cgroup/cgroup.c, proc_cgroup_show), others cut the path. One that began before it was listed and lives has had its PID all along: the
    /// list meant it.
    pub(crate) fn open_listed(
        inspect: &mut Inspect<'_>,
        root: &Root,
        cgroup: &str,
        pid: u32,
        ticks: u64,
    ) -> Result<Option<Process>, Error> {
        let process = match Process::open(root, pid) {
            Err(e) if is_gone(&e) || e.raw_os_error() == Some(libc::EINVAL) => return Ok(None),
            Err(e) => return Err(Error::call("opening", format!("process {pid}"), e)),
            Ok(process) => process,
        };
        let mut text = Vec::new();
        let inside = match process.read("cgroup", &mut text) {
            Err(e) if is_gone(&e) => false,
            Err(e) if e.raw_os_error() == Some(libc::ENAMETOOLONG) => {
                let stat = if ticks > 0 { inspect.stat(cgroup, &process) } else { Ok(None) };
                stat.is_ok_and(|stat| stat.is_some_and(|stat| stat.start_ticks < ticks))
            }
            Err(e) => return Err(Error::file("reading", format!("/proc/{pid}/cgroup"), e)),
            Ok(()) => is_member(&text, cgroup),
        };
        Ok((inside && !process.has_ended()).then_some(process))
    }

    /// Takes hold of any process, whatever it is.
    pub(crate) fn open(root: &Root, pid: u32) -> io::Result<Process> {
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::Error::from_raw_os_error(libc::ESRCH))?;
        let pidfd = match pidfd_open(id, PidfdFlags::empty()) {
            Err(rustix::io::Errno::NOSYS) => None,
            opened => Some(opened?),
        };
        let folder = open_folder(root, pid)?;
        Ok(Process { pid, pidfd, folder })
    }

    /// Its pidfd; ENOSYS where the kernel has none.
    pub fn pidfd(&self) -> io::Result<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSYS))
    }

    /// Gives the pidfd away, where there is one.
    pub fn into_pidfd(self) -> Option<OwnedFd> {
        self.pidfd
    }

    /// Whether it has ended (its parent may not have noticed).
    pub fn has_ended(&self) -> bool {
        match &self.pidfd {
            Some(pidfd) => has_ended(pidfd.as_fd()),
            None => self.has_ended_by_stat(),
        }
    }

    /// The same asked of the folder, which belongs to the process and not to whoever is given its PID.
    fn has_ended_by_stat(&self) -> bool {
        let stat = self.stat(&mut Vec::new());
        !matches!(stat, Ok(Some(stat)) if !matches!(stat.state, b'Z' | b'X'))
    }

    /// Its /proc folder.
    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Opens a file of its /proc folder.
    pub(crate) fn open_file(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(openat(&self.folder, name, flags | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Reads a file of its /proc folder.
    pub(crate) fn read(&self, name: &str, text: &mut Vec<u8>) -> io::Result<()> {
        read_at(&self.folder, name, text)
    }

    /// Start time and state. It may wait for the process: the loop asks by [`Inspect`].
    pub(crate) fn stat(&self, text: &mut Vec<u8>) -> io::Result<Option<Stat>> {
        self.read("stat", text)?;
        Ok(Stat::parse(text))
    }

    /// Sends a signal; false if it has ended already.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<bool> {
        match pidfd_send_signal(self.pidfd.as_ref().unwrap_or(&self.folder), signal).map_err(io::Error::from) {
            Err(e) if is_gone(&e) => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Copies ranges of its memory.
    pub(crate) fn copy_memory(&self, ranges: &[sys::RemoteRange], into: &mut [u8]) -> io::Result<usize> {
        // The PID cannot have changed hands while the process lives, and what is read is judged, never kept: should it end in
        // between, the advice given afterwards goes to the pidfd and fails.
        sys::process_vm_readv(self.pid, ranges, into)
    }
}

/// Whether the process of a pidfd has ended: then it is readable.
pub(crate) fn has_ended(pidfd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
    matches!(poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1))
}

/// The user of a process, whatever it has made of itself: the owner of its /proc folder is root as soon as it is not to be dumped.
pub fn user_of_process(pid: u32) -> Option<u32> {
    user_of(&Root::at("/"), pid)
}

pub(crate) fn user_of(root: &Root, pid: u32) -> Option<u32> {
    let mut text = Vec::new();
    crate::file::read_into(&root.join(format!("proc/{pid}/status")), &mut text).ok()?;
    u32::try_from(crate::proc::value(&text, b"Uid:")?).ok()
}

/// Opens /proc/PID: what is opened through it belongs to the process that had the PID then.
pub(crate) fn open_folder(root: &Root, pid: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(root.join(format!("proc/{pid}")), flags, Mode::empty())?)
}

/// Reads a file of an open /proc folder.
pub(crate) fn read_at(folder: &OwnedFd, name: &str, text: &mut Vec<u8>) -> io::Result<()> {
    text.clear();
    let fd = openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(fd).take(1 << 20).read_to_end(text).map(drop)
}

/// Reads one of the files of a process that tell of its memory: `status` or `statm`.
///
/// Those of one whose first thread has ended tell of none (fs/proc/array.c, `get_task_mm`), and it may run on for as long as its user
/// likes: then another thread's are read.
pub(crate) fn read_of_memory(root: &Root, pid: u32, file: &str, text: &mut Vec<u8>) -> io::Result<()> {
    let folder = root.join(format!("proc/{pid}"));
    crate::file::read_into(&folder.join(file), text)?;
    if has_memory(text) {
        return Ok(());
    }
    let mut of_thread = Vec::new();
    for thread in std::fs::read_dir(folder.join("task")).into_iter().flatten().flatten().take(THREADS_READ_MAX) {
        let is_read = crate::file::read_into(&thread.path().join(file), &mut of_thread).is_ok();
        if is_read && has_memory(&of_thread) {
            std::mem::swap(text, &mut of_thread);
            break;
        }
    }
    Ok(())
}

/// Of a status, or of a statm, which is a line of numbers.
fn has_memory(text: &[u8]) -> bool {
    match text.first() {
        Some(b'0'..=b'9') => !text.starts_with(b"0 "),
        _ => crate::proc::after_key(text, b"RssAnon:").is_some(),
    }
}

/// When a process began that has such a start time (`/proc/PID/stat`, field 22), by the clock that all else is told in, which stands still while
/// the device sleeps; the kernel counts start times on. Of one that began before the last sleep it is too early by the sleeps since.
pub(crate) fn started_ns(start_ticks: u64, slept_ns: u64) -> u64 {
    let since_boot_ns = start_ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1));
    since_boot_ns.saturating_sub(slept_ns)
}

/// The time in which start times are told, in ticks since boot.
pub(crate) fn now_ticks() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let per_s = rustix::param::clock_ticks_per_second();
    now.tv_sec as u64 * per_s + now.tv_nsec as u64 * per_s / 1_000_000_000
}

/// For how long the device has slept since it started.
pub(crate) fn slept_ns() -> u64 {
    // In this order: without a sleep the second is never less than the first.
    let [since_boot_ns, awake_ns] = [ClockId::Boottime, ClockId::Monotonic].map(|id| {
        let now = clock_gettime(id);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    });
    since_boot_ns.saturating_sub(awake_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn sleeper() -> Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_outside_the_cgroup_is_not_taken() {
        let mut child = sleeper();
        let found = Process::open_in(&Root::at("/"), "fovea-test-no-such-group", child.id()).unwrap();
        assert!(found.is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_ended_process_is_known_as_ended_and_cannot_be_killed_again() {
        let mut child = sleeper();
        let process = Process::open(&Root::at("/"), child.id()).unwrap();
        assert!(!process.has_ended());
        assert!(process.signal(Signal::KILL).unwrap());
        child.wait().unwrap();
        assert!(process.has_ended());
        assert!(!process.signal(Signal::KILL).unwrap());
        assert!(process.read("stat", &mut Vec::new()).is_err_and(|e| is_gone(&e)));
    }

    #[test]
    fn without_a_pidfd_the_open_folder_names_the_process() {
        let mut child = sleeper();
        let process = Process { pidfd: None, ..Process::open(&Root::at("/"), child.id()).unwrap() };
        assert!(!process.has_ended());
        assert_eq!(process.pidfd().unwrap_err().raw_os_error(), Some(libc::ENOSYS));
        assert!(process.signal(Signal::KILL).unwrap());
        // Reaped: the PID is free to be given to somebody else, and the folder still names nobody but the dead.
        child.wait().unwrap();
        assert!(process.has_ended());
        assert!(!process.signal(Signal::KILL).unwrap());
    }

    /// Also as on a device that has slept: `unshare --time --boottime 36000 --fork` before the test's program.
    #[test]
    fn what_begins_now_began_now_by_the_clock_of_readings() {
        let monotonic_ns = || {
            let now = clock_gettime(ClockId::Monotonic);
            now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
        };
        let before_ns = monotonic_ns();
        let mut child = sleeper();
        let process = Process::open(&Root::at("/"), child.id()).unwrap();
        let stat = process.stat(&mut Vec::new()).unwrap().unwrap();
        let began_ns = started_ns(stat.start_ticks, slept_ns());
        let after_ns = monotonic_ns();
        child.kill().unwrap();
        child.wait().unwrap();
        // The kernel counts in whole ticks, rounded down.
        let tick_ns = started_ns(1, 0);
        assert!(began_ns + tick_ns >= before_ns && began_ns <= after_ns, "{before_ns} {began_ns} {after_ns}");
    }

    #[test]
    fn impossible_pids_are_nobody() {
        for pid in [0, u32::MAX, i32::MAX as u32] {
            assert!(Process::open_in(&Root::at("/"), "x", pid).unwrap().is_none());
        }
    }
}
