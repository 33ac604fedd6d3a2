// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Waits for apps to start, and gives each start a process of its own, which has a deadline: a file system that hangs holds up nobody else.
//! Nothing wakes it but a cgroup that comes or goes, and a deadline while there is one.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_apps::{owner_of_cgroup, place_of_cgroup, Place};
use fovea_linux::cgroup::Cgroups;
use fovea_linux::launch::bind_to_parent;
use fovea_linux::watch::{Seen, Watcher};
use fovea_linux::{fork_worker, Forked, Root};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{getpid, pidfd_open, pidfd_send_signal, waitid, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::ahead::{self, Users};
use crate::keep::Keeper;
use crate::session::Start;
use crate::{say, Failure};

/// Starts that are attended to at once, of all and of one user; others go without.
const SESSIONS_MAX: usize = 8;
const SESSIONS_OF_USER_MAX: usize = 3;

/// How long one may take.
const DEADLINE: Duration = Duration::from_secs(15);

/// Reading ahead begins when nothing has started or ended for so long,
const QUIET: Duration = Duration::from_secs(10);

/// and may take so long.
const AHEAD_DEADLINE: Duration = Duration::from_secs(60);

struct Session {
    pid: Pid,
    pidfd: OwnedFd,
    /// The app's; none of who reads ahead.
    cgroup: Option<String>,
    ends: Instant,
    killed: bool,
}

/// What is read ahead, by whose rights, and when next.
struct Reading<'a> {
    run_folder: &'a Path,
    users: Users,
    due: Option<Instant>,
}

/// Until it is ended. The daemon of that run folder is asked who is likely to be next, if anything is to be read ahead.
pub fn run(keeper: &Keeper, ahead: Option<&Path>) -> Result<(), Failure> {
    let root = Root::at("/");
    let cgroups = Cgroups::find(&root).map_err(Failure::lacks)?;
    keeper.prepare().map_err(Failure::failed)?;
    let mut watcher = Watcher::new(cgroups.mount(), say).map_err(|e| Failure::failed(format!("inotify: {e}")))?;
    // Whoever runs already has started.
    watcher.discover();
    let mut sessions: Vec<Session> = Vec::new();
    let mut reading = ahead.map(|run_folder| Reading { run_folder, users: Users::default(), due: None });
    loop {
        wait(&watcher, &sessions, reading.as_ref().and_then(|reading| reading.due))?;
        reap(&mut sessions);
        let mut seen = watcher.take();
        if watcher.due_ns().is_some_and(|due| due <= now_ns()) {
            seen.extend(watcher.look_over(now_ns()));
        }
        if let Some(reading) = reading.as_mut().filter(|_| !seen.is_empty()) {
            // The device is not idle any more.
            sessions.iter_mut().filter(|session| session.cgroup.is_none()).for_each(Session::kill);
            reading.due = Some(Instant::now() + QUIET);
        }
        for cgroup in seen.into_iter().filter_map(started) {
            let user = owner_of_cgroup(&cgroup);
            let is_of_user = |session: &&Session| session.cgroup.as_deref().map(owner_of_cgroup) == Some(user);
            if sessions.len() >= SESSIONS_MAX || sessions.iter().filter(is_of_user).count() >= SESSIONS_OF_USER_MAX {
                continue;
            }
            let start = Start { root: &root, cgroups: &cgroups, keeper, cgroup: &cgroup };
            if let Some(reading) = &mut reading {
                if let Some((name, label, user)) = start.who() {
                    reading.users.note(name, &label, user);
                }
            }
            match begin(Some(cgroup.clone()), DEADLINE, || start.attend()) {
                Ok(Some(session)) => sessions.push(session),
                Ok(None) => return Ok(()),
                Err(line) => say(&line),
            }
        }
        let due = reading.as_mut().filter(|reading| reading.due.is_some_and(|due| due <= Instant::now()));
        if let Some(Reading { run_folder, users, due }) = due {
            *due = None;
            match begin(None, AHEAD_DEADLINE, || ahead::read(&root, keeper, run_folder, users)) {
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

/// Has a process of its own do something; `None` in that process, when it is done.
fn begin(
    cgroup: Option<String>,
    deadline: Duration,
    work: impl FnOnce() -> Result<(), String>,
) -> Result<Option<Session>, String> {
    let parent = getpid();
    match fork_worker().map_err(|e| e.to_string())? {
        Forked::Supervisor(pid) => {
            let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| format!("pidfd_open: {e}"))?;
            Ok(Some(Session { pid, pidfd, cgroup, ends: Instant::now() + deadline, killed: false }))
        }
        Forked::Worker => {
            if let Err(line) = bind_to_parent(parent).map_err(|e| e.to_string()).and_then(|()| work()) {
                say(&line);
            }
            Ok(None)
        }
    }
}

impl Session {
    fn kill(&mut self) {
        self.killed = true;
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }
}

fn wait(watcher: &Watcher, sessions: &[Session], ahead: Option<Instant>) -> Result<(), Failure> {
    let now = Instant::now();
    let ends = sessions.iter().filter(|s| !s.killed).map(|s| s.ends).chain(ahead).min();
    let next = ends.map(|at| at.saturating_duration_since(now));
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
            if let Some(cgroup) = &session.cgroup {
                let seconds = DEADLINE.as_secs();
                say(&format!("{cgroup}: a file of it did not answer in {seconds} s: this start goes without"));
            }
            session.kill();
        }
        true
    });
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
