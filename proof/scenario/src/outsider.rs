// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who takes memory on a desktop beside the user's apps: in which unit of systemd's, and how.

use serde::{Deserialize, Serialize};

use crate::{Mix, Touch};

/// Name of the process that takes memory, in events.
pub const LEAKER: &str = "leaker";

/// Names of its siblings in the unit, in events: its parent, and a process with work that is not
/// saved.
pub const SIBLINGS: [&str; 2] = ["shell", "unsaved"];

/// A unit of systemd's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Started by the user's systemd, not by the system's.
    pub by_user: bool,
    /// Its slice.
    pub slice: &'static str,
    /// Its name.
    pub name: &'static str,
    /// As whom its processes run.
    pub uid: u32,
    /// What its processes' `oom_score_adj` is without anybody's doing: the user's systemd has 100
    /// and gives what it starts 200, logind's
    /// sessions and the system's services have 0.
    pub oom_score_adj: i32,
}

const fn by_user(slice: &'static str, name: &'static str) -> Unit {
    Unit { by_user: true, slice, name, uid: 1000, oom_score_adj: 200 }
}

const fn by_system(slice: &'static str, name: &'static str, uid: u32) -> Unit {
    Unit { by_user: false, slice, name, uid, oom_score_adj: 0 }
}

impl Unit {
    /// Whether systemd starts its process; else the process is there before its unit.
    pub fn is_service(&self) -> bool {
        self.name.ends_with(".service")
    }

    /// Its cgroup, below the mount: a slice lies in the slice that its name begins with
    /// (systemd.slice(5)).
    pub fn cgroup(&self) -> String {
        let above = if self.by_user { "user.slice/user-1000.slice/user@1000.service/" } else { "" };
        let stem = self.slice.trim_end_matches(".slice");
        let dashes = stem.match_indices('-').map(|(at, _)| at).chain([stem.len()]);
        let slices: String = dashes.map(|end| format!("{}.slice/", &stem[..end])).collect();
        format!("{above}{slices}{}", self.name)
    }
}

/// Where in systemd's tree it is, with the names that the programs choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A tab of GNOME Terminal.
    Vte,
    /// A window of kitty, which is an app's unit.
    Kitty,
    /// A window of tmux.
    Tmux,
    /// A session over SSH.
    Ssh,
    /// A command that systemd-run started.
    RunScope,
    /// A snap: Ubuntu's browser.
    Snap,
    /// A rootless container of podman's.
    Container,
    /// An app in the background.
    App,
    /// An app whose ID has blanks in it.
    OddName,
    /// The compositor.
    SessionPart,
    /// A service of the user's.
    UserService,
    /// A service of the system's.
    SystemService,
    /// A session of somebody else's, who has no seat.
    SecondUser,
}

impl Place {
    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Place::Vte => {
                by_user("app-org.gnome.Terminal.slice", "vte-spawn-0b9d4d5e-1c41-4f0b-9a51-6ad3f1f2dbb4.scope")
            }
            Place::Kitty => by_user("app.slice", "app-kitty-4242.scope"),
            Place::Tmux => by_user("app.slice", "tmux-spawn-77a1c1cb-93a5-4a0e-8f0c-6f0f4b1f0a55.scope"),
            Place::Ssh => by_system("user-1000.slice", "session-7.scope", 1000),
            Place::RunScope => by_user("app.slice", "run-r3f2c8a0e5b6d4c1f9a7e2d8b0c4f6a1e.scope"),
            Place::Snap => by_user("app.slice", "snap.firefox.firefox-5a1e7d52-5f0e-4c0f-9d3e-0c8e7f4b2a61.scope"),
            Place::Container => {
                by_user("user.slice", "libpod-4f6b1a0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a.scope")
            }
            Place::App => by_user("app.slice", "app-gnome-leaker-999.scope"),
            Place::OddName => by_user("app.slice", r"app-gnome-Half\x2dLife\x202-991.scope"),
            Place::SessionPart => by_user("session.slice", "org.gnome.Shell@wayland.service"),
            Place::UserService => by_user("app.slice", "syncthing.service"),
            Place::SystemService => by_system("system.slice", "stray.service", 0),
            Place::SecondUser => by_system("user-1001.slice", "session-9.scope", 1001),
        }
    }
}

/// How it takes memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Pages it has before anything else happens.
    pub first_pages: u64,
    /// Pages it takes at a time.
    pub pages: u64,
    /// From the beginning of one time to that of the next, if it does not take longer.
    pub period_ns: u64,
    /// It stops by itself at so many.
    pub most_pages: u64,
    /// It stops by itself once `MemAvailable` is below this.
    pub least_available_bytes: u64,
    /// Its memory could be shared with others (MAP_SHARED): the kernel counts it as shmem.
    pub shared: bool,
    /// It reads all it has each time, so that it becomes slow once some of that is in swap.
    pub rereads: bool,
}

/// Somebody with two siblings in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outsider {
    /// Where.
    pub place: Place,
    /// Pages of each sibling.
    pub sibling_pages: [u64; 2],
    /// What pages hold.
    pub mix: Mix,
    /// How the leaker takes memory.
    pub growth: Growth,
    /// Pages of a file that the second sibling puts on a tmpfs before anybody takes memory: the unit is charged for them, and they
    /// stay whoever dies.
    #[serde(default)]
    pub file_pages: u64,
    /// The leaker has a window: whoever tells of it has the user's systemd make a scope for it, where there is a daemon.
    #[serde(default)]
    pub has_window: bool,
    /// What takes memory.
    #[serde(default)]
    pub leaks: Leaks,
}

/// Which of a unit's processes takes memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaks {
    /// A child of the first one.
    #[default]
    Child,
    /// The first one, which has started the others.
    Parent,
    /// The first one, which has no others; systemd starts it anew when it has ended (`Restart=always`).
    Anew,
}

/// What the user does meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meanwhile {
    /// The apps that the user goes through, again and again.
    pub apps: Vec<String>,
    /// Interactions with each.
    pub interactions: u32,
    /// From one to the next.
    pub period_ns: u64,
    /// What each touches.
    pub touch: Touch,
    /// At most so long.
    pub limit_ns: u64,
    /// So long after the leaker's end.
    pub after_ns: u64,
    /// After each app the leaker is in front for as long.
    #[serde(default)]
    pub to_and_fro: bool,
}

/// Processes that come and go in an outsider's unit while the user changes between it and an app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forks {
    /// The app.
    pub app: String,
    /// Processes in all.
    pub processes: u64,
    /// That live at a time.
    pub living: u64,
    /// From the start of one to that of the next, if it does not take longer.
    pub period_ns: u64,
    /// Changes of focus.
    pub switches: u32,
    /// From one to the next.
    pub switch_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_are_where_systemd_puts_the_units() {
        let user = "user.slice/user-1000.slice/user@1000.service";
        assert_eq!(
            Place::Vte.unit().cgroup(),
            format!(
                "{user}/app.slice/app-org.gnome.Terminal.slice/vte-spawn-0b9d4d5e-1c41-4f0b-9a51-6ad3f1f2dbb4.scope"
            )
        );
        assert_eq!(Place::Ssh.unit().cgroup(), "user.slice/user-1000.slice/session-7.scope");
        assert_eq!(Place::SystemService.unit().cgroup(), "system.slice/stray.service");
        assert!(Place::Container.unit().cgroup().starts_with(&format!("{user}/user.slice/libpod-")));
    }
}
