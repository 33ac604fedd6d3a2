// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The probe: a child process that touches what others own, so that the daemon's loop never waits for them.
//!
//! Whoever serves a file system (FUSE, NFS) decides when a file's `stat` ends; whoever closes a socket decides for how
//! long the last `close` of it lasts (SO_LINGER). So descriptors of other people's processes are only looked at and
//! copied here. The daemon waits a bounded time for an answer. A probe that is late is killed, with what it holds, and
//! its answer is never read; the user at whose process it hung is passed over for a while, and everybody else is looked
//! at by the next probe. The probe has of the daemon's capabilities only those that reading descriptors takes.

mod blame;
mod child;
mod frame;
pub(crate) mod inspect;
mod inspector;
mod serve;
mod stalls;
pub(crate) mod task;
mod waited;
pub(crate) mod watched;

use std::collections::BTreeMap;
use std::io;
use std::mem::discriminant;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fovea_apps::limits::{PROBE_ANSWER_MS, PROBE_WAITS_MS};
use fovea_apps::Service;
use serde::{Deserialize, Serialize};

use crate::file::Root;
use crate::media::MediaUser;
use crate::net::{Act, Descriptors, Done, Hand};
use crate::{Error, ServiceUser};
use blame::{Blames, Owner};
use child::{senseless, NotReady, Running, Strays, START_LIMIT};
use inspect::Probes;
use inspector::Inspector;
use task::{Failure, Outcome, Place, Task};
use waited::Waited;

pub use serve::serve;

/// Time an answer may take while things are put back, when no loop waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time after a late answer in which nothing is asked: however many users there are to hang at, the loop waits a small
/// part of the time.
const REST: Duration = Duration::from_secs(1);

/// A probe that is at work all the time and slow is waited for so long, though not for its answer.
const SLOW_LIMIT: Duration = Duration::from_secs(3);

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
enum Question {
    /// First of all, where to look, and whom not to look at.
    Media {
        look_for_video: bool,
        blamed: Vec<Owner>,
    },
    Services {
        table: Vec<Service>,
        blamed: Vec<Owner>,
    },
    Connection {
        pid: u32,
        fd: i32,
        inode: u64,
        act: Act,
    },
    Process {
        task: Task,
        /// Processes that are passed over.
        held_up: Vec<u32>,
    },
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Ready,
    Media(Result<Vec<MediaUser>, String>),
    Services(Result<Vec<ServiceUser>, String>),
    /// An error is its number.
    Connection(Result<Done, i32>),
    Process(Result<Outcome, Failure>),
}

/// Where the probe looks.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub root: Root,
    pub devices: Root,
}

/// The daemon's side.
#[derive(Debug)]
pub struct Probe {
    program: PathBuf,
    limit: Duration,
    is_patient: bool,
    running: Option<Running>,
    strays: Strays,
    /// At whom a probe hung.
    blames: Blames,
    rests_until: Option<Instant>,
    waited: Waited,
    /// A new probe knows of no video device's user.
    knows_video: bool,
    /// What was answered last: of a user who is passed over, it stays so.
    media: Vec<MediaUser>,
    services: Vec<ServiceUser>,
}

impl Probe {
    /// A probe that is this program again, asked by a loop.
    pub fn for_loop() -> Probe {
        Probe::of(Path::new("/proc/self/exe"), Duration::from_millis(PROBE_ANSWER_MS.into()), false)
    }

    /// The same asked by somebody who can wait.
    pub fn patient() -> Probe {
        Probe::of(Path::new("/proc/self/exe"), PATIENCE, true)
    }

    pub(super) fn of(program: &Path, limit: Duration, is_patient: bool) -> Probe {
        Probe {
            program: program.to_owned(),
            limit,
            is_patient,
            running: None,
            strays: Strays::default(),
            blames: Blames::new(limit),
            rests_until: None,
            waited: Waited::full(limit),
            knows_video: false,
            media: Vec::new(),
            services: Vec::new(),
        }
    }

    /// Starts it and waits until it answers, as whoever has time does.
    pub(crate) fn start(&mut self, places: &Places) -> io::Result<()> {
        self.spawn(places)?;
        self.wait_until_ready(START_LIMIT)
    }

