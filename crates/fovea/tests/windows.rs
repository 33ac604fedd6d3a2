// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Desktops that start programs in the login's own cgroup, without a screen: each of six programs with a window becomes an
//! app, the one in front is told, and nothing is left behind when the daemon ends.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use common::{fovea, is_root, session, until, Daemon};
use fovea_linux::System;

const LOGIN: &str = "user.slice/user-61234.slice/session-7.scope";
const PROGRAMS: usize = 6;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A login's first process, which starts what it is told to, as a session's manager does.
struct Login {
    mount: PathBuf,
    shell: Running,
    commands: ChildStdin,
}

impl Login {
    fn begin(mount: &Path, environment: &[(&str, &str)]) -> Login {
        let folder = mount.join(LOGIN);
        fs::create_dir_all(&folder).unwrap();
        let script = format!(
            "echo $$ >{}/cgroup.procs; while read -r line; do eval \"$line\" >/dev/null 2>&1 & done",
            folder.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).envs(environment.iter().copied()).stdin(Stdio::piped());
        let mut shell = Running(command.spawn().unwrap());
        let commands = shell.0.stdin.take().unwrap();
        Login { mount: mount.to_owned(), shell, commands }
    }

    fn start(&mut self, line: &str) {
        writeln!(self.commands, "{line}").unwrap();
    }

    fn processes(&self) -> usize {
        fs::read_to_string(self.mount.join(LOGIN).join("cgroup.procs")).unwrap().lines().count()
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = self.shell.0.kill();
        let folder = self.mount.join(LOGIN);
        for _ in 0..1000 {
            let pids = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            for pid in pids.lines() {
                let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
            }
            if pids.is_empty() && fs::remove_dir(&folder).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for above in Path::new(LOGIN).ancestors().skip(1).take(2) {
            let _ = fs::remove_dir(self.mount.join(above));
        }
    }
}

/// Where root can make cgroups, no systemd makes them, and no user has a session.
fn mount(programs: &[&str]) -> Option<PathBuf> {
    let there = |program: &&&str| {
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(program).exists())
    };
    let missing: Vec<_> = programs.iter().filter(|program| !there(program)).collect();
    assert!(missing.is_empty() || std::env::var_os("CI").is_none(), "missing: {missing:?}");
    let mount = System::new().ok()?.cgroup_mount().ok()?;
    if !is_root()
        || !missing.is_empty()
        || mount.join("user.slice").exists()
        || Path::new("/run/systemd/system").exists()
    {
        println!("skipped: not root, no {missing:?}, or systemd or users' sessions are here");
        return None;
    }
    Some(mount)
}

fn daemon(more: &str) -> Daemon {
    let more = more.to_owned();
    Daemon::start_with(move |command, folder| {
        fs::write(folder.join("fovea.toml"), format!("[zram]\nenabled = false\n{more}")).unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    })
}

fn watch(daemon: &Daemon, source: &[&str]) -> Running {
    let log = fs::File::create(daemon.folder.path().join("watch")).unwrap();
    Running(fovea(&daemon.run_folder()).args(["source", "--wait"]).args(source).stderr(log).spawn().unwrap())
}

/// The apps' cgroups, once there are so many.
fn found(daemon: &Daemon, many: usize) -> Vec<String> {
    let cgroups = || -> Vec<String> {
        let status = daemon.status();
        let units = status["apps"].as_array().unwrap().iter();
        // The login itself is known, too.
        units.filter(|unit| unit["kind"] == "app").map(|app| app["cgroup"].as_str().unwrap().to_owned()).collect()
    };
    let said = || fs::read_to_string(daemon.folder.path().join("watch")).unwrap_or_default();
    until(&|| format!("never {many} apps: {}\n{}", daemon.status(), said()), || cgroups().len() == many);
    cgroups()
}

fn is_in(pid: &str, cgroup: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/cgroup"))
        .is_ok_and(|text| text.lines().any(|l| l == format!("0::/{cgroup}")))
}

