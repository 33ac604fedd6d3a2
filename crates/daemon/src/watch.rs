// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Watching cgroups by inotify: an app's last process ends (`cgroup.events`), or systemd makes a new app cgroup.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fovea_apps::{app_of_unit, AppName};
use rustix::fs::inotify::{add_watch, init, remove_watch, CreateFlags, ReadFlags, Reader, WatchFlags};

/// Depth below the mount at which app cgroups are looked for; systemd's are at 5 (user.slice/user-N/user@N/app.slice/app-X.scope).
const DEPTH_MAX: usize = 6;

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The app's cgroup has no process any more.
    Ended(AppName),
    /// A new app cgroup (path below the mount).
    Appeared(AppName, String),
}

#[derive(Debug)]
enum Watched {
    App(AppName, PathBuf),
    Slice(PathBuf),
}

/// The watcher.
pub struct Watcher {
    inotify: OwnedFd,
    mount: PathBuf,
    watched: BTreeMap<i32, Watched>,
}

impl Watcher {
    /// A watcher on a cgroup v2 mount.
    pub fn new(mount: &Path) -> std::io::Result<Self> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { inotify, mount: mount.to_owned(), watched: BTreeMap::new() })
    }

    /// Readable when something was seen.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Watches an app; says at once if it has already ended.
    pub fn app(&mut self, name: &AppName, cgroup: &str) -> std::io::Result<Option<Seen>> {
        let events = self.mount.join(cgroup).join("cgroup.events");
        let id = add_watch(&self.inotify, &events, WatchFlags::MODIFY)?;
        // An app that moved: the end of what its old cgroup held is not its end.
        self.forget_others(name, id);
        self.watched.insert(id, Watched::App(name.clone(), events.clone()));
        Ok((!populated(&events)).then(|| Seen::Ended(name.clone())))
    }

    /// Forgets an app.
    pub fn forget(&mut self, name: &AppName) {
        self.forget_others(name, -1);
    }

    fn forget_others(&mut self, name: &AppName, kept: i32) {
        let ids: Vec<i32> = self
            .watched
            .iter()
            .filter(|(&id, w)| id != kept && matches!(w, Watched::App(n, _) if n == name))
            .map(|(&id, _)| id)
            .collect();
        for id in ids {
            self.watched.remove(&id);
            // Fails when the cgroup is gone already, and then the kernel has forgotten the watch itself.
            let _ = remove_watch(&self.inotify, id);
        }
    }

    /// Finds systemd's app cgroups that are there, and watches for new ones.
    pub fn discover(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        self.scan(&self.mount.clone(), 0, &mut seen);
        seen
    }

    fn scan(&mut self, folder: &Path, depth: usize, seen: &mut Vec<Seen>) {
        let flags = WatchFlags::CREATE | WatchFlags::ONLYDIR;
        // Watching before listing: what is made in between is seen twice, never missed.
        if let Ok(id) = add_watch(&self.inotify, folder, flags) {
            self.watched.insert(id, Watched::Slice(folder.to_owned()));
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                self.look_at(&entry.path(), depth + 1, seen);
            }
        }
    }

    fn look_at(&mut self, folder: &Path, depth: usize, seen: &mut Vec<Seen>) {
        let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if let Some(app) = app_of_unit(name) {
            if let Some(cgroup) = folder.strip_prefix(&self.mount).ok().and_then(Path::to_str) {
                seen.push(Seen::Appeared(app, cgroup.to_owned()));
            }
        } else if depth < DEPTH_MAX && is_on_the_way(name) {
            self.scan(folder, depth, seen);
        }
    }

    /// Takes what was seen since the last call.
    pub fn take(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut made = Vec::new();
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::IGNORED) {
                self.watched.remove(&event.wd());
                continue;
            }
            match self.watched.get(&event.wd()) {
                Some(Watched::App(name, events)) if !populated(events) => seen.push(Seen::Ended(name.clone())),
                Some(Watched::Slice(folder)) => {
                    if let Some(name) = event.file_name().and_then(|n| n.to_str().ok()) {
                        made.push(folder.join(name));
                    }
                }
                _ => {}
            }
        }
        for folder in made {
            let depth = folder.strip_prefix(&self.mount).map_or(DEPTH_MAX, |p| p.components().count());
            self.look_at(&folder, depth, &mut seen);
        }
        seen
    }
}

/// Slices and user managers lead to app cgroups; other services do not, and are not watched.
fn is_on_the_way(name: &str) -> bool {
    name.ends_with(".slice") || (name.starts_with("user@") && name.ends_with(".service"))
}

fn populated(events: &Path) -> bool {
    std::fs::read_to_string(events).is_ok_and(|text| text.lines().any(|l| l == "populated 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a cgroup tree serves as well: inotify is the same.
    #[test]
    fn apps_appear_and_end() {
        let tree = tempfile::tempdir().unwrap();
        let slice = tree.path().join("user.slice/user-1000.slice/user@1000.service/app.slice");
        let make = |unit: &str| {
            let folder = slice.join(unit);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
            folder
        };
        make("app-gnome-mail-12.scope");
        std::fs::create_dir_all(tree.path().join("system.slice/app-not-here.scope")).unwrap();
        std::fs::create_dir_all(tree.path().join("init.scope/app-nor-here.scope")).unwrap();
        let mut watcher = Watcher::new(tree.path()).unwrap();
        let name = |n: &str| n.parse::<AppName>().unwrap();
        let found = watcher.discover();
        assert_eq!(found.len(), 2, "{found:?}");
        let Some(Seen::Appeared(mail, cgroup)) =
            found.iter().find(|s| matches!(s, Seen::Appeared(n, _) if *n == name("mail")))
        else {
            panic!("{found:?}")
        };
        assert_eq!(watcher.app(mail, cgroup).unwrap(), None);
        let maps = make("app-maps@1.service");
        assert!(matches!(&watcher.take()[..], [Seen::Appeared(n, _)] if *n == name("maps")));
        std::fs::write(slice.join("app-gnome-mail-12.scope/cgroup.events"), "populated 0\nfrozen 0\n").unwrap();
        assert!(watcher.take().contains(&Seen::Ended(name("mail"))));
        std::fs::remove_dir_all(maps).unwrap();
        watcher.forget(&name("mail"));
        assert_eq!(watcher.take(), []);
    }
}
