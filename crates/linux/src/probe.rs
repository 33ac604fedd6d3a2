// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The probe: a child process that touches what others own, so that the daemon's loop never waits for them.
//!
//! Whoever serves a file system (FUSE, NFS) decides when a file's `stat` ends; whoever closes a socket decides for how
//! long the last `close` of it lasts (SO_LINGER). So descriptors of other people's processes are only looked at and
//! copied here. The daemon waits a bounded time for an answer. A probe that is late is killed, with what it holds, and
//! its answer is never read; the user at whose process it hung is passed over for a while, and everybody else is looked
//! at by the next probe. The probe has of the daemon's capabilities only those that reading descriptors takes.

mod frame;
mod serve;
mod waited;
pub(crate) mod watched;

use std::collections::BTreeMap;
use std::io;
use std::mem::{discriminant, Discriminant};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fovea_apps::limits::{PROBE_ANSWER_MS, PROBE_BLAMED_S};
use fovea_apps::Service;
use serde::{Deserialize, Serialize};

use crate::file::Root;
use crate::media::MediaUser;
use crate::net::{Act, Done, Hand};
use crate::ServiceUser;
use frame::Incoming;
use waited::Waited;

pub use serve::serve;

/// The command of the program that becomes a probe.
const COMMAND: &str = "probe";

/// Time a new probe has until it answers at all: on a loaded machine a program takes that long to start.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Time an answer may take while things are put back, when no loop waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time after a late answer in which nothing is asked: however many users there are to hang at, the loop waits a small
/// part of the time.
const REST: Duration = Duration::from_secs(1);

/// A probe that is at work all the time and slow is waited for so long, though not for its answer.
const SLOW_LIMIT: Duration = Duration::from_secs(3);

/// Probes that were killed and have not ended: more are not started.
const STRAYS_MAX: usize = 4;

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
enum Question {
    /// First of all, where to look, and whom not to look at.
    Media {
        look_for_video: bool,
        blamed: Vec<u32>,
    },
    Services {
        table: Vec<Service>,
        blamed: Vec<u32>,
    },
    Connection {
        pid: u32,
        fd: i32,
        inode: u64,
        act: Act,
    },
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Ready,
    /// A process is about to be touched.
    Touches(u32),
    Media(Result<Vec<MediaUser>, String>),
    Services(Result<Vec<ServiceUser>, String>),
    /// An error is its number.
    Connection(Result<Done, i32>),
}

/// Where the probe looks.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub root: Root,
    pub devices: Root,
}

#[derive(Debug)]
struct Running {
    child: Child,
    link: UnixStream,
    is_ready: bool,
    started: Instant,
    incoming: Incoming,
    /// When it was asked what it has not answered in time, and what that was.
    owes: Option<Asked>,
}

type Asked = (Instant, Discriminant<Question>);

/// The daemon's side.
#[derive(Debug)]
pub struct Probe {
    program: PathBuf,
    limit: Duration,
    is_patient: bool,
    running: Option<Running>,
    strays: Vec<Child>,
    /// Users at whom a probe hung, and when they are looked at again.
    blamed: BTreeMap<u32, Instant>,
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

