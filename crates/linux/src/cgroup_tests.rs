// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Subtrees that are captured or made up, and read.

use super::*;
use proptest::prelude::*;

const HYBRID: &[u8] = b"\
25 30 0:23 / /sys rw,nosuid - sysfs sysfs rw
31 25 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
32 31 0:28 / /sys/fs/cgroup/uni\\040fied rw shared:6 master:1 - cgroup2 cgroup2 rw,nsdelegate
33 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

fn fake() -> (tempfile::TempDir, Cgroups) {
    let folder = tempfile::tempdir().unwrap();
    let cgroups = Cgroups { mount: folder.path().to_owned(), proc: "/proc".into() };
    (folder, cgroups)
}

#[test]
fn the_mount_of_a_hybrid_system_is_found() {
    assert_eq!(proc::mount_point(HYBRID, b"cgroup2"), Some("/sys/fs/cgroup/uni fied".into()));
    assert_eq!(proc::mount_point(b"25 30 0:23 / /sys rw - sysfs sysfs rw\n", b"cgroup2"), None);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let (_folder, cgroups) = fake();
    for name in ["", "/", "/etc", "..", "a/../..", "./a", "a/..", "a\0b", "a\nb"] {
        assert!(matches!(cgroups.path(name), Err(Error::Refused { .. })), "{name:?}");
    }
    assert!(cgroups.path("apps/..mail").is_ok());
}

#[test]
fn processes_of_a_subtree_come_once_and_ascending() {
    let (folder, cgroups) = fake();
    let deep = format!("apps/a{}", "/d".repeat(200));
    for (name, text) in
        [("apps/a", "30\n4\n"), ("apps/a/x/y", "7\n30\nbroken\n0\n"), ("apps/ab", "99\n"), (&deep, "8\n")]
    {
        let path = folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("cgroup.procs"), text).unwrap();
    }
    let mut pids = Vec::new();
    cgroups.processes("apps/a", &mut pids).unwrap();
    assert_eq!(pids, [4, 7, 8, 30]);
    pids.clear();
    cgroups.processes("apps/gone", &mut pids).unwrap();
    assert!(pids.is_empty());
}

#[test]
fn of_cgroups_without_end_some_are_read_and_the_upper_ones_first() {
    let (folder, cgroups) = fake();
    let most = 64;
    for (name, pid) in [("a", 1), ("a/upper", 2)]
        .into_iter()
        .map(|(name, pid)| (name.to_owned(), pid))
        .chain((0..10 * most).map(|nth| (format!("a/upper/c{nth}"), 100 + nth)))
    {
        fs::create_dir_all(folder.path().join(&name)).unwrap();
        fs::write(folder.path().join(&name).join("cgroup.procs"), format!("{pid}\n")).unwrap();
    }
    let mut pids = Vec::new();
    cgroups.processes_within("a", most, &mut pids).unwrap();
    assert_eq!((&pids[..2], pids.len()), (&[1, 2][..], most + 1));
    pids.clear();
    cgroups.processes("a", &mut pids).unwrap();
    assert_eq!(pids.len(), limits::CGROUPS_OF_APP_MAX + 1);
}

/// Folders that a path cannot say (PATH_MAX), with a file in the deepest; removed by their own way.
#[test]
fn what_is_deeper_than_a_path_can_say_is_listed_and_removed() {
    use rustix::fs::{mkdirat, openat, unlinkat, AtFlags, Mode, OFlags, CWD};
    let (mount, cgroups) = fake();
    cgroups.create("a").unwrap();
    let name = "d".repeat(250);
    let mut folder = openat(CWD, mount.path().join("a"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..20 {
        mkdirat(&folder, &name, Mode::from(0o755)).unwrap();
        folder = openat(&folder, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let files = ["cgroup.procs", "cgroup.freeze"];
    for (file, text) in files.into_iter().zip(["7\n", "1\n"]) {
        let file = openat(&folder, file, OFlags::WRONLY | OFlags::CREATE, Mode::from(0o644)).unwrap();
        rustix::io::write(&file, text.as_bytes()).unwrap();
    }
    let mut pids = Vec::new();
    cgroups.processes("a", &mut pids).unwrap();
    assert_eq!(pids, [7]);
    assert_eq!(cgroups.numbers("a", 30).unwrap().len(), 21);
    assert_eq!(cgroups.thaw_all("").unwrap(), [""; 0], "nothing of ours, and no error");
    assert!(cgroups.remove("a").is_err(), "files are left");
    files.iter().for_each(|file| unlinkat(&folder, *file, AtFlags::empty()).unwrap());
    cgroups.remove("a").unwrap();
    assert!(!mount.path().join("a").exists());
}

#[test]
fn everything_frozen_below_a_prefix_is_found_and_thawed() {
    let (folder, cgroups) = fake();
    for (name, text) in [("apps/a", "1\n"), ("apps/b/c", "1\n"), ("apps/d", "0\n"), ("other", "1\n")] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("cgroup.freeze"), text).unwrap();
    }
    let mut thawed = cgroups.thaw_all("apps").unwrap();
    thawed.sort();
    assert_eq!(thawed, ["apps/a", "apps/b/c"]);
    assert_eq!(fs::read_to_string(folder.path().join("apps/a/cgroup.freeze")).unwrap(), "0\n");
    assert_eq!(cgroups.frozen("").unwrap(), ["other"]);
}

#[test]
fn a_vanished_cgroup_is_no_error_but_a_missing_freezer_is() {
    let (folder, cgroups) = fake();
    cgroups.set_frozen("apps/gone", true).unwrap();
    assert_eq!(cgroups.events("apps/gone").unwrap(), Events::default());
    fs::create_dir(folder.path().join("old")).unwrap();
    assert!(matches!(cgroups.set_frozen("old", true), Err(Error::Missing { .. })));
}

#[test]
fn controllers_are_enabled_along_the_path_or_named_as_missing() {
    let (folder, cgroups) = fake();
    cgroups.create("apps/a").unwrap();
    for folder in [folder.path().to_owned(), folder.path().join("apps")] {
        fs::write(folder.join("cgroup.controllers"), "cpu memory\n").unwrap();
        fs::write(folder.join("cgroup.subtree_control"), "").unwrap();
    }
    cgroups.enable("apps/a", &["memory"]).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("apps/cgroup.subtree_control")).unwrap(), "+memory");
    assert!(matches!(cgroups.enable("apps/a", &["memory", "io"]), Err(Error::Missing { what: "io", .. })));
}

#[test]
fn membership_is_of_whole_path_components() {
    assert_eq!(parse_membership(b"1:cpu:/x\n0::/apps/a\n").as_deref(), Some("apps/a"));
    assert_eq!(parse_membership(b"0::/apps/a (deleted)\n").as_deref(), Some("apps/a"));
    assert!(is_within("apps/a/x", "apps/a") && is_within("apps/a", "apps/a"));
    assert!(!is_within("apps/ab", "apps/a") && !is_within("apps", "apps/a"));
    for inside in [&b"1:cpu:/x\n0::/apps/a\n"[..], b"0::/apps/a (deleted)\n", b"0::/apps/a/\xff\xfe\n"] {
        assert!(is_member(inside, "apps/a"));
    }
    assert!(!is_member(b"0::/apps/ab\n", "apps/a") && !is_member(b"0::/apps\n", "apps/a") && !is_member(b"", "apps/a"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (proc::mount_point(&text, b"cgroup2"), parse_membership(&text));
    }
}
