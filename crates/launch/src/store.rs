// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is kept of a user's apps. One file for each user: nobody's starts push another's out.
//!
//! The file: `FOVEALCH`, the version, the length of what follows and its checksum (each eight bytes, little-endian), then numbers as
//! LEB128. A file that several apps read stands there once.

use std::collections::{BTreeMap, BTreeSet};

use crate::bytes::{put, put_pages, put_text, put_when, sum, Reader};
use crate::learn::{FILES_OF_START_MAX, RANGES_MAX, STARTS};
use crate::{Ahead, App, Counts, Observation, Seen};

/// Apps of a user; beyond, the one that was started longest ago is dropped.
pub const APPS_MAX: usize = 256;

/// Files of a user's apps, each counted once.
pub const FILES_MAX: usize = 8192;

/// A user's file is no larger; the apps that were started longest ago are dropped until it fits.
pub const STORE_MAX_BYTES: usize = 4 << 20;

/// Users; with their files' size that is the most that all take, 64 MiB.
pub const USERS_MAX: usize = 16;

/// Longest path.
pub const PATH_MAX_BYTES: usize = 4096;

/// Longest name of an app.
pub const NAME_MAX_BYTES: usize = 255;

const MAGIC: &[u8; 8] = b"FOVEALCH";
pub(crate) const VERSION: u64 = 3;
const HEAD_BYTES: usize = 32;

/// Which version of a file was seen: what is known of it counts while all of this is as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileId {
    /// The file system, as stat(2) has it.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// Its size.
    pub size: u64,
    /// When it was written, in nanoseconds since 1970, as stat(2) has it.
    pub mtime_ns: u64,
}

/// A file within a user's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey(pub u32);

/// A file that some app read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Absolute, without links.
    pub path: Vec<u8>,
    /// Which version.
    pub id: FileId,
}

/// All of one user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserStore {
    /// Bytes of a page of the machine that it was written on; 0 before anything was written.
    pub page_bytes: u64,
    /// The day, counted from 1970, that `today` is of.
    pub day: u64,
    /// Pages prefetched that day.
    pub today: u64,
    apps: BTreeMap<String, App>,
    files: BTreeMap<FileKey, Known>,
    by_path: BTreeMap<Vec<u8>, FileKey>,
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is none of ours.
    Foreign,
    /// It is of another version of the program.
    Version,
    /// It is not as it was written.
    Torn,
}

impl Damage {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Damage::Foreign => "not a file of fovea-prefetch",
            Damage::Version => "written by another version of fovea-prefetch",
            Damage::Torn => "damaged",
        }
    }
}

impl UserStore {
    /// Its apps.
    pub fn apps(&self) -> impl Iterator<Item = (&str, &App)> {
        self.apps.iter().map(|(name, app)| (name.as_str(), app))
    }

    /// An app, if it was started before.
    pub fn app(&self, name: &str) -> Option<&App> {
        self.apps.get(name)
    }

    /// An app, to be changed. Its name is cut to what is kept.
    pub fn app_mut(&mut self, name: &str) -> &mut App {
        let end = (0..=name.len().min(NAME_MAX_BYTES)).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        self.apps.entry(name[..end].to_owned()).or_default()
    }

    /// A file by its key.
    pub fn file(&self, key: FileKey) -> Option<&Known> {
        self.files.get(&key)
    }

    /// A file's key if that very version is known.
    pub fn key_of(&self, path: &[u8], id: FileId) -> Option<FileKey> {
        self.by_path.get(path).copied().filter(|key| self.files[key].id == id)
    }

