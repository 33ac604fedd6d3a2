// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The watcher on folders that look like a cgroup tree: inotify is the same.

use super::*;

const APPS: &str = "user.slice/user-1000.slice/user@1000.service/app.slice";

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> (Tree, Watcher) {
        let tree = Tree(tempfile::tempdir().unwrap());
        let watcher = Watcher::new(tree.0.path(), |_| ()).unwrap();
        (tree, watcher)
    }

    fn set(&self, cgroup: &str, populated: bool) {
        let folder = self.0.path().join(cgroup);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cgroup.events"), format!("populated {}\nfrozen 0\n", u8::from(populated))).unwrap();
    }

    fn remove(&self, cgroup: &str) {
        std::fs::remove_dir_all(self.0.path().join(cgroup)).unwrap();
    }
}

fn app(unit: &str) -> String {
    format!("{APPS}/{unit}")
}

fn appeared(unit: &str) -> Seen {
    Seen::Appeared(app(unit))
}

#[test]
fn apps_that_are_there_appear_and_others_do_not() {
    let (tree, mut watcher) = Tree::new();
    tree.set(&app("app-gnome-mail-12.scope"), true);
    tree.set(&app("app-mail.slice/app-maps@1.service"), true);
    for other in ["system.slice/app-web.service", "init.scope/app-x-1.scope", "app-x-1.scope"] {
        tree.set(other, true);
    }
    let mut found = watcher.discover();
    found.sort_by_key(|seen| format!("{seen:?}"));
    assert_eq!(found, [appeared("app-gnome-mail-12.scope"), appeared("app-mail.slice/app-maps@1.service")]);
}

/// systemd makes the cgroup, and moves the process in a moment later.
#[test]
fn an_app_whose_cgroup_comes_before_its_process_appears_with_that() {
    let (tree, mut watcher) = Tree::new();
    std::fs::create_dir_all(tree.0.path().join(APPS)).unwrap();
    assert_eq!(watcher.discover(), []);
    let cgroup = app("app-maps-1.scope");
    let events = tree.0.path().join(&cgroup).join("cgroup.events");
    // The kernel makes the folder with its files at once.
    let made = tempfile::tempdir_in(tree.0.path()).unwrap();
    std::fs::write(made.path().join("cgroup.events"), "populated 0\nfrozen 0\n").unwrap();
    std::fs::create_dir(tree.0.path().join(&cgroup)).unwrap();
    std::fs::copy(made.path().join("cgroup.events"), &events).unwrap();
    assert_eq!(watcher.take(), []);
    tree.set(&cgroup, true);
    assert_eq!(watcher.take(), [Seen::Appeared(cgroup.clone())]);
    tree.set(&cgroup, true);
    assert_eq!(watcher.take(), [], "once");
    tree.set(&cgroup, false);
    assert_eq!(watcher.take(), [Seen::Ended(cgroup.clone())]);
    watcher.forget(&cgroup);
    // A service that is started again has the cgroup it had.
    tree.set(&cgroup, true);
    assert_eq!(watcher.take(), [Seen::Appeared(cgroup.clone())]);
    tree.remove(&cgroup);
    assert_eq!(watcher.take(), [Seen::Ended(cgroup)], "gone before it was seen to end");
}

#[test]
fn a_user_who_logs_in_later_is_looked_into() {
    let (tree, mut watcher) = Tree::new();
    assert_eq!(watcher.discover(), []);
    tree.set(&app("app-maps-1.scope"), true);
    assert_eq!(watcher.take(), [appeared("app-maps-1.scope")]);
}

#[test]
fn a_registered_app_ends_and_does_not_come_back_by_itself() {
    let (tree, mut watcher) = Tree::new();
    tree.set("apps/a", true);
    assert!(watcher.app("apps/a").unwrap());
    tree.set("apps/a", false);
    assert_eq!(watcher.take(), [Seen::Ended("apps/a".into())]);
    tree.set("apps/a", true);
    assert_eq!(watcher.take(), []);
    assert!(watcher.app("apps/none").is_err());
}

