// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tells when a device of sound or video is opened or closed (inotify), so that nobody need look while nothing happens.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fovea_apps::limits::WATCH_EVENTS_IN_A_ROW_MAX;
use rustix::fs::inotify::{add_watch, init, CreateFlags, ReadFlags, Reader, WatchFlags};

use super::video;
use crate::file::Root;

/// What has happened since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaChange {
    /// A stream was opened or closed.
    pub sound: bool,
    /// A video device was.
    pub video: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Watched {
    /// `dev`, where `snd` and video devices come.
    Devices,
    /// `dev/snd`.
    Sound,
    Stream,
    Video,
}

/// The watch.
#[derive(Debug)]
pub struct MediaWatch {
    inotify: OwnedFd,
    devices: PathBuf,
    watched: BTreeMap<i32, Watched>,
}

impl MediaWatch {
    /// Watches the devices below `dev`, those that come later too.
    pub fn new(root: &Root) -> io::Result<MediaWatch> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut watch = MediaWatch { inotify, devices: root.join("dev"), watched: BTreeMap::new() };
        let devices = watch.devices.clone();
        watch.add(&devices, Watched::Devices)?;
        watch.look();
        Ok(watch)
    }

    /// Readable when something has happened.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    fn add(&mut self, path: &Path, what: Watched) -> io::Result<()> {
        let events = match what {
            Watched::Devices | Watched::Sound => WatchFlags::CREATE | WatchFlags::ONLYDIR,
            Watched::Stream | Watched::Video => WatchFlags::OPEN | WatchFlags::CLOSE,
        };
        let id = add_watch(&self.inotify, path, events)?;
        self.watched.insert(id, what);
        Ok(())
    }

    /// Watches what is there. What vanishes in between is not, and what may not be watched changes unseen: it is still looked at when memory
    /// is short.
    fn look(&mut self) {
        for node in video::nodes(&Root::at(self.devices.parent().unwrap_or(Path::new("/")))) {
            let _ = self.add(&node, Watched::Video);
        }
        let sound = self.devices.join("snd");
        if self.add(&sound, Watched::Sound).is_err() {
            return;
        }
        for entry in std::fs::read_dir(&sound).into_iter().flatten().flatten() {
            // Only streams: what else is there (mixers, timers) is opened all the time.
            if entry.file_name().as_encoded_bytes().starts_with(b"pcm") {
                let _ = self.add(&entry.path(), Watched::Stream);
            }
        }
    }

    /// Takes what has happened since the last call; what comes of that faster than it can be taken is left for the next.
    pub fn take(&mut self) -> MediaChange {
        self.take_at_most(WATCH_EVENTS_IN_A_ROW_MAX)
    }

    pub(super) fn take_at_most(&mut self, most: usize) -> MediaChange {
        let mut change = MediaChange::default();
        let (mut again, mut taken) = (false, 0);
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        while taken < most || !reader.is_buffer_empty() {
            let Ok(event) = reader.next() else { break };
            taken += 1;
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                (change, again) = (MediaChange { sound: true, video: true }, true);
                continue;
            }
            let gone = event.events().contains(ReadFlags::IGNORED);
            match self.watched.get(&event.wd()) {
                Some(Watched::Devices) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    again |= name.is_some_and(|name| video::is_node(name) || name == "snd");
                }
                Some(Watched::Sound) => again = true,
                Some(Watched::Stream) => change.sound = true,
                Some(Watched::Video) => change.video = true,
                None => {}
            }
            if gone {
                self.watched.remove(&event.wd());
            }
        }
        if again {
            self.look();
            // Whoever was quicker than the watch has it open by now.
            change = MediaChange { sound: true, video: true };
        }
        change
    }
}
