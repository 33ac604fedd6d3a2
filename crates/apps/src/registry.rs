// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The registry of running apps: which is in the foreground, and when each was left.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::reuse::Reuse;
use crate::{AppName, Importance, IoClass, Kind, Placed, Role};

/// A name that no running app has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no app named {0} is running: see `fovea status` for the names, or start it with `fovea launch {0} -- CMD`")]
pub struct Unknown(pub AppName);

/// A running app, or a job or a container that is treated as one where its memory is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// Its name.
    pub name: AppName,
    /// What it is.
    #[serde(default)]
    pub kind: Kind,
    /// Whether it becomes an app when a window of it is seen.
    #[serde(default)]
    pub window_makes_app: bool,
    /// The cgroup of the app that started it: for a job in a terminal's tab, the terminal's.
    #[serde(default)]
    pub started_by: Option<String>,
    /// Its cgroup, a path below the cgroup v2 mount, without a leading slash.
    pub cgroup: String,
    /// Its role while it is not visible.
    pub role: Role,
    /// Found by its cgroup, not registered.
    pub discovered: bool,
    /// What its I/O needs; `None` lets the daemon infer it.
    pub io_class: Option<IoClass>,
    /// Closed by the user.
    pub closed: bool,
    /// When it last came to the foreground, as a count of focus changes; 0 for never.
    pub focus_seq: u64,
    /// How often it has come to the front.
    pub uses: u32,
    /// It was in the foreground or visible at some time, so the source knows it and will report it
    /// again. For an app that was never seen, the user may be waiting for its first window.
    pub seen: bool,
}

impl App {
    fn saw_window_if(&mut self, seen: bool) {
        self.seen |= seen;
        if self.seen && self.window_makes_app {
            self.kind = Kind::App;
        }
    }
}

/// A focus source: one connection, for as long as it lasts.
pub type SourceId = u64;

/// What one source says is on its screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Attention {
    front: Option<AppName>,
    visible: BTreeSet<AppName>,
}

impl Attention {
    fn forget(&mut self, name: &AppName) {
        self.front.take_if(|front| front == name);
        self.visible.remove(name);
    }
}

/// All running apps.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    apps: BTreeMap<AppName, App>,
    /// The app of each cgroup.
    by_cgroup: BTreeMap<String, AppName>,
    /// What connected sources say. Each has a screen of its own (a seat, a user's session).
    by_source: BTreeMap<SourceId, Attention>,
    /// What a source that has left said last, or a command. Without a connected source it ranks
    /// apps for kills, where a guess is better than none; nothing else depends on it.
    last: Attention,
    focus_seq: u64,
    reuse: Reuse,
}

impl Registry {
    /// Adds an app, or replaces the one of that name.
    pub fn insert(&mut self, name: AppName, cgroup: String, role: Role, io_class: Option<IoClass>) {
        let seen = self.is_front(&name) || self.is_visible(&name);
        let app = App {
            name: name.clone(),
            kind: Kind::App,
            window_makes_app: false,
            started_by: None,
            cgroup,
            role,
            discovered: false,
            io_class,
            closed: false,
            focus_seq: 0,
            uses: 0,
            seen,
        };
        self.by_cgroup.insert(app.cgroup.clone(), name.clone());
        if let Some(old) = self.apps.insert(name, app) {
            self.forget_cgroup(&old);
        }
    }

    /// Forgets the cgroup of an app that has moved or ended.
    fn forget_cgroup(&mut self, old: &App) {
        let is_elsewhere = self.apps.get(&old.name).is_none_or(|app| app.cgroup != old.cgroup);
        if is_elsewhere && self.by_cgroup.get(&old.cgroup) == Some(&old.name) {
            self.by_cgroup.remove(&old.cgroup);
        }
    }

    /// Adds an app, a job or a container that was found by its cgroup. Its label is its name, or a
    /// variant if another app has that name: two users' firefox are two apps. `started_by` is the
    /// cgroup of the app that started it, if one did. Returns its name; `None` if the cgroup is an
    /// app's already, or may never be a victim.
    pub fn discover(&mut self, placed: &Placed, started_by: Option<String>) -> Option<AppName> {
        let kind = placed.kind()?;
        if self.at(placed.unit).is_some() {
            return None;
        }
        let name = self.free_name(placed)?;
        self.insert(name.clone(), placed.unit.to_owned(), Role::App, None);
        if let Some(app) = self.apps.get_mut(&name) {
            app.discovered = true;
            (app.kind, app.window_makes_app, app.started_by) = (kind, placed.window_makes_app(), started_by);
            app.saw_window_if(app.seen);
        }
        Some(name)
    }

