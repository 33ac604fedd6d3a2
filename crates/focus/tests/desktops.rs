// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The sources against real desktops: sway without a screen, openbox under Xvfb.

mod programs;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{channel, Receiver};

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask};
use x11rb::rust_connection::RustConnection;

use programs::{have, Running, HANGS};

use fovea_focus::{Event, Source, SourceError, Sway, Windows, X11};

fn watching(mut source: impl Source + 'static) -> (Receiver<Event>, std::thread::JoinHandle<SourceError>) {
    let (to, events) = channel();
    (events, std::thread::spawn(move || source.watch(&mut |event| drop(to.send(event)))))
}

/// Waits until so many processes' windows can be seen.
fn until(events: &Receiver<Event>, visible: usize) -> Windows {
    loop {
        match events.recv_timeout(HANGS).expect("an event") {
            Event::Windows(windows) if windows.visible.len() == visible => return windows,
            _ => {}
        }
    }
}

/// sway does not run as root.
fn as_user(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--", program]);
    command
}

fn sway(folder: &Path) -> Running {
    // The folder is its user's run folder and home.
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::write(folder.join("config"), "exec foot sleep 1000\n".repeat(3)).unwrap();
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut command = as_user("sway");
    command.env("XDG_RUNTIME_DIR", folder).env("HOME", folder).env("SHELL", "/bin/sh").env_remove("SWAYSOCK");
    command.env("WLR_BACKENDS", "headless").env("WLR_LIBINPUT_NO_DEVICES", "1").env("WLR_RENDERER", "pixman");
    command.arg("-c").arg(folder.join("config")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Running(command.spawn().unwrap())
}

#[test]
fn what_sway_shows_is_told_in_tiles_behind_tabs_and_on_another_workspace() {
    if !have(&["sway", "swaymsg", "foot", "setpriv"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sway = sway(folder.path());
    let socket: PathBuf = loop {
        let mut found = std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.path());
        // The file is there before sway listens, and refuses until then.
        let listens = |p: &PathBuf| p.extension().is_some_and(|e| e == "sock") && UnixStream::connect(p).is_ok();
        if let Some(socket) = found.find(listens) {
            break socket;
        }
        let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(sway.0.try_wait().unwrap().is_none(), "{}", log());
        std::thread::yield_now();
    };
    let say = |words: &str| {
        let output = as_user("swaymsg").arg("-s").arg(&socket).arg(words).output().unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
    };
    let (events, watching) = watching(Sway::new(Some(socket.clone())));
    let tiled = until(&events, 3);
    assert!(tiled.front.is_some_and(|front| tiled.visible.contains(&front)));
    say("workspace 2");
    assert_eq!(until(&events, 0), Windows::default());
    say("workspace 1");
    until(&events, 3);
    // A layout is changed without an event, but for one from the key that changes it; the next event of any kind tells.
    say("layout tabbed");
    say("focus left");
    let tabbed = until(&events, 1);
    assert_eq!(tabbed.visible, [tabbed.front.unwrap()]);
    drop(sway);
    assert!(matches!(watching.join().unwrap(), SourceError::Lost(_)));
}

/// Waits for the window manager: openbox loses windows that come while it starts.
fn managed(display: &str) {
    let (connection, screen) = RustConnection::connect(Some(display)).unwrap();
    let root = connection.setup().roots[screen].root;
    let mask = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
    connection.change_window_attributes(root, &mask).unwrap();
    let atom = connection.intern_atom(false, b"_NET_CLIENT_LIST").unwrap().reply().unwrap().atom;
    let there = || connection.get_property(false, root, atom, AtomEnum::ANY, 0, 1).unwrap().reply().unwrap().type_ != 0;
    while !there() {
        connection.wait_for_event().unwrap();
    }
}

#[test]
fn what_openbox_shows_is_told_minimised_and_on_another_desktop() {
    if !have(&["Xvfb", "openbox", "xterm", "xdotool"]) {
        return;
    }
    let mut server = Command::new("Xvfb");
    server.args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"]);
    let mut server = Running(server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let display = format!(":{}", line.trim());
    let home = tempfile::tempdir().unwrap();
    let start = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(args)
            .env("DISPLAY", &display)
            .env("HOME", home.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Running(command.spawn().unwrap())
    };
    let (events, watching) = watching(X11::new(Some(display.clone())));
    let _openbox = start("openbox", &[]);
    managed(&display);
    let terminals = [start("xterm", &["-e", "sleep 1000"]), start("xterm", &["-e", "sleep 1000"])];
    let both = until(&events, 2);
    let mut pids: Vec<u32> = terminals.iter().map(|t| t.0.id()).collect();
    pids.sort_unstable();
    assert_eq!(both.visible, pids);
    let tool = |args: &[&str]| {
        let status = Command::new("xdotool").args(args).env("DISPLAY", &display).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    let first = terminals[0].0.id().to_string();
    let output =
        Command::new("xdotool").args(["search", "--onlyvisible", "--pid", &first]).env("DISPLAY", &display).output();
    let window = String::from_utf8(output.unwrap().stdout).unwrap().lines().next().expect("a window").to_owned();
    tool(&["windowminimize", &window]);
    assert_eq!(until(&events, 1).visible, [terminals[1].0.id()]);
    tool(&["windowactivate", &window]);
    until(&events, 2);
    tool(&["set_desktop", "1"]);
    assert_eq!(until(&events, 0), Windows::default());
    tool(&["set_desktop", "0"]);
    until(&events, 2);
    drop(server);
    assert!(matches!(watching.join().unwrap(), SourceError::Lost(_)));
}
