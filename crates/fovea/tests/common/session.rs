// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The cgroups of a user's session as systemd lays them out, for a user that nobody is, on a machine where nobody else has any.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fovea_linux::System;

use super::is_root;

const USER: &str = "user.slice/user-61234.slice";

/// One test at a time makes apps: two at once would see each other's, or skip because of each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Its cgroups and processes go with it, whatever becomes of the test.
pub struct Session {
    mount: PathBuf,
    children: Vec<Child>,
    _alone: MutexGuard<'static, ()>,
}

impl Session {
    /// None, and a word about it, where it would touch somebody's own.
    pub fn new() -> Option<Session> {
        let alone = alone();
        let mount = System::new().ok()?.cgroup_mount().ok()?;
        if is_root() && mount.join(USER).exists() {
            // A test that was killed left it.
            remove_session(&mount);
        }
        if !is_root() || mount.join("user.slice").exists() {
            println!("skipped: not root, or users have sessions here");
            return None;
        }
        fs::create_dir_all(mount.join(USER)).unwrap();
        Some(Session { mount, children: Vec::new(), _alone: alone })
    }

    /// The unit's cgroup, relative to the mount, as registering takes it.
    pub fn cgroup(&self, unit: &str) -> String {
        format!("{USER}/user@61234.service/{unit}")
    }

    pub fn make(&self, unit: &str) -> PathBuf {
        let folder = self.mount.join(self.cgroup(unit));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Starts a process that does nothing, in the cgroup `folder`.
    pub fn run_in(&mut self, folder: &Path) {
        let child = Command::new("sleep").arg("100000").stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        self.children.push(child);
        fs::write(folder.join("cgroup.procs"), pid.to_string()).unwrap();
    }

    /// Kills the process that was started as the `nth`, counted from 0.
    pub fn kill(&mut self, nth: usize) {
        self.children[nth].kill().unwrap();
        self.children[nth].wait().unwrap();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        remove_session(&self.mount);
    }
}

/// A cgroup that is not empty stays; so nothing of anybody else's goes.
fn remove_session(mount: &Path) {
    fn remove(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                remove(&entry.path());
            }
        }
        let _ = fs::remove_dir(folder);
    }
    remove(&mount.join(USER));
    let _ = fs::remove_dir(mount.join("user.slice"));
}
