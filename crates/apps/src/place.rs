// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The place of every cgroup: who it belongs to, decided by its path alone.
//!
//! The function is total: each path has exactly one place. Discovery, outsiders' growth, kills, status and the lists
//! all go by it, so what is no app is an outsider and nothing falls between.
//!
//! Sources: systemd's "Desktop Environments" (session.slice, app.slice, background.slice and the names of apps'
//! units), systemd.special(7), "Control Group APIs and Delegation" (a unit's subtree is the unit's own),
//! "Users, Groups, UIDs and GIDs on systemd systems" (system users, greeters).

use serde::{Deserialize, Serialize};

use crate::AppName;

mod name;
mod parts;
mod unit;

pub(crate) use name::of_label as name_of_label;
use unit::{in_manager, is_container, is_session_number};

/// Whose a cgroup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The root cgroup: the kernel's threads.
    Kernel,
    /// A service of the system's, or of root's own making.
    System,
    /// A part of a user's session: without it the session is broken or gone.
    Session,
    /// An app: a unit that is named as one.
    App,
    /// Anything else that a user runs: a terminal's child, a login, a service of his own, a task in the background.
    Job,
    /// What runs in a container or a virtual machine.
    Payload,
}

impl Place {
    /// The word for people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Place::Kernel => "kernel",
            Place::System => "system",
            Place::Session => "session",
            Place::App => "app",
            Place::Job => "job",
            Place::Payload => "payload",
        }
    }
}

/// What a member of the registry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An app: it has windows, or is named as one.
    #[default]
    App,
    /// Anything else that a user runs.
    Job,
    /// A login's own scope (`session-N.scope`): over SSH, on a console, or a whole desktop with its compositor. Single
    /// processes of it may be ended, never all of it.
    Login,
    /// A user's container.
    Payload,
}

impl Kind {
    /// The word for people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::App => "app",
            Kind::Job => "job",
            Kind::Login => "login",
            Kind::Payload => "payload",
        }
    }
}

/// A cgroup's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Whose it is.
    pub place: Place,
    /// The cgroup of the unit that its processes belong to: the path itself, or the part of it above a unit's own sub-cgroups.
    pub unit: &'a str,
    /// For people, unescaped: an app's ID, else the unit's name. Several units may have the same.
    pub label: String,
    /// The user below whose slice it lies.
    pub owner: Option<u32>,
}

impl Placed<'_> {
    /// What it is in the registry; `None` for what is never a victim: it belongs to the kernel, the system or a session,
    /// or is a container of root's, which is a service.
    pub fn kind(&self) -> Option<Kind> {
        match self.place {
            Place::App => Some(Kind::App),
            Place::Job if self.is_login() => Some(Kind::Login),
            Place::Job => Some(Kind::Job),
            Place::Payload if self.owner.is_some() => Some(Kind::Payload),
            Place::Kernel | Place::System | Place::Session | Place::Payload => None,
        }
    }

    /// Whether it is a login's own scope.
    fn is_login(&self) -> bool {
        let mut parts = self.unit.split('/');
        match (parts.next(), parts.next(), parts.next()) {
            // logind's (pam_systemd(8)), and elogind's.
            (Some("user.slice"), Some(_), Some(unit)) => unit.starts_with("session-") && unit.ends_with(".scope"),
            (Some(first), None, None) => is_session_number(first),
            _ => false,
        }
    }

    /// Whether a window makes an app of it. A user's service is one program, so its window is the service's;
    /// a scope holds whatever its starter put there, as a shell with its editors does.
    pub fn window_makes_app(&self) -> bool {
        self.place == Place::Job && self.unit.ends_with(".service")
    }

    /// The label as a name.
    pub fn name(&self) -> AppName {
        name::of_label(&self.label)
    }
}

/// Slice of the apps that `fovea launch` starts where there is no systemd: each has a cgroup of its name there, which only root can make. So
/// a daemon that comes anew finds them again.
pub const OWN_SLICE: &str = "fovea.slice";

/// Cgroups below which container runtimes make one for each container where they do not ask systemd for them.
const CONTAINERS: [&str; 5] = ["docker", "kubepods", "libpod_parent", "lxc", "lxc.payload"];

/// Slices within slices of one user's manager. What lies deeper belongs to the last of them.
const SLICES_MAX: usize = 8;

