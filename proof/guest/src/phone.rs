// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The phone as a whole: which apps run, who is in front, what happened meanwhile. One loop waits for everything.

mod end;
mod start;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use fovea_apps::Role;
use fovea_scenario::follow::phone::{Book, TICK};
use fovea_scenario::{EventBody, Plan};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{kill_process, Pid, Signal};
use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
};

use crate::channel::Channel;
use crate::daemon::Daemon;
use crate::desktop::session::Session;
use crate::flash;
use crate::guard::Guard;
use crate::outcome::{At, Outcome};
use crate::readings::{self, now_ns, Memory};
use crate::restore::Baseline;
use crate::trace::Trace;
use crate::wire::{receive, send, FromApp, ToApp};

/// How long an app may take to answer, guest time; a phone in hard thrash is slow, an app that hangs is a defect.
const APP_LIMIT_NS: u64 = 900_000_000_000;

/// How long a command may take, guest time.
const COMMAND_LIMIT_NS: u64 = 60_000_000_000;

/// A running app.
pub struct RunningApp {
    /// Its process.
    pub pid: u32,
    socket: OwnedFd,
    /// Its cgroup, below the mount.
    pub cgroup: String,
    /// Its role, for the daemon; none if it belongs to no app.
    pub role: Option<Role>,
    /// The user closed it.
    pub closed: bool,
}

/// What ended a wait.
pub enum Woke {
    /// Time is up.
    Time,
    /// The app waited for can be read.
    App,
    /// A child ended.
    Death,
    /// The other descriptor can be read.
    Other,
}

/// What an app answered.
pub enum Answer {
    /// Its message.
    Said(FromApp),
    /// It ended before it answered.
    Ended,
}

/// The phone.
pub struct Phone {
    /// The way out.
    pub channel: Channel,
    /// The plan.
    pub plan: Plan,
    /// The daemon.
    pub daemon: Daemon,
    /// Apps that run.
    pub apps: BTreeMap<String, RunningApp>,
    /// What is remembered of the plan.
    pub book: Book,
    /// How the device was before the daemon; none where it is not ours to start and end.
    pub baseline: Option<Baseline>,
    /// Hits by file before the launch that is under way, if it is looked at.
    pub hits_before: Option<BTreeMap<u64, [u64; 2]>>,
    zygote: Option<(u32, OwnedFd)>,
    children: OwnedFd,
    ticks: OwnedFd,
    last_tick: Option<EventBody>,
    /// Counts the eCache's hits by file, if the plan says so.
    pub trace: Option<Trace>,
    /// A program that runs beside daemon and apps, and how it ended.
    other: Option<(u32, Option<i32>)>,
    /// The program that ends apps beside the daemon; how many it has ended.
    pub guard: Option<Guard>,
    /// What a desktop has.
    pub desktop: Option<Session>,
    oom_kills_first: u64,
    oom_kills_seen: u64,
    trouble: Option<String>,
}

impl Phone {
    /// A phone with nothing running. SIGCHLD is taken through a descriptor from here on.
    pub fn new(channel: Channel, plan: Plan) -> Outcome<Self> {
        let daemon = Daemon::prepare(&plan.daemon_config, &plan.lacks.syscalls)?;
        let ticks = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .at(|| "making a timer".into())?;
        let oom_kills = readings::oom_kills()?;
        let desktop = plan.desktop.map(|_| Session::default());
        let trace = if plan.trace_files { Some(Trace::begin(&plan)?) } else { None };
        Ok(Self {
            channel,
            plan,
            daemon,
            apps: BTreeMap::new(),
            book: Book::default(),
            baseline: None,
            hits_before: None,
            zygote: None,
            children: child_signals()?,
            ticks,
            last_tick: None,
            trace,
            other: None,
            guard: None,
            desktop,
            oom_kills_first: oom_kills,
            oom_kills_seen: oom_kills,
            trouble: None,
        })
    }

    /// Sends an app a message; nothing happens if it has ended.
    pub fn tell(&mut self, name: &str, message: &ToApp) -> Outcome<()> {
        if let Some(app) = self.apps.get(name) {
            // An app that is gone is noticed by its death.
            send(&app.socket, message, &[])?;
        }
        Ok(())
    }

    /// Runs the command line to its end, at most [`COMMAND_LIMIT_NS`]; its exit code (-1 for a signal) and what it printed.
    pub fn run_fovea(&mut self, args: &[&str]) -> Outcome<(i32, String)> {
        let (pid, output) = self.daemon.start_other(args)?;
        self.other = Some((pid, None));
        let deadline = now_ns() + COMMAND_LIMIT_NS;
        let (mut printed, mut open) = (Vec::new(), true);
        loop {
            let code = self.other.and_then(|(_, code)| code);
            if let (Some(code), false) = (code, open) {
                self.other = None;
                return Ok((code, String::from_utf8_lossy(&printed).into_owned()));
            }
            match self.wait(Some(deadline), None, open.then_some(output.as_fd()))? {
                Woke::Time => {
                    return Err(format!("{args:?} did not end within {} s", COMMAND_LIMIT_NS / 1_000_000_000))
                }
                Woke::Other => {
                    let mut buffer = [0u8; 4096];
                    match rustix::io::read(&output, &mut buffer).at(|| "reading from a program".into())? {
                        0 => open = false,
                        length => printed.extend_from_slice(&buffer[..length]),
                    }
                }
                Woke::App | Woke::Death => {}
            }
        }
    }

