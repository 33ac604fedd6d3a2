// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Waits for apps to start, and gives each start a process of its own, which has a deadline: a file system that hangs holds up nobody else.
//! Nothing wakes it but a cgroup that comes or goes, and a deadline while there is one.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use fovea_apps::{owner_of_cgroup, place_of_cgroup, Place};
use fovea_linux::cgroup::Cgroups;
use fovea_linux::clock::now_ns;
use fovea_linux::launch::bind_to_parent;
use fovea_linux::watch::{Seen, Watcher};
use fovea_linux::{fork_worker, Forked, Root};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::pipe::{pipe_with, PipeFlags};
use rustix::process::{getpid, pidfd_open, pidfd_send_signal, waitid, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::ahead::{self, Users};
use crate::keep::Keeper;
use crate::report::{Report, REPORT_MAX_BYTES};
use crate::session::Start;
use crate::{say, Failure};

/// Starts that are attended to at once, of all and of one user; others go without.
const SESSIONS_MAX: usize = 8;
const SESSIONS_OF_USER_MAX: usize = 3;

/// A start counts as attended to for so long at least: what a user can have done by starting apps without end is bounded.
const SLOT: Duration = Duration::from_secs(1);

/// What a start did is written after so long, when it is taken to be over,
const OVER: Duration = Duration::from_secs(4);

/// or when so many starts wait for that.
const REPORTS_MAX: usize = 64;

/// How long one may take.
const DEADLINE: Duration = Duration::from_secs(15);

/// Reading ahead begins when nothing has started or ended for so long,
const QUIET: Duration = Duration::from_secs(10);

/// and may take so long.
const AHEAD_DEADLINE: Duration = Duration::from_secs(60);

/// What a process is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Work {
    /// The start of the app of that cgroup.
    Start(String),
    /// Reading ahead.
    Ahead,
    /// Writing what starts did.
    Keep,
}

struct Session {
    pid: Pid,
    pidfd: OwnedFd,
    report: OwnedFd,
    work: Work,
    began: Instant,
    ends: Instant,
    killed: bool,
    /// It has ended, and its place is not free yet.
    buried: bool,
}

/// What starts did, which is not written yet.
#[derive(Default)]
struct Reports(VecDeque<(Instant, Report)>);

impl Reports {
    /// When the first is to be written.
    fn due(&self) -> Option<Instant> {
        self.0.front().map(|(due, _)| *due)
    }

    /// Those that are to be written now: all that there are, if one is.
    fn take(&mut self, now: Instant) -> Vec<Report> {
        match self.due().is_some_and(|due| due <= now) || self.0.len() >= REPORTS_MAX {
            true => self.0.drain(..).map(|(_, report)| report).collect(),
            false => Vec::new(),
        }
    }
}

