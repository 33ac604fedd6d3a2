// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The source for KDE against a real KWin without a screen, on a message bus of the test's own.

mod bus;
mod programs;

use std::path::Path;
use std::process::{Command, Stdio};

use bus::{send, Bus, HANGS};
use fovea_focus::{Kde, Source, SourceError};
use programs::{find, have, until, watching_from_the_start, Running};
use rustbus::connection::Timeout;
use rustbus::{MessageBuilder, MessageType, RpcConn};

/// KWin without a screen; its run folder and home are the test's.
fn kwin(folder: &Path, bus: &Bus) -> Running {
    // Debian gives the file a capability, and in a container that lacks it the kernel runs only a copy without.
    let copy = folder.join("kwin_wayland");
    std::fs::copy(find("kwin_wayland").unwrap(), &copy).unwrap();
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new(copy);
    command.args(["--virtual", "--socket", "wayland-t", "--no-lockscreen"]);
    command.env("XDG_RUNTIME_DIR", folder).env("HOME", folder).env("DBUS_SESSION_BUS_ADDRESS", bus.address());
    command.env("KWIN_COMPOSE", "Q").env("LIBGL_ALWAYS_SOFTWARE", "1").env_remove("DISPLAY");
    Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

/// Asks KWin for something.
fn ask(link: &mut RpcConn, object: &str, interface: &str, member: &str, arguments: &[&str]) {
    let mut call = MessageBuilder::new().call(member).on(object).with_interface(interface).at("org.kde.KWin").build();
    match (member, arguments) {
        ("createDesktop", [name]) => call.body.push_param2(1u32, *name).unwrap(),
        ("setCurrentDesktop", [number]) => call.body.push_param(number.parse::<i32>().unwrap()).unwrap(),
        _ => arguments.iter().for_each(|argument| call.body.push_param(*argument).unwrap()),
    }
    let serial = send(link, &mut call);
    let reply = link.wait_response(serial, Timeout::Duration(HANGS)).unwrap();
    assert_eq!(reply.typ, MessageType::Reply, "{member}: {:?}", reply.dynheader);
}

#[test]
fn what_kwin_shows_is_told_minimised_on_another_desktop_and_gone() {
    if !have(&["kwin_wayland", "weston-simple-shm"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let desktop = kwin(folder.path(), &bus);
    let (events, watch) = watching_from_the_start(Kde::new(Some(bus.address()), None));
    until(&events, None, &[]);

    let start = || {
        let mut command = Command::new("weston-simple-shm");
        command.env("XDG_RUNTIME_DIR", folder.path()).env("WAYLAND_DISPLAY", "wayland-t");
        Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let first = start();
    until(&events, Some(&first), &[&first]);
    let second = start();
    until(&events, Some(&second), &[&first, &second]);

    // A second watcher of a session would take the first one's news away.
    let refused = Kde::new(Some(bus.address()), None).watch(&mut |_| panic!("reported"));
    assert!(matches!(&refused, SourceError::Refused(line) if line.contains("one watcher")), "{refused}");
    // Whoever else speaks is not believed.
    let mut link = bus.connect();
    let name = "org.fovea.Windows";
    let mut lie = MessageBuilder::new().call("Changed").on("/org/fovea/Windows").with_interface(name).at(name).build();
    lie.body.push_param(r#"{"front":1,"visible":[1]}"#).unwrap();
    let serial = send(&mut link, &mut lie);
    link.wait_response(serial, Timeout::Duration(HANGS)).unwrap();

    let shortcut = |link: &mut RpcConn, name: &str| {
        ask(link, "/component/kwin", "org.kde.kglobalaccel.Component", "invokeShortcut", &[name]);
    };
    shortcut(&mut link, "Window Minimize");
    until(&events, Some(&first), &[&first]);
    ask(&mut link, "/VirtualDesktopManager", "org.kde.KWin.VirtualDesktopManager", "createDesktop", &["second"]);
    ask(&mut link, "/KWin", "org.kde.KWin", "setCurrentDesktop", &["2"]);
    until(&events, None, &[]);
    ask(&mut link, "/KWin", "org.kde.KWin", "setCurrentDesktop", &["1"]);
    until(&events, Some(&first), &[&first]);
    drop(first);
    until(&events, None, &[]);
    let left: Vec<_> = folder.path().read_dir().unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".js")), "{left:?}");
    drop(desktop);
    let error = watch.join().unwrap();
    assert!(matches!(&error, SourceError::Lost(line) if line.contains("KWin")), "{error}");
}
