// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One start of an app, in a process of its own: what it will want is prefetched, or what it reads is observed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fovea_apps::{place_of_cgroup, Place};
use fovea_launch::order::{order, Command};
use fovea_launch::{Extent, FileId, FileKey, Mode, Observation, Pages, Piece, UserStore};
use fovea_linux::cgroup::Cgroups;
use fovea_linux::launch::{self, AppUser, LaunchFile, Namespace, Version};
use fovea_linux::Root;

use crate::keep::Keeper;
use crate::read::{read_all, Done, Storage};

/// After so long it is looked which files the app has, the last time when its start is taken to be over.
const LOOKS: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_millis(800), Duration::from_millis(2000), Duration::from_millis(4000)];

/// A start that was over sooner teaches nothing.
const SHORTEST: Duration = LOOKS[0];

/// Processes of an app that are looked at.
const PROCESSES_MAX: usize = 64;

/// Files of a start.
const FILES_MAX: usize = 2048;

/// A larger file (1 GiB) is no part of a start.
const FILE_MAX_PAGES: u32 = 1 << 18;

/// Prefetched at one start, at most: 256 MiB.
const START_MAX_BYTES: u64 = 256 << 20;

/// Prefetched for a user in a day, at most: 4 GiB.
const DAY_MAX_BYTES: u64 = 4 << 30;

/// Pages of a gap that are read along where one command then does for two.
const GAP_PAGES: u32 = 2;

/// Where no device says how large its commands are: 128 KiB.
const COMMAND_BYTES: u64 = 128 << 10;

/// An app that starts.
pub struct Start<'a> {
    pub root: &'a Root,
    pub cgroups: &'a Cgroups,
    pub keeper: &'a Keeper,
    pub cgroup: &'a str,
}

/// A file of the app's, open, with what of it was in memory at first.
struct Open {
    file: LaunchFile,
    before: Pages,
}

