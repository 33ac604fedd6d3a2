// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Requests: what is asked is done at once, and the turn that follows sees what came of it.

use fovea_apps::{AppName, SourceId};
use fovea_client::protocol::{Reply, Request};
use fovea_linux::{Aside, Device};
use serde_json::{json, Value};

use super::Engine;

/// The source that is behind [`Engine::handle`]: it is there from its first word on and for ever.
const OWNER: SourceId = 0;

/// Apps of one user that are found, at most.
const FOUND_MAX: usize = 512;

impl<D: Device> Engine<D> {
    /// The app whose cgroup this is.
    pub fn owner_of(&self, cgroup: &str) -> Option<AppName> {
        self.house.registry.at(cgroup).map(|app| app.name.clone())
    }

    /// The cgroup of an app.
    pub fn cgroup_of(&self, app: &AppName) -> Option<String> {
        self.house.registry.get(app).map(|app| app.cgroup.clone())
    }

    /// A cgroup that is an app's by its name has a process. Apps of one user are bounded in number, so that none can fill the daemon.
    pub fn found(&mut self, cgroup: &str, now_ns: u64) {
        let Some(unit) = fovea_apps::app_of_cgroup(cgroup) else { return };
        let of_same = |app: &&fovea_apps::App| {
            app.discovered && fovea_apps::app_of_cgroup(&app.cgroup).is_some_and(|other| other.uid == unit.uid)
        };
        if self.house.registry.iter().filter(of_same).count() >= FOUND_MAX {
            return;
        }
        let Some(name) = self.house.registry.discover(&unit, cgroup) else { return };
        self.came(&name, now_ns);
        self.busy = true;
        self.house.write(now_ns, "found", Some(&name), None, json!({ "cgroup": cgroup, "uid": unit.uid }));
        self.is_new(&name, now_ns);
        self.answer(now_ns);
    }

    fn is_new(&mut self, app: &AppName, now_ns: u64) {
        self.house.identify(app, now_ns);
        self.house.perceptions.look_anew();
        self.house.service_looks.look_anew();
        self.house.reorder(now_ns);
    }

    /// An app that was only found is forgotten, so that somebody else can have its name or its cgroup; false if it was not found but said.
    pub fn give_way(&mut self, app: &AppName, now_ns: u64) -> bool {
        if !self.house.registry.get(app).is_some_and(|app| app.discovered) {
            return false;
        }
        self.undo(app, now_ns);
        if let Some(app) = self.house.registry.remove(app) {
            self.house.apps.remove(&app.name);
            self.mechanisms.iter_mut().for_each(|m| m.gone(&mut self.house, &app, now_ns));
        }
        true
    }

    /// Answers a request of whoever runs the engine, who stays as long as it does.
    pub fn handle(&mut self, request: Request, now_ns: u64) -> Reply {
        self.handle_from(Some(OWNER), request, now_ns)
    }

    /// Answers a request, and does what it asks at once. `source` is who says it, if he stays to say when it is no longer so.
    pub fn handle_from(&mut self, source: Option<SourceId>, request: Request, now_ns: u64) -> Reply {
        let known = match &request {
            Request::Focus { app } | Request::Close { app } if self.house.registry.get(app).is_none() => {
                Err(fovea_apps::Unknown(app.clone()).to_string())
            }
            _ => Ok(()),
        };
        if let Err(error) = known {
            return Reply::Error { error };
        }
        // The turn that follows may have work to do; whoever asks for the status before it must not be told that all is done.
        self.busy |= !request.only_asks();
        // Whoever only asks can wait for the CPU like others, and may ask as often as he likes.
        let _aside = request.only_asks().then(Aside::step);
        let reply = self.serve(source, request, now_ns);
        self.answer(now_ns);
        reply
    }

    fn serve(&mut self, source: Option<SourceId>, request: Request, now_ns: u64) -> Reply {
        let house = &mut self.house;
        let done = match request {
            Request::Register { app, cgroup, role, io_class } => {
                // An app that was killed frozen leaves its cgroup frozen; its next life must not begin so.
                self.undo(&app, now_ns);
                self.house.registry.insert(app.clone(), cgroup, role, io_class);
                self.came(&app, now_ns);
                self.house.write(now_ns, "register", Some(&app), None, Value::Null);
                self.is_new(&app, now_ns);
                Ok(())
            }
            // The loop knows who asked: see `attends`.
            Request::Attend { .. } => Ok(()),
            Request::Focus { app } => {
                house.focus(source, app, now_ns);
                Ok(())
            }
            Request::Windows { front, visible } => {
                house.windows(source, front, &visible, now_ns).map_err(|e| e.to_string())
            }
            Request::Inhibitors { pids } => house.perceptions.inhibitors(source, pids),
            Request::Playing { pids } => house.perceptions.playing(source, pids),
            Request::Names { names } => house.service_looks.names(source, names),
            Request::Home {} => {
                house.registry.unfocus(source);
                house.attention.focused_ns = Some(now_ns);
                house.reorder(now_ns);
                Ok(())
            }
            Request::Close { app } => {
                // Something else comes to the screen now, if only for the next app to be chosen there.
                if house.registry.is_front(&app) {
                    house.attention.focused_ns = Some(now_ns);
                }
                let _ = house.registry.close(&app);
                house.reorder(now_ns);
                house.write(now_ns, "close", Some(&app), None, Value::Null);
                Ok(())
            }
            Request::List {} => {
                let (configured, said) = house.both_lists();
                return Reply::Lists { configured, said };
            }
            Request::ListAdd { list, entry } => house.list_add(list, entry, now_ns),
            Request::ListRemove { list, entry } => house.list_remove(list, &entry, now_ns),
            Request::Screen { on } => {
                house.screen(source, on, now_ns);
                Ok(())
            }
            Request::Simulate { assumed } => {
                return match self.simulate(assumed, now_ns) {
                    Ok(simulation) => Reply::Simulation(Box::new(simulation)),
                    Err(e) => Reply::Error { error: e.to_string() },
                };
            }
            Request::Status {} => return Reply::Status(Box::new(self.status(now_ns))),
            Request::Explain { app, limit } => {
                return crate::journal::told(house.journal.story(app.as_ref(), crate::journal::at_most(limit)));
            }
        };
        match done {
            Ok(()) => Reply::Done {},
            Err(error) => Reply::Error { error },
        }
    }
}