/// The scope in which systemd is to run an app, of which [`place_of_cgroup`] says the name again; `tag` tells it from others of that name.
pub fn scope_of_app(app: &AppName, tag: u32) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._".contains(&b);
    let escaped = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("\\x{b:02x}") };
    let id: String = app.as_str().bytes().map(escaped).collect();
    format!("app-fovea-{id}-{tag}.scope")
}

/// The place of a cgroup, a path below the mount without a leading slash.
pub fn place_of_cgroup(cgroup: &str) -> Placed<'_> {
    // A part without a name is no path that the kernel has.
    if cgroup.split('/').skip(usize::from(cgroup.is_empty())).any(str::is_empty) {
        return Placed { place: Place::System, unit: cgroup, label: cgroup.to_owned(), owner: None };
    }
    Walk { cgroup, at: 0 }.place()
}

/// The user below whose slice a cgroup lies.
pub fn owner_of_cgroup(cgroup: &str) -> Option<u32> {
    place_of_cgroup(cgroup).owner
}

/// The label of an app, a job or a container whose cgroup this is.
pub fn label_of_cgroup(cgroup: &str) -> Option<String> {
    let placed = place_of_cgroup(cgroup);
    (placed.kind().is_some() && placed.unit == cgroup).then_some(placed.label)
}

/// Whether this cgroup is no unit but holds units: slices and users' managers. A process that is in it all the same
/// belongs to whoever made it, never to an app.
pub fn holds_units(cgroup: &str) -> bool {
    let parts: Vec<&str> = cgroup.split('/').collect();
    match parts[..] {
        [""] => true,
        [first] if CONTAINERS.contains(&first) => true,
        [OWN_SLICE] => true,
        [OWN_SLICE, user] => uid_of(user, "user-", ".slice").is_some(),
        [OWN_SLICE, ..] => false,
        ["user.slice", user, ref below @ ..] => match (uid_of(user, "user-", ".slice"), below) {
            (Some(_), []) => true,
            (Some(uid), [manager, below @ ..]) if uid_of(manager, "user@", ".service") == Some(uid) => {
                below.len() <= SLICES_MAX && below.iter().all(|part| is_slice(part))
            }
            _ => parts.iter().all(|part| is_slice(part)),
        },
        _ => parts.iter().all(|part| is_slice(part)),
    }
}

/// Whether units that may be victims lie below this cgroup.
pub fn leads_to_apps(cgroup: &str) -> bool {
    let first = cgroup.split('/').next().unwrap_or_default();
    let beside_apps = cgroup.split('/').nth(3) == Some("session.slice");
    matches!(first, "" | "user.slice" | OWN_SLICE) && !beside_apps && holds_units(cgroup)
}

fn is_slice(name: &str) -> bool {
    name.len() > ".slice".len() && name.ends_with(".slice")
}

fn uid_of(name: &str, before: &str, after: &str) -> Option<u32> {
    let digits = name.strip_prefix(before)?.strip_suffix(after)?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// Users in whose name no person works: system users (UIDs below 1000, root excepted) and the greeters of display
/// managers, for which systemd keeps 60578 to 60705.
fn is_no_person(uid: u32) -> bool {
    (1..1000).contains(&uid) || (60578..=60705).contains(&uid)
}

/// A way down a path, part by part.
#[derive(Clone, Copy)]
struct Walk<'a> {
    cgroup: &'a str,
    /// Where the next part begins.
    at: usize,
}

