// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The source for GNOME: against a shell that is played here, and, where it is installed, against a real one without a screen that has our extension.

mod bus;
mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bus::{send, watch, Bus, HANGS};
use fovea_focus::{Event, Gnome, Source, SourceError, Windows};
use programs::{find, until, watching_from_the_start, Running};
use rustbus::connection::Timeout;
use rustbus::{MessageBuilder, MessageType, RpcConn};

const WINDOWS: &str = "org.fovea.Windows";
const OBJECT: &str = "/org/fovea/Windows";

fn signal(link: &mut RpcConn, member: &str, text: Option<&str>, to: Option<&str>) {
    let mut signal = MessageBuilder::new().signal(WINDOWS, member, OBJECT).build();
    signal.dynheader.destination = to.map(str::to_owned);
    text.into_iter().for_each(|text| signal.body.push_param(text).unwrap());
    send(link, &mut signal);
}

/// Answers who asks how things stand; his unique name.
fn answer(shell: &mut RpcConn, text: &str) -> String {
    let call = shell.wait_call(Timeout::Duration(HANGS)).unwrap();
    assert_eq!((call.dynheader.member.as_deref(), call.dynheader.object.as_deref()), (Some("Get"), Some(OBJECT)));
    let mut reply = call.dynheader.make_response();
    reply.body.push_param(text).unwrap();
    send(shell, &mut reply);
    call.dynheader.sender.unwrap()
}

