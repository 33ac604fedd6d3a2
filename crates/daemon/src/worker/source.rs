// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What woke the event loop, as a number that epoll hands back.

use rustix::event::epoll::EventData;

/// What woke the event loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The control socket: a new connection.
    Listener,
    /// The PSI trigger.
    Pressure,
    /// inotify: a cgroup began or ended.
    Cgroups,
    /// A signal to end.
    Signal,
    /// SIGHUP.
    Reload,
    /// inotify: a sound or video device was opened or closed.
    Media,
    News,
    /// A client or an awaited process.
    Other(u64),
}

impl Source {
    pub(super) fn data(self) -> EventData {
        EventData::new_u64(match self {
            Source::Listener => 0,
            Source::Pressure => 1,
            Source::Cgroups => 2,
            Source::Signal => 3,
            Source::Reload => 4,
            Source::Media => 5,
            Source::News => 6,
            Source::Other(id) => id,
        })
    }

    /// Whether only root can cause it, so that the loop may handle it at real-time priority.
    pub(super) fn is_roots(self) -> bool {
        matches!(self, Source::Signal | Source::Reload | Source::Other(_))
    }

    pub(super) fn of(data: EventData) -> Self {
        match data.u64() {
            0 => Source::Listener,
            1 => Source::Pressure,
            2 => Source::Cgroups,
            3 => Source::Signal,
            4 => Source::Reload,
            5 => Source::Media,
            6 => Source::News,
            id => Source::Other(id),
        }
    }
}