    /// Who uses sound and video: see [`crate::media::Media::users`].
    pub(crate) fn media_users(&mut self, places: &Places, look_for_video: bool) -> io::Result<Vec<MediaUser>> {
        let look_for_video = look_for_video || !self.knows_video;
        let blamed = self.blames.passed_over();
        let question = Question::Media { look_for_video, blamed: blamed.clone() };
        match self.ask(places, &question) {
            // What was answered a moment ago is as good.
            Err(e) if is_not_now(&e) && !look_for_video => Ok(self.media.clone()),
            Err(e) => Err(e),
            Ok(Answer::Media(users)) => {
                self.knows_video |= look_for_video;
                let mut users = users.map_err(io::Error::other)?;
                users.extend(self.media.iter().filter(|user| is_of(&blamed, user.pid)));
                users.sort_unstable();
                users.dedup();
                self.media.clone_from(&users);
                Ok(users)
            }
            Ok(_) => Err(self.senseless()),
        }
    }

    /// Who uses services: see [`crate::services::users`].
    pub(crate) fn service_users(&mut self, places: &Places, table: &[Service]) -> io::Result<Vec<ServiceUser>> {
        let blamed = self.blames.passed_over();
        let question = Question::Services { table: table.to_vec(), blamed: blamed.clone() };
        match self.ask(places, &question) {
            Err(e) if is_not_now(&e) => Ok(self.services.clone()),
            Err(e) => Err(e),
            Ok(Answer::Services(users)) => {
                let mut users = users.map_err(io::Error::other)?;
                users.extend(self.services.iter().filter(|user| is_of(&blamed, user.pid)));
                users.sort_unstable();
                users.dedup();
                self.services.clone_from(&users);
                Ok(users)
            }
            Ok(_) => Err(self.senseless()),
        }
    }

    fn senseless(&mut self) -> io::Error {
        self.kill(None);
        senseless()
    }

    /// Touches a connection.
    fn act(&mut self, places: &Places, pid: u32, fd: i32, inode: u64, act: Act) -> io::Result<Done> {
        if Owner::of_process(pid).is_some_and(|owner| self.blames.is_passed_over(&owner)) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its user's processes hold up whoever looks at them"));
        }
        match self.ask(places, &Question::Connection { pid, fd, inode, act })? {
            Answer::Connection(done) => done.map_err(io::Error::from_raw_os_error),
            _ => Err(self.senseless()),
        }
    }

    /// Asks a probe that is there, starts one where there is none, and is done with one that is late.
    fn ask(&mut self, places: &Places, question: &Question) -> io::Result<Answer> {
        if self.rests_until.is_some_and(|until| until > Instant::now()) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the probe was late a moment ago"));
        }
        if self.running.is_none() {
            self.spawn(places)?;
        }
        self.wait_until_ready(if self.is_patient { START_LIMIT } else { Duration::ZERO })?;
        let limit = if self.is_patient { Some(self.limit) } else { self.waited.may_wait(self.limit) };
        let limit = limit.ok_or_else(not_now)?;
        let began = Instant::now();
        let answer = self.wait_for_answer(question, began + limit);
        self.waited.spend(began.elapsed());
        answer
    }

    fn wait_for_answer(&mut self, question: &Question, deadline: Instant) -> io::Result<Answer> {
        let Some(running) = &mut self.running else { return Err(io::ErrorKind::NotFound.into()) };
        let Running { link, incoming, owes, .. } = &mut *running;
        let kind = discriminant(question);
        let mut next_answer = |link: &mut UnixStream| incoming.read(link, deadline);
        let mut owed = owes.take();
        let (asked, error) = loop {
            let (asked, answer) = match owed.take() {
                Some(asked) => (asked, next_answer(link)),
                None => {
                    let written = frame::write(link, question, deadline);
                    ((Instant::now(), kind), written.and_then(|()| next_answer(link)))
                }
            };
            match answer {
                // Of who uses what, what a slow probe was asked a moment ago is as good as new; of anything else it is dropped.
                Ok(_) if asked.1 != kind => {}
                Ok(answer) => return Ok(answer),
                Err(e) => break (asked, e),
            }
        };
        self.rests_until = Some(Instant::now() + REST);
        let is_late = error.kind() == io::ErrorKind::TimedOut;
        let may_be_used = !matches!(question, Question::Connection { .. });
        if is_late && may_be_used && asked.0.elapsed() < SLOW_LIMIT && running.is_running() {
            // Slow, as the whole machine may be, and not held up by anybody.
            running.owes = Some(asked);
        } else {
            // What hangs at a user's process hangs at all of the user's that the user likes.
            let owner = running.touched().filter(|_| is_late).and_then(Owner::of_process);
            if let Some(owner) = &owner {
                self.blames.add(owner, None);
            }
            self.kill(owner);
        }
        Err(error)
    }

    fn spawn(&mut self, places: &Places) -> io::Result<()> {
        self.strays.refuse_too_many()?;
        self.running = Some(Running::start(&self.program, places)?);
        self.knows_video = false;
        Ok(())
    }

    fn wait_until_ready(&mut self, at_most: Duration) -> io::Result<()> {
        match self.running.as_mut().map_or(Ok(()), |running| running.wait_until_ready(at_most)) {
            Ok(()) => Ok(()),
            Err(NotReady::Starting) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the probe has only just been started"))
            }
            Err(NotReady::Failed(e)) => {
                self.kill(None);
                self.rests_until = Some(Instant::now() + REST);
                Err(e)
            }
        }
    }

    fn kill(&mut self, owner: Option<Owner>) {
        if let Some(running) = self.running.take() {
            self.strays.kill(running, owner);
        }
    }

    /// With the one that looks into processes, which is started alike.
    pub(crate) fn with_inspector(self, places: Places) -> Probes {
        let limit = if self.is_patient { PATIENCE } else { Duration::from_millis(PROBE_WAITS_MS.into()) };
        let processes = Inspector::new(self.program.clone(), limit, self.is_patient);
        Probes { files: self, processes, places }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.kill(None);
    }
}

