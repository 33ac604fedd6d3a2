// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The registry of running apps: the one place that knows who is in front and who was left when.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Importance, IoClass, Role};

/// An app's name: 1 to 64 characters of `[A-Za-z0-9._@+-]`, not starting with a dot or a dash, so that it can stand in a cgroup's path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AppName(String);

/// A text that is no app name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "app name {0:?} is not 1 to 64 characters of A-Z a-z 0-9 . _ @ + - (no leading dot or dash): choose another name"
)]
pub struct BadName(pub String);

impl AppName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AppName {
    type Error = BadName;
    fn try_from(text: String) -> Result<Self, BadName> {
        let fits = (1..=Self::MAX_BYTES).contains(&text.len())
            && !text.starts_with(['.', '-'])
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@+-".contains(&b));
        if fits {
            Ok(Self(text))
        } else {
            // A hostile name must not flood the log.
            Err(BadName(text.chars().take(Self::MAX_BYTES).collect()))
        }
    }
}

impl std::str::FromStr for AppName {
    type Err = BadName;
    fn from_str(text: &str) -> Result<Self, BadName> {
        Self::try_from(text.to_owned())
    }
}

impl From<AppName> for String {
    fn from(name: AppName) -> String {
        name.0
    }
}

impl fmt::Display for AppName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name that no running app has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no app named {0} is running: see `fovea status` for the names, or start it with `fovea launch {0} -- CMD`")]
pub struct Unknown(pub AppName);

/// A running app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// Its name.
    pub name: AppName,
    /// Its cgroup, a path below the cgroup v2 mount, without a leading slash.
    pub cgroup: String,
    /// What it is when it is not on the screen.
    pub role: Role,
    /// What its I/O needs; `None` lets the daemon infer it.
    pub io_class: Option<IoClass>,
    /// Closed by the user.
    pub closed: bool,
    /// When it was last on the screen, as a count of focus changes; 0 for never. Greater is more recent.
    pub focus_seq: u64,
}

/// All running apps.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    apps: BTreeMap<AppName, App>,
    foreground: Option<AppName>,
    focus_seq: u64,
}

impl Registry {
    /// Adds an app, or replaces the one of that name.
    pub fn insert(&mut self, name: AppName, cgroup: String, role: Role, io_class: Option<IoClass>) {
        let app = App { name: name.clone(), cgroup, role, io_class, closed: false, focus_seq: 0 };
        self.apps.insert(name, app);
    }

    /// Forgets an app that has ended.
    pub fn remove(&mut self, name: &AppName) -> Option<App> {
        if self.foreground.as_ref() == Some(name) {
            self.foreground = None;
        }
        self.apps.remove(name)
    }

    /// Brings an app to the screen; it is open again if it was closed.
    pub fn focus(&mut self, name: &AppName) -> Result<(), Unknown> {
        let app = self.apps.get_mut(name).ok_or_else(|| Unknown(name.clone()))?;
        self.focus_seq += 1;
        app.focus_seq = self.focus_seq;
        app.closed = false;
        self.foreground = Some(name.clone());
        Ok(())
    }

    /// Nothing is in front: the user is on the home screen.
    pub fn unfocus(&mut self) {
        self.foreground = None;
    }

    /// The user closed an app; it is kept as an empty one.
    pub fn close(&mut self, name: &AppName) -> Result<(), Unknown> {
        let app = self.apps.get_mut(name).ok_or_else(|| Unknown(name.clone()))?;
        app.closed = true;
        if self.foreground.as_ref() == Some(name) {
            self.foreground = None;
        }
        Ok(())
    }

    /// The app on the screen.
    pub fn foreground(&self) -> Option<&AppName> {
        self.foreground.as_ref()
    }

    /// The app of that name.
    pub fn get(&self, name: &AppName) -> Option<&App> {
        self.apps.get(name)
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

    /// How much an app matters now (seed 002, figure 2-18).
    pub fn importance(&self, app: &App) -> Importance {
        if self.foreground.as_ref() == Some(&app.name) {
            return Importance::Foreground;
        }
        match app.role {
            Role::Visible => Importance::Visible,
            Role::Service => Importance::Service,
            Role::ContentProvider => Importance::ContentProvider,
            Role::App if app.closed => Importance::Empty,
            Role::App => Importance::Hidden,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> AppName {
        text.parse().unwrap()
    }

    fn registry(names: &[&str]) -> Registry {
        let mut registry = Registry::default();
        for text in names {
            registry.insert(name(text), format!("apps/{text}"), Role::App, None);
        }
        registry
    }

    #[test]
    fn a_left_app_is_hidden_and_a_closed_one_empty() {
        let mut r = registry(&["mail", "game"]);
        r.focus(&name("mail")).unwrap();
        r.focus(&name("game")).unwrap();
        let importance = |r: &Registry, n: &str| r.importance(r.get(&name(n)).unwrap());
        assert_eq!(importance(&r, "mail"), Importance::Hidden);
        assert_eq!(importance(&r, "game"), Importance::Foreground);
        r.close(&name("game")).unwrap();
        assert_eq!(importance(&r, "game"), Importance::Empty);
        assert_eq!(r.foreground(), None);
        r.focus(&name("game")).unwrap();
        assert_eq!(importance(&r, "game"), Importance::Foreground);
    }

    #[test]
    fn unknown_apps_are_refused_and_change_nothing() {
        let mut r = registry(&["mail"]);
        r.focus(&name("mail")).unwrap();
        assert_eq!(r.focus(&name("nope")), Err(Unknown(name("nope"))));
        assert_eq!(r.foreground(), Some(&name("mail")));
    }

    #[test]
    fn a_role_outranks_being_closed() {
        let mut r = Registry::default();
        r.insert(name("ime"), "apps/ime".into(), Role::Visible, None);
        r.close(&name("ime")).unwrap();
        assert_eq!(r.importance(r.get(&name("ime")).unwrap()), Importance::Visible);
    }

    proptest! {
        #[test]
        fn names_never_leave_their_folder(text in ".{0,80}") {
            if let Ok(name) = text.parse::<AppName>() {
                prop_assert!(!name.as_str().contains('/'));
                prop_assert!(name.as_str() != ".." && name.as_str() != "." && !name.as_str().is_empty());
            }
        }

        #[test]
        fn at_most_one_app_is_in_front(ops in prop::collection::vec((0u8..5, 0usize..4), 0..60)) {
            let names = ["a", "b", "c", "d"];
            let mut r = registry(&names);
            for (op, i) in ops {
                let n = name(names[i]);
                match op {
                    0 => drop(r.focus(&n)),
                    1 => drop(r.close(&n)),
                    2 => r.unfocus(),
                    3 => drop(r.remove(&n)),
                    _ => r.insert(n, "x".into(), Role::App, None),
                }
                let front = r.iter().filter(|a| r.importance(a) == Importance::Foreground).count();
                prop_assert!(front <= 1);
                prop_assert_eq!(front == 1, r.foreground().is_some());
            }
        }
    }
}
