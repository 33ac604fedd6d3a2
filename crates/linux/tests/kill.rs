// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Killing real cgroups: more processes than the daemon may have files, and those that would rather not.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use fovea_apps::ProcessId;
use fovea_linux::device_traits::*;
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
        let enter = format!("G={}; echo $$ >$G/cgroup.procs || exit 1; {script}", folder.display());
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

/// The walk ended at 32 levels: nobody was found, nobody was signalled, and that counted as done.
#[test]
fn a_process_at_any_depth_dies_and_counts() {
    let script = "d=$G; i=0; while [ $i -lt 60 ]; do d=$d/d; mkdir $d || exit 1; i=$((i+1)); done; \
        sh -c 'echo $$ >'$d'/cgroup.procs; echo there; exec sleep 1000' & wait";
    let Some(group) = Group::new("deep", script) else { return };
    // The shell that made it is not to be what is found.
    fs::write(group.0.join("../cgroup.procs"), group.2.as_ref().unwrap().id().to_string()).unwrap();
    let outcome = System::new().unwrap().kill(&group.1).unwrap();
    assert_eq!((outcome.signalled, outcome.pidfds.len()), (1, 1));
    group.until_empty();
    System::new().unwrap().cgroups().unwrap().remove(&format!("{}/d", group.1)).unwrap();
}

/// The list of processes failed where a path cannot say it (PATH_MAX), and with it the kill: the app was unkillable, was not
/// ranked, and weighed nothing.
#[test]
fn a_process_deeper_than_a_path_can_say_is_counted_ranked_and_killed() {
    use rustix::fs::{mkdirat, openat, Mode, OFlags, CWD};
    let Some(group) = Group::new("deepest", "echo there; exec sleep 1000") else { return };
    let pid = group.2.as_ref().unwrap().id();
    let name = "d".repeat(250);
    let mut folder = openat(CWD, &group.0, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..20 {
        mkdirat(&folder, &name, Mode::from(0o755)).unwrap();
        folder = openat(&folder, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let list = openat(&folder, "cgroup.procs", OFlags::WRONLY, Mode::empty()).unwrap();
    rustix::io::write(&list, pid.to_string().as_bytes()).unwrap();
    drop((list, folder));
    let mut system = System::new().unwrap();
    assert_eq!(system.usage(&group.1).unwrap().processes, 1);
    // Some kernels cut the path, others refuse to say it.
    let member = system.cgroup_of_pid(pid).unwrap();
    assert!(member.is_none_or(|member| fovea_linux::cgroup::is_within(&member, &group.1)));
    let ranked = system.rank(&group.1, 500, &mut Marks(fovea_apps::Marks::default())).unwrap();
    assert_eq!(ranked.changed + ranked.young, 1);
    let outcome = system.kill(&group.1).unwrap();
    assert_eq!((outcome.signalled, outcome.pidfds.len()), (1, 1));
    group.until_empty();
    system.cgroups().unwrap().remove(&format!("{}/{name}", group.1)).unwrap();
    assert!(!group.0.join(&name).exists());
}

struct Marks(fovea_apps::Marks);

impl fovea_linux::MarkTable for Marks {
    fn marks(&self) -> &fovea_apps::Marks {
        &self.0
    }

    fn mark(&mut self, base: i32, wanted: i32) -> Option<i32> {
        let mark = self.0.propose(base, wanted)?;
        self.0.insert(mark, base, wanted);
        Some(mark)
    }
}

/// A process that moved itself to another cgroup on SIGTERM kept its memory, and others died for
/// it.
#[test]
fn who_leaves_the_cgroup_when_asked_to_end_dies_all_the_same() {
    // The child speaks for both: one that is born while the others are asked would stay and live.
    let script = "mkdir $G-aside; trap 'echo $$ >$G-aside/cgroup.procs' TERM; \
        sh -c 'echo there; exec sleep 1000' & wait $!; while :; do sleep 1000 & wait $!; done";
    let Some(group) = Group::new("leaves", script) else { return };
    let mut system = System::new().unwrap();
    assert!(system.terminate(&group.1).unwrap() >= 1);
    // The shell leaves, its child has the signal's default.
    group.until_empty();
    let aside = Group(group.0.with_file_name(format!("{}-aside", group.1)), String::new(), None);
    let shell = group.2.as_ref().unwrap().id();
    assert!(fs::exists(format!("/proc/{shell}")).unwrap(), "it lives elsewhere");
    let outcome = system.kill_left(&group.1).unwrap();
    assert_eq!(outcome.signalled, 1);
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&outcome.pidfds[0], PollFlags::IN)], Some(&limit)).unwrap(), 1);
    assert_eq!(system.kill_left(&group.1).unwrap().signalled, 0, "once");
    drop(aside);
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

/// A cgroup whose shell has two children that sleep, one of them with a child of its own; PIDs of the shell, the first child,
/// the second, and its child.
fn family(name: &str, grandchild: &str) -> Option<(Group, [u32; 4])> {
    let file = std::env::temp_dir().join(format!("fovea-{name}-{}", std::process::id()));
    let script = format!(
        "sleep 1000 & a=$!; sh -c '{grandchild} & echo $! >{0}.c; wait; sleep 1000' & b=$!; \
         while [ ! -s {0}.c ]; do sleep 0.01; done; echo $$ $a $b $(cat {0}.c) >{0}; rm {0}.c; echo there; wait; sleep 1000",
        file.display()
    );
    let group = Group::new(name, &script)?;
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let pids: Vec<u32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    Some((group, pids.try_into().unwrap()))
}

