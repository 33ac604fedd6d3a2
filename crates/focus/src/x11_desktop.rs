// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The windows of an X desktop, by the Extended Window Manager Hints: which are in front, which can be seen, whose they are.

use std::collections::BTreeSet;

use x11rb::cookie::Cookie;
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, GetPropertyReply, Window,
};

use crate::x11_stream::Link;
use crate::Windows;

/// A longer host name than Linux has (HOST_NAME_MAX, 64), in units of 4 bytes.
const HOST_UNITS_MAX: u32 = 64;

/// No desktop has more windows, nor a window more states.
const LIST_MAX: u32 = 4096;

/// `_NET_WM_DESKTOP` of a window that is on all of them.
const ALL_DESKTOPS: u32 = u32::MAX;

macro_rules! atoms {
    ($($field:ident = $name:literal),* $(,)?) => {
        struct Atoms { $($field: Atom),* }
        impl Atoms {
            fn of(connection: &Link) -> Result<Self, ReplyError> {
                Ok(Self { $($field: connection.intern_atom(false, $name)?.reply()?.atom),* })
            }
        }
    };
}

atoms! {
    active = b"_NET_ACTIVE_WINDOW",
    clients = b"_NET_CLIENT_LIST",
    current = b"_NET_CURRENT_DESKTOP",
    desktop = b"_NET_WM_DESKTOP",
    state = b"_NET_WM_STATE",
    hidden = b"_NET_WM_STATE_HIDDEN",
    attention = b"_NET_WM_STATE_DEMANDS_ATTENTION",
    pid = b"_NET_WM_PID",
    kind = b"_NET_WM_WINDOW_TYPE",
    dock = b"_NET_WM_WINDOW_TYPE_DOCK",
    background = b"_NET_WM_WINDOW_TYPE_DESKTOP",
}

/// A desktop. A window is taken for visible unless the window manager says that it is minimised or on another desktop: one that is covered
/// may be uncovered without a word.
pub struct Desktop<'a> {
    connection: &'a Link,
    root: Window,
    host: &'a [u8],
    atoms: Atoms,
    /// Windows whose changes are told.
    watched: BTreeSet<Window>,
}

/// What is asked of one window.
struct Asked<'c> {
    pid: Cookie<'c, Link, GetPropertyReply>,
    machine: Cookie<'c, Link, GetPropertyReply>,
    desktop: Cookie<'c, Link, GetPropertyReply>,
    state: Cookie<'c, Link, GetPropertyReply>,
    kind: Cookie<'c, Link, GetPropertyReply>,
}

impl<'a> Desktop<'a> {
    /// The desktop of a screen; asked to tell its changes before it is asked how things stand: what changes in between is told twice,
    /// never missed.
    pub fn of(connection: &'a Link, root: Window, host: &'a [u8]) -> Result<Self, ReplyError> {
        let mut desktop = Self { connection, root, host, atoms: Atoms::of(connection)?, watched: BTreeSet::new() };
        desktop.follow(root)?;
        Ok(desktop)
    }

    fn follow(&mut self, window: Window) -> Result<(), ConnectionError> {
        let mask = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        if self.watched.insert(window) {
            // A window may be gone by now: the error comes as an event, and is passed over.
            self.connection.change_window_attributes(window, &mask)?;
        }
        Ok(())
    }

    /// Whether a property, of the root or of a window, has a part in what is seen.
    pub fn concerns(&self, of_root: bool, property: Atom) -> bool {
        let a = &self.atoms;
        match of_root {
            true => [a.active, a.clients, a.current].contains(&property),
            false => [a.desktop, a.state, a.pid].contains(&property),
        }
    }

