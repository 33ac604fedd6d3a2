// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Watching cgroups by inotify: the first process of an app's cgroup comes, its last one ends (`cgroup.events`), or systemd makes a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fovea_apps::{leads_to_apps, limits, owner_of_cgroup, place_of_cgroup, OWN_SLICE};
use rustix::fs::inotify::{add_watch, init, remove_watch, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use rustix::time::{clock_gettime, ClockId};

/// What was seen of a cgroup (path below the mount).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It has no process any more.
    Ended(String),
    /// It is an app's by its name, and has a process.
    Appeared(String),
}

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug)]
enum Watched {
    /// With whether it had a process when it was last looked at.
    App {
        cgroup: String,
        populated: bool,
    },
    Slice(String),
}

impl Watched {
    fn cgroup(&self) -> &str {
        match self {
            Watched::App { cgroup, .. } | Watched::Slice(cgroup) => cgroup,
        }
    }
}

/// The watcher. A watch is given back when its cgroup goes: cgroup v2 does not tell that of the watched file or folder
/// itself (its inodes keep their links), but of the name in the folder above. All watches of the machine's root user are
/// counted together, systemd's and udev's among them.
pub struct Watcher {
    inotify: OwnedFd,
    mount: PathBuf,
    watched: BTreeMap<i32, Watched>,
    /// The watch of each cgroup.
    by_cgroup: BTreeMap<String, i32>,
    /// How many watches are for each user's cgroups.
    of_user: BTreeMap<u32, usize>,
    discovers: bool,
    complained: bool,
    /// Users of whom it was said that they have too many.
    crowded: BTreeSet<u32>,
    /// How many changes of each user's cgroups were looked at in this second, and who had more.
    looked: BTreeMap<u32, u32>,
    second_ns: u64,
    overdue: BTreeSet<u32>,
    /// Tells people what is not watched.
    say: fn(&str),
}

