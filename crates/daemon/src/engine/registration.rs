// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which apps there are: registered, found, ended, and given up for others.

use fovea_apps::{limits, place_of_cgroup, AppName, IoClass, Kind, Place, Placed, Role};
use fovea_linux::Device;
use serde_json::{json, Value};

use super::engine_state::{EndedApp, SharedAppState};
use super::mechanism::Event;
use super::Engine;
use crate::journal::Entry;

/// What ended so short a time ago may be started anew: a job in the same cgroup, an app by the same name.
const AGAIN_NS: u64 = 30_000_000_000;

/// Apps and jobs that are remembered for that, at most.
const ENDED_MAX: usize = 32;

impl<D: Device> Engine<D> {
    /// The app whose cgroup this is.
    pub fn owner_of(&self, cgroup: &str) -> Option<AppName> {
        self.shared.registry.at(cgroup).map(|app| app.name.clone())
    }

    /// Since when an app is in the background.
    #[cfg(test)]
    pub(crate) fn background_since_ns(&self, app: &AppName) -> u64 {
        self.shared.apps[app].background_since_ns
    }

    /// The cgroup of an app.
    pub fn cgroup_of(&self, app: &AppName) -> Option<String> {
        self.shared.registry.get(app).map(|app| app.cgroup.clone())
    }

    /// A cgroup that is an app's or a job's by its path has a process. Apps of one user are bounded in number, so that none can fill the daemon.
    pub fn found(&mut self, cgroup: &str, now_ns: u64) {
        let placed = place_of_cgroup(cgroup);
        if placed.kind().is_none() || placed.unit != cgroup {
            return;
        }
        // The user's slice, or who else made it.
        let above = cgroup.match_indices('/').nth(1).map_or(cgroup, |(at, _)| &cgroup[..=at]);
        let of_same = |app: &&fovea_apps::App| app.discovered && app.cgroup.starts_with(above);
        if self.shared.registry.iter().filter(of_same).count() >= limits::FOUND_OF_USER_MAX {
            return self.too_many(&placed, now_ns);
        }
        // Of an app nobody asks: it is seen by its own windows.
        let started_by = match placed.place {
            Place::Job => self.shared.device.started_by(cgroup).unwrap_or_else(|e| {
                if !e.is_put_off() {
                    say!("fovea: {e}: nobody knows who started what runs in {cgroup}");
                }
                None
            }),
            _ => None,
        };
        let Some(name) = self.shared.registry.discover(&placed, started_by) else { return };
        self.came(&name, now_ns);
        self.busy = true;
        self.shared.write(
            now_ns,
            "found",
            Some(&name),
            None,
            json!({ "cgroup": cgroup, "uid": placed.owner, "place": placed.place }),
        );
        self.is_new(&name, now_ns);
        self.answer(now_ns);
    }

    /// Says once of each user that not all of his apps are known one by one.
    fn too_many(&mut self, placed: &Placed, now_ns: u64) {
        let whose = placed.owner.map_or("somebody".to_owned(), |uid| format!("user {uid}"));
        let most = limits::FOUND_OF_USER_MAX;
        let what = format!("apps and jobs of {whose} beyond {most}: they count as outsiders, so end some");
        if !self.shared.missing.contains(&what) {
            self.shared.lacks(now_ns, what);
        }
    }

    fn is_new(&mut self, app: &AppName, now_ns: u64) {
        self.shared.identify(app, now_ns);
        self.shared.perceptions.look_anew();
        self.shared.service_looks.look_anew();
        self.shared.reorder(now_ns);
    }

    /// An app that was only found is forgotten, so that somebody else can have its name or its cgroup; false if it was not found but said.
    pub fn give_way(&mut self, app: &AppName, now_ns: u64) -> bool {
        if !self.shared.registry.get(app).is_some_and(|app| app.discovered) {
            return false;
        }
        self.undo(app, now_ns);
        if let Some(app) = self.shared.registry.remove(app) {
            self.shared.apps.remove(&app.name);
            self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::Gone(&app), now_ns));
        }
        true
    }

    pub(super) fn register(
        &mut self,
        app: AppName,
        cgroup: String,
        role: Role,
        io_class: Option<IoClass>,
        now_ns: u64,
    ) {
        // An app that was killed frozen leaves its cgroup frozen; its next life must not begin so.
        self.undo(&app, now_ns);
        self.shared.registry.insert(app.clone(), cgroup, role, io_class);
        self.came(&app, now_ns);
        self.shared.write(now_ns, "register", Some(&app), None, Value::Null);
        self.is_new(&app, now_ns);
    }

    /// An app's cgroup has no process any more.
    pub fn ended(&mut self, name: &AppName, now_ns: u64) {
        self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::Emptied(name), now_ns));
        let Some(app) = self.shared.registry.remove(name) else { return };
        if let Some(known) = self.shared.apps.remove(name) {
            let is_late = |then_ns: u64| now_ns.saturating_sub(then_ns) < AGAIN_NS;
            let ended = &mut self.shared.ended;
            ended.retain(|other| other.cgroup != app.cgroup && is_late(other.ended_ns));
            ended.push(EndedApp {
                name: name.clone(),
                cgroup: app.cgroup.clone(),
                kind: app.kind,
                ended_ns: now_ns,
                background_since_ns: known.background_since_ns,
                ran_away: known.runaway_ns.is_some_and(is_late),
            });
            let over = ended.len().saturating_sub(ENDED_MAX);
            ended.drain(..over);
        }
        self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::Gone(&app), now_ns));
        match self.shared.undo.ended(&app.cgroup) {
            // What is written down stands: of one that has ended nothing does.
            Ok(()) => debug_assert!(!self.shared.undo.changed().frozen.contains(&app.cgroup)),
            Err(e) => say!("fovea: writing the undo log: {e}"),
        }
        // It is in the registry no more.
        let uid = fovea_apps::owner_of_cgroup(&app.cgroup);
        let entry = Entry { t_ns: now_ns, action: "ended", app: Some(name), uid, ..Entry::default() };
        self.shared.journal.write(&entry);
    }

    fn came(&mut self, app: &AppName, now_ns: u64) {
        // A service that is started anew is the same one: nobody waits for it each time.
        let cgroup = self.shared.registry.get(app).map(|app| app.cgroup.as_str());
        let is_late = |ended: &&EndedApp| now_ns.saturating_sub(ended.ended_ns) < AGAIN_NS;
        let ended = || self.shared.ended.iter().filter(is_late);
        let same_job = ended().find(|ended| ended.kind == Kind::Job && Some(ended.cgroup.as_str()) == cgroup);
        let state = SharedAppState {
            background_since_ns: same_job.map_or(now_ns, |ended| ended.background_since_ns),
            ran_away: ended().any(|ended| ended.ran_away && ended.name == *app),
            ..SharedAppState::default()
        };
        self.shared.apps.insert(app.clone(), state);
        self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::Came(app), now_ns));
    }

    /// What was done to an app is taken back, for it is to be known by another name or in another cgroup.
    fn undo(&mut self, app: &AppName, now_ns: u64) {
        if let Some(app) = self.shared.registry.get(app).cloned() {
            self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::Undo(&app), now_ns));
        }
    }
}
