// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The folder of what was learned: a file for each user, which root alone reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fovea_launch::store::{STORE_MAX_BYTES, USERS_MAX};
use fovea_launch::UserStore;
use fovea_linux::launch::page_bytes;
use rustix::fs::{flock, FlockOperation};

/// A user's file that was not written for so long may make room for another user's.
const STALE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The folder.
#[derive(Clone, Debug)]
pub struct Keeper {
    folder: PathBuf,
}

impl Keeper {
    pub fn new(folder: PathBuf) -> Keeper {
        Keeper { folder }
    }

    /// Makes the folder, and sees whether it can be written to.
    pub fn prepare(&self) -> Result<(), String> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.and_then(|()| self.locked(FlockOperation::LockExclusive).map(drop))
            .map_err(|e| self.wrong(&self.folder, &e))
    }

    fn wrong(&self, path: &Path, error: &io::Error) -> String {
        let mend = match error.kind() {
            io::ErrorKind::PermissionDenied => "run it as root",
            io::ErrorKind::StorageFull => "free some space: until then nothing new is learned",
            _ => "name another folder with --state",
        };
        format!("{}: {error}: {mend}", path.display())
    }

    /// Held while a file is read, changed and written: several starts of a user can end at once.
    fn locked(&self, how: FlockOperation) -> io::Result<File> {
        let path = self.folder.join("lock");
        let lock = match how {
            FlockOperation::LockShared => File::open(path)?,
            _ => OpenOptions::new().create(true).append(true).mode(0o600).open(path)?,
        };
        flock(&lock, how)?;
        Ok(lock)
    }

    fn path(&self, user: u32) -> PathBuf {
        self.folder.join(format!("{user}.launch"))
    }

    /// Reads a user's file. One that is damaged counts as none, and is said.
    pub fn read(&self, user: u32) -> Result<UserStore, String> {
        let path = self.path(user);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(STORE_MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
        match read {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(UserStore::default()),
            Err(e) => return Err(self.wrong(&path, &e)),
            Ok(_) => {}
        }
        let dropped = match UserStore::read(&bytes) {
            Ok(store) if store.page_bytes == page_bytes() => return Ok(store),
            Ok(_) => "written on a kernel with other pages",
            Err(damage) => damage.words(),
        };
        crate::say(&format!("{}: {dropped}: dropped, and learned anew", path.display()));
        Ok(UserStore::default())
    }

    /// Changes a user's file in one step.
    pub fn change<T>(&self, user: u32, change: impl FnOnce(&mut UserStore) -> T) -> Result<T, String> {
        let _lock = self.locked(FlockOperation::LockExclusive).map_err(|e| self.wrong(&self.folder, &e))?;
        self.make_room(user)?;
        let mut store = self.read(user)?;
        let done = change(&mut store);
        self.write(user, &mut store)?;
        Ok(done)
    }

    fn write(&self, user: u32, store: &mut UserStore) -> Result<(), String> {
        store.page_bytes = page_bytes();
        let (bytes, _) = store.written();
        let (path, new) = (self.path(user), self.folder.join(format!("{user}.new")));
        let written =
            OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new).and_then(|mut file| {
                file.write_all(&bytes)?;
                file.sync_all()
            });
        written.and_then(|()| fs::rename(&new, &path)).map_err(|e| {
            // What is there of it would only take space.
            let _ = fs::remove_file(&new);
            self.wrong(&path, &e)
        })
    }

    /// The users of whom something is kept, with when it was written.
    pub fn users(&self) -> Vec<(u32, SystemTime)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let user = |entry: fs::DirEntry| {
            let user = entry.file_name().to_str()?.strip_suffix(".launch")?.parse().ok()?;
            Some((user, entry.metadata().ok()?.modified().ok()?))
        };
        let mut users: Vec<_> = entries.filter_map(user).collect();
        users.sort();
        users
    }

    /// Has a new user take the place of one who was not here for months; nobody else gives way.
    fn make_room(&self, user: u32) -> Result<(), String> {
        let users = self.users();
        if users.len() < USERS_MAX || users.iter().any(|&(known, _)| known == user) {
            return Ok(());
        }
        let oldest = users.iter().min_by_key(|(_, written)| *written);
        match oldest.filter(|(_, written)| written.elapsed().is_ok_and(|age| age > STALE)) {
            Some((stale, _)) => fs::remove_file(self.path(*stale)).map_err(|e| self.wrong(&self.path(*stale), &e)),
            None => Err(format!(
                "{}: has {USERS_MAX} users already: nothing is learned of user {user}; remove the file of one who has left",
                self.folder.display()
            )),
        }
    }

    /// Forgets an app of every user, or everything.
    pub fn forget(&self, app: Option<&str>) -> Result<(), String> {
        let mut found = false;
        for (user, _) in self.users() {
            match app {
                Some(app) => found |= self.change(user, |store| store.forget_app(app))?,
                None => fs::remove_file(self.path(user)).map_err(|e| self.wrong(&self.path(user), &e))?,
            }
        }
        match app {
            Some(app) if !found => Err(format!("nothing is known of {app}: `fovea-prefetch status` names the apps")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn keeper() -> (tempfile::TempDir, Keeper) {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(folder.path().join("launch"));
        keeper.prepare().unwrap();
        (folder, keeper)
    }

    #[test]
    fn a_users_file_is_roots_alone_and_damage_to_it_is_no_failure() {
        let (_folder, keeper) = keeper();
        keeper.change(1000, |store| store.app_mut("gimp").left(5, 7, 9)).unwrap();
        let path = keeper.path(1000);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(keeper.read(1000).unwrap().app("gimp").unwrap().prefetched, 7);
        let bytes = fs::read(&path).unwrap();
        let mut other_pages = UserStore::read(&bytes).unwrap();
        other_pages.page_bytes *= 2;
        let other_pages = other_pages.written().0;
        for damaged in [&bytes[..bytes.len() / 2], b"something else entirely", b"", &other_pages] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(keeper.read(1000).unwrap(), UserStore::default());
            keeper.change(1000, |store| store.app_mut("gimp").left(5, 7, 9)).unwrap();
            assert_eq!(keeper.read(1000).unwrap().apps().count(), 1);
        }
    }

    #[test]
    fn the_seventeenth_user_drops_nobody_who_was_here_lately() {
        let (_folder, keeper) = keeper();
        for user in 0..USERS_MAX as u32 {
            keeper.change(1000 + user, |store| store.app_mut("gimp").left(5, 7, 9)).unwrap();
        }
        let line = keeper.change(2000, |_| ()).unwrap_err();
        assert!(line.contains("user 2000") && keeper.users().len() == USERS_MAX, "{line}");
        let long_ago = SystemTime::now() - STALE - Duration::from_secs(5);
        File::options().write(true).open(keeper.path(1003)).unwrap().set_modified(long_ago).unwrap();
        keeper.change(2000, |_| ()).unwrap();
        let users: Vec<u32> = keeper.users().into_iter().map(|(user, _)| user).collect();
        assert!(users.contains(&2000) && !users.contains(&1003) && users.len() == USERS_MAX);
    }

    #[test]
    fn a_full_disk_leaves_what_was_kept() {
        let (_folder, keeper) = keeper();
        keeper.change(0, |store| store.app_mut("gimp").left(5, 7, 9)).unwrap();
        // A file in whose place none can be made stands for a disk without space.
        fs::create_dir(keeper.folder.join("0.new")).unwrap();
        let line = keeper.change(0, |store| store.app_mut("gimp").left(6, 1, 1)).unwrap_err();
        assert!(line.contains("0.launch: "), "{line}");
        assert_eq!(keeper.read(0).unwrap().app("gimp").unwrap().prefetched, 7);
    }

    #[test]
    fn an_app_or_all_can_be_forgotten() {
        let (_folder, keeper) = keeper();
        for app in ["gimp", "inkscape"] {
            keeper.change(7, |store| store.app_mut(app).left(5, 7, 9)).unwrap();
        }
        keeper.forget(Some("gimp")).unwrap();
        assert!(keeper.forget(Some("gimp")).unwrap_err().contains("nothing is known of gimp"));
        assert_eq!(keeper.read(7).unwrap().apps().count(), 1);
        keeper.forget(None).unwrap();
        assert!(keeper.users().is_empty());
    }
}