/// Writes them, each user's in one step.
fn keep_all(keeper: &Keeper, reports: &[Report]) -> Result<(), String> {
    let users: BTreeSet<u32> = reports.iter().map(|report| report.user).collect();
    let keep = |user: u32| {
        keeper.change(user, |store| reports.iter().filter(|r| r.user == user).for_each(|report| report.keep(store)))
    };
    // One user's trouble is not another's: all are written before the first failure is told.
    let done: Vec<Result<(), String>> = users.into_iter().map(keep).collect();
    done.into_iter().collect()
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
    let mut reports = Reports::default();
    let mut reading = ahead.map(|run_folder| Reading { run_folder, users: Users::default(), due: None });
    loop {
        let due = reading.as_ref().and_then(|reading| reading.due).into_iter().chain(reports.due()).min();
        wait(&watcher, &sessions, due)?;
        reap(&mut sessions, &mut reports);
        let over = reports.take(Instant::now());
        if !over.is_empty() {
            match begin(Work::Keep, DEADLINE, || keep_all(keeper, &over).map(|()| None)) {
                Ok(Some(session)) => sessions.push(session),
                Ok(None) => return Ok(()),
                Err(line) => say(&line),
            }
        }
        let mut seen = watcher.take();
        if watcher.due_ns().is_some_and(|due| due <= now_ns()) {
            seen.extend(watcher.look_over(now_ns()));
        }
        if let Some(reading) = reading.as_mut().filter(|_| !seen.is_empty()) {
            // The device is not idle any more.
            sessions.iter_mut().filter(|session| session.work == Work::Ahead).for_each(Session::kill);
            reading.due = Some(Instant::now() + QUIET);
        }
        for cgroup in seen.into_iter().filter_map(started) {
            let user = owner_of_cgroup(&cgroup);
            let is_of_user = |session: &&Session| session.user() == Some(user);
            let running = sessions.iter().filter(|session| !session.buried).count();
            if running >= SESSIONS_MAX || sessions.iter().filter(is_of_user).count() >= SESSIONS_OF_USER_MAX {
                continue;
            }
            let start = Start { root: &root, cgroups: &cgroups, keeper, cgroup: &cgroup };
            if let Some(reading) = &mut reading {
                if let Some((name, label, user)) = start.who() {
                    reading.users.note(name, &label, user);
                }
            }
            match begin(Work::Start(cgroup.clone()), DEADLINE, || start.attend()) {
                Ok(Some(session)) => sessions.push(session),
                Ok(None) => return Ok(()),
                Err(line) => say(&line),
            }
        }
        let due = reading.as_mut().filter(|reading| reading.due.is_some_and(|due| due <= Instant::now()));
        if let Some(Reading { run_folder, users, due }) = due {
            *due = None;
            match begin(Work::Ahead, AHEAD_DEADLINE, || ahead::read(&root, keeper, run_folder, users).map(|()| None)) {
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
    work: Work,
    deadline: Duration,
    action: impl FnOnce() -> Result<Option<Report>, String>,
) -> Result<Option<Session>, String> {
    let parent = getpid();
    let (report, to) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|e| format!("pipe: {e}"))?;
    match fork_worker().map_err(|e| e.to_string())? {
        Forked::Supervisor(pid) => {
            let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| format!("pidfd_open: {e}"))?;
            let began = Instant::now();
            let ends = began + deadline;
            Ok(Some(Session { pid, pidfd, report, work, began, ends, killed: false, buried: false }))
        }
        Forked::Worker => {
            match bind_to_parent(parent).map_err(|e| e.to_string()).and_then(|()| action()) {
                Ok(None) => {}
                // It fits: nobody reads before this process has ended.
                Ok(Some(done)) => {
                    let _ = rustix::io::write(&to, &done.bytes());
                }
                Err(line) => say(&line),
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

    /// Whose start it is about.
    fn user(&self) -> Option<Option<u32>> {
        match &self.work {
            Work::Start(cgroup) => Some(owner_of_cgroup(cgroup)),
            _ => None,
        }
    }

    /// What the process, which has ended, did.
    fn report(&self) -> Option<Report> {
        let mut bytes = vec![0; REPORT_MAX_BYTES];
        let length = rustix::io::read(&self.report, &mut bytes[..]).ok()?;
        Report::parse(&bytes[..length])
    }
}

fn wait(watcher: &Watcher, sessions: &[Session], due: Option<Instant>) -> Result<(), Failure> {
    let now = Instant::now();
    let running = || sessions.iter().filter(|session| !session.buried);
    let ends = running().filter(|s| !s.killed).map(|s| s.ends).chain(due).min();
    let next = ends.map(|at| at.saturating_duration_since(now));
    let overdue = watcher.due_ns().map(|due| Duration::from_nanos(due.saturating_sub(now_ns())));
    let until = next.into_iter().chain(overdue).min();
    let timeout = until.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: d.subsec_nanos().into() });
    let watched = watcher.fd();
    let mut all = vec![PollFd::new(&watched, PollFlags::IN)];
    all.extend(running().map(|session| PollFd::new(&session.pidfd, PollFlags::IN)));
    match poll(&mut all, timeout.as_ref()) {
        Err(Errno::INTR) | Ok(_) => Ok(()),
        Err(e) => Err(Failure::failed(format!("poll: {e}"))),
    }
}

/// Buries those that have ended, and ends those that are late.
fn reap(sessions: &mut Vec<Session>, reports: &mut Reports) {
    let now = Instant::now();
    sessions.retain_mut(|session| {
        let keeps_place = matches!(session.work, Work::Start(_)) && session.began + SLOT > now;
        if session.buried {
            return keeps_place;
        }
        let status = waitid(WaitId::Pid(session.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        if !matches!(status, Ok(None)) {
            reports.0.extend(session.report().map(|report| (session.began + OVER, report)));
            session.buried = true;
            return keeps_place;
        }
        if session.ends <= now && !session.killed {
            if let Work::Start(cgroup) = &session.work {
                let seconds = DEADLINE.as_secs();
                say(&format!("{cgroup}: a file of it did not answer in {seconds} s: this start goes without"));
            }
            session.kill();
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_did_is_written_together_when_the_first_is_over_or_many_wait() {
        let (mut reports, began) = (Reports::default(), Instant::now());
        for nth in 0..3 {
            let due = began + OVER + nth * SLOT;
            reports.0.push_back((due, Report::of(nth, "viewer")));
        }
        assert!(reports.take(began).is_empty());
        assert_eq!(reports.due(), Some(began + OVER));
        assert_eq!(reports.take(began + OVER).len(), 3);
        assert_eq!((reports.due(), reports.take(began + 2 * OVER).len()), (None, 0));
        reports.0.extend((0..REPORTS_MAX).map(|_| (began + OVER, Report::of(7, "viewer"))));
        assert_eq!(reports.take(began).len(), REPORTS_MAX);
    }

    #[test]
    fn ten_thousand_starts_of_one_user_are_kept_within_that_users_file() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(folder.path().join("launch"));
        keeper.prepare().unwrap();
        keep_all(&keeper, &[Report::of(1000, "mail")]).unwrap();
        let fakes: Vec<Report> = (0..10_000).map(|nth| Report::of(1001, &format!("fake-{nth}"))).collect();
        for some in fakes.chunks(REPORTS_MAX) {
            keep_all(&keeper, some).unwrap();
        }
        assert_eq!(keeper.read(1001).unwrap().apps().count(), fovea_launch::store::APPS_MAX);
        assert!(keeper.read(1000).unwrap().app("mail").is_some());
    }
}