    /// Sends an app SIGKILL; nothing happens if it has ended.
    pub fn kill_app(&self, name: &str) -> Outcome<()> {
        let Some(app) = self.apps.get(name) else { return Ok(()) };
        // Not reaped before `reap` takes it out of `apps`, so that the PID is still its own.
        let pid = Pid::from_raw(app.pid as i32).ok_or("an app's PID is 0")?;
        kill_process(pid, Signal::KILL).at(|| format!("killing app {name}"))
    }

    /// Waits for an app's answer.
    pub fn answer(&mut self, name: &str) -> Outcome<Answer> {
        let deadline = now_ns() + APP_LIMIT_NS;
        let mut hung_up = false;
        loop {
            if !self.apps.contains_key(name) {
                self.check_trouble()?;
                return Ok(Answer::Ended);
            }
            match self.wait(Some(deadline), Some(name).filter(|_| !hung_up), None)? {
                Woke::App => match receive(&self.apps[name].socket)? {
                    Some((message, _)) => return Ok(Answer::Said(message)),
                    None => hung_up = true,
                },
                Woke::Time => {
                    return Err(format!("app {name} did not answer within {} s", APP_LIMIT_NS / 1_000_000_000))
                }
                Woke::Death | Woke::Other => {}
            }
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, ns: u64) -> Outcome<()> {
        let deadline = now_ns() + ns;
        while !matches!(self.wait(Some(deadline), None, None)?, Woke::Time) {}
        Ok(())
    }

    /// Takes note of everything that has happened already.
    pub fn catch_up(&mut self) -> Outcome<()> {
        while !matches!(self.wait(Some(0), None, None)?, Woke::Time) {}
        self.check_trouble()
    }

    /// Fails if something ended that must not end.
    pub fn check_trouble(&mut self) -> Outcome<()> {
        self.trouble.take().map_or(Ok(()), Err)
    }

    /// Samples memory every `period_ns` while something is waited for; 0 for no longer.
    pub fn set_ticks(&mut self, period_ns: u64) -> Outcome<()> {
        let period = Timespec { tv_sec: (period_ns / 1_000_000_000) as i64, tv_nsec: (period_ns % 1_000_000_000) as _ };
        let timer = Itimerspec { it_interval: period, it_value: period };
        timerfd_settime(&self.ticks, TimerfdTimerFlags::empty(), &timer).at(|| "setting a timer".into())?;
        Ok(())
    }

    /// Reports the state of memory; a tick only if it is not that of the last.
    pub fn sample(&mut self, label: &str) -> Outcome<()> {
        let memory = Memory::read()?;
        let body = EventBody::Sample {
            label: label.to_owned(),
            free_bytes: memory.free,
            available_bytes: memory.available,
            swapped_bytes: memory.swapped,
            zram_bytes: readings::zram_bytes()?,
            read_bytes: flash::read_bytes()?,
            alive: self.apps.len() as u32,
        };
        if label == TICK {
            if self.last_tick.as_ref() == Some(&body) {
                return Ok(());
            }
            self.last_tick = Some(body.clone());
        }
        self.channel.emit(body)
    }

    /// Kills by the kernel's OOM killer since the plan began.
    pub fn oom_kills(&self) -> Outcome<u64> {
        Ok(readings::oom_kills()? - self.oom_kills_first)
    }

    /// One wait: until `deadline` (`None`: for ever), an answer of `app`, a child's end or `other`. Ticks are dealt with in here.
    pub fn wait(&mut self, deadline: Option<u64>, app: Option<&str>, other: Option<BorrowedFd<'_>>) -> Outcome<Woke> {
        loop {
            let limit = deadline.map(|at| {
                let left = at.saturating_sub(now_ns());
                Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ }
            });
            let app_socket = app.and_then(|name| self.apps.get(name)).map(|app| &app.socket);
            let (mut died, mut ticked, mut answered, mut others) = (false, false, false, false);
            let mut outside = false;
            {
                let mut fds = vec![PollFd::new(&self.children, PollFlags::IN), PollFd::new(&self.ticks, PollFlags::IN)];
                fds.extend(app_socket.map(|socket| PollFd::new(socket, PollFlags::IN)));
                fds.extend(other.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
                // What they say is somebody else's to hear; that they hang up is told unasked.
                fds.extend(self.outside_sockets().map(|socket| PollFd::new(socket, PollFlags::empty())));
                match poll(&mut fds, limit.as_ref()) {
                    Ok(0) => return Ok(Woke::Time),
                    Ok(_) => {
                        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
                        died = ready.next().unwrap_or(false);
                        ticked = ready.next().unwrap_or(false);
                        answered = app_socket.is_some() && ready.next().unwrap_or(false);
                        others = other.is_some() && ready.next().unwrap_or(false);
                        outside = ready.any(|is_ready| is_ready);
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(format!("waiting: {error}")),
                }
            }
            // The answer first: what it says was so when it was said, whatever happened since.
            if answered {
                return Ok(Woke::App);
            }
            if died {
                self.reap()?;
                return Ok(Woke::Death);
            }
            if outside {
                self.outside_ended()?;
                return Ok(Woke::Death);
            }
            if others {
                return Ok(Woke::Other);
            }
            if ticked {
                // Read away; it may have been switched off since.
                let _ = rustix::io::read(&self.ticks, &mut [0u8; 8]);
                self.sample(TICK)?;
            }
        }
    }
}

/// SIGCHLD as a descriptor.
fn child_signals() -> Outcome<OwnedFd> {
    // SAFETY: the set is initialised before it is used, and the new descriptor is owned by nobody else.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(format!("signalfd: {}", std::io::Error::last_os_error())),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}
