// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps are found in real cgroups, made in the order in which systemd makes them. Only where no user has a session: nobody's apps are to be
//! ranked by a test.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use common::{fovea, is_root, Daemon};
use fovea_linux::System;

/// A user that nobody is.
const MANAGER: &str = "user.slice/user-61234.slice/user@61234.service";

/// Removes the tree whatever becomes of the test.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Option<Tree> {
        let mount = System::new().ok()?.cgroup_mount().ok()?;
        if !is_root() || mount.join("user.slice").exists() {
            println!("skipped: not root, or users have sessions here");
            return None;
        }
        let tree = Tree(mount);
        fs::create_dir_all(tree.0.join(MANAGER).join("app.slice")).unwrap();
        Some(tree)
    }

    fn make(&self, unit: &str) -> PathBuf {
        let folder = self.0.join(MANAGER).join(unit);
        fs::create_dir_all(&folder).unwrap();
        folder
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fn remove(folder: &Path) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|t| t.is_dir()) {
                    remove(&entry.path());
                }
            }
            let _ = fs::remove_dir(folder);
        }
        remove(&self.0.join("user.slice"));
    }
}

fn run_in(folder: &Path) -> Child {
    let child = Command::new("sleep").arg("1000").spawn().unwrap();
    fs::write(folder.join("cgroup.procs"), child.id().to_string()).unwrap();
    child
}

/// The apps' names, once there are so many; a daemon that never finds them fails the test by its harness's limit.
fn apps(daemon: &Daemon, many: usize) -> Vec<String> {
    for _ in 0..1000 {
        let status = daemon.status();
        let apps = status["apps"].as_array().unwrap();
        if apps.len() == many {
            return apps.iter().map(|app| app["name"].as_str().unwrap().to_owned()).collect();
        }
    }
    panic!("there are never {many} apps: {}", daemon.status());
}

#[test]
fn a_scope_that_comes_before_its_process_is_found_with_it_and_forgotten_at_its_end() {
    let Some(tree) = Tree::new() else { return };
    let there = tree.make("app.slice/app-mail-1.scope");
    let mut mail = run_in(&there);
    let daemon = Daemon::start_with(|command, folder| {
        fs::write(folder.join("fovea.toml"), "[zram]\nenabled = false\n").unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    });
    assert_eq!(apps(&daemon, 1), ["mail"]);
    let later = tree.make("app.slice/app-gnome.slice/app-gnome-maps-2.scope");
    let helper = tree.make("app.slice/app-helper@autostart.service");
    let web = tree.make("session.slice/app-web-1.scope");
    assert_eq!(apps(&daemon, 1), ["mail"], "nobody runs in it");
    let mut rest = [run_in(&helper), run_in(&web), run_in(&later)];
    assert_eq!(apps(&daemon, 2), ["mail", "maps"]);
    mail.kill().unwrap();
    mail.wait().unwrap();
    assert_eq!(apps(&daemon, 1), ["maps"]);
    // Somebody says what it is: it has his name for it from then on.
    let cgroup = later.strip_prefix(&tree.0).unwrap().to_str().unwrap().to_owned();
    let client = common::Client::connect(&daemon.run_folder());
    client.send(format!(r#"{{"request":"register","app":"atlas","cgroup":"{cgroup}"}}"#).as_bytes()).unwrap();
    assert_eq!(client.reply().unwrap()["reply"], "done");
    assert_eq!(apps(&daemon, 1), ["atlas"]);
    for child in &mut rest {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    apps(&daemon, 0);
    assert!(fovea(&daemon.run_folder()).args(["explain", "atlas"]).output().unwrap().status.success());
    daemon.stop();
}

/// After a crash of the daemon's, `focus` and `launch` must agree on who runs; and nothing is left of an app that has ended.
#[test]
fn what_was_launched_is_found_again_runs_as_who_asked_and_leaves_no_cgroup() {
    let Some(mount) = System::new().ok().and_then(|s| s.cgroup_mount().ok()).filter(|_| is_root()) else { return };
    if fs::create_dir_all(mount.join("fovea.slice")).is_err() || Path::new("/run/systemd/system").exists() {
        println!("skipped: no cgroup can be made here, or systemd makes them");
        return;
    }
    let start = || {
        Daemon::start_with(|command, folder| {
            fs::write(folder.join("fovea.toml"), "[zram]\nenabled = false\n").unwrap();
            command.stderr(fs::File::create(folder.join("stderr")).unwrap());
        })
    };
    let daemon = start();
    let name = format!("fovea-test-{}", std::process::id());
    let launch = |daemon: &Daemon| {
        let mut command = fovea(&daemon.run_folder());
        command.args(["launch", &name, "--", "sleep", "1000"]).env("SUDO_UID", "65534").env("SUDO_GID", "65534");
        command
    };
    let has = |daemon: &Daemon| daemon.status()["apps"].as_array().unwrap().iter().any(|app| app["name"] == *name);
    let mut app = launch(&daemon).spawn().unwrap();
    while !has(&daemon) || !fs::read_to_string(format!("/proc/{}/comm", app.id())).unwrap().starts_with("sleep") {
        assert!(app.try_wait().unwrap().is_none());
    }
    let status = fs::read_to_string(format!("/proc/{}/status", app.id())).unwrap();
    let ids =
        |key: &str| status.lines().find(|l| l.starts_with(key)).unwrap().split_whitespace().skip(1).collect::<Vec<_>>();
    assert_eq!((ids("Uid:"), ids("Gid:")), (vec!["65534"; 4], vec!["65534"; 4]));
    daemon.stop();
    let daemon = start();
    assert!(has(&daemon));
    let again = launch(&daemon).output().unwrap();
    assert!(common::one_line(&again).contains("already running"));
    assert!(fovea(&daemon.run_folder()).args(["focus", &name]).status().unwrap().success());
    app.kill().unwrap();
    app.wait().unwrap();
    while has(&daemon) {}
    assert!(!mount.join("fovea.slice").join(&name).exists());
    let _ = fs::remove_dir(mount.join("fovea.slice"));
    daemon.stop();
}

/// As a user to whom processes are hidden, who must be told so: lists by program would else seem to do nothing.
#[test]
fn what_a_user_cannot_see_is_said() {
    let Some(tree) = Tree::new() else { return };
    let mut mail = run_in(&tree.make("app.slice/app-mail-1.scope"));
    let folder = tempfile::tempdir().unwrap();
    let simulate = |hidden: &str, user: &str| {
        let binary = common::copy_for_all(folder.path());
        let script = format!(
            "{hidden} exec setpriv --reuid={user} --regid={user} --clear-groups --inh-caps=-all -- {} --run-folder /nowhere simulate",
            binary.display()
        );
        let mut command = Command::new("unshare");
        let output = command.args(["--mount", "sh", "-ec", &script]).current_dir("/").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let unseen = "of 1 of 1 apps this user may not see which programs run in them";
    let hide = "mount -t proc -o hidepid=2 proc /proc &&";
    assert!(simulate(hide, "65534").contains(unseen));
    assert!(simulate("", "65534").contains(unseen), "another user's");
    assert!(!simulate(hide, "0").contains("may not see"));
    mail.kill().unwrap();
    mail.wait().unwrap();
}
