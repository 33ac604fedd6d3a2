// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Clients of the control socket: each is served a little at a time, and none keeps the others out.

use super::*;

/// Requests of one client served before the others and memory have their turn.
const REQUESTS_MAX: usize = 32;

impl<D: Device> Loop<D> {
    /// Tells a story in a thread of its own, for it takes half a second to read; one at a time.
    pub(super) fn tell(&self, client: &OwnedFd, app: Option<AppName>, limit: Option<usize>) -> Option<Reply> {
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
    pub(super) fn let_one_go(&mut self) {
        let first = self.clients.keys().find(|id| !self.sources.contains(id)).or(self.clients.keys().next());
        if let Some(&id) = first {
            self.clients.remove(&id);
            self.gone(id);
        }
    }

    pub(super) fn gone(&mut self, id: u64) {
        if self.sources.remove(&id) {
            self.engine.left(id, now_ns());
        }
    }

    /// Serves what a client has sent; false when it is to be let go.
    pub(super) fn serve(&mut self, id: u64, client: &OwnedFd) -> bool {
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

    pub(super) fn answer(&mut self, source: Option<u64>, request: Request) -> Reply {
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
    pub(super) fn make_way(&mut self, app: AppName, cgroup: &str) {
        let Some(old) = self.engine.cgroup_of(&app).filter(|old| old != cgroup) else { return };
        let found = self.engine.give_way(&app, now_ns());
        if let Some(watcher) = self.watcher.as_mut().filter(|_| !found) {
            watcher.forget(&old);
        }
        if found {
            self.renamed.push(old);
        }
    }
}

/// A path below the mount and nowhere else.
fn is_plain_path(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}
