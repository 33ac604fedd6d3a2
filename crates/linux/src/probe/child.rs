// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Starting a probe, and giving one up.

use std::fs::File;
use std::io;
use std::mem::Discriminant;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;

use super::blame::Owner;
use super::frame::Incoming;
use super::serve::NICE;
use super::stalls::Stalls;
use super::{Answer, Places, Question};

/// The command of the program that becomes a probe.
const COMMAND: &str = "probe";

/// Time a new probe has until it answers at all: on a loaded machine a program takes that long to start.
pub(super) const START_LIMIT: Duration = Duration::from_secs(10);

/// Probes that were killed and have not ended, of one owner's doing: that owner is passed over until one has.
const STRAYS_OF_OWNER_MAX: usize = 2;

/// The same of all owners together: more are not started.
const STRAYS_MAX: usize = 16;

/// When it was asked what it has not answered in time, and what that was.
pub(super) type Asked = (Instant, Discriminant<Question>);

/// A probe.
#[derive(Debug)]
pub(super) struct Running {
    pub child: Child,
    pub link: UnixStream,
    /// Holds the PID of the process that it touches: a file in memory, for nobody need be woken to read that.
    touches: File,
    /// It is in the same cgroup.
    stalls: Stalls,
    pub is_ready: bool,
    started: Instant,
    pub incoming: Incoming,
    pub owes: Option<Asked>,
}

/// Why a new probe does not answer.
pub(super) enum NotReady {
    /// It may still be starting.
    Starting,
    /// It failed, or says what makes no sense.
    Failed(io::Error),
}

impl Running {
    pub fn start(program: &Path, places: &Places) -> io::Result<Running> {
        let (link, theirs) = UnixStream::pair()?;
        let touches = File::from(rustix::fs::memfd_create("fovea-probe", MemfdFlags::CLOEXEC)?);
        let mut command = Command::new(program);
        command.arg(COMMAND).args([places.root.join(""), places.devices.join("")]);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(touches.try_clone()?).stderr(Stdio::null());
        let child = command.spawn()?;
        let incoming = Incoming::default();
        let stalls = Stalls::of_own_cgroup(&places.root);
        Ok(Running { child, link, touches, stalls, is_ready: false, started: Instant::now(), incoming, owes: None })
    }

    /// The process that it touched last.
    pub fn touched(&self) -> Option<u32> {
        let mut pid = [0; 4];
        self.touches.read_exact_at(&mut pid, 0).ok()?;
        Some(u32::from_ne_bytes(pid)).filter(|&pid| pid > 0)
    }

    pub fn wait_until_ready(&mut self, at_most: Duration) -> Result<(), NotReady> {
        if self.is_ready {
            return Ok(());
        }
        match self.incoming.read(&mut self.link, Instant::now() + at_most) {
            Ok(Answer::Ready) => {
                self.is_ready = true;
                Ok(())
            }
            Ok(_) => Err(NotReady::Failed(senseless())),
            // Before it answers at all it is not late.
            Err(e) if e.kind() == io::ErrorKind::TimedOut && self.started.elapsed() < START_LIMIT => {
                Err(NotReady::Starting)
            }
            Err(e) => Err(NotReady::Failed(e)),
        }
    }

    /// For how long it has had a CPU, or waited for one or for memory: all that it does but waiting for others
    /// (Documentation/scheduler/sched-stats.rst).
    pub fn busy(&self) -> Option<Duration> {
        let mut text = Vec::new();
        let path = PathBuf::from(format!("/proc/{}/schedstat", self.child.id()));
        crate::file::read_into(&path, &mut text).ok()?;
        let mut fields = text.split(u8::is_ascii_whitespace).map(crate::proc::number);
        let on_cpu = Duration::from_nanos(fields.next()??.saturating_add(fields.next()??));
        Some(on_cpu + self.stalls.total())
    }

    /// Whether it gets the CPU before most others, as while it is waited for, or like any of them.
    pub fn before_others(&self, is_first: bool) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        // Where it is refused it is as it was.
        let _ = rustix::process::setpriority_process(pid, if is_first { NICE } else { 0 });
    }

    /// Whether it wants the CPU, and waits for nothing else.
    pub fn is_running(&self) -> bool {
        let mut text = Vec::new();
        let path = PathBuf::from(format!("/proc/{}/stat", self.child.id()));
        let read = crate::file::read_into(&path, &mut text);
        read.is_ok() && crate::proc::Stat::parse(&text).is_some_and(|stat| stat.state == b'R')
    }
}

pub(super) fn senseless() -> io::Error {
    io::Error::other("the probe's answer makes no sense: is the program being replaced?")
}

/// Probes that were killed and have not ended, and at whom they hung: where no signal reaches them, if nobody is named there.
#[derive(Debug, Default)]
pub(super) struct Strays(Vec<(Option<Owner>, Child)>);

impl Strays {
    /// Kills a probe. Its end is not waited for: it may hang where no signal reaches it.
    pub fn kill(&mut self, running: Running, owner: Option<Owner>) {
        let Running { mut child, .. } = running;
        let _ = child.kill();
        if !child.try_wait().is_ok_and(|status| status.is_some()) {
            self.0.push((owner, child));
        }
    }

    /// Takes note of those that have ended.
    fn bury(&mut self) {
        self.0.retain_mut(|(_, stray)| stray.try_wait().is_ok_and(|status| status.is_none()));
    }

    /// An error if there are too many for one more to be started.
    pub fn refuse_too_many(&mut self) -> io::Result<()> {
        self.bury();
        match self.0.len() < STRAYS_MAX {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::TimedOut, "probes that were killed do not end")),
        }
    }

    /// Whether as many hang at an owner as may.
    pub fn are_full_of(&mut self, owner: &Owner) -> bool {
        let hung = |strays: &Strays| strays.0.iter().filter(|(at, _)| at.as_ref() == Some(owner)).count();
        if hung(self) >= STRAYS_OF_OWNER_MAX {
            self.bury();
        }
        hung(self) >= STRAYS_OF_OWNER_MAX
    }

    #[cfg(test)]
    pub fn take_all(&mut self) -> Vec<Child> {
        self.0.drain(..).map(|(_, child)| child).collect()
    }
}