/// Takes all that there is, with the others' turns that come in between.
fn take_all(watcher: &mut Watcher, now_ns: u64) -> (Vec<Seen>, usize) {
    use rustix::event::{poll, PollFd, PollFlags, Timespec};
    let (mut seen, mut turns) = (Vec::new(), 0);
    let is_there = |watcher: &Watcher| {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(watcher.fd(), PollFlags::IN)], Some(&at_once)).unwrap() == 1
    };
    while is_there(watcher) {
        seen.extend(watcher.take_at(now_ns));
        turns += 1;
    }
    (seen, turns)
}

/// The kernel drops what does not fit into the queue, and says only that it has.
#[test]
fn after_an_overflow_everything_is_looked_at_again() {
    let (tree, mut watcher) = Tree::new();
    let cgroup = app("app-maps-1.scope");
    tree.set(&cgroup, true);
    assert_eq!(watcher.discover().len(), 1);
    tree.set("apps/noise", true);
    watcher.app("apps/noise").unwrap();
    let most: usize =
        std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    // The same event twice in a row is told once, so two files take turns; writing truncates first, which is an event as well.
    for _ in 0..most {
        for noisy in ["apps/noise", cgroup.as_str()] {
            let events = tree.0.path().join(noisy).join("cgroup.events");
            use std::io::Write;
            std::fs::OpenOptions::new().append(true).open(events).unwrap().write_all(b"x").unwrap();
        }
    }
    tree.set(&app("app-new-1.scope"), true);
    tree.set(&cgroup, false);
    let (seen, turns) = take_all(&mut watcher, SECOND_NS);
    assert!(turns > most / (2 * limits::WATCH_EVENTS_IN_A_ROW_MAX), "a full queue is no reason to serve nobody else");
    assert!(seen.contains(&Seen::Ended(cgroup)) && seen.contains(&appeared("app-new-1.scope")), "{seen:?}");
}

/// The watches that the kernel holds for a watcher.
fn watches(watcher: &Watcher) -> usize {
    use std::os::fd::AsRawFd;
    let fd = watcher.fd().as_raw_fd();
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
    info.lines().filter(|line| line.starts_with("inotify wd:")).count()
}

/// A cgroup of the real kind, where one can be made: its files do not tell their own end as those of other file systems do.
struct Cgroup(std::path::PathBuf);