fn id_of(pid: u32) -> ProcessId {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start_ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    ProcessId { pid, start_ticks }
}

/// Waits until they have ended: they are readable then.
fn until_ended(pidfds: &[std::os::fd::OwnedFd]) {
    for pidfd in pidfds {
        let mut polled = [PollFd::new(pidfd, PollFlags::IN)];
        assert_eq!(poll(&mut polled, Some(&Timespec { tv_sec: 120, tv_nsec: 0 })).unwrap(), 1);
    }
}

#[test]
fn a_part_dies_with_its_descendants_and_the_rest_lives() {
    let Some((group, [shell, first, second, child])) = family("part", "sleep 1000") else { return };
    let mut system = System::new().unwrap();
    let holders = system.holders(&group.1).unwrap();
    let parent_of = |pid: u32| holders.iter().find(|holder| holder.id.pid == pid).map(|holder| holder.parent);
    assert_eq!([first, second, child].map(parent_of), [Some(shell), Some(shell), Some(second)]);
    // The child is not named: it is found as what it is.
    let outcome = system.kill_part(&group.1, &[id_of(second)]).unwrap();
    assert_eq!((outcome.signalled, outcome.pidfds.len()), (2, 2));
    until_ended(&outcome.pidfds);
    let left: Vec<u32> = system.holders(&group.1).unwrap().iter().map(|holder| holder.id.pid).collect();
    assert!(left.contains(&shell) && left.contains(&first) && !left.contains(&second) && !left.contains(&child));
    assert_eq!(system.process_name(id_of(first)), "sleep");
}

#[test]
fn nobody_dies_in_place_of_a_process_that_has_ended_or_is_elsewhere() {
    let Some((group, [_, first, ..])) = family("reused", "sleep 1000") else { return };
    let mut system = System::new().unwrap();
    let there = id_of(first);
    let older = ProcessId { start_ticks: there.start_ticks - 1, ..there };
    assert_eq!(system.kill_part(&group.1, &[older]).unwrap().signalled, 0);
    assert_eq!(system.terminate_part(&group.1, &[older]).unwrap().signalled, 0);
    assert_eq!(system.process_name(older), "");
    let before = group.processes();
    let mut outsider = Command::new("sleep").arg("1000").spawn().unwrap();
    assert_eq!(system.kill_part(&group.1, &[id_of(outsider.id())]).unwrap().signalled, 0);
    assert!(outsider.try_wait().unwrap().is_none());
    outsider.kill().unwrap();
    outsider.wait().unwrap();
    assert_eq!(group.processes(), before);
    assert!(system.kill_part(&group.1, &[id_of(std::process::id())]).is_err(), "never this process");
}

#[test]
fn a_part_that_forks_all_the_time_dies_whole() {
    // Each child starts the next and ends: nobody is there for long.
    let chain = "sh -c \"n() { sh -c : & sh -c : & wait; }; while :; do n; done\"";
    let Some((group, [shell, first, second, child])) = family("forks", chain) else { return };
    let mut system = System::new().unwrap();
    let outcome = system.kill_part(&group.1, &[id_of(second), id_of(child)]).unwrap();
    assert!(outcome.signalled >= 2);
    until_ended(&outcome.pidfds);
    let left: Vec<u32> = system.holders(&group.1).unwrap().iter().map(|holder| holder.id.pid).collect();
    let expected = [shell, first];
    assert!(expected.iter().all(|pid| left.contains(pid)));
    let strays = left.iter().filter(|&pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        // The shell goes on to sleep where it stood.
        !expected.contains(pid) && name.trim() == "sh"
    });
    assert_eq!(strays.count(), 0, "no child of it lives on");
}

#[test]
fn a_part_that_is_asked_may_end_in_its_own_way() {
    let script = "sh -c \"trap \\\"exit 0\\\" TERM; while :; do sleep 0.05; done\"";
    let Some((group, [shell, first, _, child])) = family("asked-part", script) else { return };
    let mut system = System::new().unwrap();
    let outcome = system.terminate_part(&group.1, &[id_of(child)]).unwrap();
    assert_eq!((outcome.signalled, outcome.pidfds.len()), (1, 1));
    until_ended(&outcome.pidfds);
    let left: Vec<u32> = system.holders(&group.1).unwrap().iter().map(|holder| holder.id.pid).collect();
    assert!(left.contains(&shell) && left.contains(&first));
}

/// Each way to end somebody counts as done, and nobody ends.
#[test]
fn a_device_that_is_only_looked_at_kills_nobody() {
    let Some(group) = Group::new("looked-at", "echo there; exec sleep 1000") else { return };
    let mut system = System::new().unwrap().that_only_looks();
    assert_eq!(system.kill(&group.1).unwrap().signalled, 1);
    assert_eq!(system.terminate(&group.1).unwrap(), 1);
    let pid = group.2.as_ref().unwrap().id();
    let part = [ProcessId { pid, start_ticks: 0 }];
    assert_eq!(system.kill_part(&group.1, &part).unwrap().signalled, 1);
    assert_eq!(system.terminate_part(&group.1, &part).unwrap().signalled, 1);
    assert_eq!(system.kill_left(&group.1).unwrap().signalled, 0);
    system.set_frozen(&group.1, true).unwrap();
    assert_eq!(fs::read_to_string(group.0.join("cgroup.freeze")).unwrap(), "0\n");
    assert_eq!(group.processes(), 1);
}
