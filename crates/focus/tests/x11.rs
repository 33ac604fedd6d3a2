// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The X11 source against a real X server (Xvfb), whose window manager is played here.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use fovea_focus::{Event, Source, SourceError, Windows, X11};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, PropMode, ScreenSaver, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

/// Nothing here depends on this time: a test that would hang fails instead.
const HANGS: Duration = Duration::from_secs(120);

/// Ends its server whatever becomes of the test.
struct Server(Child, String);

impl Server {
    /// A server on a free display of its own choice; `None` if Xvfb is not installed.
    fn start() -> Option<Server> {
        let child = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "64x64x24", "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("SKIPPED: no Xvfb here; install the package xvfb");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Server(child, format!(":{}", line.trim())))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The window manager and all clients.
struct Desktop {
    connection: RustConnection,
    root: Window,
}

impl Desktop {
    fn atom(&self, name: &str) -> u32 {
        self.connection.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom
    }

    fn window(&self, pid: Option<u32>, machine: Option<&[u8]>) -> Window {
        let window = self.connection.generate_id().unwrap();
        let aux = CreateWindowAux::new();
        self.connection
            .create_window(0, window, self.root, 0, 0, 8, 8, 0, WindowClass::INPUT_OUTPUT, 0, &aux)
            .unwrap()
            .check()
            .unwrap();
        if let Some(pid) = pid {
            let atom = self.atom("_NET_WM_PID");
            self.connection.change_property32(PropMode::REPLACE, window, atom, AtomEnum::CARDINAL, &[pid]).unwrap();
        }
        if let Some(machine) = machine {
            let (atom, kind) = (AtomEnum::WM_CLIENT_MACHINE, AtomEnum::STRING);
            self.connection.change_property8(PropMode::REPLACE, window, atom, kind, machine).unwrap();
        }
        window
    }

    fn set(&self, window: Window, name: &str, kind: AtomEnum, values: &[u32]) {
        let atom = self.atom(name);
        self.connection.change_property32(PropMode::REPLACE, window, atom, kind, values).unwrap();
        self.connection.flush().unwrap();
    }

    fn activate(&self, window: Window) {
        let atom = self.atom("_NET_ACTIVE_WINDOW");
        self.connection.change_property32(PropMode::REPLACE, self.root, atom, AtomEnum::WINDOW, &[window]).unwrap();
        self.connection.flush().unwrap();
    }
}

fn seen(front: Option<u32>, visible: &[u32]) -> Event {
    Event::Windows(Windows { front, visible: visible.into(), parts: Vec::new() })
}

#[test]
fn the_active_window_and_the_screen_are_followed_until_the_server_ends() {
    let Some(mut server) = Server::start() else { return };
    let (connection, screen) = RustConnection::connect(Some(&server.1)).unwrap();
    let root = connection.setup().roots[screen].root;
    let desktop = Desktop { connection, root };
    let host = rustix::system::uname().nodename().to_bytes().to_vec();

    let one = desktop.window(Some(4001), Some(&host));
    let two = desktop.window(Some(4002), Some(&host));
    let foreign = desktop.window(Some(4003), Some(b"elsewhere.example"));
    let unsaid = desktop.window(Some(4004), None);
    let nobody = desktop.window(None, Some(&host));
    let hidden = desktop.window(Some(4005), Some(&host));
    desktop.set(root, "_NET_CURRENT_DESKTOP", AtomEnum::CARDINAL, &[0]);
    desktop.set(root, "_NET_CLIENT_LIST", AtomEnum::WINDOW, &[one, two, foreign, unsaid, nobody, hidden]);
    let minimised = desktop.atom("_NET_WM_STATE_HIDDEN");
    desktop.set(hidden, "_NET_WM_STATE", AtomEnum::ATOM, &[minimised]);
    desktop.activate(one);

    let (to, events) = mpsc::channel();
    let display = server.1.clone();
    let watching = std::thread::spawn(move || X11::new(Some(display)).watch(&mut |event| to.send(event).unwrap()));
    let next = || events.recv_timeout(HANGS).expect("an event");

    assert_eq!(next(), seen(Some(4001), &[4001, 4002]), "how things stood");
    assert_eq!(next(), Event::Screen { on: true });
    for (window, expected) in [
        (two, seen(Some(4002), &[4001, 4002])),
        (foreign, seen(None, &[4001, 4002])),
        (one, seen(Some(4001), &[4001, 4002])),
        (unsaid, seen(None, &[4001, 4002])),
        (two, seen(Some(4002), &[4001, 4002])),
        (nobody, seen(None, &[4001, 4002])),
        (one, seen(Some(4001), &[4001, 4002])),
        (0, seen(None, &[4001, 4002])),
        (two, seen(Some(4002), &[4001, 4002])),
        // No such window.
        (0x7fff_fff0, seen(None, &[4001, 4002])),
    ] {
        desktop.activate(window);
        assert_eq!(next(), expected, "{window:#x}");
    }
    // Restored, minimised, moved to another desktop, gone to, brought to all desktops, asking for attention.
    desktop.set(hidden, "_NET_WM_STATE", AtomEnum::ATOM, &[]);
    assert_eq!(next(), seen(None, &[4001, 4002, 4005]));
    desktop.set(one, "_NET_WM_STATE", AtomEnum::ATOM, &[minimised]);
    assert_eq!(next(), seen(None, &[4002, 4005]));
    desktop.set(two, "_NET_WM_DESKTOP", AtomEnum::CARDINAL, &[1]);
    assert_eq!(next(), seen(None, &[4005]));
    desktop.set(hidden, "_NET_WM_DESKTOP", AtomEnum::CARDINAL, &[0]);
    desktop.set(root, "_NET_CURRENT_DESKTOP", AtomEnum::CARDINAL, &[1]);
    assert_eq!(next(), seen(None, &[4002]));
    desktop.set(hidden, "_NET_WM_DESKTOP", AtomEnum::CARDINAL, &[u32::MAX]);
    assert_eq!(next(), seen(None, &[4002, 4005]));
    let attention = desktop.atom("_NET_WM_STATE_DEMANDS_ATTENTION");
    desktop.set(one, "_NET_WM_STATE", AtomEnum::ATOM, &[minimised, attention]);
    assert_eq!(next(), seen(None, &[4001, 4002, 4005]));
    desktop.set(root, "_NET_CLIENT_LIST", AtomEnum::WINDOW, &[one]);
    assert_eq!(next(), seen(None, &[4001]));
    // Other properties of the root are no news: the next event is the screen's.
    desktop.connection.change_property8(PropMode::REPLACE, root, AtomEnum::WM_NAME, AtomEnum::STRING, b"root").unwrap();
    for (mode, on) in [(ScreenSaver::ACTIVE, false), (ScreenSaver::RESET, true)] {
        desktop.connection.force_screen_saver(mode).unwrap().check().unwrap();
        assert_eq!(next(), Event::Screen { on });
    }
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    let error = watching.join().unwrap();
    assert!(matches!(&error, SourceError::Lost(line) if !line.contains('\n')), "{error:?}");
    assert!(events.try_recv().is_err(), "nothing more was told");
}
