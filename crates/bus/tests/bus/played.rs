// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A message bus of its own, the program on it, and a daemon that is played.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use fovea_apps::Lists;
use fovea_client::news::{Killed, News};
use fovea_client::protocol::{Reply, Request, SOCKET_NAME};
use fovea_client::socket::{accept, listen_at, receive, reply, Received};
use fovea_client::Status;
use fovea_policy::Reason;
use rustix::event::{poll, PollFd, PollFlags};
use serde_json::json;
use zbus::blocking::{connection::Builder, Connection};

pub const CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=SOCKET</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><deny own="*"/><deny send_type="method_call"/><allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus"/><allow send_destination="org.freedesktop.PolicyKit1"/></policy>
<policy user="OWNER"><allow own="org.freedesktop.PolicyKit1"/></policy>
POLICY</busconfig>"#;

/// The packaged rules, with another owner than the user that the package makes.
pub fn policy(owner: u32) -> String {
    let text = std::fs::read_to_string(packaged("org.fovea1.conf")).unwrap();
    let begin = text.find("<busconfig>").unwrap() + "<busconfig>".len();
    let rules = &text[begin..text.find("</busconfig>").unwrap()];
    assert!(rules.contains("user=\"fovea-bus\""));
    rules.replace("user=\"fovea-bus\"", &format!("user=\"{owner}\""))
}

pub fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/bus").join(name)
}

/// Ended with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub fn of(uid: u32, unit: &str) -> String {
    format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice/{unit}")
}

/// Two users that every Debian has: the bus lets nobody in whom it does not know.
pub const HERE: u32 = 5;
pub const THERE: u32 = 6;

/// Two users' apps, and a kill of each.
pub fn answer(request: &Request) -> Reply {
    let app = |name: &str, uid| {
        let cgroup = of(uid, &format!("app-{name}-7.scope"));
        let usage = fovea_apps::AppUsage::default();
        let app = json!({ "name": name, "cgroup": cgroup, "importance": "hidden", "frozen": false, "usage": usage });
        serde_json::from_value(app).unwrap()
    };
    match request {
        Request::Status { .. } => Reply::Status(Box::new(Status {
            screen_on: true,
            kills: 2,
            apps: vec![app("mail", HERE), app("game", THERE), app("root", 0)],
            ..Status::default()
        })),
        Request::Explain { uid, .. } => {
            let entry = |app: &str, of: u32| json!({ "action": "kill", "app": app, "uid": of, "basis": { "apps": ["game", "mail"] } });
            let mut entries = vec![entry("mail", HERE), entry("game", THERE)];
            entries.retain(|entry| uid.is_none_or(|uid| entry["uid"] == uid));
            Reply::Story { entries }
        }
        Request::List {} => {
            let configured = Lists { protect: vec!["mail".parse().unwrap()], ..Lists::default() };
            Reply::Lists { configured, said: Lists::default() }
        }
        Request::Follow {} => Reply::News(News::Warning { level: 0 }),
        Request::OnlyAsk {} => Reply::Done {},
        other => panic!("it is to change nothing: {other:?}"),
    }
}

pub fn serve(client: OwnedFd, following: &mpsc::Sender<OwnedFd>) {
    loop {
        poll(&mut [PollFd::new(&client, PollFlags::IN)], None).unwrap();
        match receive(&client) {
            Received::Request(request) => {
                assert!(reply(&client, &answer(&request)));
                if request == (Request::Follow {}) {
                    return following.send(client).unwrap();
                }
            }
            Received::Nothing => {}
            Received::Bad(error) => panic!("{error}"),
            Received::Gone => return,
        }
    }
}

/// A bus, the program on it, and the daemon's end of the connection that follows.
pub struct Bus {
    pub folder: tempfile::TempDir,
    pub program: Running,
    pub daemon: OwnedFd,
    _bus: Running,
}

impl Bus {
    /// `None` if dbus-daemon is not installed.
    pub fn start() -> Option<Bus> {
        let folder = tempfile::tempdir().unwrap();
        // Other users are to reach the bus.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (socket, file) = (folder.path().join("bus"), folder.path().join("bus.conf"));
        // Root becomes nobody, for there is no user of the program's here.
        let owner = if is_root() { fovea_linux::NOBODY } else { uid() };
        let text = CONFIGURATION.replace("SOCKET", socket.to_str().unwrap());
        let text = text.replace("OWNER", &uid().to_string()).replace("POLICY", &policy(owner));
        std::fs::write(&file, text).unwrap();
        let bus = Command::new("dbus-daemon")
            .args(["--nofork", "--nopidfile", "--print-address=1", "--config-file"])
            .arg(file)
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut bus) = bus.map(Running) else {
            println!("SKIPPED: no dbus-daemon here; install the package dbus-daemon");
            return None;
        };
        let mut line = String::new();
        BufReader::new(bus.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("unix:"), "{line}");

        let listener = listen_at(&folder.path().join(SOCKET_NAME), 0o600).unwrap();
        let (following, followed) = mpsc::channel();
        std::thread::spawn(move || loop {
            let Some(client) = accept(&listener).unwrap() else { continue };
            let following = following.clone();
            std::thread::spawn(move || serve(client, &following));
        });
        let address = format!("unix:path={}", socket.display());
        let program = Command::new(env!("CARGO_BIN_EXE_fovea-bus"))
            .env_remove("FOVEA_RUN")
            .arg("--run-folder")
            .arg(folder.path())
            .args(["--bus", &address, "--user", "nobody"])
            .spawn()
            .unwrap();
        let program = Running(program);
        let daemon = followed.recv().unwrap();
        let bus = Bus { folder, program, daemon, _bus: bus };
        // It has its name once this one is told so.
        bus.gdbus(&["wait", "--address", &address, "--timeout", "60", "org.fovea1"], None)?.unwrap();
        Some(bus)
    }

    pub fn address(&self) -> String {
        format!("unix:path={}", self.folder.path().join("bus").display())
    }

    pub fn connect(&self) -> Connection {
        Builder::address(self.address().as_str()).unwrap().build().unwrap()
    }

    /// What gdbus prints, or its error; as another user if one is named. `None` if it is not installed.
    pub fn gdbus(&self, args: &[&str], user: Option<u32>) -> Option<Result<String, String>> {
        let mut command = match user {
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".into()]);
                command.arg("gdbus");
                command
            }
            None => Command::new("gdbus"),
        };
        let Ok(output) = command.args(args).output() else {
            println!("SKIPPED: no gdbus here; install the package libglib2.0-bin");
            return None;
        };
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Some(if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) })
    }

    /// Calls a method as a user.
    pub fn call(&self, method: &str, args: &[&str], user: Option<u32>) -> Option<Result<String, String>> {
        let method = format!("org.fovea1.{method}");
        let address = self.address();
        let of = ["call", "--address", &address, "--dest", "org.fovea1", "--object-path", "/org/fovea1", "--method"];
        self.gdbus(&[&of[..], &[method.as_str()], args].concat(), user)
    }

    pub fn happens(&self, news: News) {
        assert!(reply(&self.daemon, &Reply::News(news)));
    }
}

pub fn killed(unit: &str, uid: u32) -> Killed {
    let (app, unit) = ("mail".parse().unwrap(), unit.to_owned());
    Killed { app, unit, uid: Some(uid), reason: Reason::SwapFull, process: None, size_bytes: 300 << 20 }
}