    /// A file's key. What is known of another version at that path is forgotten. `None` if its path is too long or there are too many.
    pub fn key(&mut self, path: &[u8], id: FileId) -> Option<FileKey> {
        if let Some(key) = self.key_of(path, id) {
            return Some(key);
        }
        self.forget_path(path);
        let next = self.files.last_key_value().map_or(0, |(key, _)| key.0.saturating_add(1));
        let key = match self.files.contains_key(&FileKey(next)) {
            false => FileKey(next),
            true => (0..).map(FileKey).find(|key| !self.files.contains_key(key))?,
        };
        if self.files.len() >= FILES_MAX || path.len() > PATH_MAX_BYTES {
            return None;
        }
        self.files.insert(key, Known { path: path.to_vec(), id });
        self.by_path.insert(path.to_vec(), key);
        Some(key)
    }

    /// Forgets what is known of a path.
    pub fn forget_path(&mut self, path: &[u8]) {
        if let Some(key) = self.by_path.remove(path) {
            self.files.remove(&key);
            self.apps.values_mut().for_each(|app| app.forget(key));
        }
    }

    /// Forgets an app, or says that there is none.
    pub fn forget_app(&mut self, name: &str) -> bool {
        self.apps.remove(name).is_some()
    }

    /// Pages that may still be prefetched that day, of so many.
    pub fn left_today(&self, day: u64, most: u64) -> u64 {
        most.saturating_sub(if self.day == day { self.today } else { 0 })
    }

    /// Counts what was prefetched.
    pub fn spend(&mut self, day: u64, pages: u64) {
        let before = if self.day == day { self.today } else { 0 };
        (self.day, self.today) = (day, before.saturating_add(pages));
    }

    /// Drops files that no app reads, and apps beyond the bound; says how many apps.
    fn tidy(&mut self, apps_max: usize) -> usize {
        let mut by_age: Vec<(u64, String)> =
            self.apps.iter().map(|(name, app)| (app.started_s, name.clone())).collect();
        by_age.sort();
        let dropped = by_age.len().saturating_sub(apps_max);
        by_age[..dropped].iter().for_each(|(_, name)| drop(self.apps.remove(name)));
        let used: BTreeSet<FileKey> =
            self.apps.values().flat_map(|app| &app.history).flat_map(|start| start.files.keys().copied()).collect();
        self.files.retain(|key, _| used.contains(key));
        self.by_path.retain(|_, key| used.contains(key));
        dropped
    }

    /// The file's bytes, within the bounds. Says how many apps were dropped for that.
    pub fn written(&mut self) -> (Vec<u8>, usize) {
        let mut dropped = self.tidy(APPS_MAX);
        loop {
            let body = self.body();
            if body.len() + HEAD_BYTES <= STORE_MAX_BYTES {
                let mut bytes = MAGIC.to_vec();
                for number in [VERSION, body.len() as u64, sum(&body)] {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
                bytes.extend_from_slice(&body);
                return (bytes, dropped);
            }
            dropped += self.tidy(self.apps.len() * 3 / 4);
        }
    }

    fn body(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.page_bytes);
        put(&mut bytes, self.day);
        put(&mut bytes, self.today);
        put(&mut bytes, self.files.len() as u64);
        for (key, Known { path, id }) in &self.files {
            put(&mut bytes, key.0.into());
            put_text(&mut bytes, path);
            [id.device, id.inode, id.size, id.mtime_ns].into_iter().for_each(|number| put(&mut bytes, number));
        }
        put(&mut bytes, self.apps.len() as u64);
        for (name, app) in &self.apps {
            put_text(&mut bytes, name.as_bytes());
            let App {
                started_s,
                starts,
                since_observed,
                poor,
                stopped,
                score,
                prefetched,
                missing,
                first_us,
                ahead,
                history,
            } = app;
            let Counts { predicted, used, read } = *score;
            let numbers = [*started_s, *starts, u64::from(*since_observed), u64::from(*poor), u64::from(*stopped)];
            let Ahead { read: ahead_read, used: ahead_used, waits } = *ahead;
            let more = [predicted, used, read, *prefetched, *missing, *first_us, ahead_read, ahead_used, waits];
            numbers.into_iter().chain(more).for_each(|n| put(&mut bytes, n));
            put(&mut bytes, history.len() as u64);
            for start in history {
                put(&mut bytes, start.files.len() as u64);
                for (file, seen) in &start.files {
                    put(&mut bytes, file.0.into());
                    put_pages(&mut bytes, &seen.read);
                    put_pages(&mut bytes, &seen.blind);
                    put_when(&mut bytes, &seen.when);
                }
            }
        }
        bytes
    }

    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Result<UserStore, Damage> {
        let Some((head, body)) = bytes.split_at_checked(HEAD_BYTES).filter(|(head, _)| head.starts_with(MAGIC)) else {
            // The beginning of one of ours is torn; anything else is somebody else's.
            let is_ours = bytes.starts_with(MAGIC) || bytes.is_empty();
            return Err(if is_ours { Damage::Torn } else { Damage::Foreign });
        };
        let number = |nth: usize| u64::from_le_bytes(head[8 * nth..8 * nth + 8].try_into().expect("eight bytes"));
        match () {
            () if number(1) != VERSION => Err(Damage::Version),
            () if number(2) != body.len() as u64 || number(3) != sum(body) => Err(Damage::Torn),
            () => parse(&mut Reader(body)).ok_or(Damage::Torn),
        }
    }
}

