// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Between a source and the daemon: how things stand, not what happened. However long the daemon is away, nothing piles up, neither
//! here nor in the compositor, and what it is told first is still true.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fovea_client::protocol::BusName;
use rustix::event::{eventfd, EventfdFlags};

use crate::{Event, SourceError, Windows};

/// How things stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What can be seen; `None` if no source says.
    pub windows: Option<Windows>,
    /// Whether the screen is on; `None` if no source says.
    pub screen_on: Option<bool>,
    /// Who holds an inhibitor; `None` if no source says.
    pub inhibitors: Option<Vec<u32>>,
    /// Whose media player plays; `None` if no source says.
    pub playing: Option<Vec<u32>>,
    /// Names on a message bus; `None` if no source says.
    pub names: Option<Vec<BusName>>,
    /// Why the source has given up.
    pub ended: Option<SourceError>,
}

impl Wanted {
    /// Whether programs of a session say the same of themselves in both.
    pub(crate) fn programs_say_the_same(&self, other: &Wanted) -> bool {
        self.inhibitors == other.inhibitors && self.playing == other.playing && self.names == other.names
    }
}

/// Holds [`Wanted`] for a reader that waits for changes by polling its descriptor.
#[derive(Debug)]
pub struct Mailbox {
    wanted: Mutex<Wanted>,
    changed: OwnedFd,
}

impl Mailbox {
    /// An empty one.
    pub fn new() -> std::io::Result<Self> {
        let changed = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { wanted: Mutex::default(), changed })
    }

    /// Notes what a source tells.
    pub fn put(&self, event: Event) {
        self.change(|wanted| match event {
            Event::Windows(windows) => wanted.windows = Some(windows),
            Event::Inhibitors(pids) => wanted.inhibitors = Some(pids),
            Event::Playing(pids) => wanted.playing = Some(pids),
            Event::Names(names) => wanted.names = Some(names),
            Event::Screen { on } => wanted.screen_on = Some(on),
        });
    }

    /// Notes that the source has gone: from now on nobody knows.
    pub fn source_lost(&self) {
        self.change(|wanted| *wanted = Wanted { ended: wanted.ended.take(), ..Wanted::default() });
    }

    /// Notes that the source has given up.
    pub fn end(&self, error: SourceError) {
        self.change(|wanted| wanted.ended = Some(error));
    }

    /// How things stand; the descriptor is readable again only after the next change.
    pub fn take(&self) -> Wanted {
        let wanted = self.lock();
        // Empty if nothing has changed.
        let _ = rustix::io::read(&self.changed, &mut [0u8; 8]);
        wanted.clone()
    }

    fn change(&self, change: impl FnOnce(&mut Wanted)) {
        let mut wanted = self.lock();
        let before = wanted.clone();
        change(&mut wanted);
        if *wanted != before {
            // Fails only at a count of 2^64 - 2, and then it is readable anyway.
            let _ = rustix::io::write(&self.changed, &1u64.to_ne_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Wanted> {
        // No state is half-written: every field is set in one assignment.
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changed.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::event::{poll, PollFd, PollFlags, Timespec};

    fn readable(mailbox: &Mailbox) -> bool {
        let mut polled = [PollFd::new(mailbox, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
    }

    #[test]
    fn of_a_lost_source_nothing_is_known() {
        let mailbox = Mailbox::new().unwrap();
        mailbox.put(Event::Screen { on: false });
        mailbox.put(Event::Windows(Windows::new(Some(5), [])));
        mailbox.put(Event::Inhibitors(vec![6]));
        assert_eq!(mailbox.take().inhibitors, Some(vec![6]));
        mailbox.source_lost();
        assert_eq!(mailbox.take(), Wanted::default());
    }

    #[test]
    fn processes_come_once_and_ascending_with_that_in_front() {
        assert_eq!(Windows::new(Some(7), [9, 3, 9]), Windows { front: Some(7), visible: vec![3, 7, 9], parts: vec![] });
        assert_eq!(Windows::new(None, 0..1000).visible.len(), 256);
    }

    proptest! {
        /// Against the obvious: the last word on each counts, and the descriptor is readable just when something has changed.
        #[test]
        fn the_last_word_counts(events in prop::collection::vec((0u8..4, 0u32..3), 0..40)) {
            let mailbox = Mailbox::new().unwrap();
            let (mut windows, mut screen_on, mut news) = (None, None, false);
            for (kind, n) in events {
                let before = (windows.clone(), screen_on);
                match kind {
                    0 | 1 => {
                        let seen = Windows::new((kind == 0).then_some(n), [7]);
                        mailbox.put(Event::Windows(seen.clone()));
                        windows = Some(seen);
                    }
                    2 => {
                        mailbox.put(Event::Screen { on: n == 0 });
                        screen_on = Some(n == 0);
                    }
                    _ => {
                        prop_assert_eq!(mailbox.take(), Wanted { windows: windows.clone(), screen_on, ..Wanted::default() });
                        news = false;
                    }
                }
                news |= before != (windows.clone(), screen_on);
                prop_assert_eq!(readable(&mailbox), news);
            }
        }
    }
}
