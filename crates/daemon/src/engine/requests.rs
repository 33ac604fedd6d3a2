// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Requests: what is asked is done at once, and the turn that follows sees what came of it.

use super::*;

/// The source that is behind [`Engine::handle`]: it is there from its first word on and for ever.
const OWNER: SourceId = 0;

/// Apps of one user that are found, at most.
const FOUND_MAX: usize = 512;

impl<D: Device> Engine<D> {
    /// The app whose cgroup this is.
    pub fn owner_of(&self, cgroup: &str) -> Option<AppName> {
        self.registry.at(cgroup).map(|app| app.name.clone())
    }

    /// The cgroup of an app.
    pub fn cgroup_of(&self, app: &AppName) -> Option<String> {
        self.registry.get(app).map(|app| app.cgroup.clone())
    }

    /// A cgroup that is an app's by its name has a process. Apps of one user are bounded in number, so that none can fill the daemon.
    pub fn found(&mut self, cgroup: &str, now_ns: u64) {
        let Some(unit) = fovea_apps::app_of_cgroup(cgroup) else { return };
        let of_same = |app: &&fovea_apps::App| {
            app.discovered && fovea_apps::app_of_cgroup(&app.cgroup).is_some_and(|other| other.uid == unit.uid)
        };
        if self.registry.iter().filter(of_same).count() >= FOUND_MAX {
            return;
        }
        let Some(name) = self.registry.discover(&unit, cgroup) else { return };
        self.runtime.insert(name.clone(), Runtime { background_since_ns: now_ns, ..Runtime::default() });
        self.busy = true;
        self.write(now_ns, "found", Some(&name), None, json!({ "cgroup": cgroup, "uid": unit.uid }));
        self.identify(&name, now_ns);
        self.perceive_anew();
        self.rank(now_ns);
    }

    /// An app that was only found is forgotten, so that somebody else can have its name or its cgroup; false if it was not found but said.
    pub fn give_way(&mut self, app: &AppName, now_ns: u64) -> bool {
        let found = self.registry.get(app).is_some_and(|app| app.discovered);
        if found {
            self.thaw(app, Reason::Needed, now_ns);
            self.registry.remove(app);
            self.runtime.remove(app);
            self.end_session_of(app, now_ns);
        }
        found
    }

    /// Answers a request of whoever runs the engine, who stays as long as it does.
    pub fn handle(&mut self, request: Request, now_ns: u64) -> Reply {
        self.handle_from(Some(OWNER), request, now_ns)
    }

    /// Answers a request, and does what it asks at once. `source` is who says it, if he stays to say when it is no longer so.
    pub fn handle_from(&mut self, source: Option<SourceId>, request: Request, now_ns: u64) -> Reply {
        let known = match &request {
            Request::Focus { app } | Request::Close { app } if self.registry.get(app).is_none() => {
                Err(fovea_apps::Unknown(app.clone()).to_string())
            }
            _ => Ok(()),
        };
        if let Err(error) = known {
            return Reply::Error { error };
        }
        if let Request::Simulate { assumed } = request {
            return match self.simulate(assumed, now_ns) {
                Ok(simulation) => Reply::Simulation(Box::new(simulation)),
                Err(e) => Reply::Error { error: e.to_string() },
            };
        }
        // The turn that follows may have work to do; whoever asks for the status before it must not be told that all is done.
        self.busy |= !matches!(request, Request::Status {} | Request::Explain { .. } | Request::List {});
        match request {
            Request::Register { app, cgroup, role, io_class } => {
                // An app that was killed frozen leaves its cgroup frozen; its next life must not begin so.
                self.thaw(&app, Reason::Needed, now_ns);
                self.registry.insert(app.clone(), cgroup, role, io_class);
                self.runtime.insert(app.clone(), Runtime { background_since_ns: now_ns, ..Runtime::default() });
                self.write(now_ns, "register", Some(&app), None, Value::Null);
                self.identify(&app, now_ns);
                self.perceive_anew();
                self.rank(now_ns);
            }
            // The loop knows who asked: see `attends`; the other was answered above.
            Request::Attend { .. } | Request::Simulate { .. } => {}
            Request::Focus { app } => self.focus(source, app, now_ns),
            Request::Windows { front, visible } => {
                if let Err(e) = self.windows(source, front, &visible, now_ns) {
                    return Reply::Error { error: e.to_string() };
                }
            }
            Request::Inhibitors { pids } => {
                if let Err(error) = self.inhibitors(source, pids) {
                    return Reply::Error { error };
                }
            }
            Request::Home {} => {
                self.registry.unfocus(source);
                self.rank(now_ns);
            }
            Request::Close { app } => {
                let _ = self.registry.close(&app);
                self.rank(now_ns);
                self.write(now_ns, "close", Some(&app), None, Value::Null);
            }
            Request::List {} => {
                let (configured, said) = self.both_lists();
                return Reply::Lists { configured, said };
            }
            Request::ListAdd { list, entry } => {
                if let Err(error) = self.list_add(list, entry, now_ns) {
                    return Reply::Error { error };
                }
            }
            Request::ListRemove { list, entry } => {
                if let Err(error) = self.list_remove(list, &entry, now_ns) {
                    return Reply::Error { error };
                }
            }
            Request::Screen { on } => self.screen(source, on, now_ns),
            Request::Status {} => return Reply::Status(Box::new(self.status(now_ns))),
            Request::Explain { app, limit } => {
                return crate::journal::told(self.journal.story(app.as_ref(), crate::journal::at_most(limit)));
            }
        }
        Reply::Done {}
    }
}
