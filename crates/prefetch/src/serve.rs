// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Waits for apps to start, and gives each start a process of its own, which has a deadline: a file system that hangs holds up nobody else.
//! Nothing wakes it but a cgroup that comes or goes, and a deadline while there is one.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use fovea_apps::{owner_of_cgroup, place_of_cgroup, Place};
use fovea_linux::cgroup::Cgroups;
use fovea_linux::launch::bind_to_parent;
use fovea_linux::{fork_worker, Forked, Root};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{getpid, pidfd_open, pidfd_send_signal, waitid, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::keep::Keeper;
use crate::session::Start;
use crate::watch::{Seen, Watcher};
use crate::{say, Failure};

/// Starts that are attended to at once, of all and of one user; others go without.
const SESSIONS_MAX: usize = 8;
const SESSIONS_OF_USER_MAX: usize = 3;

/// How long one may take.
const DEADLINE: Duration = Duration::from_secs(15);

struct Session {
    pid: Pid,
    pidfd: OwnedFd,
    cgroup: String,
    ends: Instant,
    killed: bool,
}

/// Until it is ended.
pub fn run(keeper: &Keeper) -> Result<(), Failure> {
    let root = Root::at("/");
    let cgroups = Cgroups::find(&root).map_err(Failure::lacks)?;
    keeper.prepare().map_err(Failure::failed)?;
    let mut watcher = Watcher::new(cgroups.mount()).map_err(|e| Failure::failed(format!("inotify: {e}")))?;
    // Whoever runs already has started.
    watcher.discover();
    let mut sessions: Vec<Session> = Vec::new();
    loop {
        wait(&watcher, &sessions)?;
        reap(&mut sessions);
        let mut seen = watcher.take();
        if watcher.due_ns().is_some_and(|due| due <= now_ns()) {
            seen.extend(watcher.look_over(now_ns()));
        }
        for cgroup in seen.into_iter().filter_map(started) {
            let user = owner_of_cgroup(&cgroup);
            let of_user = sessions.iter().filter(|session| owner_of_cgroup(&session.cgroup) == user).count();
            if sessions.len() >= SESSIONS_MAX || of_user >= SESSIONS_OF_USER_MAX {
                continue;
            }
            match begin(&root, &cgroups, keeper, cgroup) {
                Ok(Some(session)) => sessions.push(session),
                Ok(None) => return Ok(()),
                Err(line) => say(&line),
            }
        }
    }
}

/// The cgroup of an app that has started.
fn started(seen: Seen) -> Option<String> {
    match seen {
        Seen::Appeared(cgroup) if place_of_cgroup(&cgroup).place == Place::App => Some(cgroup),
        _ => None,
    }
}

/// `None` in the process that was made, when it is done.
fn begin(root: &Root, cgroups: &Cgroups, keeper: &Keeper, cgroup: String) -> Result<Option<Session>, String> {
    let parent = getpid();
    match fork_worker().map_err(|e| e.to_string())? {
        Forked::Supervisor(pid) => {
            let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| format!("pidfd_open: {e}"))?;
            Ok(Some(Session { pid, pidfd, cgroup, ends: Instant::now() + DEADLINE, killed: false }))
        }
        Forked::Worker => {
            let start = Start { root, cgroups, keeper, cgroup: &cgroup };
            let attended = bind_to_parent(parent).map_err(|e| e.to_string()).and_then(|()| start.attend());
            if let Err(line) = attended {
                say(&line);
            }
            Ok(None)
        }
    }
}

fn wait(watcher: &Watcher, sessions: &[Session]) -> Result<(), Failure> {
    let now = Instant::now();
    let next = sessions.iter().filter(|s| !s.killed).map(|s| s.ends.saturating_duration_since(now)).min();
    let due = watcher.due_ns().map(|due| Duration::from_nanos(due.saturating_sub(now_ns())));
    let until = next.into_iter().chain(due).min();
    let timeout = until.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: d.subsec_nanos().into() });
    let watched = watcher.fd();
    let mut all = vec![PollFd::new(&watched, PollFlags::IN)];
    all.extend(sessions.iter().map(|session| PollFd::new(&session.pidfd, PollFlags::IN)));
    match poll(&mut all, timeout.as_ref()) {
        Err(Errno::INTR) | Ok(_) => Ok(()),
        Err(e) => Err(Failure::failed(format!("poll: {e}"))),
    }
}

/// Buries those that have ended, and ends those that are late.
fn reap(sessions: &mut Vec<Session>) {
    let now = Instant::now();
    sessions.retain_mut(|session| {
        let status = waitid(WaitId::Pid(session.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        if !matches!(status, Ok(None)) {
            return false;
        }
        if session.ends <= now && !session.killed {
            session.killed = true;
            let seconds = DEADLINE.as_secs();
            say(&format!("{}: a file of it did not answer in {seconds} s: this start goes without", session.cgroup));
            let _ = pidfd_send_signal(&session.pidfd, Signal::KILL);
        }
        true
    });
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