impl<'a> Walk<'a> {
    /// The next part of the path; `None` at its end.
    fn next(&mut self) -> Option<&'a str> {
        let rest = self.cgroup.get(self.at..).filter(|rest| !rest.is_empty())?;
        let part = rest.split('/').next()?;
        self.at = (self.at + part.len() + 1).min(self.cgroup.len());
        Some(part)
    }

    /// The path down to the part that was taken last.
    fn path(&self) -> &'a str {
        self.cgroup[..self.at].trim_end_matches('/')
    }

    /// Goes down to the first part that is no slice, or to the last slice; takes at most `most` slices.
    /// Says the innermost slice above it and the part.
    fn unit(&mut self, above: &'a str, most: usize) -> (&'a str, &'a str) {
        let (mut above, mut part) = (above, above);
        for _ in 0..=most {
            match self.next() {
                Some(next) => (above, part) = (part, next),
                None => return (above, part),
            }
            if !is_slice(part) {
                break;
            }
        }
        (above, part)
    }

    fn placed(&self, place: Place, name: &str, owner: Option<u32>) -> Placed<'a> {
        Placed { place, unit: self.path(), label: name::of_unit(name), owner }
    }

    fn place(mut self) -> Placed<'a> {
        let Some(first) = self.next() else { return self.placed(Place::Kernel, "kernel", None) };
        match first {
            "user.slice" => self.below_users(),
            OWN_SLICE => self.below_own_slice(),
            "machine.slice" | "kubepods.slice" => {
                let (_, unit) = self.unit(first, usize::MAX);
                let place = if is_slice(unit) { Place::System } else { Place::Payload };
                self.placed(place, unit, None)
            }
            _ if is_slice(first) => {
                let (_, unit) = self.unit(first, usize::MAX);
                self.placed(if is_container(unit) { Place::Payload } else { Place::System }, unit, None)
            }
            _ if CONTAINERS.contains(&first) => match self.next() {
                Some(name) => self.placed(Place::Payload, name, None),
                None => self.placed(Place::System, first, None),
            },
            _ if first.starts_with("lxc.payload.") => self.placed(Place::Payload, first, None),
            // elogind's sessions, named by their number alone.
            _ if is_session_number(first) => self.placed(Place::Job, first, None),
            _ => self.placed(Place::System, first, None),
        }
    }

    /// `fovea.slice/NAME`, and `fovea.slice/user-U.slice/NAME`.
    fn below_own_slice(mut self) -> Placed<'a> {
        let Some(name) = self.next() else { return self.placed(Place::System, OWN_SLICE, None) };
        let owner = uid_of(name, "user-", ".slice");
        let name = if owner.is_some() { self.next() } else { Some(name) };
        match name {
            Some(name) => Placed { place: Place::App, unit: self.path(), label: name.to_owned(), owner },
            None => self.placed(Place::System, OWN_SLICE, owner),
        }
    }

    fn below_users(mut self) -> Placed<'a> {
        let Some(user) = self.next() else { return self.placed(Place::System, "user.slice", None) };
        let Some(uid) = uid_of(user, "user-", ".slice") else {
            // Root's own: logind makes nothing else here.
            let name = if is_slice(user) { self.unit(user, usize::MAX).1 } else { user };
            return self.placed(Place::System, name, None);
        };
        let owner = Some(uid);
        let Some(unit) = self.next() else { return self.placed(Place::Session, user, owner) };
        if uid_of(unit, "user@", ".service") == owner {
            return self.below_manager(unit, uid);
        }
        let (_, unit) = if is_slice(unit) { self.unit(unit, usize::MAX) } else { (user, unit) };
        let place = match unit {
            // Makes and removes /run/user/U as root.
            _ if unit.starts_with("user-runtime-dir@") => Place::System,
            _ if is_slice(unit) => Place::Session,
            _ => of_person(Place::Job, uid),
        };
        self.placed(place, unit, owner)
    }

    /// Below a user's manager, which he may fill as he likes.
    fn below_manager(mut self, manager: &'a str, uid: u32) -> Placed<'a> {
        let owner = Some(uid);
        let mut ahead = self;
        let in_session = ahead.next() == Some("session.slice");
        let (above, unit) = self.unit(manager, SLICES_MAX);
        if unit == manager {
            return self.placed(Place::Session, manager, owner);
        }
        if is_slice(unit) {
            // A process in a slice itself, or more slices than are looked into.
            let place = if in_session || holds_units(self.path()) { Place::Session } else { Place::Job };
            return self.placed(of_person(place, uid), unit, owner);
        }
        let (place, label) = match () {
            () if in_session || unit == "init.scope" => (Place::Session, None),
            () if is_container(unit) => (Place::Payload, None),
            () => in_manager(above, unit),
        };
        let label = label.unwrap_or_else(|| name::of_unit(unit));
        Placed { place: of_person(place, uid), unit: self.path(), label, owner }
    }
}

/// What a greeter's user or a daemon's runs is no person's: nobody could say that he misses it, and everybody would.
fn of_person(place: Place, uid: u32) -> Place {
    if is_no_person(uid) {
        Place::Session
    } else {
        place
    }
}

#[cfg(test)]
#[path = "place/tests.rs"]
mod tests;
