// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Killing real cgroups: more processes than the daemon may have files, and those that would rather not.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use fovea_linux::rooms::*;
use fovea_linux::System;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// More than the soft limit of files, as on a machine of Debian's with its 1024.
const PROCESSES: usize = 701;
const FILES: u64 = 400;

struct Group(PathBuf, String, Option<Child>);

impl Group {
    /// A cgroup in which a shell runs a script that prints a line when all is there; `None` where none can be made.
    fn new(name: &str, script: &str) -> Option<Group> {
        let mount = System::new().ok()?.cgroup_mount().ok()?;
        let cgroup = format!("fovea-test-{name}-{}", std::process::id());
        let folder = mount.join(&cgroup);
        if !rustix::process::geteuid().is_root() || fs::create_dir(&folder).is_err() {
            assert!(std::env::var_os("CI").is_none(), "no cgroup can be made here");
            println!("skipped: no cgroup can be made here");
            return None;
        }
        let enter = format!("echo $$ >{}/cgroup.procs || exit 1; {script}", folder.display());
        let mut shell = Command::new("sh").args(["-c", &enter]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "there\n");
        Some(Group(folder, cgroup, Some(shell)))
    }

    fn processes(&self) -> usize {
        fs::read_to_string(self.0.join("cgroup.procs")).unwrap().lines().count()
    }

    /// Waits until nobody is left.
    fn until_empty(&self) {
        let events = fs::File::open(self.0.join("cgroup.events")).unwrap();
        let limit = Timespec { tv_sec: 120, tv_nsec: 0 };
        loop {
            // Reading this very descriptor arms it.
            let mut text = [0; 64];
            let length = events.read_at(&mut text, 0).unwrap();
            if String::from_utf8_lossy(&text[..length]).contains("populated 0") {
                break;
            }
            let mut polled = [PollFd::new(&events, PollFlags::PRI)];
            assert_eq!(poll(&mut polled, Some(&limit)).unwrap(), 1, "{} live on", self.processes());
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        if let Some(mut shell) = self.2.take() {
            let _ = shell.wait();
        }
        self.until_empty();
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_victim_with_more_processes_than_we_may_have_files_dies_whole() {
    let script = format!("i=1; while [ $i -lt {PROCESSES} ]; do sleep 1000 & i=$((i+1)); done; echo there; wait");
    let Some(group) = Group::new("many", &script) else { return };
    let old = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(FILES), maximum: old.maximum }).unwrap();
    assert_eq!(group.processes(), PROCESSES);
    let outcome = System::new().unwrap().kill(&group.1).unwrap();
    assert_eq!(outcome.signalled as usize, PROCESSES);
    assert!(outcome.pidfds.len() <= 64 && !outcome.pidfds.is_empty());
    group.until_empty();
}

#[test]
fn an_app_that_is_asked_may_end_in_its_own_way() {
    // The child speaks for both: until it runs a program of its own, a signal to it ends in its parent's trap.
    let script = "trap 'echo ended >&2; exit 0' TERM; sh -c 'echo there; exec sleep 1000' & wait";
    let Some(group) = Group::new("asked", script) else { return };
    let mut system = System::new().unwrap();
    assert!(system.terminate(&group.1).unwrap() >= 1);
    group.until_empty();
    assert_eq!(system.terminate(&group.1).unwrap(), 0);
    assert_eq!(system.kill(&group.1).unwrap().signalled, 0);
}
