// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Requests: what is asked is done at once, and the turn that follows sees what came of it.

use super::*;

/// The source that is behind [`Engine::handle`]: it is there from its first word on and for ever.
const OWNER: SourceId = 0;

impl<D: Device> Engine<D> {
    /// The app whose cgroup this is.
    pub fn owner_of(&self, cgroup: &str) -> Option<AppName> {
        self.registry.iter().find(|app| app.cgroup == cgroup).map(|app| app.name.clone())
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
        // The turn that follows may have work to do; whoever asks for the status before it must not be told that all is done.
        self.busy |= !matches!(request, Request::Status {} | Request::Explain { .. });
        match request {
            Request::Register { app, cgroup, role, io_class } => {
                // An app that was killed frozen leaves its cgroup frozen; its next life must not begin so.
                self.thaw(&app, Reason::Needed, now_ns);
                self.registry.insert(app.clone(), cgroup, role, io_class);
                self.runtime.insert(app.clone(), Runtime { background_since_ns: now_ns, ..Runtime::default() });
                self.write(now_ns, "register", Some(&app), None, Value::Null);
                self.rank(now_ns);
            }
            // The loop knows who asked: see `attends`.
            Request::Attend { .. } => {}
            Request::Focus { app } => self.focus(source, app, now_ns),
            Request::Windows { front, visible } => {
                if let Err(e) = self.windows(source, front, &visible, now_ns) {
                    return Reply::Error { error: e.to_string() };
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
            Request::Screen { on } => self.screen(source, on, now_ns),
            Request::Status {} => return Reply::Status(Box::new(self.status(now_ns))),
            Request::Explain { app, limit } => {
                return match self.journal.story(app.as_ref(), limit.unwrap_or(50).min(400)) {
                    Ok(entries) => Reply::Story { entries },
                    Err(e) => Reply::Error { error: format!("reading the journal: {e}") },
                };
            }
        }
        Reply::Done {}
    }
}
