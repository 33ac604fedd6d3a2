// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The cases: who takes memory, where, how, and what ought to come of it.

use crate::outsider::{Leaks, LEAKER, SIBLINGS};
use crate::Place;

/// How a leaker takes memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Much, all the time.
    Leak,
    /// Little, all the time.
    Slow,
    /// Very much, and then nothing for seconds.
    Steps,
    /// Much, and it reads all it has again and again: once that is in swap it is slow.
    Thrash,
    /// Much, until it has five times what the largest app has.
    Stops,
    /// Little, all the time, until it has what it came for, and memory is not yet short for good.
    Fits,
    /// It has it before any app is there, and takes no more.
    Quiet,
    /// Little, until not much is available.
    Mild,
    /// Much, until ending what is in the background would give that back.
    Bounded,
    /// None: processes come and go.
    Forks,
    /// None: a service sets its zram up.
    Owner,
}

/// Who ought to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The leaker alone.
    Leaker,
    /// Nobody.
    Nobody,
    /// Apps in the background, if anybody.
    Background,
}

/// A case.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneCase {
    pub name: &'static str,
    pub place: Place,
    pub manner: Manner,
    /// The leaker's memory could be shared.
    pub shared: bool,
    /// A sibling has put a file on a tmpfs.
    pub files: bool,
    /// The leaker has a window.
    pub window: bool,
    /// The user goes to and fro between the leaker and the apps.
    pub to_and_fro: bool,
    /// Which process of the unit takes memory.
    pub leaks: Leaks,
    pub wanted: Wanted,
    /// It is among those that are played unless the scenario says otherwise.
    pub usual: bool,
}

const fn leak(name: &'static str, place: Place, manner: Manner) -> OneCase {
    OneCase {
        name,
        place,
        manner,
        shared: false,
        files: false,
        window: false,
        to_and_fro: false,
        leaks: Leaks::Child,
        wanted: Wanted::Leaker,
        usual: true,
    }
}

const fn shared(name: &'static str, place: Place) -> OneCase {
    OneCase { shared: true, ..leak(name, place, Manner::Leak) }
}

pub(super) const CASES: [OneCase; 32] = [
    leak("vte", Place::Vte, Manner::Leak),
    leak("vte-slow", Place::Vte, Manner::Slow),
    OneCase { wanted: Wanted::Nobody, usual: false, ..leak("vte-fits", Place::Vte, Manner::Fits) },
    leak("vte-steps", Place::Vte, Manner::Steps),
    leak("vte-thrash", Place::Vte, Manner::Thrash),
    leak("vte-stops", Place::Vte, Manner::Stops),
    shared("vte-shared", Place::Vte),
    OneCase { files: true, ..shared("vte-tmpfs", Place::Vte) },
    leak("kitty", Place::Kitty, Manner::Leak),
    leak("kitty-steps", Place::Kitty, Manner::Steps),
    leak("tmux", Place::Tmux, Manner::Leak),
    leak("ssh", Place::Ssh, Manner::Leak),
    leak("ssh-slow", Place::Ssh, Manner::Slow),
    leak("ssh-steps", Place::Ssh, Manner::Steps),
    OneCase { window: true, ..leak("window", Place::Ssh, Manner::Leak) },
    OneCase { leaks: Leaks::Parent, wanted: Wanted::Background, ..leak("login", Place::Ssh, Manner::Bounded) },
    leak("run", Place::RunScope, Manner::Leak),
    leak("snap", Place::Snap, Manner::Leak),
    leak("snap-slow", Place::Snap, Manner::Slow),
    leak("container", Place::Container, Manner::Leak),
    leak("container-slow", Place::Container, Manner::Slow),
    shared("app-shared", Place::App),
    OneCase { to_and_fro: true, ..leak("app-alternate", Place::App, Manner::Leak) },
    leak("odd-name", Place::OddName, Manner::Leak),
    OneCase { wanted: Wanted::Background, ..leak("session-part", Place::SessionPart, Manner::Bounded) },
    leak("user-service", Place::UserService, Manner::Leak),
    OneCase { leaks: Leaks::Anew, ..leak("user-service-anew", Place::UserService, Manner::Leak) },
    leak("system-service", Place::SystemService, Manner::Leak),
    leak("second-user", Place::SecondUser, Manner::Quiet),
    OneCase { wanted: Wanted::Nobody, ..leak("slab", Place::SystemService, Manner::Mild) },
    OneCase { wanted: Wanted::Nobody, ..leak("zram0", Place::SystemService, Manner::Owner) },
    OneCase { wanted: Wanted::Nobody, usual: false, ..leak("scores", Place::Kitty, Manner::Forks) },
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

impl OneCase {
    pub fn find(name: &str) -> Option<OneCase> {
        CASES.iter().copied().find(|case| case.name == name)
    }

    /// Whether the user would not wish for this one's end. Siblings have a figure of their own.
    pub fn is_wrong(&self, killed: &str, in_front: bool) -> bool {
        let is_app = killed != LEAKER && !SIBLINGS.contains(&killed);
        match self.wanted {
            Wanted::Leaker => is_app,
            Wanted::Nobody => is_app || killed == LEAKER,
            Wanted::Background => killed == LEAKER || is_app && in_front,
        }
    }
}