impl Start<'_> {
    /// Sees to it. An error is a line for people.
    pub fn attend(&self) -> Result<(), String> {
        let began = Instant::now();
        let placed = place_of_cgroup(self.cgroup);
        let Some((first, user)) = self.first_process().filter(|_| placed.place == Place::App) else { return Ok(()) };
        // A program that runs with others' rights, or sees other files under these paths, is left alone.
        let is_own = placed.owner.is_none_or(|owner| owner == user.uid);
        let sees_ours = Namespace::of(self.root, first).is_some_and(|own| Namespace::of(self.root, 1) == Some(own));
        if !is_own || !sees_ours {
            return Ok(());
        }
        let store = self.keeper.read(user.uid)?;
        let mode = store.app(&placed.label).map_or(Mode::Observe, fovea_launch::App::mode);
        match mode {
            Mode::Leave => self.keeper.change(user.uid, |store| store.app_mut(&placed.label).left(now_s(), 0, 0)),
            Mode::Prefetch => self.prefetch(&store, &placed.label, &user, first),
            Mode::Observe => self.observe(&store, &placed.label, &user, began),
        }
    }

    fn processes(&self) -> Vec<u32> {
        let mut pids = Vec::new();
        let _ = self.cgroups.processes_within(self.cgroup, PROCESSES_MAX, &mut pids);
        pids
    }

    fn first_process(&self) -> Option<(u32, AppUser)> {
        self.processes().into_iter().find_map(|pid| Some((pid, AppUser::of(self.root, pid)?)))
    }

    /// Opens files with the user's rights, those that are still as they were, and asks what of them is in memory with our own.
    fn open(&self, user: &AppUser, files: Vec<(PathBuf, Option<Version>)>) -> Result<BTreeMap<PathBuf, Open>, String> {
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

    /// The files that starts of the app have read.
    fn known(&self, store: &UserStore, name: &str) -> Vec<(PathBuf, Option<Version>)> {
        let starts = store.app(name).into_iter().flat_map(|app| &app.history);
        let keys: BTreeSet<FileKey> = starts.flat_map(|start| start.files.keys().copied()).collect();
        keys.into_iter()
            .filter_map(|key| store.file(key))
            .map(|file| (path_of(&file.path), Some(version(file.id))))
            .collect()
    }

    fn prefetch(&self, store: &UserStore, name: &str, user: &AppUser, first: u32) -> Result<(), String> {
        let expected = store.app(name).map(fovea_launch::App::expected).unwrap_or_default();
        let wanted = expected.keys().filter_map(|&key| store.file(key));
        let opened = self.open(user, wanted.map(|file| (path_of(&file.path), Some(version(file.id)))).collect())?;
        let mut gone = Vec::new();
        let (mut missing, mut files) = (Vec::new(), Vec::new());
        for (key, pages) in &expected {
            let Some(known) = store.file(*key) else { continue };
            match opened.get(&path_of(&known.path)) {
                Some(open) => {
                    missing.push(pages.without(&open.before));
                    files.push(open);
                }
                None => gone.push(known.path.clone()),
            }
        }
        let missing_pages: u64 = missing.iter().map(Pages::count).sum();
        let page = launch::page_bytes();
        let memory = launch::memory_state(self.root).filter(|memory| !memory.is_short);
        let room = memory.map_or(0, |memory| memory.available.saturating_sub(floor(memory.total)) / 2);
        let budget = store.left_today(today(), DAY_MAX_BYTES / page).min(START_MAX_BYTES / page).min(room);
        let done = if missing_pages > 0 && budget > 0 {
            let pieces = self.pieces(&missing, &files);
            self.as_part_of(first, || {
                let mut storage = Live { root: self.root, files: &files, began: Instant::now() };
                read_all(&pieces, budget, &mut storage)
            })?
        } else {
            Done::default()
        };
        drop(missing);
        self.keeper.change(user.uid, |store| {
            gone.iter().for_each(|path| store.forget_path(path));
            store.spend(today(), done.pages);
            store.app_mut(name).left(now_s(), done.pages, missing_pages);
        })
    }

    /// What is missing, in the order of the storage.
    fn pieces(&self, missing: &[Pages], files: &[&Open]) -> Vec<Piece> {
        let mut devices: Vec<u64> = files.iter().map(|open| open.file.version.device).collect();
        devices.sort_unstable();
        devices.dedup();
        let extents: Vec<Vec<Extent>> = files
            .iter()
            .map(|open| {
                // One file system after the other.
                let nth = devices.binary_search(&open.file.version.device).unwrap_or(0) as u64;
                let found = launch::extents(&open.file).unwrap_or_default();
                found.into_iter().map(|extent| Extent { pages: extent.pages, at: (nth << 48) + extent.at }).collect()
            })
            .collect();
        let largest = devices.iter().filter_map(|&device| launch::command_pages(self.root, device)).min();
        let pages = largest.unwrap_or((COMMAND_BYTES / launch::page_bytes()) as u32);
        order(missing, &extents, Command { pages, gap_pages: GAP_PAGES })
    }

    /// Does something as a process of the app's cgroup: the pages are charged to the app, and its weights and limits hold.
    fn as_part_of<T>(&self, process: u32, action: impl FnOnce() -> T) -> Result<T, String> {
        let membership = |pid: &str| {
            let text = std::fs::read_to_string(self.root.join(format!("proc/{pid}/cgroup"))).ok()?;
            text.lines().find_map(|line| line.strip_prefix("0::/")).map(str::to_owned)
        };
        let join = |cgroup: &str| {
            let procs = self.cgroups.mount().join(cgroup).join("cgroup.procs");
            std::fs::write(&procs, "0")
                .map_err(|e| format!("{}: {e}: give the unit the right to write there", procs.display()))
        };
        let (Some(theirs), Some(own)) = (membership(&process.to_string()), membership("self")) else {
            return Err(format!("{}: it has ended", self.cgroup));
        };
        // It may have moved on since.
        if !fovea_linux::cgroup::is_within(&theirs, self.cgroup) {
            return Err(format!("{}: its first process is in {theirs} now", self.cgroup));
        }
        join(&theirs)?;
        let done = action();
        join(&own)?;
        Ok(done)
    }

    fn observe(&self, store: &UserStore, name: &str, user: &AppUser, began: Instant) -> Result<(), String> {
        // What was in memory before is known of the files of earlier starts alone. Others' pages count as read; the next start that is
        // observed corrects that.
        let mut files = self.open(user, self.known(store, name))?;
        let mut lasted = Duration::ZERO;
        for after in LOOKS {
            std::thread::sleep(after.saturating_sub(began.elapsed()));
            let pids = self.processes();
            if pids.is_empty() {
                break;
            }
            lasted = after;
            let mut paths = BTreeSet::new();
            for pid in pids {
                let is_users = AppUser::of(self.root, pid).as_ref() == Some(user);
                let sees_ours = Namespace::of(self.root, pid) == Namespace::of(self.root, 1);
                if is_users && sees_ours {
                    launch::local_files(self.root, pid, &mut paths, FILES_MAX);
                }
            }
            paths.retain(|path| !files.contains_key(path));
            let room = FILES_MAX.saturating_sub(files.len());
            let new = self.open(user, paths.into_iter().take(room).map(|path| (path, None)).collect())?;
            files.extend(new.into_iter().map(|(path, open)| (path, Open { before: Pages::new(), ..open })));
        }
        if lasted < SHORTEST {
            return Ok(());
        }
        let after: Vec<(PathBuf, FileId, Pages, Pages)> = files
            .into_iter()
            .filter_map(|(path, open)| {
                let flags = launch::resident(&open.file, 0..open.file.pages()).ok()?;
                Some((path, id(open.file.version), open.before, Pages::of_flags(flags)))
            })
            .collect();
        self.keeper.change(user.uid, |store| {
            let mut seen = Observation::default();
            for (path, id, before, after) in &after {
                if let Some(key) = store.key(path.as_os_str().as_bytes(), *id) {
                    seen.note(key, before, after);
                }
            }
            store.app_mut(name).observed(now_s(), seen);
        })
    }
}

/// The machine's storage.
struct Live<'a> {
    root: &'a Root,
    files: &'a [&'a Open],
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
        launch::memory_state(self.root).is_none_or(|memory| memory.is_short || memory.available < floor(memory.total))
    }

    fn now_us(&mut self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }
}

/// Pages that are to stay available.
fn floor(total: u64) -> u64 {
    total / 16
}

fn path_of(bytes: &[u8]) -> PathBuf {
    Path::new(&OsString::from_vec(bytes.to_vec())).to_owned()
}

fn version(id: FileId) -> Version {
    Version { device: id.device, inode: id.inode, size: id.size, mtime_ns: id.mtime_ns }
}

fn id(version: Version) -> FileId {
    FileId { device: version.device, inode: version.inode, size: version.size, mtime_ns: version.mtime_ns }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn today() -> u64 {
    now_s() / (24 * 60 * 60)
}