fn parse(reader: &mut Reader<'_>) -> Option<UserStore> {
    let mut store = UserStore { page_bytes: reader.number()?, ..UserStore::default() };
    (store.day, store.today) = (reader.number()?, reader.number()?);
    for _ in 0..reader.at_most(FILES_MAX as u64)? {
        let key = FileKey(reader.at_most(u32::MAX.into())? as u32);
        let path = reader.text(PATH_MAX_BYTES)?.to_vec();
        let mut number = || reader.number();
        let id = FileId { device: number()?, inode: number()?, size: number()?, mtime_ns: number()? };
        let is_new = store.by_path.insert(path.clone(), key).is_none();
        (is_new && store.files.insert(key, Known { path, id }).is_none()).then_some(())?;
    }
    for _ in 0..reader.at_most(APPS_MAX as u64)? {
        let name = std::str::from_utf8(reader.text(NAME_MAX_BYTES)?).ok()?.to_owned();
        let app = parse_app(reader, &store.files)?;
        store.apps.insert(name, app).is_none().then_some(())?;
    }
    reader.0.is_empty().then_some(store)
}

fn parse_app(reader: &mut Reader<'_>, files: &BTreeMap<FileKey, Known>) -> Option<App> {
    let mut app = App { started_s: reader.number()?, starts: reader.number()?, ..App::default() };
    app.since_observed = reader.at_most(u32::MAX.into())? as u32;
    app.poor = reader.at_most(u32::MAX.into())? as u32;
    app.stopped = reader.at_most(1)? == 1;
    app.score = Counts { predicted: reader.number()?, used: reader.number()?, read: reader.number()? };
    (app.score.used <= app.score.predicted && app.score.used <= app.score.read).then_some(())?;
    (app.prefetched, app.missing, app.first_us) = (reader.number()?, reader.number()?, reader.number()?);
    app.ahead = Ahead { read: reader.number()?, used: reader.number()?, waits: reader.number()? };
    for _ in 0..reader.at_most(STARTS as u64)? {
        let mut start = Observation::default();
        for _ in 0..reader.at_most(FILES_OF_START_MAX as u64)? {
            let file = FileKey(reader.at_most(u32::MAX.into())? as u32);
            let (read, blind) = (reader.pages(RANGES_MAX)?, reader.pages(RANGES_MAX)?);
            let seen = Seen { read, blind, when: reader.when(RANGES_MAX)? };
            let is_sound = files.contains_key(&file) && seen.read.both(&seen.blind).is_empty();
            (is_sound && start.files.insert(file, seen).is_none()).then_some(())?;
        }
        app.history.push_back(start);
    }
    Some(app)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
