// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps are found in real cgroups, made in the order in which systemd makes them. Only where no user has a session: nobody's apps are to be
//! ranked by a test.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use common::session::{self, Session};
use common::{fovea, is_root, Daemon};
use fovea_linux::System;

/// The apps' names, once there are so many.
fn apps(daemon: &Daemon, many: usize) -> Vec<String> {
    let begun = Instant::now();
    while begun.elapsed() < common::LIMIT {
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
    let Some(mut user) = Session::new() else { return };
    let there = user.make("app.slice/app-mail-1.scope");
    user.run_in(&there);
    let daemon = Daemon::start_with(|command, folder| {
        fs::write(folder.join("fovea.toml"), "[zram]\nenabled = false\n").unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    });
    assert_eq!(apps(&daemon, 1), ["mail"]);
    let later = user.make("app.slice/app-gnome.slice/app-gnome-maps-2.scope");
    let helper = user.make("app.slice/app-polkit\\x2dgnome\\x2dauthentication\\x2dagent\\x2d1@autostart.service");
    let web = user.make("session.slice/app-web-1.scope");
    assert_eq!(apps(&daemon, 1), ["mail"], "nobody runs in it");
    for folder in [&helper, &web, &later] {
        user.run_in(folder);
    }
    assert_eq!(apps(&daemon, 2), ["mail", "maps"]);
    user.kill(0);
    assert_eq!(apps(&daemon, 1), ["maps"]);
    // Somebody says what it is: it has his name for it from then on.
    let cgroup = user.cgroup("app.slice/app-gnome.slice/app-gnome-maps-2.scope");
    let client = common::Client::connect(&daemon.run_folder());
    client.send(format!(r#"{{"request":"register","app":"atlas","cgroup":"{cgroup}"}}"#).as_bytes()).unwrap();
    assert_eq!(client.reply().unwrap()["reply"], "done");
    assert_eq!(apps(&daemon, 1), ["atlas"]);
    for nth in 1..=3 {
        user.kill(nth);
    }
    apps(&daemon, 0);
    assert!(fovea(&daemon.run_folder()).args(["explain", "atlas"]).output().unwrap().status.success());
    daemon.stop();
}

/// After a crash of the daemon's, `focus` and `launch` must agree on who runs; and nothing is left of an app that has ended.
#[test]
fn what_was_launched_is_found_again_runs_as_who_asked_and_leaves_no_cgroup() {
    let _alone = session::alone();
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
    let Some(mut user) = Session::new() else { return };
    let mail = user.make("app.slice/app-mail-1.scope");
    user.run_in(&mail);
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
}
