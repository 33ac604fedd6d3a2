// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The units as they are packaged, under a real systemd that is the first process of namespaces of its own: the daemon starts, has
//! all that it has without the units' limits, freezes, is killed and puts back; the watchers run. Skipped, with a word, where that
//! cannot be had. Memory's limits and kills are shown in the phone, whose systemd starts the same unit (docs/design/outsiders.md).

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use common::{is_root, until, Client};
use fovea_linux::System;
use serde_json::Value;

const CONFIG: &str =
    "[zram]\nenabled = false\n[daemon]\ndiscover = false\n[freeze]\nclasses = [\"hidden\"]\ndebounce_ms = 1\n";

/// Whose session is watched.
const NOBODY: &str = "65534";

/// systemd and all that it started, gone with the test.
struct Machine {
    unshare: Child,
    systemd: u32,
    cgroup: PathBuf,
    _folder: tempfile::TempDir,
}

impl Machine {
    fn boot() -> Option<Machine> {
        let needed = ["/lib/systemd/systemd", "/usr/bin/unshare", "/usr/bin/nsenter", "/usr/bin/dbus-daemon"];
        if let Some(lacking) = needed.iter().find(|path| !Path::new(path).exists()) {
            println!("skipped: no {lacking} here");
            return None;
        }
        let mount = System::new().ok()?.cgroup_mount().ok()?;
        let cgroup = mount.join(format!("fovea-test-units-{}", std::process::id()));
        if !is_root() || fs::create_dir(&cgroup).is_err() {
            println!("skipped: no cgroup can be made here");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("fovea.toml");
        fs::write(&config, CONFIG).unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let script = here.join("tests/units/boot.sh");
        fs::create_dir(folder.path().join("machine")).unwrap();
        let into = format!("echo $$ >{}/cgroup.procs && exec \"$@\"", cgroup.display());
        let mut unshare = Command::new("sh");
        unshare.args(["-c", &into, "sh", "/usr/bin/unshare"]);
        unshare.args([
            "-C",
            "-m",
            "-p",
            "-u",
            "-i",
            "-n",
            "--propagation",
            "private",
            "--fork",
            "--kill-child",
            "--",
            "sh",
        ]);
        unshare.arg(script).arg(folder.path().join("machine")).arg(common::FOVEA);
        unshare.arg(here.join("../../packaging")).arg(&config).stdin(Stdio::null());
        unshare.stdout(fs::File::create(folder.path().join("said")).unwrap());
        unshare.stderr(fs::File::create(folder.path().join("errors")).unwrap());
        let mut unshare = unshare.spawn().unwrap();
        let errors = || fs::read_to_string(folder.path().join("errors")).unwrap();
        let mut systemd = 0;
        let mut is_over = false;
        until(&errors, || {
            is_over = unshare.try_wait().unwrap().is_some();
            let children = format!("/proc/{0}/task/{0}/children", unshare.id());
            let child = fs::read_to_string(children).unwrap_or_default().trim().parse().unwrap_or(0);
            let is_systemd = fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name == "systemd\n");
            systemd = child;
            is_over || is_systemd && Path::new(&format!("/proc/{child}/root/run/systemd/private")).exists()
        });
        if is_over {
            println!("skipped: no machine of its own can be made here: {}", errors());
            let _ = fs::remove_dir(&cgroup);
            return None;
        }
        let machine = Machine { unshare, systemd, cgroup, _folder: folder };
        until(&|| "basic.target is never reached".into(), || machine.is_active("basic.target"));
        Some(machine)
    }

    fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.systemd))
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new("/usr/bin/nsenter");
        command.args(["-t", &self.systemd.to_string(), "-C", "-m", "-p", "-u", "-i", "-n", "-r", "-w", "--"]);
        command.args(["/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"]).args(words);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn must(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}\n{}", self.journal());
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn is_active(&self, unit: &str) -> bool {
        self.run(&["systemctl", "is-active", "--quiet", unit]).status.success()
    }

    fn journal(&self) -> String {
        String::from_utf8_lossy(&self.run(&["journalctl", "--no-pager"]).stdout).into_owned()
    }

    /// A daemon that answers.
    fn client(&self, run_folder: &str) -> Client {
        let folder = self.path(run_folder);
        let mut client = None;
        until(&|| self.journal(), || {
            client = Client::try_connect(&folder);
            client.is_some()
        });
        client.unwrap()
    }

    fn is_frozen(&self) -> bool {
        fs::read_to_string(self.path("/sys/fs/cgroup/system.slice/mail.service/cgroup.freeze")).unwrap() == "1\n"
    }

    /// An app that its user has left.
    fn leave_app(&self) -> Client {
        let client = self.client("/run/fovea");
        client.say(r#"{"request":"attend","name":"test"}"#);
        client.say(r#"{"request":"register","app":"mail","cgroup":"system.slice/mail.service"}"#);
        client.say(r#"{"request":"focus","app":"mail"}"#);
        client.say(r#"{"request":"home"}"#);
        until(&|| format!("it is never frozen: {}", self.journal()), || self.is_frozen());
        client
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        // Its processes die with systemd; the cgroups are empty a moment later.
        let there = || self.cgroup.exists();
        for _ in 0..1000 {
            let _ = Command::new("find").arg(&self.cgroup).args(["-depth", "-type", "d", "-delete"]).output();
            if !there() {
                break;
            }
        }
    }
}

/// Devices that a camera and a sound card would have; false where none can be made.
fn make_devices(machine: &Machine) -> bool {
    let script = "mkdir /dev/snd && mknod -m 660 /dev/snd/pcmC0D0p c 116 2 && mknod -m 660 /dev/video0 c 81 0";
    machine.run(&["sh", "-c", script]).status.success()
}

/// What a daemon watches by inotify.
fn watched(machine: &Machine, status: &Value) -> usize {
    let folder = machine.path(&format!("/proc/{}/fdinfo", status["pid"]));
    let infos = fs::read_dir(folder).unwrap().flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
    infos.map(|info| info.lines().filter(|line| line.starts_with("inotify wd:")).count()).sum()
}

fn status(client: &Client) -> Value {
    client.send(br#"{"request":"status"}"#).unwrap();
    client.reply().unwrap()
}

#[test]
fn under_systemd_the_daemon_starts_freezes_and_puts_back_and_the_watchers_run() {
    let Some(machine) = Machine::boot() else { return };
    let has_devices = make_devices(&machine);
    // As root, without the unit's limits.
    machine.must(&["systemd-run", "--unit=plain", "/usr/local/bin/fovea", "--run-folder", "/run/plain", "run"]);
    let plain = status(&machine.client("/run/plain"));
    let watched_plain = watched(&machine, &plain);
    machine.must(&["systemctl", "stop", "plain"]);
    machine.must(&["systemctl", "start", "fovea.service"]);
    let limited = status(&machine.client("/run/fovea"));
    assert_eq!(limited["missing"], plain["missing"], "the unit's limits take nothing away: {}", machine.journal());
    // `dev`, `dev/snd`, a stream and a camera at least.
    assert!(watched_plain >= 4 || !has_devices, "{watched_plain}");
    assert_eq!(watched(&machine, &limited), watched_plain, "and no device: {}", machine.journal());

    // Killed in the middle of something, and started again.
    machine.must(&["systemd-run", "--unit=mail", "sleep", "100000"]);
    drop(machine.leave_app());
    machine.must(&["systemctl", "kill", "--kill-who=all", "--signal=KILL", "fovea.service"]);
    until(&|| format!("it stays frozen: {}", machine.journal()), || !machine.is_frozen());
    until(&|| format!("it does not start again: {}", machine.journal()), || machine.is_active("fovea.service"));
    let client = machine.leave_app();

    // A bus that a user has, and the watchers of it and of the machine's own.
    let (folder, bus) = (format!("/run/user/{NOBODY}"), format!("unix:path=/run/user/{NOBODY}/bus"));
    machine.must(&["install", "-d", "-o", NOBODY, "-m", "700", &folder]);
    let (uid, address) = (format!("--uid={NOBODY}"), format!("--address={bus}"));
    machine.must(&["systemd-run", "--unit=bus", &uid, "dbus-daemon", "--session", "--nofork", &address]);
    until(&|| machine.journal(), || machine.path(&folder).join("bus").exists());
    let session = format!("fovea-session@{NOBODY}");
    let watchers = [session.as_str(), "fovea-source@logind", "fovea-source@x11", "fovea-source@sway"];
    machine.must(&[&["systemctl", "start"][..], &watchers[..]].concat());
    let has = |name: &str| status(&client)["sources"].as_array().unwrap().iter().any(|source| source == name);
    until(&|| format!("{}\n{}", status(&client), machine.journal()), || has("session") && has("logind"));
    for watcher in watchers {
        assert!(machine.is_active(watcher), "{watcher}: {}", machine.journal());
        assert_eq!(machine.must(&["systemctl", "show", "-P", "NRestarts", watcher]), "0", "{watcher}");
    }
    let said = machine.must(&["journalctl", "--no-pager", "-o", "cat", "-u", &session]);
    assert!(!said.contains("fovea: "), "it finds the bus: {said}");
    // By its user's right, and no more.
    let heard = |line: &str| line.contains("became a monitor") && line.contains(&format!("uid={NOBODY}"));
    assert!(machine.journal().lines().any(heard), "{}", machine.journal());

    machine.must(&["systemctl", "stop", "fovea.service"]);
    assert_eq!(machine.must(&["systemctl", "show", "-P", "Result", "fovea.service"]), "success");
    assert!(!machine.is_frozen());
    assert_eq!(fs::read(machine.path("/run/fovea/undo.log")).unwrap(), b"");
}
