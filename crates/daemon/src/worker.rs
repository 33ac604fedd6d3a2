// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The event loop: waits for events, hands them to the engine, and has it turn. It sleeps without a
//! timer while nothing changes. Clients of the control socket are served a bounded number of
//! requests at a time, so none keeps the others out.

mod apps;
mod awaited;
mod per_user;
mod priority;
mod rate;
mod source;
mod start;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use fovea_apps::{limits, AppName};
use fovea_linux::cgroup::is_within;
use fovea_linux::clock::now_ns;
use fovea_linux::watch::{Seen, Watcher};
use fovea_linux::{Device, MediaChange, MediaWatch, NormalPriority, State, System, Trigger};
use rustix::event::epoll;
use rustix::event::Timespec;

use crate::config::Loaded;
use crate::engine::{self, Engine, Turn};
use crate::journal::{self, Journal, Of};
use crate::news;
use crate::notify::Notify;
use crate::syslog::Syslog;
use crate::undo::UndoLog;
use fovea_client::news::News;
use fovea_client::protocol::{Reply, Request};
use fovea_client::socket::{self, Received};

use awaited::{forget, hear, wait_for};
use per_user::keep_to;
use priority::RealTime;
use rate::Rate;
use source::Source;
pub use start::work;

/// First ID of clients and awaited processes; [`Source`] has the smaller ones.
const FIRST_ID: u64 = 16;

struct Loop<D> {
    epoll: OwnedFd,
    engine: Engine<D>,
    watcher: Option<Watcher>,
    media: Option<MediaWatch>,
    news: Option<news::News>,
    listener: OwnedFd,
    signals: Signals,
    journal_path: PathBuf,
    /// A reply to `Explain` is being sent.
    telling: Arc<AtomicBool>,
    /// The device could not be read at the last turn.
    unread: bool,
    _trigger: Option<Trigger>,
    clients: BTreeMap<u64, OwnedFd>,
    /// The clients that are focus sources; below, those that report one user's session only.
    sources: BTreeSet<u64>,
    of_user: BTreeMap<u64, OfUser>,
    /// The clients that change nothing; below, those of them that are told what happens.
    only_ask: BTreeSet<u64>,
    followers: BTreeSet<u64>,
    victims: BTreeMap<u64, OwnedFd>,
    real_time: RealTime,
    /// Changes of sound and video devices that are to be looked at, when that is due, and when it
    /// was done last.
    media_change: MediaChange,
    media_due_ns: Option<u64>,
    media_looked_ns: Option<u64>,
    media_rate: Rate,
    next_id: u64,
    own_cgroup: Option<String>,
    /// Cgroups of found apps that gave their name to a registered one, and get another.
    renamed: Vec<String>,
    stopping: bool,
}

/// A source of one user's session. It is bounded in processes and rate, because that user may have
/// taken it over.
struct OfUser {
    uid: u32,
    rate: Rate,
    /// When it is read again, if it has sent too many requests.
    due_ns: Option<u64>,
}

/// Signals, as files that can be polled.
pub struct Signals {
    /// Readable on SIGTERM and SIGINT.
    pub stop: UnixStream,
    /// Readable on SIGHUP.
    pub reload: UnixStream,
    /// Reads the configuration again; an error is one line.
    pub read: Box<dyn Fn() -> Result<Loaded, String>>,
}

/// Time until the next turn after the device could not be read.
const UNREAD_NS: u64 = 1_000_000_000;

