// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The event loop: waits for something to happen, tells the engine, lets it turn. It sleeps without a timer while nothing changes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use fovea_apps::AppName;
use fovea_linux::cgroup::is_within;
use fovea_linux::{Device, MediaWatch, State, System, Trigger};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::time::{clock_gettime, ClockId};

use crate::config::Config;
use crate::control::{self, Received};
use crate::engine::{Engine, Turn};
use crate::journal::{self, Journal};
use crate::news::News;
use crate::notify::Notify;
use crate::protocol::{Reply, Request};
use crate::syslog::Syslog;
use crate::undo::UndoLog;
use crate::watch::{Seen, Watcher};

/// Clients served at once; when more come, the one that came first is let go.
const CLIENTS_MAX: usize = 64;

/// Requests of one client served before the others and memory have their turn.
const REQUESTS_MAX: usize = 32;

/// The PSI window; the stall threshold is counted within it.
const PSI_WINDOW_US: u64 = 500_000;

/// Where a wake-up came from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Listener,
    Pressure,
    Cgroups,
    Signal,
    Reload,
    Media,
    News,
    Other(u64),
}

impl Source {
    fn data(self) -> EventData {
        EventData::new_u64(match self {
            Source::Listener => 0,
            Source::Pressure => 1,
            Source::Cgroups => 2,
            Source::Signal => 3,
            Source::Reload => 4,
            Source::Media => 5,
            Source::News => 6,
            Source::Other(id) => id,
        })
    }

    fn of(data: EventData) -> Self {
        match data.u64() {
            0 => Source::Listener,
            1 => Source::Pressure,
            2 => Source::Cgroups,
            3 => Source::Signal,
            4 => Source::Reload,
            5 => Source::Media,
            6 => Source::News,
            id => Source::Other(id),
        }
    }
}

/// What `fovea check` looks for and the daemon uses, beside what shows when it is set up (PSI, cgroup v2, zram).
const USED: [&str; 5] = ["memory-controller", "freezer", "process_madvise", "pidfd", "process_mrelease"];

/// What this machine lacks of that, each in one line.
fn lacks(system: &System) -> Vec<String> {
    let report = system.check();
    // Without cgroup v2 there are no controllers either, and no need to say it twice.
    if report.row("cgroup2").is_some_and(|row| row.state == State::Missing) {
        return Vec::new();
    }
    let rows = USED.into_iter().filter_map(|name| report.row(name)).filter(|row| row.state == State::Missing);
    rows.map(|row| format!("{}: {}: {}", row.name, row.found, row.mend)).collect()
}

/// First number for clients and processes.
const FIRST_ID: u64 = 16;

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

struct Loop<D> {
    epoll: OwnedFd,
    engine: Engine<D>,
    watcher: Option<Watcher>,
    media: Option<MediaWatch>,
    news: Option<News>,
    listener: OwnedFd,
    signals: Signals,
    journal_path: PathBuf,
    /// Somebody is being told a story.
    telling: Arc<AtomicBool>,
    /// The device could not be read at the last turn.
    unread: bool,
    _trigger: Option<Trigger>,
    clients: BTreeMap<u64, OwnedFd>,
    /// Those of the clients that are sources.
    sources: BTreeSet<u64>,
    victims: BTreeMap<u64, OwnedFd>,
    next_id: u64,
    own_cgroup: Option<String>,
    /// Cgroups whose app has just lost its name to another.
    renamed: Vec<String>,
    stopping: bool,
}

/// What the worker is told by signals.
pub struct Signals {
    /// Readable on SIGTERM and SIGINT.
    pub stop: UnixStream,
    /// Readable on SIGHUP.
    pub reload: UnixStream,
    /// Reads the configuration again; an error is one line.
    pub read: Box<dyn Fn() -> Result<Config, String>>,
}

/// Time until the device is looked at again when it could not be read.
const UNREAD_NS: u64 = 1_000_000_000;

