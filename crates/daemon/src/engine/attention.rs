// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which app is in the foreground, which are visible, and whether the screen is on, as focus
//! sources say while they are connected.

use std::collections::BTreeSet;

use fovea_apps::{AppName, Importance, SourceId};
use fovea_linux::{Device, Error};
use serde_json::{json, Value};

use super::engine_state::EngineState;
use super::Engine;

impl<D: Device> Engine<D> {
    /// A source has connected. What it says holds until it leaves.
    pub fn attends(&mut self, source: SourceId, name: &str, now_ns: u64) {
        self.shared.attention.sources.insert(source, name.to_owned());
        self.shared.write(now_ns, "source", None, None, json!({ "name": name }));
    }

    /// A source is gone. If no other says who is in the foreground, the turn that follows thaws all
    /// apps. A screen that no source knows counts as on.
    pub fn left(&mut self, source: SourceId, now_ns: u64) {
        self.busy |= self.shared.attention.sources.contains_key(&source);
        self.shared.left(source, now_ns);
        self.answer(now_ns);
    }
}

impl<D: Device> EngineState<D> {
    fn left(&mut self, source: SourceId, now_ns: u64) {
        let Some(name) = self.attention.sources.remove(&source) else { return };
        self.registry.leave(source);
        self.perceptions.left(source);
        self.service_looks.left(source);
        self.reorder(now_ns);
        self.write(
            now_ns,
            "source-gone",
            None,
            None,
            json!({ "name": name, "focus_told": self.registry.has_source() }),
        );
        let screens = &mut self.attention.screens;
        if screens.remove(&source).is_some() {
            let on = screens.is_empty() || screens.values().any(|&on| on);
            self.set_screen(on, now_ns);
        }
    }

    /// A source's screen shows this app alone. Without a source, a command says so.
    pub(super) fn focus(&mut self, source: Option<SourceId>, app: AppName, now_ns: u64) {
        // The caller has checked that the app is registered, and nothing runs in between.
        let _ = self.registry.focus(source, &app, now_ns);
        self.came_to_the_front(app, now_ns);
    }

    fn came_to_the_front(&mut self, app: AppName, now_ns: u64) {
        self.attention.focused_ns = Some(now_ns);
        self.reorder(now_ns);
        // A command beside a living source does not put the app into the foreground, but gives it
        // the debounce's time to come there.
        if !self.registry.is_front(&app) {
            self.known(&app, |known| known.background_since_ns = now_ns);
        }
        self.write(now_ns, "focus", Some(&app), None, Value::Null);
        self.service_looks.look_anew();
        self.attention.fronted.push(app);
    }

    /// A source's screen shows no app.
    pub(super) fn unfocus(&mut self, source: Option<SourceId>, now_ns: u64) {
        self.registry.unfocus(source, now_ns);
        self.attention.focused_ns = Some(now_ns);
        self.reorder(now_ns);
    }

    /// The user has closed an app.
    pub(super) fn close(&mut self, app: &AppName, now_ns: u64) {
        // Something else comes to the screen now, if only the launcher.
        if self.registry.is_front(app) {
            self.attention.focused_ns = Some(now_ns);
        }
        let _ = self.registry.close(app);
        self.reorder(now_ns);
        self.write(now_ns, "close", Some(app), None, Value::Null);
    }

    /// A source reports the process in the foreground and those with visible windows.
    pub(super) fn windows(
        &mut self,
        source: Option<SourceId>,
        front: Option<u32>,
        visible: &[u32],
        now_ns: u64,
    ) -> Result<(), Error> {
        let front = front.map(|pid| self.app_of_pid(pid)).transpose()?.flatten();
        let mut shown = BTreeSet::new();
        for &pid in visible {
            shown.extend(self.app_of_pid(pid)?);
        }
        let was_front = front.as_ref().is_some_and(|app| self.registry.is_front(app));
        self.registry.show(source, front.clone(), shown, now_ns);
        match front.filter(|_| !was_front) {
            Some(app) => self.came_to_the_front(app, now_ns),
            None => self.reorder(now_ns),
        }
        Ok(())
    }

    /// The app whose cgroup holds a process; of nested cgroups the innermost.
    pub(super) fn app_of_pid(&mut self, pid: u32) -> Result<Option<AppName>, Error> {
        let Some(member) = self.device.cgroup_of_pid(pid)? else { return Ok(None) };
        let holders = self.registry.iter().filter(|app| fovea_linux::cgroup::is_within(&member, &app.cgroup));
        Ok(holders.max_by_key(|app| app.cgroup.len()).map(|app| app.name.clone()))
    }

    /// Takes in a change of importance: remembers when apps went to the background. The mechanisms
    /// answer it before another request is served.
    pub(super) fn reorder(&mut self, now_ns: u64) {
        for app in self.registry.iter() {
            let importance = self.registry.importance(app);
            let Some(known) = self.apps.get_mut(&app.name) else { continue };
            let was_front = known.importance.is_none_or(|i| i <= Importance::Service);
            if known.importance != Some(importance) && was_front && importance > Importance::Service {
                known.background_since_ns = now_ns;
            }
            known.importance = Some(importance);
        }
        self.classify(now_ns);
        self.changed = true;
    }

    /// Of several sources that know, one that says "on" is enough; what a command says holds until
    /// a source or a command says otherwise.
    pub(super) fn screen(&mut self, source: Option<SourceId>, on: bool, now_ns: u64) {
        let mut wanted = on;
        if let Some(source) = source {
            self.attention.screens.insert(source, on);
            wanted = self.attention.screens.values().any(|&on| on);
        }
        self.set_screen(wanted, now_ns);
    }

    fn set_screen(&mut self, on: bool, now_ns: u64) {
        if self.attention.screen_on != on {
            self.attention.screen_on = on;
            self.write(now_ns, if on { "screen-on" } else { "screen-off" }, None, None, Value::Null);
        }
    }
}