/// Programs are found, who is in front is right, and when the daemon ends they are where they were.
fn six_programs(mount: &Path, daemon: Daemon, login: &Login, uid: u32, activate: &dyn Fn(&str)) {
    let cgroups = found(&daemon, PROGRAMS);
    assert!(cgroups.iter().all(|c| c.starts_with(&format!("fovea.slice/user-{uid}.slice/"))), "{cgroups:?}");
    let mut moved = Vec::new();
    for cgroup in &cgroups {
        let pids = fs::read_to_string(mount.join(cgroup).join("cgroup.procs")).unwrap();
        let of: Vec<String> = pids.lines().map(str::to_owned).collect();
        assert!(of.len() >= 2, "the terminal and what runs in it: {of:?}");
        activate(&of[0]);
        let front = || daemon.status()["foreground"].as_str().map(str::to_owned);
        let name = || {
            let status = daemon.status();
            let apps = status["apps"].as_array().unwrap().iter();
            let of = |app: &&serde_json::Value| app["cgroup"] == **cgroup;
            apps.clone().find(of).map(|app| app["name"].as_str().unwrap().to_owned())
        };
        until(&|| format!("{cgroup} is never in front: {}", daemon.status()), || {
            front().is_some() && front() == name()
        });
        moved.extend(of);
    }
    let left = login.processes();
    daemon.stop();
    assert!(moved.iter().all(|pid| is_in(pid, LOGIN)), "all are back");
    assert_eq!(login.processes(), left + moved.len());
    assert!(!mount.join("fovea.slice").exists());
}

#[test]
fn six_programs_of_openbox_are_six_apps_and_nothing_is_left_behind() {
    let _alone = session::alone();
    let Some(mount) = mount(&["Xvfb", "openbox", "xterm", "xdotool"]) else { return };
    let mut server = Command::new("Xvfb");
    server.args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"]);
    let mut server = Running(server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let display = format!(":{}", line.trim());
    let home = tempfile::tempdir().unwrap();
    let mut login = Login::begin(&mount, &[("DISPLAY", &display), ("HOME", home.path().to_str().unwrap())]);
    let tool = |args: &[&str]| {
        let output =
            Command::new("xdotool").args(args).env("DISPLAY", &display).stderr(Stdio::null()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    login.start("openbox");
    // openbox loses windows that come while it starts.
    until(&|| "openbox never manages the screen".into(), || tool(&["get_desktop"]).0);
    let daemon = daemon("");
    let _source = watch(&daemon, &["x11", "--display", &display]);
    for _ in 0..PROGRAMS {
        login.start("xterm -e sleep 1000");
    }
    let activate = |pid: &str| {
        let windows = || tool(&["search", "--onlyvisible", "--pid", pid]).1;
        until(&|| format!("{pid} has no window"), || !windows().is_empty());
        assert!(tool(&["windowactivate", windows().lines().next().unwrap()]).0);
    };
    six_programs(&mount, daemon, &login, 0, &activate);
}

#[test]
fn an_owner_who_wants_nothing_moved_has_nothing_moved() {
    let _alone = session::alone();
    let Some(mount) = mount(&["Xvfb", "openbox", "xterm", "xdotool"]) else { return };
    let login = Login::begin(&mount, &[]);
    let daemon = daemon("[daemon]\nwindows_make_apps = false\n");
    let pid = login.shell.0.id();
    until(&|| "the login never begins".into(), || login.processes() > 0);
    let client = common::Client::connect(&daemon.run_folder());
    client.say(&format!(r#"{{"request":"adopt","pid":{pid},"windows":[{pid}]}}"#));
    assert!(is_in(&pid.to_string(), LOGIN));
    let status = daemon.status();
    let units = status["apps"].as_array().unwrap();
    assert!(units.iter().all(|unit| unit["kind"] == "login"), "{units:?}");
    daemon.stop();
}

#[test]
fn six_programs_of_sway_are_six_apps_and_nothing_is_left_behind() {
    let _alone = session::alone();
    let Some(mount) = mount(&["sway", "swaymsg", "foot", "setpriv"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    // The folder is its user's run folder and home.
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    fs::write(folder.path().join("config"), "").unwrap();
    let home = folder.path().to_str().unwrap();
    let mut login = Login::begin(
        &mount,
        &[
            ("XDG_RUNTIME_DIR", home),
            ("HOME", home),
            ("SHELL", "/bin/sh"),
            ("WLR_BACKENDS", "headless"),
            ("WLR_LIBINPUT_NO_DEVICES", "1"),
            ("WLR_RENDERER", "pixman"),
        ],
    );
    // sway does not run as root.
    let as_user = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --";
    login.start(&format!("{as_user} sway -c {home}/config"));
    let socket = || {
        let mut entries = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        entries.find(|path| path.extension().is_some_and(|e| e == "sock") && UnixStream::connect(path).is_ok())
    };
    until(&|| "sway never listens".into(), || socket().is_some());
    let socket = socket().unwrap();
    let say = |words: &str| {
        let output = Command::new("swaymsg").arg("-s").arg(&socket).arg(words).output().unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
    };
    let daemon = daemon("");
    let _source = watch(&daemon, &["sway", "--socket", socket.to_str().unwrap()]);
    for _ in 0..PROGRAMS {
        say("exec foot sleep 1000");
    }
    let activate = |pid: &str| say(&format!("[pid={pid}] focus"));
    six_programs(&mount, daemon, &login, 65534, &activate);
}
