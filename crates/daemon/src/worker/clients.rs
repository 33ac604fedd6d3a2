// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who is connected to the control socket: let in, heard, answered, and let go.

use std::os::fd::OwnedFd;

use fovea_apps::limits;
use fovea_client::news::News;
use fovea_client::protocol::{Reply, Request};
use fovea_client::socket::{self, Received};
use fovea_linux::clock::now_ns;
use fovea_linux::{Device, NormalPriority};

use super::awaited::{forget, hear};
use super::per_user::keep_to;
use super::rate::Rate;
use super::source::Source;
use super::{Loop, OfUser};
use crate::journal::Of;

impl<D: Device> Loop<D> {
    /// Accepts new clients. One that is neither root nor the daemon's own user gets an error and is
    /// closed. Returns whether an older client was closed to make room.
    pub(super) fn accept(&mut self) -> Result<bool, String> {
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
    pub(super) fn let_one_go(&mut self) {
        let is_kept = |id: &&u64| self.sources.contains(id) || self.only_ask.contains(id);
        let first = self.clients.keys().find(|id| !is_kept(id)).or(self.clients.keys().next());
        if let Some(&id) = first {
            self.clients.remove(&id).into_iter().for_each(|client| forget(&self.epoll, client));
            self.gone(id);
        }
    }

    pub(super) fn gone(&mut self, id: u64) {
        self.of_user.remove(&id);
        self.only_ask.remove(&id);
        self.followers.remove(&id);
        if self.sources.remove(&id) {
            self.engine.left(id, now_ns());
        }
    }

    /// Tells those who follow. Who does not read is closed.
    pub(super) fn tell_followers(&mut self, news: &[News]) {
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
    pub(super) fn permit(&self, id: u64, request: &mut Request) -> Result<(), String> {
        if let Some(&OfUser { uid, .. }) = self.of_user.get(&id) {
            return keep_to(request, uid, &fovea_linux::user_of_process);
        }
        match self.only_ask.contains(&id) && !request.only_asks() {
            true => Err("this connection only asks: steer the daemon on another".into()),
            false => Ok(()),
        }
    }

    /// Serves what a client has sent; false if the client is to be closed.
    pub(super) fn serve(&mut self, id: u64, client: &OwnedFd) -> bool {
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

    pub(super) fn answer(&mut self, source: Option<u64>, request: Request) -> Reply {
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