/// The probes as the hand by which connections are touched and looked for.
pub(crate) struct ByProbe<'a>(pub &'a mut Probes);

impl Hand for ByProbe<'_> {
    fn act(&mut self, pid: u32, fd: i32, inode: u64, act: Act) -> io::Result<Done> {
        self.0.files.act(&self.0.places, pid, fd, inode, act)
    }

    fn sockets(
        &mut self,
        _root: &Root,
        cgroup: &str,
        pids: &[u32],
        wanted: &[u64],
        known: &Descriptors,
    ) -> Result<Descriptors, Error> {
        let of_these = |&(_, (pid, _)): &(&u64, &(u32, i32))| pids.contains(pid);
        let known: Vec<Place> = known.iter().filter(of_these).map(|(inode, (pid, fd))| (*inode, *pid, *fd)).collect();
        let task = Task::Sockets { pids: pids.to_vec(), wanted: wanted.to_vec(), known };
        match self.0.ask(cgroup, task)? {
            Outcome::Places(found) => Ok(found.into_iter().map(|(inode, pid, fd)| (inode, (pid, fd))).collect()),
            _ => Err(inspect::senseless()),
        }
    }

    fn namespaces(&mut self, _root: &Root, cgroup: &str, pids: Vec<u32>) -> Result<BTreeMap<u64, u32>, Error> {
        match self.0.ask(cgroup, Task::Namespaces { pids })? {
            Outcome::Places(found) => Ok(found.into_iter().map(|(id, pid, _)| (id, pid)).collect()),
            _ => Err(inspect::senseless()),
        }
    }
}

/// There was nothing wrong: other answers have taken what time there is.
fn not_now() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "the probe has been waited for long enough just now")
}

/// Whether that is why nothing was asked.
pub(crate) fn is_not_now(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

fn is_of(owners: &[Owner], pid: u32) -> bool {
    !owners.is_empty() && Owner::of_process(pid).is_some_and(|owner| owners.contains(&owner))
}

#[cfg(test)]
#[path = "probe/tests.rs"]
mod tests;
