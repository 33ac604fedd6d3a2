// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An app that is one sleeping process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use fovea_linux::System;

use super::{is_root, until, Daemon};

/// A process in a cgroup of its own, gone with the test.
pub struct App {
    pub folder: PathBuf,
    pub cgroup: String,
    pub process: Child,
}

impl App {
    pub fn new(name: &str) -> Option<App> {
        let mount = System::new().ok()?.cgroup_mount().ok()?;
        if !is_root() {
            return None;
        }
        let cgroup = format!("fovea-test-{name}-{}", std::process::id());
        let folder = mount.join(&cgroup);
        if fs::create_dir(&folder).is_err() {
            println!("skipped: no cgroup can be made here");
            return None;
        }
        let process = Command::new("sleep").arg("1000").spawn().unwrap();
        fs::write(folder.join("cgroup.procs"), process.id().to_string()).unwrap();
        fs::write(format!("/proc/{}/oom_score_adj", process.id()), "123").unwrap();
        Some(App { folder, cgroup, process })
    }

    pub fn is_frozen(&self) -> bool {
        fs::read_to_string(self.folder.join("cgroup.freeze")).unwrap() == "1\n"
    }

    /// Waits for it; a daemon that never freezes it fails the test by its harness's limit.
    pub fn until_frozen(&self, daemon: &Daemon) {
        while !self.is_frozen() {
            daemon.status();
        }
    }

    /// The same without a word to the daemon, which might wake it.
    pub fn until_frozen_unasked(&self) {
        until(&|| "it is never frozen".into(), || self.is_frozen());
    }

    /// A child more, in the same cgroup, with a file open.
    pub fn opens(&self, path: &Path) -> Child {
        let child = Command::new("sleep").arg("1000").stdin(fs::File::open(path).unwrap()).spawn().unwrap();
        fs::write(self.folder.join("cgroup.procs"), child.id().to_string()).unwrap();
        child
    }

    pub fn score(&self) -> String {
        fs::read_to_string(format!("/proc/{}/oom_score_adj", self.process.id())).unwrap().trim().to_owned()
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir(&self.folder);
    }
}