    fn of(program: &Path, limit: Duration, is_patient: bool) -> Probe {
        Probe {
            program: program.to_owned(),
            limit,
            is_patient,
            running: None,
            strays: Vec::new(),
            blamed: BTreeMap::new(),
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
        let blamed = self.blamed();
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
        let blamed = self.blamed();
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

    fn blamed(&mut self) -> Vec<u32> {
        let now = Instant::now();
        self.blamed.retain(|_, until| *until > now);
        self.blamed.keys().copied().collect()
    }

    fn senseless(&mut self) -> io::Error {
        self.kill();
        io::Error::other("the probe's answer makes no sense: is the program being replaced?")
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
        self.waited.spend(began);
        answer
    }

    fn wait_for_answer(&mut self, question: &Question, deadline: Instant) -> io::Result<Answer> {
        let Some(Running { child, link, incoming, owes, .. }) = &mut self.running else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let kind = discriminant(question);
        let mut touches = None;
        let mut next_answer = |link: &mut UnixStream| loop {
            match incoming.read(link, deadline) {
                Ok(Answer::Touches(pid)) => touches = Some(pid),
                other => break other,
            }
        };
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
        if is_late && may_be_used && asked.0.elapsed() < SLOW_LIMIT && is_running(child.id()) {
            // Slow, as the whole machine may be, and not held up by anybody.
            *owes = Some(asked);
        } else {
            self.blame(touches.filter(|_| is_late));
            self.kill();
        }
        Err(error)
    }

    /// What hangs at a user's process hangs at all of his that he likes; of root's it is that one that would be passed
    /// over, and nobody else has such.
    fn blame(&mut self, pid: Option<u32>) {
        let Some(user) = pid.and_then(owner) else { return };
        self.blamed.insert(user, Instant::now() + Duration::from_secs(PROBE_BLAMED_S.into()));
    }

    fn spawn(&mut self, places: &Places) -> io::Result<()> {
        self.strays.retain_mut(|stray| stray.try_wait().is_ok_and(|status| status.is_none()));
        if self.strays.len() >= STRAYS_MAX {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "probes that were killed do not end"));
        }
        let (link, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.program);
        command.arg(COMMAND).args([places.root.join(""), places.devices.join("")]);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        self.knows_video = false;
        self.running = Some(Running {
            child,
            link,
            is_ready: false,
            started: Instant::now(),
            incoming: Incoming::default(),
            owes: None,
        });
        Ok(())
    }

    fn wait_until_ready(&mut self, at_most: Duration) -> io::Result<()> {
        let Some(Running { link, incoming, is_ready, started, .. }) = &mut self.running else { return Ok(()) };
        if *is_ready {
            return Ok(());
        }
        match incoming.read(link, Instant::now() + at_most) {
            Ok(Answer::Ready) => {
                *is_ready = true;
                Ok(())
            }
            Ok(_) => Err(self.senseless()),
            // Before it answers at all it is not late.
            Err(e) if e.kind() == io::ErrorKind::TimedOut && started.elapsed() < START_LIMIT => {
                Err(io::Error::new(e.kind(), "the probe has only just been started"))
            }
            Err(e) => {
                self.kill();
                self.rests_until = Some(Instant::now() + REST);
                Err(e)
            }
        }
    }

    /// Its end is not waited for: it may hang where no signal reaches it.
    fn kill(&mut self) {
        let Some(Running { mut child, .. }) = self.running.take() else { return };
        let _ = child.kill();
        if !child.try_wait().is_ok_and(|status| status.is_some()) {
            self.strays.push(child);
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A probe and where it looks, as the hand by which connections are touched.
pub(crate) struct ByProbe<'a>(pub &'a mut Probe, pub &'a Places);

impl Hand for ByProbe<'_> {
    fn act(&mut self, pid: u32, fd: i32, inode: u64, act: Act) -> io::Result<Done> {
        let ByProbe(probe, places) = self;
        if owner(pid).is_some_and(|user| probe.blamed().contains(&user)) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its user's processes hold up whoever looks at them"));
        }
        match probe.ask(places, &Question::Connection { pid, fd, inode, act })? {
            Answer::Connection(done) => done.map_err(io::Error::from_raw_os_error),
            _ => Err(probe.senseless()),
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

fn is_of(users: &[u32], pid: u32) -> bool {
    !users.is_empty() && owner(pid).is_some_and(|user| users.contains(&user))
}

/// Whether a process wants the CPU, and waits for nothing else.
fn is_running(pid: u32) -> bool {
    let mut text = Vec::new();
    let read = crate::file::read_into(Path::new(&format!("/proc/{pid}/stat")), &mut text);
    read.is_ok() && crate::proc::Stat::parse(&text).is_some_and(|stat| stat.state == b'R')
}

/// The user of a process, who cannot be root here: root need not hold anybody up.
fn owner(pid: u32) -> Option<u32> {
    crate::process::user_of_process(pid).filter(|&user| user != 0)
}

#[cfg(test)]
#[path = "probe/tests.rs"]
mod tests;