impl Cgroup {
    fn new() -> Option<Cgroup> {
        let system = crate::System::new().ok()?;
        let folder = system.cgroup_mount().ok()?.join(format!("fovea-test-watch-{}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => Some(Cgroup(folder)),
            Err(e) => {
                eprintln!("skipped: no cgroup can be made here: {e}");
                None
            }
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let mut parts: Vec<_> = APPS.split('/').collect();
        while !parts.is_empty() {
            let _ = std::fs::remove_dir(self.0.join(parts.join("/")));
            parts.pop();
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Watches are given back: all are counted against one user, who is PID 1's and udev's too.
#[test]
fn ten_thousand_apps_made_and_ended_leave_no_watch_behind() {
    let Some(tree) = Cgroup::new() else { return };
    std::fs::create_dir_all(tree.0.join(APPS)).unwrap();
    let mut watcher = Watcher::new(&tree.0, |_| ()).unwrap();
    assert_eq!(watcher.discover(), []);
    let before = watches(&watcher);
    for round in 0..100u64 {
        let folders: Vec<_> = (0..100).map(|n| tree.0.join(app(&format!("app-maps-{round}{n:02}.scope")))).collect();
        folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        // A second between two rounds, so that they are all looked at.
        assert_eq!(watcher.take_at(round * 2 * SECOND_NS), [], "nobody is in them");
        assert!(watches(&watcher) > before);
        folders.iter().for_each(|folder| std::fs::remove_dir(folder).unwrap());
        assert_eq!(watcher.take_at(round * 2 * SECOND_NS), []);
        assert_eq!(watches(&watcher), before, "round {round}");
    }
    // Slices too, with what is in them.
    for _ in 0..100 {
        let slice = tree.0.join(app("app-x.slice"));
        std::fs::create_dir(&slice).unwrap();
        std::fs::create_dir(slice.join("app-maps-1.scope")).unwrap();
        watcher.take();
        std::fs::remove_dir(slice.join("app-maps-1.scope")).unwrap();
        std::fs::remove_dir(&slice).unwrap();
        watcher.take();
    }
    assert_eq!((watches(&watcher), watcher.watched.len(), watcher.by_cgroup.len()), (before, before, before));
}

/// The same of apps that lived: somebody was in them, and they were seen to end.
#[test]
fn an_app_that_lived_gives_its_watch_back_as_well() {
    let Some(tree) = Cgroup::new() else { return };
    std::fs::create_dir_all(tree.0.join(APPS)).unwrap();
    let mut watcher = Watcher::new(&tree.0, |_| ()).unwrap();
    watcher.discover();
    let before = watches(&watcher);
    for n in 0..20 {
        let cgroup = app(&format!("app-maps-{n}.scope"));
        let folder = tree.0.join(&cgroup);
        std::fs::create_dir(&folder).unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        std::fs::write(folder.join("cgroup.procs"), child.id().to_string()).unwrap();
        assert_eq!(watcher.take(), [Seen::Appeared(cgroup.clone())]);
        child.kill().unwrap();
        child.wait().unwrap();
        // The kernel tells of the end a moment after the process has been waited for.
        let mut seen = Vec::new();
        while seen.is_empty() {
            seen = watcher.take();
        }
        assert_eq!(seen, [Seen::Ended(cgroup.clone())]);
        watcher.forget(&cgroup);
        while std::fs::remove_dir(&folder).is_err() {}
        watcher.take();
    }
    assert_eq!(watches(&watcher), before);
}

/// One user's cgroups are as many as he likes; what we hold for him is bounded, and others are found all the same.
#[test]
fn a_user_with_too_many_cgroups_keeps_nobody_elses_from_being_found() {
    let (tree, mut watcher) = Tree::new();
    let mine = |uid: u32| format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice");
    for n in 0..limits::WATCHES_OF_USER_MAX + 300 {
        tree.set(&format!("{}/app-flood-{n:04}.scope", mine(1000)), false);
    }
    tree.set(&format!("{}/app-maps-1.scope", mine(1001)), true);
    let found = watcher.discover();
    assert_eq!(found, [Seen::Appeared(format!("{}/app-maps-1.scope", mine(1001)))]);
    assert!(watches(&watcher) <= limits::WATCHES_OF_USER_MAX + 10);
    for n in 0..limits::WATCHES_OF_USER_MAX + 300 {
        tree.remove(&format!("{}/app-flood-{n:04}.scope", mine(1000)));
    }
    take_all(&mut watcher, SECOND_NS);
    tree.set(&format!("{}/app-maps-2.scope", mine(1000)), true);
    let seen = watcher.take_at(3 * SECOND_NS);
    assert!(seen.contains(&Seen::Appeared(format!("{}/app-maps-2.scope", mine(1000)))), "{seen:?}");
}

/// Making cgroups costs a user nothing; looking at each would cost us. His are looked through a second later, others' at
/// once.
#[test]
fn a_user_who_makes_cgroups_without_end_puts_off_only_his_own() {
    let (tree, mut watcher) = Tree::new();
    let mine = |uid: u32| format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice");
    [1000, 1001].iter().for_each(|&uid| tree.set(&format!("{}/app-x-1.scope", mine(uid)), false));
    watcher.discover();
    let most = limits::CGROUP_CHANGES_OF_USER_PER_S;
    (0..most + 200).for_each(|n| tree.set(&format!("{}/app-flood-{n:04}.scope", mine(1000)), true));
    tree.set(&format!("{}/app-maps-2.scope", mine(1001)), true);
    let seen = watcher.take_at(5 * SECOND_NS);
    let theirs = Seen::Appeared(format!("{}/app-maps-2.scope", mine(1001)));
    assert!(seen.contains(&theirs) && seen.len() as u32 <= most + 1, "{}", seen.len());
    assert_eq!(watcher.due_ns(), Some(6 * SECOND_NS));
    let seen: BTreeSet<String> = watcher.look_over(6 * SECOND_NS).iter().map(|seen| format!("{seen:?}")).collect();
    assert!(seen.len() as u32 >= 200, "{}", seen.len());
    assert_eq!(watcher.due_ns(), None);
}
