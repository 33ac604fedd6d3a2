// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One start of an app, in a process of its own: what it will want is prefetched, or what it reads is observed.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fovea_apps::{place_of_cgroup, AppName, Place, Placed};
use fovea_launch::{FileKey, Mode, Observation, Pages, UserStore};
use fovea_linux::cgroup::Cgroups;
use fovea_linux::launch::{self, AppUser, Namespace, Touched, Version};
use fovea_linux::Root;

use crate::files::{battery_is_low, id, now_s, open, path_of, today, version, Open, Wanted};
use crate::keep::Keeper;
use crate::read::Done;
use crate::report::Report;

/// After so many milliseconds it is looked what the app has read. What is found at one look and not at the one before is a step of its
/// start; after the last its start is taken to be over.
const LOOKS_MS: [u64; 16] = [50, 100, 150, 200, 250, 325, 400, 500, 600, 700, 850, 1000, 1300, 2000, 3000, 4000];

/// A start that was over sooner teaches nothing.
const SHORTEST_MS: u64 = 200;

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
    /// Sees to it. What is to be kept of it once the start is over is returned. An error is a line for people.
    pub fn attend(&self) -> Result<Option<Report>, String> {
        let began = Instant::now();
        let placed = place_of_cgroup(self.cgroup);
        let Some((first, user)) = self.first_process() else { return Ok(None) };
        if !self.is_helped(&placed, first, &user) {
            return Ok(None);
        }
        let store = self.keeper.read(user.uid)?;
        let mode = store.app(&placed.label).map_or(Mode::Observe, fovea_launch::App::mode);
        match mode {
            Mode::Leave => Ok(Some(Report::of(user.uid, &placed.label))),
            Mode::Prefetch => self.prefetch(&store, &placed.label, &user, (first, began)).map(Some),
            Mode::Observe => self.observe(&store, &placed.label, &user, began).map(|()| None),
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
    ) -> Result<Report, String> {
        let wanted = Wanted::of(store, name, user)?;
        let left = store.left_today(today(), DAY_MAX_BYTES / launch::page_bytes());
        let before_us = began.elapsed().as_micros() as u64;
        let done = match wanted.missing_pages == 0 || left == 0 || battery_is_low(self.root) {
            true => Done::default(),
            false => {
                launch::work_in_short_turns();
                self.as_part_of(first, || wanted.read(self.root, left, floor))?
            }
        };
        Ok(Report {
            prefetched: done.pages,
            missing: wanted.missing_pages,
            in_memory: wanted.expected_pages - wanted.missing_pages,
            first_us: done.first_us.map(|us| us + before_us),
            gone: wanted.gone,
            ..Report::of(user.uid, name)
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
        let known = open(user, self.known(store, name))?;
        let mut files: BTreeMap<PathBuf, Watched> = known.into_iter().map(|(path, open)| (path, open.into())).collect();
        let mut lasted_ms = 0;
        for (step, after_ms) in (0u8..).zip(LOOKS_MS) {
            std::thread::sleep(Duration::from_millis(after_ms).saturating_sub(began.elapsed()));
            let pids = self.processes();
            if pids.is_empty() {
                break;
            }
            lasted_ms = after_ms;
            let mut found = BTreeMap::new();
            for pid in pids {
                let is_users = AppUser::of(self.root, pid).as_ref() == Some(user);
                let sees_ours = Namespace::of(self.root, pid) == Namespace::of(self.root, 1);
                if is_users && sees_ours {
                    launch::local_files(self.root, pid, &mut found, FILES_MAX);
                }
            }
            let new = found.keys().filter(|path| !files.contains_key(*path));
            let room = FILES_MAX.saturating_sub(files.len());
            let new = open(user, new.take(room).map(|path| (path.clone(), None)).collect())?;
            files.extend(new.into_iter().map(|(path, open)| (path, Open { before: Pages::new(), ..open }.into())));
            files.iter_mut().for_each(|(path, file)| file.look(step, found.get(path)));
        }
        if lasted_ms < SHORTEST_MS {
            return Ok(());
        }
        self.keeper.change(user.uid, |store| {
            let mut seen = Observation::default();
            for (path, Watched { open, steps, .. }) in &files {
                if let Some(key) = store.key(path.as_os_str().as_bytes(), id(open.file.version)) {
                    seen.note_steps(key, &open.before, steps);
                }
            }
            store.app_mut(name).observed(now_s(), seen);
        })
    }
}

/// A file while a start is observed.
struct Watched {
    open: Open,
    /// By step, what was used of it first in that step.
    steps: Vec<(u8, Pages)>,
    used: Pages,
    /// It was mapped at some look, so that what is in memory of it says nothing.
    mapped: bool,
}

impl From<Open> for Watched {
    fn from(open: Open) -> Watched {
        Watched { open, steps: Vec::new(), used: Pages::new(), mapped: false }
    }
}

impl Watched {
    /// What is used of it at the end of a step, where the app has it mapped or open now.
    fn look(&mut self, step: u8, touched: Option<&Touched>) {
        self.mapped |= touched.is_some_and(|touched| !touched.is_unknown);
        let used: Pages = match touched {
            _ if !self.mapped => match launch::resident(&self.open.file, 0..self.open.file.pages()) {
                Ok(flags) => Pages::of_flags(flags),
                Err(_) => return,
            },
            Some(touched) => touched.ranges.iter().cloned().collect(),
            None => return,
        };
        let new = used.without(&self.used);
        if !new.is_empty() {
            self.used = self.used.union(&new);
            self.steps.push((step, new));
        }
    }
}

/// Pages that are to stay available.
fn floor(total: u64) -> u64 {
    total / 16
}
