// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Files of an app: opened with the user's rights, what of them is expected and missing, and how it is read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fovea_launch::order::{order, Command};
use fovea_launch::{Extent, FileId, Pages, Piece, UserStore};
use fovea_linux::launch::{self, AppUser, LaunchFile, Version};
use fovea_linux::Root;

use crate::read::{read_all, Done, Storage};

/// A larger file (1 GiB) is no part of a start.
const FILE_MAX_PAGES: u32 = 1 << 18;

/// Prefetched at one start, at most: 256 MiB.
const START_MAX_BYTES: u64 = 256 << 20;

/// Pages of a gap that are read along where one command then does for two.
const GAP_PAGES: u32 = 2;

/// Where no device says how large its commands are: 128 KiB.
const COMMAND_BYTES: u64 = 128 << 10;

/// With less, a battery's charge is the user's.
const BATTERY_LEAST_PERCENT: u64 = 20;

/// A file of the app's, open, with what of it was in memory at first.
pub struct Open {
    pub file: LaunchFile,
    pub before: Pages,
}

/// Opens files with the user's rights, those that are still as they were, and asks what of them is in memory with our own.
pub fn open(user: &AppUser, files: Vec<(PathBuf, Option<Version>)>) -> Result<BTreeMap<PathBuf, Open>, String> {
    let opened = user.act(|| -> Vec<(PathBuf, LaunchFile)> {
        let open = |(path, version): (PathBuf, Option<Version>)| {
            let file = LaunchFile::open(&path, version).ok().flatten()?;
            Some((path, file))
        };
        files.into_iter().filter_map(open).collect()
    });
    let opened = opened.map_err(|e| format!("taking the rights of user {}: {e}: run it as root", user.uid))?;
    let with_memory = |(path, file): (PathBuf, LaunchFile)| {
        let pages = file.pages();
        if pages == 0 || pages > FILE_MAX_PAGES {
            return None;
        }
        let before = Pages::of_flags(launch::resident(&file, 0..pages).ok()?);
        Some((path, Open { file, before }))
    };
    Ok(opened.into_iter().filter_map(with_memory).collect())
}

/// What a start is expected to read.
#[derive(Default)]
pub struct Wanted {
    files: Vec<Open>,
    /// By the step in which they are wanted.
    missing: Vec<Vec<(u8, Pages)>>,
    /// Expected pages of files that are there.
    pub expected_pages: u64,
    /// Those that are not in memory.
    pub missing_pages: u64,
    /// Files that are not as they were.
    pub gone: Vec<Vec<u8>>,
}

impl Wanted {
    /// By an app of a user.
    pub fn of(store: &UserStore, name: &str, user: &AppUser) -> Result<Wanted, String> {
        let Some(app) = store.app(name) else { return Ok(Wanted::default()) };
        let expected = app.expected();
        let known = expected.keys().filter_map(|&key| store.file(key));
        let mut opened = open(user, known.map(|file| (path_of(&file.path), Some(version(file.id)))).collect())?;
        let mut wanted = Wanted::default();
        for (key, pages) in &expected {
            let Some(known) = store.file(*key) else { continue };
            match opened.remove(&path_of(&known.path)) {
                Some(open) => {
                    let missing = pages.without(&open.before);
                    wanted.expected_pages += pages.count();
                    wanted.missing_pages += missing.count();
                    wanted.missing.push(app.wanted_when(*key, &missing));
                    wanted.files.push(open);
                }
                None => wanted.gone.push(known.path.clone()),
            }
        }
        Ok(wanted)
    }

    /// Reads what is missing, at most so many pages, while that leaves so many available.
    pub fn read(&self, root: &Root, most: u64, floor: fn(u64) -> u64) -> Done {
        let memory = launch::memory_state(root).filter(|memory| !memory.is_short);
        let room = memory.map_or(0, |memory| memory.available.saturating_sub(floor(memory.total)) / 2);
        let budget = most.min(START_MAX_BYTES / launch::page_bytes()).min(room);
        if self.missing_pages == 0 || budget == 0 {
            return Done::default();
        }
        let mut storage = Live { root, files: &self.files, floor, began: Instant::now() };
        read_all(&self.pieces(root), budget, &mut storage)
    }

    /// What is missing, in the order in which it is wanted. Where the storage has a head to move, it is asked where each file lies, which
    /// may take reads of its own.
    fn pieces(&self, root: &Root) -> Vec<Piece> {
        let mut devices: Vec<u64> = self.files.iter().map(|open| open.file.version.device).collect();
        devices.sort_unstable();
        devices.dedup();
        let extents: Vec<Vec<Extent>> = self
            .files
            .iter()
            .map(|open| {
                // One file system after the other.
                let nth = devices.binary_search(&open.file.version.device).unwrap_or(0) as u64;
                let has_head = launch::is_rotational(root, open.file.version.device).unwrap_or(true);
                let found = has_head.then(|| launch::extents(&open.file).ok()).flatten().unwrap_or_default();
                found.into_iter().map(|extent| Extent { pages: extent.pages, at: (nth << 48) + extent.at }).collect()
            })
            .collect();
        let largest = devices.iter().filter_map(|&device| launch::command_pages(root, device)).min();
        let pages = largest.unwrap_or((COMMAND_BYTES / launch::page_bytes()) as u32);
        order(&self.missing, &extents, Command { pages, gap_pages: GAP_PAGES })
    }
}

/// Whether the battery is to be left alone.
pub fn battery_is_low(root: &Root) -> bool {
    launch::discharging_percent(root).is_some_and(|percent| percent < BATTERY_LEAST_PERCENT)
}

/// The machine's storage.
struct Live<'a> {
    root: &'a Root,
    files: &'a [Open],
    floor: fn(u64) -> u64,
    began: Instant,
}

impl Storage for Live<'_> {
    fn has(&mut self, piece: &Piece) -> bool {
        launch::resident(&self.files[piece.file].file, piece.pages.clone())
            .is_ok_and(|flags| flags.iter().all(|&page| page))
    }

    fn start(&mut self, piece: &Piece) -> bool {
        launch::read_ahead(&self.files[piece.file].file, &piece.pages).is_ok()
    }

    fn wait(&mut self, piece: &Piece) {
        // It may have been cut short meanwhile; then there is nothing to wait for.
        let _ = launch::read_page(&self.files[piece.file].file, piece.pages.end - 1);
    }

    fn is_short(&mut self) -> bool {
        let floor = self.floor;
        launch::memory_state(self.root).is_none_or(|memory| memory.is_short || memory.available < floor(memory.total))
    }

    fn now_us(&mut self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }
}

pub fn path_of(bytes: &[u8]) -> PathBuf {
    Path::new(&OsString::from_vec(bytes.to_vec())).to_owned()
}

pub fn version(id: FileId) -> Version {
    Version { device: id.device, inode: id.inode, size: id.size, mtime_ns: id.mtime_ns }
}

pub fn id(version: Version) -> FileId {
    FileId { device: version.device, inode: version.inode, size: version.size, mtime_ns: version.mtime_ns }
}

pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub fn today() -> u64 {
    now_s() / (24 * 60 * 60)
}
