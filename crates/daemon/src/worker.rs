// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The event loop: waits for events, hands them to the engine, and has it turn. It sleeps without a
//! timer while nothing changes. Clients of the control socket are served a bounded number of
//! requests at a time, so none keeps the others out.

mod apps;
mod awaited;
mod clients;
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
use fovea_client::protocol::Reply;
use fovea_client::socket;

use awaited::{forget, hear, wait_for};
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
}