/// Runs the daemon until it is told to stop. Restoring the device is the caller's part.
pub fn work(config: Config, signals: Signals) -> Result<(), String> {
    let mut missing = Vec::new();
    let system = System::new().map_err(|e| e.to_string())?;
    let mut system = system.with_media_at(&config.daemon.media_root);
    let run_folder = config.daemon.run_folder.clone();
    let listener = control::open(&run_folder).map_err(|e| match e.kind() {
        std::io::ErrorKind::Other => format!("{}: {e}", run_folder.display()),
        _ => format!("{}: {e}: make the folder writable", run_folder.display()),
    })?;

    let trigger = match Trigger::memory_some(config.daemon.psi_stall_us, PSI_WINDOW_US) {
        Ok(trigger) => Some(trigger),
        Err(e) => {
            missing.push(format!("psi: {e}"));
            None
        }
    };
    let watcher = match system
        .cgroup_mount()
        .map_err(|e| e.to_string())
        .and_then(|m| Watcher::new(&m).map_err(|e| e.to_string()))
    {
        Ok(watcher) => Some(watcher),
        Err(e) => {
            missing.push(format!("cgroup v2: {e}"));
            None
        }
    };
    let media = match system.media_watch() {
        Ok(media) => Some(media),
        Err(e) => {
            missing.push(format!("sound and video: {e}: a camera that is opened from now on is not seen"));
            None
        }
    };
    let news = match config.watch.notifications.then(|| News::open(&run_folder)).transpose() {
        Ok(news) => news,
        Err(e) => {
            missing.push(format!("notifications: {}: {e}", run_folder.display()));
            None
        }
    };
    missing.extend(lacks(&system));
    missing.iter().for_each(|what| say!("fovea: going on without {what}"));
    // Locked and last to be killed, or else the shortage it is there to end would stop it first.
    system.lock_memory().and_then(|()| system.set_self_oom_protection()).unwrap_or_else(|e| say!("fovea: {e}"));

    // First on the CPU too: between a pressure event and the kill signal nobody else should run. What takes long waits for an idle
    // CPU by itself (policy).
    if let Err(e) = rustix::process::setpriority_process(None, -20) {
        say!("fovea: raising the priority: {e}: going on without");
    }

    let file_error = |e: std::io::Error| format!("{}: {e}", run_folder.display());
    let journal = Journal::open(&config.journal_path(), config.daemon.journal_max_bytes)
        .map_err(|e| format!("{}: {e}: name a writable journal in [daemon]", config.journal_path().display()))?;
    let undo = UndoLog::open(&run_folder).map_err(file_error)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| file_error(e.into()))?;
    let add = |fd: &dyn AsFd, source: Source, flags| {
        epoll::add(&epoll, fd.as_fd(), source.data(), flags).map_err(|e| file_error(e.into()))
    };
    add(&listener, Source::Listener, EventFlags::IN)?;
    add(&signals.stop, Source::Signal, EventFlags::IN)?;
    add(&signals.reload, Source::Reload, EventFlags::IN)?;
    if let Some(trigger) = &trigger {
        add(trigger, Source::Pressure, EventFlags::PRI)?;
    }
    if let Some(watcher) = &watcher {
        add(&watcher.fd(), Source::Cgroups, EventFlags::IN)?;
    }
    if let Some(media) = &media {
        add(&media.fd(), Source::Media, EventFlags::IN)?;
    }
    if let Some(news) = &news {
        add(&news.fd(), Source::News, EventFlags::IN)?;
    }
    let own_cgroup = system.cgroup_of(std::process::id()).ok().flatten().filter(|own| !own.is_empty());
    let discover = config.daemon.discover;
    let syslog = Syslog::at(Path::new("/dev/log"));
    let journal_path = config.journal_path();
    let engine = Engine::new(system, config, journal, undo, missing).with_syslog(syslog);
    let mut engine = engine.uncalled(trigger.is_none());
    engine.set_up(now_ns()).map_err(|e| e.to_string())?;
    let mut all = Loop {
        epoll,
        engine,
        watcher,
        media,
        news,
        listener,
        signals,
        journal_path,
        telling: Arc::default(),
        unread: false,
        _trigger: trigger,
        clients: BTreeMap::new(),
        sources: BTreeSet::new(),
        victims: BTreeMap::new(),
        next_id: FIRST_ID,
        own_cgroup,
        renamed: Vec::new(),
        stopping: false,
    };
    if discover {
        let seen = all.watcher.as_mut().map(Watcher::discover).unwrap_or_default();
        all.seen(seen);
    }
    all.run()
}