    fn ask(
        &self,
        window: Window,
        property: impl Into<Atom>,
        units: u32,
    ) -> Result<Cookie<'a, Link, GetPropertyReply>, ConnectionError> {
        self.connection.get_property(false, window, property.into(), AtomEnum::ANY, 0, units)
    }

    fn numbers(reply: Result<GetPropertyReply, ReplyError>) -> Result<Vec<u32>, ConnectionError> {
        Ok(served(reply)?.and_then(|r| Some(r.value32()?.collect())).unwrap_or_default())
    }

    /// Looks at all windows. Everything is asked before anything is answered, so that it costs two round trips however many they are.
    pub fn look(&mut self) -> Result<Windows, ConnectionError> {
        let (active, clients) =
            (self.ask(self.root, self.atoms.active, 1)?, self.ask(self.root, self.atoms.clients, LIST_MAX)?);
        let current = self.ask(self.root, self.atoms.current, 1)?;
        let active = Self::numbers(active.reply())?.first().copied().filter(|&window| window != 0);
        let mut windows: BTreeSet<Window> = Self::numbers(clients.reply())?.into_iter().collect();
        let current = Self::numbers(current.reply())?.first().copied();
        windows.extend(active);
        let root = self.root;
        self.watched.retain(|window| *window == root || windows.contains(window));
        let mut asked = Vec::new();
        for &window in &windows {
            self.follow(window)?;
            let questions = Asked {
                pid: self.ask(window, self.atoms.pid, 1)?,
                machine: self.ask(window, AtomEnum::WM_CLIENT_MACHINE, HOST_UNITS_MAX)?,
                desktop: self.ask(window, self.atoms.desktop, 1)?,
                state: self.ask(window, self.atoms.state, LIST_MAX)?,
                kind: self.ask(window, self.atoms.kind, LIST_MAX)?,
            };
            asked.push((window, questions));
        }
        let (mut front, mut visible, mut parts) = (None, Vec::new(), Vec::new());
        for (window, questions) in asked {
            let pid = Self::numbers(questions.pid.reply())?.first().copied().filter(|&pid| pid != 0);
            let machine = served(questions.machine.reply())?.map(|r| r.value).unwrap_or_default();
            let desktop = Self::numbers(questions.desktop.reply())?.first().copied();
            let states = Self::numbers(questions.state.reply())?;
            let kinds = Self::numbers(questions.kind.reply())?;
            let Some(pid) = owner(pid, &machine, self.host) else { continue };
            if kinds.contains(&self.atoms.dock) || kinds.contains(&self.atoms.background) {
                parts.push(pid);
            }
            if active == Some(window) {
                front = Some(pid);
            }
            if states.contains(&self.atoms.attention)
                || !(states.contains(&self.atoms.hidden) || is_elsewhere(desktop, current))
            {
                visible.push(pid);
            }
        }
        Ok(Windows::new(front, visible).with_parts(parts))
    }
}

/// Only what is said to be on another desktop is.
fn is_elsewhere(desktop: Option<u32>, current: Option<u32>) -> bool {
    match (desktop, current) {
        (Some(desktop), Some(current)) => desktop != current && desktop != ALL_DESKTOPS,
        _ => false,
    }
}

/// A window's process, if the window is of this host: the PID says nothing without the host it is of (EWMH, "_NET_WM_PID").
fn owner(pid: Option<u32>, machine: &[u8], host: &[u8]) -> Option<u32> {
    // Some clients send the closing NUL along.
    let machine = machine.split(|&b| b == 0).next().unwrap_or_default();
    pid.filter(|_| !machine.is_empty() && machine == host)
}

/// `None` for a request that the server answered with an error: a window may be gone by the time it is asked about.
pub fn served<T>(reply: Result<T, ReplyError>) -> Result<Option<T>, ConnectionError> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(ReplyError::ConnectionError(e)) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_only_with_a_pid_of_this_host() {
        assert_eq!(owner(Some(5), b"here", b"here"), Some(5));
        assert_eq!(owner(Some(5), b"here\0", b"here"), Some(5));
        for machine in [&b"there"[..], b"her", b"heretic", b"", b"\0here"] {
            assert_eq!(owner(Some(5), machine, b"here"), None);
        }
        assert_eq!(owner(None, b"here", b"here"), None);
        assert_eq!(owner(Some(5), b"", b""), None);
    }

    #[test]
    fn only_a_window_that_is_said_to_be_on_another_desktop_is_elsewhere() {
        assert!(is_elsewhere(Some(1), Some(0)));
        for (desktop, current) in [(Some(0), Some(0)), (Some(u32::MAX), Some(0)), (None, Some(0)), (Some(1), None)] {
            assert!(!is_elsewhere(desktop, current));
        }
    }
}
