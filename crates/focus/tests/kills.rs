// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Kills are shown by a notification service that is played here, on a real message bus (dbus-daemon), from a daemon's socket that is played too.

mod bus;

use std::os::fd::OwnedFd;

use bus::{Bus, HANGS};
use fovea_client::news::{Killed, SOCKET_NAME};
use fovea_client::socket::listen_at;
use fovea_focus::{show_kills, SourceError};
use fovea_policy::Reason;
use rustbus::connection::Timeout;
use rustbus::RpcConn;
use rustix::net::{accept, send, SendFlags};

/// Answers one notification: its summary and body.
fn shown(service: &mut RpcConn) -> (String, String) {
    let call = service.wait_call(Timeout::Duration(HANGS)).unwrap();
    assert_eq!(call.dynheader.member.as_deref(), Some("Notify"));
    assert_eq!(call.dynheader.signature.as_deref(), Some("susssasa{sv}i"), "as the specification has it");
    let mut reply = call.dynheader.make_response();
    reply.body.push_param(7u32).unwrap();
    bus::send(service, &mut reply);
    let mut parser = call.body.parser();
    let (_app, _replaces, _icon): (&str, u32, &str) = parser.get3().unwrap();
    let (summary, body): (&str, &str) = parser.get2().unwrap();
    (summary.to_owned(), body.to_owned())
}

fn tell(client: &OwnedFd, app: &str, reason: Reason) {
    let killed = Killed {
        app: app.parse().unwrap(),
        unit: "app-mail-7.scope".into(),
        uid: Some(1000),
        reason,
        process: None,
        size_bytes: 300 << 20,
    };
    send(client, &serde_json::to_vec(&killed).unwrap(), SendFlags::NOSIGNAL).unwrap();
}

#[test]
fn kills_are_shown_with_their_reason_and_how_to_spare_the_app() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start(folder.path()) else { return };
    let address = bus.address();
    let run_folder = folder.path().to_owned();
    let absent = show_kills(&run_folder, &address, false, &mut |_| {});
    assert!(matches!(&absent, SourceError::Absent(line) if line.contains("start the daemon")), "{absent}");

    let listener = listen_at(&folder.path().join(SOCKET_NAME), 0o666).unwrap();
    let (said, lines) = std::sync::mpsc::channel::<String>();
    std::thread::spawn(move || {
        show_kills(&run_folder, &address, false, &mut |line| said.send(line.to_owned()).unwrap());
    });
    let client = accept(&listener).unwrap();
    assert_eq!(lines.recv().unwrap(), "listening for kills");
    // Nobody shows it: said, and survived.
    tell(&client, "mail", Reason::SwapFull);
    let line = lines.recv().unwrap();
    assert!(line.contains("nobody shows notifications"), "{line}");

    let mut service = bus.connect_as("org.freedesktop.Notifications");
    send(&client, b"nonsense", SendFlags::NOSIGNAL).unwrap();
    assert!(lines.recv().unwrap().contains("make no sense"));
    // Two that come while the first rests are told in one.
    tell(&client, "org.mozilla.firefox", Reason::Runaway);
    tell(&client, "game", Reason::NothingToCompress);
    let (summary, body) = shown(&mut service);
    assert_eq!(summary, "Fovea closed org.mozilla.firefox, game");
    assert!(body.contains("firefox had 300 MiB: it took more and more memory"), "{body}");
    assert!(body.contains("sudo fovea rules add protect org.mozilla.firefox"), "{body}");

    // The daemon restarts: it is listened to again.
    drop(client);
    assert!(lines.recv().unwrap().contains("waiting for it"));
    let client = accept(&listener).unwrap();
    tell(&client, "maps", Reason::Thrash);
    assert_eq!(shown(&mut service).0, "Fovea closed maps");
}

/// A daemon that lets a listener in and out again, as it does where a user has too many: attempts become rarer, and lines
/// are not repeated.
#[test]
fn a_daemon_that_hangs_up_at_once_is_asked_ever_more_rarely() {
    let folder = tempfile::tempdir().unwrap();
    let listener = listen_at(&folder.path().join(SOCKET_NAME), 0o666).unwrap();
    let (said, lines) = std::sync::mpsc::channel::<String>();
    let run_folder = folder.path().to_owned();
    std::thread::spawn(move || {
        show_kills(&run_folder, "unix:path=/nowhere", true, &mut |line| said.send(line.to_owned()).unwrap());
    });
    let began = std::time::Instant::now();
    (0..4).for_each(|_| drop(accept(&listener).unwrap()));
    // What was slept in between, at least: 0.25, 0.5 and 1 s. Without that, thousands would have come in it.
    assert!(began.elapsed() >= std::time::Duration::from_millis(1750));
    let lines: Vec<String> = lines.try_iter().collect();
    assert!(lines.len() <= 2, "{lines:?}");
}
