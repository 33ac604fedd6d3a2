// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One start of an app, in a process of its own: what it will want is prefetched, or what it reads is observed.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fovea_apps::{place_of_cgroup, AppName, Place, Placed};
use fovea_launch::{FileId, FileKey, Mode, Observation, Pages, UserStore};
use fovea_linux::cgroup::Cgroups;
use fovea_linux::launch::{self, AppUser, Namespace, Version};
use fovea_linux::Root;

use crate::files::{battery_is_low, id, now_s, open, path_of, today, version, Open, Wanted};
use crate::keep::Keeper;
use crate::read::Done;

/// After so long it is looked which files the app has, the last time when its start is taken to be over.
const LOOKS: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_millis(800), Duration::from_millis(2000), Duration::from_millis(4000)];

/// A start that was over sooner teaches nothing.
const SHORTEST: Duration = LOOKS[0];

/// Processes of an app that are looked at.
const PROCESSES_MAX: usize = 64;

/// Files of a start.
const FILES_MAX: usize = 2048;

/// Prefetched for a user in a day, at most: 4 GiB.
const DAY_MAX_BYTES: u64 = 4 << 30;

/// An app that starts.
pub struct Start<'a> {
    pub root: &'a Root,
    pub cgroups: &'a Cgroups,
    pub keeper: &'a Keeper,
    pub cgroup: &'a str,
}

impl Start<'_> {
    /// Sees to it. An error is a line for people.
    pub fn attend(&self) -> Result<(), String> {
        let began = Instant::now();
        let placed = place_of_cgroup(self.cgroup);
        let Some((first, user)) = self.first_process() else { return Ok(()) };
        if !self.is_helped(&placed, first, &user) {
            return Ok(());
        }
        let store = self.keeper.read(user.uid)?;
        let mode = store.app(&placed.label).map_or(Mode::Observe, fovea_launch::App::mode);
        match mode {
            Mode::Leave => self.keeper.change(user.uid, |store| store.app_mut(&placed.label).left(now_s(), 0, 0)),
            Mode::Prefetch => self.prefetch(&store, &placed.label, &user, (first, began)),
            Mode::Observe => self.observe(&store, &placed.label, &user, began),
        }
    }

    /// Name, label and user of the app, where it is to be helped.
    pub fn who(&self) -> Option<(AppName, String, AppUser)> {
        let placed = place_of_cgroup(self.cgroup);
        let (first, user) = self.first_process()?;
        self.is_helped(&placed, first, &user).then(|| (placed.name(), placed.label, user))
    }

    /// A program that runs with others' rights, or sees other files under these paths, is left alone.
    fn is_helped(&self, placed: &Placed<'_>, first: u32, user: &AppUser) -> bool {
        let is_own = placed.owner.is_none_or(|owner| owner == user.uid);
        let sees_ours = Namespace::of(self.root, first).is_some_and(|own| Namespace::of(self.root, 1) == Some(own));
        placed.place == Place::App && is_own && sees_ours
    }

    fn processes(&self) -> Vec<u32> {
        let mut pids = Vec::new();
        let _ = self.cgroups.processes_within(self.cgroup, PROCESSES_MAX, &mut pids);
        pids
    }

    fn first_process(&self) -> Option<(u32, AppUser)> {
        self.processes().into_iter().find_map(|pid| Some((pid, AppUser::of(self.root, pid)?)))
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

    fn prefetch(
        &self,
        store: &UserStore,
        name: &str,
        user: &AppUser,
        (first, began): (u32, Instant),
    ) -> Result<(), String> {
        let wanted = Wanted::of(store, name, user)?;
        let left = store.left_today(today(), DAY_MAX_BYTES / launch::page_bytes());
        let done = match wanted.missing_pages == 0 || left == 0 || battery_is_low(self.root) {
            true => Done::default(),
            false => self.as_part_of(first, || wanted.read(self.root, left, floor))?,
        };
        let Wanted { expected_pages, missing_pages, gone, .. } = wanted;
        // Until its start is over the CPU is the app's.
        std::thread::sleep(LOOKS[LOOKS.len() - 1].saturating_sub(began.elapsed()));
        self.keeper.change(user.uid, |store| {
            gone.iter().for_each(|path| store.forget_path(path));
            store.spend(today(), done.pages);
            let app = store.app_mut(name);
            app.ahead.starts(expected_pages - missing_pages);
            app.left(now_s(), done.pages, missing_pages);
        })
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
        let mut files = open(user, self.known(store, name))?;
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
            let new = open(user, paths.into_iter().take(room).map(|path| (path, None)).collect())?;
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

/// Pages that are to stay available.
fn floor(total: u64) -> u64 {
    total / 16
}