    fn free_name(&self, placed: &Placed) -> Option<AppName> {
        /// Apps of one label and user.
        const SAME_MAX: u32 = 100_000;
        let label = placed.name();
        let uid = placed.owner.unwrap_or(0);
        let suffixed = |suffix: String| {
            // All ASCII.
            let kept = &label.as_str()[..label.as_str().len().min(AppName::MAX_BYTES - suffix.len())];
            AppName::known_good(format!("{kept}{suffix}"))
        };
        let others = (1..SAME_MAX).map(|n| if n == 1 { format!("@{uid}") } else { format!("@{uid}-{n}") });
        let mut names = std::iter::once(label.clone()).chain(others.map(suffixed));
        names.find(|name| !self.apps.contains_key(name))
    }

    /// The app of a cgroup.
    pub fn at(&self, cgroup: &str) -> Option<&App> {
        self.apps.get(self.by_cgroup.get(cgroup)?)
    }

    /// Forgets an app that has ended.
    pub fn remove(&mut self, name: &AppName) -> Option<App> {
        self.attentions().for_each(|a| a.forget(name));
        let removed = self.apps.remove(name)?;
        self.forget_cgroup(&removed);
        Some(removed)
    }

    fn attentions(&mut self) -> impl Iterator<Item = &mut Attention> {
        self.by_source.values_mut().chain(std::iter::once(&mut self.last))
    }

    /// An app comes to a source's screen, and nothing else is on it. It is open again if it was
    /// closed. Without a source (a command) this is a guess, which counts only while no source is
    /// connected.
    pub fn focus(&mut self, source: Option<SourceId>, name: &AppName, now_ns: u64) -> Result<(), Unknown> {
        self.reopen(name)?;
        let attention = Attention { front: Some(name.clone()), visible: BTreeSet::new() };
        self.tell(source, attention, now_ns);
        Ok(())
    }

    /// What a source's screen shows: the app in the foreground, and the visible ones beside it.
    /// Unknown names are ignored.
    pub fn show(&mut self, source: Option<SourceId>, front: Option<AppName>, visible: BTreeSet<AppName>, now_ns: u64) {
        let front = front.filter(|name| self.apps.contains_key(name));
        let was_front = front.as_ref().is_some_and(|name| self.is_front(name));
        if let Some(name) = front.as_ref().filter(|_| !was_front) {
            let _ = self.reopen(name);
        }
        for name in &visible {
            if let Some(app) = self.apps.get_mut(name) {
                app.saw_window_if(true);
                app.closed = false;
                self.reuse.set_closed(name, false);
            }
        }
        let visible = visible.into_iter().filter(|name| self.apps.contains_key(name)).collect();
        self.tell(source, Attention { front, visible }, now_ns);
    }

    /// Nothing is on a source's screen: the user is on the home screen.
    pub fn unfocus(&mut self, source: Option<SourceId>, now_ns: u64) {
        self.tell(source, Attention::default(), now_ns);
    }

    fn reopen(&mut self, name: &AppName) -> Result<(), Unknown> {
        let app = self.apps.get_mut(name).ok_or_else(|| Unknown(name.clone()))?;
        self.focus_seq += 1;
        (app.focus_seq, app.closed) = (self.focus_seq, false);
        app.saw_window_if(true);
        Ok(())
    }

    fn tell(&mut self, source: Option<SourceId>, attention: Attention, now_ns: u64) {
        let comes = attention.front.clone().filter(|front| !self.is_front(front));
        let mut newest_was_front = self.newest_is_front();
        match source {
            Some(source) => drop(self.by_source.insert(source, attention)),
            None => self.last = attention,
        }
        if newest_was_front && !self.newest_is_front() {
            newest_was_front = self.reuse.leaves(now_ns);
        }
        let Some(name) = comes.filter(|name| self.is_front(name)) else { return };
        let Some(app) = self.apps.get_mut(&name) else { return };
        app.uses += 1;
        // A user does not go back to a home screen or a keyboard.
        if app.role == Role::App && app.kind == Kind::App {
            self.reuse.comes(&name, newest_was_front, now_ns);
        }
    }

    /// A source has left, and what it said no longer counts. Of the last one it remains as a guess.
    pub fn leave(&mut self, source: SourceId) {
        if let Some(attention) = self.by_source.remove(&source) {
            self.last = attention;
        }
    }

    /// Whether a connected source says which app is in the foreground.
    pub fn has_source(&self) -> bool {
        !self.by_source.is_empty()
    }

    /// The user closed an app; it is kept as an empty one.
    pub fn close(&mut self, name: &AppName) -> Result<(), Unknown> {
        let app = self.apps.get_mut(name).ok_or_else(|| Unknown(name.clone()))?;
        app.closed = true;
        self.reuse.set_closed(name, true);
        self.attentions().for_each(|a| a.forget(name));
        Ok(())
    }

