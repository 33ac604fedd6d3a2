// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Watching cgroups by inotify: the first process of an app's cgroup comes, its last one ends (`cgroup.events`), or systemd makes a new one.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fovea_apps::{app_of_cgroup, leads_to_apps, OWN_SLICE};
use rustix::fs::inotify::{add_watch, init, remove_watch, CreateFlags, ReadFlags, Reader, WatchFlags};

/// What was seen of a cgroup (path below the mount).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It has no process any more.
    Ended(String),
    /// It is an app's by its name, and has a process.
    Appeared(String),
}

#[derive(Debug)]
enum Watched {
    /// With whether it had a process when it was last looked at.
    App {
        cgroup: String,
        populated: bool,
    },
    Slice(String),
}

/// The watcher.
pub struct Watcher {
    inotify: OwnedFd,
    mount: PathBuf,
    watched: BTreeMap<i32, Watched>,
    discovers: bool,
    complained: bool,
}

impl Watcher {
    /// A watcher on a cgroup v2 mount.
    pub fn new(mount: &Path) -> std::io::Result<Self> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let watched = BTreeMap::new();
        Ok(Self { inotify, mount: mount.to_owned(), watched, discovers: false, complained: false })
    }

    /// Readable when something was seen.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Watches an app; says whether it has a process.
    pub fn app(&mut self, cgroup: &str) -> std::io::Result<bool> {
        let id = add_watch(&self.inotify, self.events(cgroup), WatchFlags::MODIFY)?;
        // Watching before reading: what happens in between is seen twice, never missed.
        let populated = self.populated(cgroup);
        self.watched.insert(id, Watched::App { cgroup: cgroup.to_owned(), populated });
        Ok(populated)
    }

    fn events(&self, cgroup: &str) -> PathBuf {
        self.mount.join(cgroup).join("cgroup.events")
    }

    fn populated(&self, cgroup: &str) -> bool {
        std::fs::read_to_string(self.events(cgroup)).is_ok_and(|text| text.lines().any(|l| l == "populated 1"))
    }

    /// Forgets an app that nobody could find again.
    pub fn forget(&mut self, cgroup: &str) {
        if self.discovers && app_of_cgroup(cgroup).is_some() && self.mount.join(cgroup).exists() {
            return;
        }
        let of = |w: &Watched| matches!(w, Watched::App { cgroup: c, .. } if c == cgroup);
        let ids: Vec<i32> = self.watched.iter().filter(|(_, w)| of(w)).map(|(&id, _)| id).collect();
        for id in ids {
            self.watched.remove(&id);
            // Fails when the cgroup is gone already, and then the kernel has forgotten the watch itself.
            let _ = remove_watch(&self.inotify, id);
        }
    }

    /// Takes the cgroup of an app that has ended away, if it is one that `fovea launch` made. Fails when somebody is there again, rightly.
    pub fn remove(&mut self, cgroup: &str) {
        if cgroup.strip_prefix(OWN_SLICE).is_some_and(|rest| rest.starts_with('/')) {
            let _ = std::fs::remove_dir(self.mount.join(cgroup));
        }
    }

    /// Finds the app cgroups that are there, and watches for new ones.
    pub fn discover(&mut self) -> Vec<Seen> {
        self.discovers = true;
        let mut seen = Vec::new();
        self.scan("", &mut seen);
        seen
    }

    fn scan(&mut self, slice: &str, seen: &mut Vec<Seen>) {
        let folder = self.mount.join(slice);
        // Watching before listing, as above.
        match add_watch(&self.inotify, &folder, WatchFlags::CREATE | WatchFlags::ONLYDIR) {
            Ok(id) => drop(self.watched.insert(id, Watched::Slice(slice.to_owned()))),
            Err(e) => self.complain(&folder, e.into()),
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir())) {
            if let Some(name) = entry.file_name().to_str() {
                self.look_at(&below(slice, name), seen);
            }
        }
    }

    fn look_at(&mut self, cgroup: &str, seen: &mut Vec<Seen>) {
        if app_of_cgroup(cgroup).is_some() {
            match self.app(cgroup) {
                Ok(true) => seen.push(Seen::Appeared(cgroup.to_owned())),
                // systemd makes a scope before it moves the process in: the change of `populated` tells.
                Ok(false) => {}
                Err(e) => self.complain(&self.events(cgroup), e),
            }
        } else if leads_to_apps(cgroup) {
            self.scan(cgroup, seen);
        }
    }

    /// One that vanished meanwhile is no news; that the kernel grants no more watches is, once.
    fn complain(&mut self, path: &Path, error: std::io::Error) {
        if error.kind() != std::io::ErrorKind::NotFound && !std::mem::replace(&mut self.complained, true) {
            say!(
                "fovea: watching {}: {error}: raise fs.inotify.max_user_watches; apps there are not found",
                path.display()
            );
        }
    }

    /// Takes what was seen since the last call.
    pub fn take(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let (mut changed, mut made, mut lost) = (Vec::new(), Vec::new(), false);
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            if event.events().contains(ReadFlags::IGNORED) {
                // It is gone, and was not seen to end if that came first.
                if let Some(Watched::App { cgroup, populated: true }) = self.watched.remove(&event.wd()) {
                    seen.push(Seen::Ended(cgroup));
                }
                continue;
            }
            match self.watched.get(&event.wd()) {
                Some(Watched::App { .. }) => changed.push(event.wd()),
                Some(Watched::Slice(slice)) => {
                    made.extend(event.file_name().and_then(|n| n.to_str().ok()).map(|name| below(slice, name)));
                }
                None => {}
            }
        }
        if lost {
            // Events were dropped: nobody knows which, so everything is looked at again.
            changed = self.watched.keys().copied().collect();
        }
        changed.into_iter().for_each(|id| self.look_again(id, &mut seen));
        for cgroup in made {
            self.look_at(&cgroup, &mut seen);
        }
        if lost && self.discovers {
            seen.extend(self.discover());
        }
        seen
    }

    fn look_again(&mut self, id: i32, seen: &mut Vec<Seen>) {
        let Some(Watched::App { cgroup, populated }) = self.watched.get(&id) else { return };
        let (cgroup, before, now) = (cgroup.clone(), *populated, self.populated(cgroup));
        if before == now {
            return;
        }
        if now && (!self.discovers || app_of_cgroup(&cgroup).is_none()) {
            return;
        }
        seen.push(if now { Seen::Appeared(cgroup.clone()) } else { Seen::Ended(cgroup.clone()) });
        self.watched.insert(id, Watched::App { cgroup, populated: now });
    }
}

fn below(slice: &str, name: &str) -> String {
    match slice {
        "" => name.to_owned(),
        slice => format!("{slice}/{name}"),
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
