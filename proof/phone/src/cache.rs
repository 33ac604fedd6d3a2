// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The cache folder: kernels and what was learnt about this host. Everything in it can be deleted at any time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use tempfile::TempDir;

use crate::error::{Error, Result};

/// The cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// Holds the cache against other runs until dropped.
#[derive(Debug)]
pub struct CacheLock {
    file: File,
}

impl Drop for CacheLock {
    /// Closing would not do: a child that another thread is just starting has a copy of the descriptor until it runs its own program,
    /// and the lock lasts until the last copy is closed (flock(2)).
    fn drop(&mut self) {
        // Then it ends with the file at the latest.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Cache {
    /// `$FOVEA_CACHE`, else `$XDG_CACHE_HOME/fovea`, else `~/.cache/fovea`; made if it is not there.
    ///
    /// # Errors
    /// None of the three variables is set, or the folder cannot be made.
    pub fn open() -> Result<Cache> {
        let root = choose_root(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
            .ok_or_else(|| Error::missing("no cache folder: HOME is not set", "set FOVEA_CACHE to a folder"))?;
        Cache::at(root)
    }

    /// A cache at a given folder; made if it is not there. A relative path is taken from the working directory.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn at(root: impl AsRef<Path>) -> Result<Cache> {
        let root = root.as_ref();
        fs::create_dir_all(root).map_err(Error::io("make the cache folder", root))?;
        // Kernel builds refuse relative include paths, so the cache is absolute from the start.
        let root = root.canonicalize().map_err(Error::io("find the cache folder", root))?;
        Ok(Cache { root })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// Waits until no other run fills the cache, and keeps others out until the lock is dropped.
    ///
    /// # Errors
    /// The lock file cannot be made or locked.
    pub fn lock(&self) -> Result<CacheLock> {
        let path = self.path("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(Error::io("open", &path))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|e| Error::io("lock", &path)(e.into()))?;
        Ok(CacheLock { file })
    }

    /// Makes `name` (a folder below the cache) as a whole or not at all: `fill` works in a temporary folder on the same file system,
    /// which then takes the name's place.
    ///
    /// # Errors
    /// What `fill` reports, or the folder cannot be made or renamed; nothing is left behind then.
    pub fn install_dir(
        &self,
        _lock: &CacheLock,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let scratch = self.scratch_dir()?;
        let staged = scratch.path().join("staged");
        fs::create_dir(&staged).map_err(Error::io("make", &staged))?;
        fill(&staged)?;
        let target = self.path(name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(Error::io("make", parent))?;
        }
        if target.exists() {
            // A folder cannot be renamed onto a full one: the old one moves into the scratch folder and goes with it.
            let old = scratch.path().join("old");
            fs::rename(&target, &old).map_err(Error::io("replace", &target))?;
        }
        fs::rename(&staged, &target).map_err(Error::io("rename the finished folder to", &target))?;
        Ok(target)
    }

    /// Writes a small file as a whole or not at all.
    ///
    /// # Errors
    /// It cannot be written or renamed.
    pub fn write_file(&self, name: &str, content: &[u8]) -> Result<()> {
        let target = self.path(name);
        let parent = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(Error::io("make", parent))?;
        let mut file = tempfile::NamedTempFile::new_in(parent).map_err(Error::io("write a file in", parent))?;
        std::io::Write::write_all(&mut file, content).map_err(Error::io("write", file.path()))?;
        file.persist(&target).map_err(|e| Error::io("write", &target)(e.error))?;
        Ok(())
    }

    /// A folder in the cache that disappears when dropped.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn scratch_dir(&self) -> Result<TempDir> {
        let parent = self.path("tmp");
        fs::create_dir_all(&parent).map_err(Error::io("make", &parent))?;
        TempDir::new_in(&parent).map_err(Error::io("make a folder in", &parent))
    }
}

/// The rule for the cache's place, apart from the environment.
fn choose_root(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("FOVEA_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|dir| dir.join("fovea")))
        .or_else(|| variable("HOME").map(|dir| dir.join(".cache/fovea")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_follows_the_environment_in_order() {
        let all = [("FOVEA_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
        let root = |from: usize| {
            choose_root(|name| all[from..].iter().find(|(n, _)| *n == name).map(|(_, value)| PathBuf::from(value)))
        };
        assert_eq!(root(0), Some("/a".into()));
        assert_eq!(root(1), Some("/b/fovea".into()));
        assert_eq!(root(2), Some("/c/.cache/fovea".into()));
        assert_eq!(root(3), None);
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache")).unwrap();
        let lock = cache.lock().unwrap();
        let failed = cache.install_dir(&lock, "kernel/x", |staged| {
            fs::write(staged.join("half"), "half").unwrap();
            Err(Error::missing("power", "plug it in"))
        });
        assert!(failed.is_err());
        assert!(!cache.path("kernel/x").exists());
        assert_eq!(fs::read_dir(cache.path("tmp")).unwrap().count(), 0, "nothing is left behind");

        for content in ["first", "second"] {
            let fill = |staged: &Path| fs::write(staged.join("file"), content).map_err(Error::io("write", staged));
            let made = cache.install_dir(&lock, "kernel/x", fill).unwrap();
            assert_eq!(fs::read_to_string(made.join("file")).unwrap(), content);
        }
    }

    #[test]
    fn a_second_run_is_kept_out_while_the_first_fills_the_cache() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path()).unwrap();
        let held = cache.lock().unwrap();
        let other = File::open(cache.path("lock")).unwrap();
        assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err());
        let copy_of_a_child = held.file.try_clone().unwrap();
        drop(held);
        flock(&other, FlockOperation::NonBlockingLockExclusive).unwrap();
        drop(copy_of_a_child);
    }
}