    /// What counts now: what connected sources say, or else the guess.
    fn screens(&self) -> impl Iterator<Item = &Attention> {
        let last = self.by_source.is_empty().then_some(&self.last);
        self.by_source.values().chain(last)
    }

    /// The app in the foreground; with several screens, of the source that connected first.
    pub fn foreground(&self) -> Option<&AppName> {
        self.screens().find_map(|a| a.front.as_ref())
    }

    /// Whether an app is in front on some screen.
    pub fn is_front(&self, name: &AppName) -> bool {
        self.screens().any(|a| a.front.as_ref() == Some(name))
    }

    fn is_visible(&self, name: &AppName) -> bool {
        self.screens().any(|a| a.visible.contains(name))
    }

    /// The app of that name.
    pub fn get(&self, name: &AppName) -> Option<&App> {
        self.apps.get(name)
    }

    /// How often the app that comes to the foreground is the one left last, in thousandths; the
    /// latest counts most.
    pub fn goes_back_permille(&self) -> u32 {
        self.reuse.goes_back_permille()
    }

    /// How surely each app comes back to the foreground soon, in thousandths: from 1 (hardly ever)
    /// to 1000 (at the next visit). An app that was never opened is as likely as any other.
    /// Services, and apps in the foreground, have no value.
    pub fn returns_permille(&self) -> BTreeMap<&AppName, u32> {
        let returns: BTreeMap<_, _> = self.reuse.returns(self.newest_is_front()).collect();
        let any = Reuse::any(returns.len() + 1);
        let of = |name| (returns.get(name).unwrap_or(&any) * 1000.0).clamp(1.0, 1000.0) as u32;
        let away = |app: &&App| app.role == Role::App && app.kind == Kind::App && !self.is_front(&app.name);
        self.apps.values().filter(away).map(|app| (&app.name, of(&app.name))).collect()
    }

    /// The same of apps that the user opened before and that do not run, the likeliest first.
    pub fn expected_permille(&self) -> Vec<(&AppName, u32)> {
        let returns = self.reuse.returns(self.newest_is_front());
        let ended = returns.filter(|(name, _)| !self.apps.contains_key(*name));
        let mut expected: Vec<_> =
            ended.map(|(name, surely)| (name, (surely * 1000.0).clamp(1.0, 1000.0) as u32)).collect();
        expected.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        expected
    }

    fn newest_is_front(&self) -> bool {
        self.reuse.newest().is_some_and(|newest| self.is_front(newest))
    }

    /// All apps by name.
    pub fn iter(&self) -> impl Iterator<Item = &App> {
        self.apps.values()
    }

    /// How many apps are running.
    pub fn len(&self) -> usize {
        self.apps.len()
    }

    /// Whether no app is running.
    pub fn is_empty(&self) -> bool {
        self.apps.is_empty()
    }

    /// Whether the app that started a job is visible: a terminal, for a shell in it or for what
    /// that shell started.
    fn is_started_by_seen(&self, job: &App) -> bool {
        /// A terminal's tab, a multiplexer in it, its panes, and one more.
        const STEPS_MAX: usize = 4;
        let starter = |app: &&App| app.started_by.as_deref().and_then(|cgroup| self.at(cgroup));
        let starters = std::iter::successors(starter(&job), starter).take(STEPS_MAX);
        starters.into_iter().any(|app| self.is_front(&app.name) || self.is_visible(&app.name))
    }

    /// Whether all apps with a known owner are one user's.
    pub fn has_one_owner(&self) -> bool {
        let mut owners = self.apps.values().filter_map(|app| crate::owner_of_cgroup(&app.cgroup));
        let first = owners.next();
        owners.all(|owner| Some(owner) == first)
    }

    /// How much an app matters now (LowMem13, figure 2-18).
    pub fn importance(&self, app: &App) -> Importance {
        if self.is_front(&app.name) {
            return Importance::Foreground;
        }
        if self.is_visible(&app.name) {
            return Importance::Visible;
        }
        // Nobody leaves a job for another: it works, or waits for its user. What runs in a terminal is seen with it.
        if app.kind != Kind::App && app.role == Role::App {
            return if self.is_started_by_seen(app) { Importance::Visible } else { Importance::Service };
        }
        match app.role {
            Role::Visible => Importance::Visible,
            Role::Service => Importance::Service,
            Role::ContentProvider => Importance::ContentProvider,
            Role::App if app.closed => Importance::Empty,
            // Sources would tell of its windows: it has none, and works for somebody.
            Role::App if app.discovered && !app.seen && self.has_source() => Importance::Service,
            Role::App => Importance::Hidden,
        }
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