impl<D: Device> Loop<D> {
    fn run(&mut self) -> Result<(), String> {
        let notify = Notify::from_environment();
        notify.ready();
        let mut events = Vec::with_capacity(32);
        while !self.stopping {
            let turn = self.turn();
            for killed in &turn.killed {
                self.news.iter_mut().for_each(|news| news.tell(killed));
            }
            for pidfd in turn.awaited {
                let id = self.add(&pidfd)?;
                self.victims.insert(id, pidfd);
            }
            notify.alive();
            let alive_ns = notify.period_ns.map(|period_ns| now_ns() + period_ns);
            let timeout = turn.wake_at_ns.into_iter().chain(alive_ns).min().map(|at_ns| {
                let left_ns = at_ns.saturating_sub(now_ns());
                Timespec { tv_sec: (left_ns / 1_000_000_000) as i64, tv_nsec: (left_ns % 1_000_000_000) as _ }
            });
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(format!("waiting for events: {e}")),
            }
            for event in events.drain(..) {
                self.happened(Source::of(event.data))?;
            }
        }
        Ok(())
    }

    /// A device that cannot be read now may be read in a moment; until then there is nothing to decide on, and nothing is lost.
    fn turn(&mut self) -> Turn {
        match self.engine.turn(now_ns()) {
            Ok(turn) => {
                self.unread = false;
                turn
            }
            Err(e) => {
                if !std::mem::replace(&mut self.unread, true) {
                    say!("fovea: {e}: trying again every second");
                }
                Turn { wake_at_ns: Some(now_ns() + UNREAD_NS), ..Turn::default() }
            }
        }
    }

    fn add(&mut self, fd: &OwnedFd) -> Result<u64, String> {
        let id = self.next_id;
        self.next_id += 1;
        epoll::add(&self.epoll, fd, Source::Other(id).data(), EventFlags::IN).map_err(|e| format!("watching: {e}"))?;
        Ok(id)
    }

    fn happened(&mut self, source: Source) -> Result<(), String> {
        match source {
            // The turn that follows looks at memory.
            Source::Pressure => self.engine.pressure(),
            Source::Signal => {
                let mut byte = [0];
                // Read so that a second signal wakes anew; the pipe is never empty here.
                let _ = self.signals.stop.read(&mut byte);
                self.stopping = true;
            }
            Source::Reload => {
                let _ = self.signals.reload.read(&mut [0; 16]);
                self.reload();
            }
            Source::Cgroups => {
                let seen = self.watcher.as_mut().map(Watcher::take).unwrap_or_default();
                self.seen(seen);
            }
            Source::Media => {
                let change = self.media.as_mut().map(MediaWatch::take).unwrap_or_default();
                self.engine.media_changed(change, now_ns());
            }
            Source::News => self.news.iter_mut().for_each(News::accept),
            Source::Listener => {
                while let Some(client) = control::accept(&self.listener).map_err(|e| format!("control socket: {e}"))? {
                    // Clients that stay and ask nothing must not keep others out: the oldest goes.
                    if self.clients.len() >= CLIENTS_MAX {
                        self.let_one_go();
                    }
                    let id = self.add(&client)?;
                    self.clients.insert(id, client);
                }
            }
            Source::Other(id) => {
                if let Some(pidfd) = self.victims.remove(&id) {
                    drop(pidfd);
                    self.engine.victim_ended(now_ns());
                } else if let Some(client) = self.clients.remove(&id) {
                    match self.serve(id, &client) {
                        true => drop(self.clients.insert(id, client)),
                        false => self.gone(id),
                    }
                }
            }
        }
        Ok(())
    }

    /// A configuration that makes no sense changes nothing.
    fn reload(&mut self) {
        match (self.signals.read)() {
            Ok(config) => {
                let waiting = self.engine.reconfigure(config, now_ns());
                let rest = match waiting.is_empty() {
                    true => String::new(),
                    false => format!("; [{}] counts from the next start on", waiting.join("], [")),
                };
                say!("fovea: the configuration has been read again{rest}");
            }
            Err(e) => say!("fovea: {e}: going on with the old configuration"),
        }
    }

    /// Tells a story in a thread of its own, for it takes half a second to read; one at a time.
    fn tell(&self, client: &OwnedFd, app: Option<AppName>, limit: Option<usize>) -> Option<Reply> {
        let busy = |what: &str| Some(Reply::Error { error: format!("{what}: ask again in a moment") });
        let Ok(client) = client.try_clone() else { return busy("too many clients") };
        if self.telling.swap(true, Ordering::AcqRel) {
            return busy("somebody else is being told a story");
        }
        let (telling, path) = (Arc::clone(&self.telling), self.journal_path.clone());
        let tell = move || {
            // The loop's priority is for killing.
            let _ = rustix::process::setpriority_process(None, 0);
            let story = Journal::story_in(&path, app.as_ref(), journal::at_most(limit));
            telling.store(false, Ordering::Release);
            let _ = control::reply(&client, &journal::told(story));
        };
        match std::thread::Builder::new().name("story".into()).spawn(tell) {
            Ok(_) => None,
            Err(e) => {
                self.telling.store(false, Ordering::Release);
                busy(&format!("starting a thread: {e}"))
            }
        }
    }

    /// The client that came first; a source only if there is nobody else, for what it said goes with it.
    fn let_one_go(&mut self) {
        let first = self.clients.keys().find(|id| !self.sources.contains(id)).or(self.clients.keys().next());
        if let Some(&id) = first {
            self.clients.remove(&id);
            self.gone(id);
        }
    }

    fn gone(&mut self, id: u64) {
        if self.sources.remove(&id) {
            self.engine.left(id, now_ns());
        }
    }

    /// Serves what a client has sent; false when it is to be let go.
    fn serve(&mut self, id: u64, client: &OwnedFd) -> bool {
        for _ in 0..REQUESTS_MAX {
            let reply = match control::receive(client) {
                Received::Request(Request::Attend { name }) => {
                    self.sources.insert(id);
                    self.engine.attends(id, name.as_str(), now_ns());
                    Reply::Done {}
                }
                Received::Request(Request::Explain { app, limit }) => match self.tell(client, app, limit) {
                    Some(reply) => reply,
                    None => continue,
                },
                Received::Request(request) => self.answer(self.sources.contains(&id).then_some(id), request),
                Received::Bad(error) => Reply::Error { error },
                Received::Nothing => return true,
                Received::Gone => return false,
            };
            if !control::reply(client, &reply) {
                return false;
            }
        }
        true
    }

    fn answer(&mut self, source: Option<u64>, request: Request) -> Reply {
        if let Request::Register { app, cgroup, .. } = &request {
            if !is_plain_path(cgroup) {
                return Reply::Error {
                    error: format!(
                        "cgroup {cgroup:?} is no path below the cgroup v2 mount: leave out `..` and the leading slash"
                    ),
                };
            }
            // Freezing or killing it would be the end of whoever could undo that.
            if self.own_cgroup.as_ref().is_some_and(|own| is_within(own, cgroup)) {
                return Reply::Error {
                    error: format!("cgroup {cgroup:?} has the daemon itself in it: give the app a cgroup of its own"),
                };
            }
            if let Some(other) = self.engine.owner_of(cgroup).filter(|other| other != app) {
                // One that was only found gives way to who says what it is.
                if !self.engine.give_way(&other, now_ns()) {
                    return Reply::Error {
                        error: format!("cgroup {cgroup:?} is that of app {other}: give each app a cgroup of its own"),
                    };
                }
            }
            match self.watcher.as_mut().map(|w| w.app(cgroup)) {
                None => return Reply::Error { error: "cgroup v2 is missing: mount it at /sys/fs/cgroup".into() },
                Some(Err(e)) => {
                    return Reply::Error {
                        error: format!("cgroup {cgroup:?}: {e}: register an app once its cgroup is there"),
                    }
                }
                Some(Ok(false)) => {
                    return Reply::Error {
                        error: format!("cgroup {cgroup:?} has no process: register an app once it runs"),
                    }
                }
                Some(Ok(true)) => {}
            }
            self.make_way(app.clone(), &cgroup.clone());
        }
        let reply = self.engine.handle_from(source, request, now_ns());
        for cgroup in std::mem::take(&mut self.renamed) {
            self.found(&cgroup);
        }
        reply
    }

    /// The name that somebody gives an app in a cgroup may be another's by now: one that was found keeps running under another name, one
    /// that was registered has moved.
    fn make_way(&mut self, app: AppName, cgroup: &str) {
        let Some(old) = self.engine.cgroup_of(&app).filter(|old| old != cgroup) else { return };
        let found = self.engine.give_way(&app, now_ns());
        if let Some(watcher) = self.watcher.as_mut().filter(|_| !found) {
            watcher.forget(&old);
        }
        if found {
            self.renamed.push(old);
        }
    }

    fn seen(&mut self, seen: Vec<Seen>) {
        for seen in seen {
            match seen {
                Seen::Ended(cgroup) => {
                    if let Some(app) = self.engine.owner_of(&cgroup) {
                        self.engine.ended(&app, now_ns());
                    }
                    if let Some(watcher) = &mut self.watcher {
                        watcher.forget(&cgroup);
                        watcher.remove(&cgroup);
                    }
                }
                Seen::Appeared(cgroup) => self.found(&cgroup),
            }
        }
    }

    fn found(&mut self, cgroup: &str) {
        if self.own_cgroup.as_ref().is_none_or(|own| !is_within(own, cgroup)) {
            self.engine.found(cgroup, now_ns());
        }
    }
}

/// A path below the mount and nowhere else.
fn is_plain_path(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}