impl Watcher {
    /// A watcher on a cgroup v2 mount; `say` takes lines for people.
    pub fn new(mount: &Path, say: fn(&str)) -> std::io::Result<Self> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self {
            inotify,
            mount: mount.to_owned(),
            watched: BTreeMap::new(),
            by_cgroup: BTreeMap::new(),
            of_user: BTreeMap::new(),
            discovers: false,
            complained: false,
            crowded: BTreeSet::new(),
            looked: BTreeMap::new(),
            second_ns: 0,
            overdue: BTreeSet::new(),
            say,
        })
    }

    /// Readable when something was seen.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Watches an app; says whether it has a process.
    pub fn app(&mut self, cgroup: &str) -> std::io::Result<bool> {
        let id = self.watch(cgroup, &self.events(cgroup), WatchFlags::MODIFY)?;
        // Watching before reading: what happens in between is seen twice, never missed.
        let populated = self.populated(cgroup);
        self.watched.insert(id, Watched::App { cgroup: cgroup.to_owned(), populated });
        Ok(populated)
    }

    /// Adds a watch to the books, in place of one that a cgroup of the same name had.
    fn watch(&mut self, cgroup: &str, path: &Path, events: WatchFlags) -> std::io::Result<i32> {
        let user = owner_of_cgroup(cgroup);
        let is_known = self.by_cgroup.contains_key(cgroup);
        if let Some(user) = user.filter(|_| !is_known) {
            if self.of_user.get(&user).is_some_and(|&count| count >= limits::WATCHES_OF_USER_MAX) {
                return Err(Errno::DQUOT.into());
            }
        }
        let id = add_watch(&self.inotify, path, events)?;
        match self.by_cgroup.insert(cgroup.to_owned(), id) {
            Some(old) if old != id => {
                self.watched.remove(&old);
                let _ = remove_watch(&self.inotify, old);
            }
            Some(_) => {}
            None => {
                if let Some(user) = user {
                    *self.of_user.entry(user).or_default() += 1;
                }
            }
        }
        Ok(id)
    }

    /// Strikes a watch off the books.
    fn strike(&mut self, id: i32) -> Option<Watched> {
        let watched = self.watched.remove(&id)?;
        let cgroup = watched.cgroup();
        if self.by_cgroup.get(cgroup) == Some(&id) {
            self.by_cgroup.remove(cgroup);
            if let Some(user) = owner_of_cgroup(cgroup) {
                if let Some(count) = self.of_user.get_mut(&user) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        self.of_user.remove(&user);
                    }
                }
            }
        }
        Some(watched)
    }

    /// Gives a watch back. That fails when the kernel has forgotten it already.
    fn unwatch(&mut self, id: i32) -> Option<Watched> {
        let watched = self.strike(id)?;
        let _ = remove_watch(&self.inotify, id);
        Some(watched)
    }

    /// A cgroup has gone, and all below it.
    fn gone(&mut self, cgroup: &str, seen: &mut Vec<Seen>) {
        let below = format!("{cgroup}/");
        let under = self.by_cgroup.range(below.clone()..).take_while(|(name, _)| name.starts_with(&below));
        let ids: Vec<i32> = self.by_cgroup.get(cgroup).into_iter().chain(under.map(|(_, id)| id)).copied().collect();
        for id in ids {
            if let Some(Watched::App { cgroup, populated: true }) = self.unwatch(id) {
                seen.push(Seen::Ended(cgroup));
            }
        }
    }

    fn events(&self, cgroup: &str) -> PathBuf {
        self.mount.join(cgroup).join("cgroup.events")
    }

    fn populated(&self, cgroup: &str) -> bool {
        std::fs::read_to_string(self.events(cgroup)).is_ok_and(|text| text.lines().any(|l| l == "populated 1"))
    }

    /// Forgets an app that nobody could find again.
    pub fn forget(&mut self, cgroup: &str) {
        if self.discovers && may_be_victim(cgroup) && self.mount.join(cgroup).exists() {
            return;
        }
        if let Some(&id) = self.by_cgroup.get(cgroup) {
            self.unwatch(id);
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
        match self.watch(slice, &folder, WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::ONLYDIR) {
            Ok(id) => drop(self.watched.insert(id, Watched::Slice(slice.to_owned()))),
            Err(e) => return self.complain(slice, &folder, e),
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir())) {
            if let Some(name) = entry.file_name().to_str() {
                self.look_at(&below(slice, name), seen);
            }
        }
    }

    fn look_at(&mut self, cgroup: &str, seen: &mut Vec<Seen>) {
        if may_be_victim(cgroup) {
            match self.app(cgroup) {
                Ok(true) => seen.push(Seen::Appeared(cgroup.to_owned())),
                // systemd makes a scope before it moves the process in: the change of `populated` tells.
                Ok(false) => {}
                Err(e) => self.complain(cgroup, &self.events(cgroup), e),
            }
        } else if leads_to_apps(cgroup) {
            self.scan(cgroup, seen);
        }
    }

    /// One that vanished meanwhile is no news; that the kernel grants no more watches is, once, and that we grant a user no
    /// more, once for each.
    fn complain(&mut self, cgroup: &str, path: &Path, error: std::io::Error) {
        if error.raw_os_error() == Some(Errno::DQUOT.raw_os_error()) {
            let user = owner_of_cgroup(cgroup).unwrap_or_default();
            if self.crowded.insert(user) {
                let most = limits::WATCHES_OF_USER_MAX;
                (self.say)(&format!("user {user} has more than {most} cgroups of apps: those beyond are not found"));
            }
        } else if error.kind() != std::io::ErrorKind::NotFound && !std::mem::replace(&mut self.complained, true) {
            (self.say)(&format!(
                "watching {}: {error}: raise fs.inotify.max_user_watches; apps there are not found",
                path.display()
            ));
        }
    }

    /// Whether one more change of a user's cgroups is looked at now; else all of them are looked through a second later. Others wait for
    /// nothing.
    fn may_look(&mut self, cgroup: &str, now_ns: u64) -> bool {
        let Some(user) = owner_of_cgroup(cgroup) else { return true };
        if now_ns.saturating_sub(self.second_ns) >= SECOND_NS {
            (self.second_ns, self.looked) = (now_ns, BTreeMap::new());
        }
        let looked = self.looked.entry(user).or_default();
        *looked = looked.saturating_add(1);
        let may = *looked <= limits::CGROUP_CHANGES_OF_USER_PER_S;
        if !may {
            self.overdue.insert(user);
        }
        may
    }

    /// When somebody's cgroups are to be looked through.
    pub fn due_ns(&self) -> Option<u64> {
        (!self.overdue.is_empty()).then_some(self.second_ns + SECOND_NS)
    }

    /// Looks through the cgroups of users of whom too much was seen at once.
    pub fn look_over(&mut self, now_ns: u64) -> Vec<Seen> {
        let mut seen = Vec::new();
        for user in std::mem::take(&mut self.overdue) {
            let is_theirs = |(_, watched): &(&i32, &Watched)| owner_of_cgroup(watched.cgroup()) == Some(user);
            let ids: Vec<i32> = self.watched.iter().filter(is_theirs).map(|(&id, _)| id).collect();
            let slices = self.watched.values().filter_map(|watched| match watched {
                Watched::Slice(slice) => Some(slice.clone()),
                Watched::App { .. } => None,
            });
            let of_user = format!("user@{user}.service");
            let slices: Vec<String> = slices.filter(|slice| slice.contains(&of_user)).collect();
            ids.into_iter().for_each(|id| self.look_again(id, &mut seen));
            let gone = |cgroup: &String| !self.mount.join(cgroup).exists();
            let under = self.by_cgroup.keys().filter(|cgroup| owner_of_cgroup(cgroup) == Some(user));
            let gone: Vec<String> = under.filter(|cgroup| gone(cgroup)).cloned().collect();
            gone.iter().for_each(|cgroup| self.gone(cgroup, &mut seen));
            slices.iter().for_each(|slice| self.scan(slice, &mut seen));
        }
        self.second_ns = now_ns;
        seen
    }

    /// Takes what was seen since the last call.
    pub fn take(&mut self) -> Vec<Seen> {
        let now = clock_gettime(ClockId::Monotonic);
        self.take_at(now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64)
    }

    fn take_at(&mut self, now_ns: u64) -> Vec<Seen> {
        let mut seen = Vec::new();
        let (mut changed, mut listed, mut lost) = (BTreeSet::new(), Vec::new(), false);
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let (mut ignored, mut taken) = (Vec::new(), 0);
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        // What comes faster than it is taken is left for the next call.
        while taken < limits::WATCH_EVENTS_IN_A_ROW_MAX || !reader.is_buffer_empty() {
            let Ok(event) = reader.next() else { break };
            taken += 1;
            lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            if event.events().contains(ReadFlags::IGNORED) {
                ignored.push(event.wd());
                continue;
            }
            match self.watched.get(&event.wd()) {
                Some(Watched::App { .. }) => drop(changed.insert(event.wd())),
                Some(Watched::Slice(slice)) => {
                    let is_new = event.events().contains(ReadFlags::CREATE);
                    let name = event.file_name().and_then(|n| n.to_str().ok());
                    listed.extend(name.map(|name| (below(slice, name), is_new)));
                }
                None => {}
            }
        }
        for id in ignored {
            // It is gone, and was not seen to end if that came first.
            if let Some(Watched::App { cgroup, populated: true }) = self.strike(id) {
                seen.push(Seen::Ended(cgroup));
            }
        }
        if lost {
            // Events were dropped: nobody knows which, so everything is looked at again, and what has gone is struck off.
            changed = self.watched.keys().copied().collect();
            let there = |cgroup: &str| self.mount.join(cgroup).exists();
            let gone: Vec<String> = self.by_cgroup.keys().filter(|cgroup| !there(cgroup)).cloned().collect();
            changed.iter().for_each(|&id| self.look_again(id, &mut seen));
            gone.iter().for_each(|cgroup| self.gone(cgroup, &mut seen));
        } else {
            for id in changed {
                let cgroup = self.watched.get(&id).map(|watched| watched.cgroup().to_owned());
                if cgroup.is_some_and(|cgroup| self.may_look(&cgroup, now_ns)) {
                    self.look_again(id, &mut seen);
                }
            }
        }
        for (cgroup, is_new) in listed {
            match is_new {
                true if !self.may_look(&cgroup, now_ns) => {}
                true => self.look_at(&cgroup, &mut seen),
                false => self.gone(&cgroup, &mut seen),
            }
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
        if now && !(self.discovers && may_be_victim(&cgroup)) {
            return;
        }
        seen.push(if now { Seen::Appeared(cgroup.clone()) } else { Seen::Ended(cgroup.clone()) });
        self.watched.insert(id, Watched::App { cgroup, populated: now });
    }
}

/// Whether it is the cgroup of a unit that the daemon may end: an app, a job, a user's container.
fn may_be_victim(cgroup: &str) -> bool {
    let placed = place_of_cgroup(cgroup);
    placed.kind().is_some() && placed.unit == cgroup
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