impl<D: Device> Loop<D> {
    fn run(&mut self) -> Result<(), String> {
        let mut notify = Notify::from_environment();
        notify.ready();
        let mut events = Vec::with_capacity(32);
        let (mut is_due, mut wake_at_ns) = (true, None);
        let mut normal_priority = None;
        while !self.stopping {
            if is_due {
                let turn = self.turn();
                self.real_time.turned(turn.short);
                for killed in turn.killed() {
                    self.news.iter_mut().for_each(|news| news.tell(killed));
                }
                self.tell_followers(&turn.news);
                for pidfd in turn.awaited {
                    let id = self.add(&pidfd)?;
                    self.victims.insert(id, pidfd);
                }
                wake_at_ns = turn.wake_at_ns;
            }
            let alive_ns = notify.alive(now_ns());
            self.real_time.end();
            // Back to the daemon's own priority, to be woken at once.
            drop(normal_priority.take());
            let put_off_ns = self.watcher.as_ref().and_then(Watcher::due_ns).into_iter().chain(self.media_due_ns);
            let put_off_ns = put_off_ns.chain(self.of_user.values().filter_map(|source| source.due_ns));
            let timeout = wake_at_ns.into_iter().chain(alive_ns).chain(put_off_ns).min().map(|at_ns| {
                let left_ns = at_ns.saturating_sub(now_ns());
                Timespec { tv_sec: (left_ns / 1_000_000_000) as i64, tv_nsec: (left_ns % 1_000_000_000) as _ }
            });
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(format!("waiting for events: {e}")),
            }
            let sources: Vec<Source> = events.drain(..).map(|event| Source::of(event.data)).collect();
            let now_ns = now_ns();
            if sources.contains(&Source::Pressure) {
                self.real_time.pressure(now_ns);
            }
            let for_root = sources.is_empty() || sources.iter().any(|source| source.is_roots());
            if !self.real_time.begin(for_root, now_ns) {
                normal_priority = Some(NormalPriority::with_normal_nice());
            }
            is_due = self.what_was_put_off(now_ns) | wake_at_ns.is_some_and(|at_ns| at_ns <= now_ns);
            for source in sources {
                is_due |= self.happened(source)?;
            }
        }
        Ok(())
    }

    /// Handles what was put off because it came too often, where it is due. Returns whether a turn
    /// is to follow.
    fn what_was_put_off(&mut self, now_ns: u64) -> bool {
        let due = |due_ns: Option<u64>| due_ns.is_some_and(|due_ns| due_ns <= now_ns);
        let mut is_due = false;
        if due(self.media_due_ns) {
            self.media_due_ns = None;
            self.media_looked_ns = Some(now_ns);
            self.media_rate.spend(now_ns);
            self.engine.media_changed(std::mem::take(&mut self.media_change), now_ns);
            is_due = true;
        }
        for (id, source) in self.of_user.iter_mut().filter(|(_, source)| due(source.due_ns)) {
            source.due_ns = None;
            self.clients.get(id).into_iter().for_each(|client| hear(&self.epoll, client, Source::Other(*id), true));
        }
        if due(self.watcher.as_ref().and_then(Watcher::due_ns)) {
            let seen = self.watcher.as_mut().map(|watcher| watcher.look_over(now_ns)).unwrap_or_default();
            is_due |= !seen.is_empty();
            self.seen(seen);
        }
        is_due
    }

    /// One turn of the engine. If the device cannot be read, there is nothing to decide on, and the
    /// turn is tried again.
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
                Turn::again_at(now_ns() + UNREAD_NS)
            }
        }
    }

    fn add(&mut self, fd: &OwnedFd) -> Result<u64, String> {
        let id = self.next_id;
        self.next_id += 1;
        wait_for(&self.epoll, fd, Source::Other(id))?;
        Ok(id)
    }

    /// Handles an event. Returns whether a turn is to follow.
    fn happened(&mut self, source: Source) -> Result<bool, String> {
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
                let _ = self.reload();
            }
            Source::Cgroups => {
                let seen = self.watcher.as_mut().map(Watcher::take).unwrap_or_default();
                // Freezing and thawing are reported as well, but begin or end no app: no turn.
                let is_due = !seen.is_empty();
                self.seen(seen);
                return Ok(is_due);
            }
            Source::Media => {
                let change = self.media.as_mut().map(MediaWatch::take).unwrap_or_default();
                self.media_change.sound |= change.sound;
                self.media_change.video |= change.video;
                // Any user may open a device at any rate, so the look is put off if there was one
                // just now. Before an app is harmed, everything is read anyway.
                let apart_ns = u64::from(limits::PERCEIVED_APART_MS) * 1_000_000;
                let now_ns = now_ns();
                let due_ns = self.media_looked_ns.map_or(now_ns, |at_ns| now_ns.max(at_ns + apart_ns));
                // Opened without a pause, it is looked now and then: each look costs what the user's sockets cost.
                self.media_due_ns = Some(self.media_rate.due_ns(now_ns).map_or(due_ns, |at_ns| at_ns.max(due_ns)));
                return Ok(self.what_was_put_off(now_ns));
            }
            Source::News => {
                self.news.iter_mut().for_each(news::News::accept);
                return Ok(false);
            }
            Source::Listener => return self.accept(),
            Source::Other(id) => {
                if let Some(pidfd) = self.victims.remove(&id) {
                    forget(&self.epoll, pidfd);
                    self.engine.victim_ended(now_ns());
                } else if let Some(client) = self.clients.remove(&id) {
                    match self.serve(id, &client) {
                        true => drop(self.clients.insert(id, client)),
                        false => {
                            forget(&self.epoll, client);
                            self.gone(id);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    /// Reads the configuration again. An invalid one changes nothing, and the error is returned.
    fn reload(&mut self) -> Result<(), String> {
        let read = (self.signals.read)();
        let problems = match read {
            Ok(Loaded { config, problems }) => {
                let waiting = self.engine.reconfigure(config, now_ns());
                let rest = match waiting.is_empty() {
                    true => String::new(),
                    false => format!("; [{}] counts from the next start on", waiting.join("], [")),
                };
                say!("fovea: the configuration has been read again{rest}");
                Ok(problems)
            }
            Err(e) => Err(format!("{e}: until then the configuration that was in force counts")),
        };
        let said = problems.as_ref().map_or_else(|e| vec![e.clone()], Vec::clone);
        said.iter().for_each(|problem| say!("fovea: {problem}"));
        self.engine.problems(said);
        problems.map(drop)
    }

    /// Accepts new clients. One that is neither root nor the daemon's own user gets an error and is
    /// closed. Returns whether an older client was closed to make room.
    fn accept(&mut self) -> Result<bool, String> {
        let mut has_gone = false;
        let failed = |e: &dyn std::fmt::Display| format!("control socket: {e}");
        while let Some(client) = socket::accept(&self.listener).map_err(|e| failed(&e))? {
            let user = fovea_linux::peer_of(&client).map_err(|e| failed(&e))?.uid;
            if user != 0 && user != rustix::process::geteuid().as_raw() {
                let error = format!("user {user} may not steer the daemon: ask as root");
                socket::reply(&client, &Reply::Error { error });
                continue;
            }
            // Idle clients must not keep others out: the oldest is closed.
            if self.clients.len() >= limits::CLIENTS_MAX {
                self.let_one_go();
                has_gone = true;
            }
            let id = self.add(&client)?;
            self.clients.insert(id, client);
        }
        Ok(has_gone)
    }

    /// Closes the oldest client; a source only if there is no other, because what it said goes with
    /// it.
    fn let_one_go(&mut self) {
        let is_kept = |id: &&u64| self.sources.contains(id) || self.only_ask.contains(id);
        let first = self.clients.keys().find(|id| !is_kept(id)).or(self.clients.keys().next());
        if let Some(&id) = first {
            self.clients.remove(&id).into_iter().for_each(|client| forget(&self.epoll, client));
            self.gone(id);
        }
    }

    fn gone(&mut self, id: u64) {
        self.of_user.remove(&id);
        self.only_ask.remove(&id);
        self.followers.remove(&id);
        if self.sources.remove(&id) {
            self.engine.left(id, now_ns());
        }
    }

    /// Tells those who follow. Who does not read is closed.
    fn tell_followers(&mut self, news: &[News]) {
        for news in news {
            for id in self.followers.clone() {
                let is_told = |client: &OwnedFd| socket::reply(client, &Reply::News(news.clone()));
                if !self.clients.get(&id).is_some_and(is_told) {
                    self.clients.remove(&id).into_iter().for_each(|client| forget(&self.epoll, client));
                    self.gone(id);
                }
            }
        }
    }

    /// Whether a request may come on a connection: one of a user's source says what that user may, one that only asks changes nothing.
    fn permit(&self, id: u64, request: &mut Request) -> Result<(), String> {
        if let Some(&OfUser { uid, .. }) = self.of_user.get(&id) {
            return keep_to(request, uid, &fovea_linux::user_of_process);
        }
        match self.only_ask.contains(&id) && !request.only_asks() {
            true => Err("this connection only asks: steer the daemon on another".into()),
            false => Ok(()),
        }
    }

    /// Serves what a client has sent; false if the client is to be closed.
    fn serve(&mut self, id: u64, client: &OwnedFd) -> bool {
        for _ in 0..limits::REQUESTS_IN_A_ROW_MAX {
            if let Some(source) = self.of_user.get_mut(&id) {
                source.due_ns = source.rate.due_ns(now_ns());
                if source.due_ns.is_some() {
                    // Its requests stay in its socket until then; when that is full, the source
                    // waits.
                    hear(&self.epoll, client, Source::Other(id), false);
                    return true;
                }
            }
            let received = socket::receive(client);
            if let (Some(source), Received::Request(_) | Received::Bad(_)) = (self.of_user.get_mut(&id), &received) {
                source.rate.spend(now_ns());
            }
            let received = match received {
                // First of all: a user's source may not become another user's, or read of other users.
                Received::Request(mut request) => match self.permit(id, &mut request) {
                    Ok(()) => Received::Request(request),
                    Err(error) => match socket::reply(client, &Reply::Error { error }) {
                        true => continue,
                        false => return false,
                    },
                },
                other => other,
            };
            let reply = match received {
                Received::Request(Request::OnlyAsk {}) => {
                    self.only_ask.insert(id);
                    Reply::Done {}
                }
                Received::Request(Request::Follow {}) => {
                    self.only_ask.insert(id);
                    self.followers.insert(id);
                    let level = self.engine.warning().map_or(0, fovea_policy::memory::Warning::level);
                    Reply::News(News::Warning { level })
                }
                Received::Request(Request::Attend { name, uid }) => {
                    self.sources.insert(id);
                    let rate = Rate::new(limits::SAID_OF_USER_PER_S, now_ns());
                    self.of_user.extend(uid.map(|uid| (id, OfUser { uid, rate, due_ns: None })));
                    self.engine.attends(id, name.as_str(), now_ns());
                    Reply::Done {}
                }
                Received::Request(Request::Explain { app, limit, uid }) => {
                    match self.tell(client, Of { app, uid }, limit) {
                        Some(reply) => reply,
                        None => continue,
                    }
                }
                Received::Request(request) => {
                    // Requests that no user waits for are served without priority.
                    let is_pressed = self.real_time.is_pressed(now_ns());
                    let _normal_priority =
                        (!is_pressed && !request.is_waited_for()).then(NormalPriority::with_normal_nice);
                    self.answer(self.sources.contains(&id).then_some(id), request)
                }
                Received::Bad(error) => Reply::Error { error },
                Received::Nothing => return true,
                Received::Gone => return false,
            };
            if !socket::reply(client, &reply) {
                return false;
            }
        }
        true
    }

    fn answer(&mut self, source: Option<u64>, request: Request) -> Reply {
        if request == (Request::Reload {}) {
            return self.reload().map_or_else(|error| Reply::Error { error }, |()| Reply::Done {});
        }
        if let Request::Register { app, cgroup, .. } = &request {
            if let Err(error) = self.admit(app, cgroup) {
                return Reply::Error { error };
            }
        }
        let reply = self.engine.handle_from(source, request, now_ns());
        for cgroup in std::mem::take(&mut self.renamed) {
            self.found(&cgroup);
        }
        reply
    }
}