#[test]
fn what_the_extension_says_is_told_until_it_is_disabled_and_nobody_else_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let absent = Gnome::new(Some(bus.address()), None).watch(&mut |_| panic!("reported"));
    assert!(matches!(&absent, SourceError::Absent(line) if line.contains("start a GNOME session")), "{absent}");

    let mut shell = bus.connect_as("org.gnome.Shell");
    let (events, watching) = watch(Gnome::new(Some(bus.address()), None));
    let watcher = answer(&mut shell, r#"{"front":null,"visible":[7]}"#);
    let next = |front, visible: &[u32]| {
        let expected = Event::Windows(Windows::new(front, visible.iter().copied()));
        assert_eq!(events.recv_timeout(HANGS).unwrap(), expected);
    };
    next(None, &[7]);
    let mut liar = bus.connect();
    signal(&mut liar, "Changed", Some(r#"{"front":1,"visible":[]}"#), None);
    signal(&mut liar, "Changed", Some(r#"{"front":1,"visible":[]}"#), Some(&watcher));
    signal(&mut liar, "Gone", None, Some(&watcher));
    // What is on the bus stays in order for each sender: the liar has been heard when he has an answer.
    let mut ping = MessageBuilder::new().call("GetId").on("/").with_interface("org.freedesktop.DBus").build();
    ping.dynheader.destination = Some("org.freedesktop.DBus".into());
    let serial = send(&mut liar, &mut ping);
    liar.wait_response(serial, Timeout::Duration(HANGS)).unwrap();
    signal(&mut shell, "Changed", Some("nonsense"), None);
    signal(&mut shell, "Changed", Some(r#"{"front":7,"visible":[7,8]}"#), None);
    next(Some(7), &[7, 8]);
    signal(&mut shell, "Gone", None, None);
    let error = watching.join().unwrap();
    assert!(matches!(&error, SourceError::Lost(line) if line.contains("disabled")), "{error}");

    // Without the extension the shell does not understand the question.
    let (_events, watching) = watch(Gnome::new(Some(bus.address()), None));
    answer(&mut shell, "");
    let error = watching.join().unwrap();
    assert!(matches!(&error, SourceError::Absent(line) if line.contains("gnome-extensions enable")), "{error}");

    let (_events, watching) = watch(Gnome::new(Some(bus.address()), None));
    answer(&mut shell, r#"{"front":null,"visible":[]}"#);
    drop(shell);
    let error = watching.join().unwrap();
    assert!(matches!(&error, SourceError::Lost(line) if line.contains("org.gnome.Shell has gone")), "{error}");
}

/// The extension as `make install` puts it together, below a folder of data.
fn install_extension(data: &Path, shell_version: u32) {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging/gnome-shell");
    let folder = data.join("gnome-shell/extensions/fovea@fovea");
    std::fs::create_dir_all(&folder).unwrap();
    let read = |name: &str| std::fs::read_to_string(source.join(name)).unwrap();
    let frame = if shell_version < 45 { "before-45.js" } else { "since-45.js" };
    std::fs::write(folder.join("extension.js"), read(frame) + &read("windows.js")).unwrap();
    std::fs::write(folder.join("metadata.json"), read("metadata.json")).unwrap();
}

/// "GNOME Shell 48.7".
fn shell_version(program: &Path) -> u32 {
    let output = Command::new(program).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().last().and_then(|version| version.split('.').next()?.parse().ok()).expect(&text)
}

/// Calls the shell itself.
fn ask(link: &mut RpcConn, interface: &str, member: &str, arguments: &[&str]) {
    let mut call = MessageBuilder::new()
        .call(member)
        .on("/org/gnome/Shell")
        .with_interface(interface)
        .at("org.gnome.Shell")
        .build();
    match member {
        "Set" => {
            call.body.push_param2(arguments[0], arguments[1]).unwrap();
            call.body.push_variant(false).unwrap();
        }
        _ => call.body.push_param(arguments[0]).unwrap(),
    }
    let serial = send(link, &mut call);
    let reply = link.wait_response(serial, Timeout::Duration(HANGS)).unwrap();
    assert_eq!(reply.typ, MessageType::Reply, "{member}");
}

#[test]
fn what_a_real_shell_shows_is_told() {
    // GNOME is half a gigabyte: tried where it is, and not asked for.
    let (Some(program), Some(_)) = (find("gnome-shell"), find("weston-simple-shm")) else {
        println!("skipped: no gnome-shell with weston-simple-shm");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    install_extension(folder.path(), shell_version(&program));
    let settings = folder.path().join("config/glib-2.0/settings");
    std::fs::create_dir_all(&settings).unwrap();
    let words = "[org/gnome/shell]\nenabled-extensions=['fovea@fovea']\nwelcome-dialog-last-shown-version='99'\n";
    std::fs::write(settings.join("keyfile"), words).unwrap();
    let environment = |command: &mut Command| {
        command.env("XDG_RUNTIME_DIR", folder.path()).env("HOME", folder.path()).env("XDG_DATA_HOME", folder.path());
        command.env("XDG_CONFIG_HOME", folder.path().join("config")).env("GSETTINGS_BACKEND", "keyfile");
        command.env("XDG_CURRENT_DESKTOP", "GNOME").env("XDG_SESSION_TYPE", "wayland");
        command.env("DBUS_SESSION_BUS_ADDRESS", bus.address()).env("WAYLAND_DISPLAY", "wayland-t");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    };
    let mut command = Command::new(program);
    environment(&mut command);
    command.env_remove("WAYLAND_DISPLAY");
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    command.args(["--headless", "--wayland", "--no-x11", "--virtual-monitor", "800x600"]);
    let shell = Running(command.args(["--wayland-display", "wayland-t"]).stderr(log).spawn().unwrap());
    let (events, watching) = watching_from_the_start(Gnome::new(Some(bus.address()), None));
    until(&events, None, &[]);

    let mut link = bus.connect();
    ask(&mut link, "org.freedesktop.DBus.Properties", "Set", &["org.gnome.Shell", "OverviewActive"]);
    let start = || {
        let mut command = Command::new("weston-simple-shm");
        environment(&mut command);
        Running(command.spawn().unwrap())
    };
    let first = start();
    until(&events, Some(&first), &[&first]);
    let second = start();
    // The shell does not let every newcomer take the focus.
    let both = Windows::new(None, [first.0.id(), second.0.id()]).visible;
    while !matches!(events.recv_timeout(HANGS).unwrap(), Event::Windows(windows) if windows.visible == both) {}
    drop(second);
    until(&events, Some(&first), &[&first]);
    ask(&mut link, "org.gnome.Shell.Extensions", "DisableExtension", &["fovea@fovea"]);
    let error = watching.join().unwrap();
    assert!(matches!(&error, SourceError::Lost(line) if line.contains("disabled")), "{error}");
    drop((first, shell));
}
