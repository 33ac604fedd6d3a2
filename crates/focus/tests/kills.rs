// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Kills are shown by a notification service that is played here, on a real message bus (dbus-daemon), from a daemon's socket that is played too.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fovea_client::news::{Killed, SOCKET_NAME};
use fovea_focus::{show_kills, SourceError};
use fovea_policy::Reason;
use nix::sys::socket::UnixAddr;
use rustbus::connection::ll_conn::force_finish_on_error;
use rustbus::connection::Timeout;
use rustbus::{standard_messages, RpcConn};
use rustix::net::{
    accept, bind, listen, send, socket_with, AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

/// Nothing here depends on this time: a test that would hang fails instead.
const HANGS: Timeout = Timeout::Duration(Duration::from_secs(120));

const CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>unix:path=SOCKET</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy></busconfig>"#;

/// Ends a process whatever becomes of the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers one notification: its summary and body.
fn shown(service: &mut RpcConn) -> (String, String) {
    let call = service.wait_call(HANGS).unwrap();
    assert_eq!(call.dynheader.member.as_deref(), Some("Notify"));
    assert_eq!(call.dynheader.signature.as_deref(), Some("susssasa{sv}i"), "as the specification has it");
    let mut reply = call.dynheader.make_response();
    reply.body.push_param(7u32).unwrap();
    service.send_message(&mut reply).unwrap().write_all().map_err(force_finish_on_error).unwrap();
    let mut parser = call.body.parser();
    let (_app, _replaces, _icon): (&str, u32, &str) = parser.get3().unwrap();
    let (summary, body): (&str, &str) = parser.get2().unwrap();
    (summary.to_owned(), body.to_owned())
}

fn tell(client: &OwnedFd, app: &str, reason: Reason) {
    let killed = Killed { app: app.parse().unwrap(), uid: Some(1000), reason, size_bytes: 300 << 20 };
    send(client, &serde_json::to_vec(&killed).unwrap(), SendFlags::NOSIGNAL).unwrap();
}

#[test]
fn kills_are_shown_with_their_reason_and_how_to_spare_the_app() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, file) = (folder.path().join("bus"), folder.path().join("bus.conf"));
    std::fs::write(&file, CONFIGURATION.replace("SOCKET", socket.to_str().unwrap())).unwrap();
    let daemon = Command::new("dbus-daemon")
        .args(["--nofork", "--nopidfile", "--print-address=1", "--config-file"])
        .arg(file)
        .stdout(Stdio::piped())
        .spawn();
    let Ok(daemon) = daemon else {
        eprintln!("SKIPPED: no dbus-daemon here; install the package dbus-daemon");
        return;
    };
    let mut daemon = Ends(daemon);
    BufReader::new(daemon.0.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let address = format!("unix:path={}", socket.display());
    let run_folder = folder.path().to_owned();
    let absent = show_kills(&run_folder, &address, false, &mut |_| {});
    assert!(matches!(&absent, SourceError::Absent(line) if line.contains("start the daemon")), "{absent}");

    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(folder.path().join(SOCKET_NAME)).unwrap()).unwrap();
    listen(&listener, 4).unwrap();
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

    let mut service = RpcConn::connect_to_path(UnixAddr::new(&socket).unwrap(), HANGS).unwrap();
    let mut name = standard_messages::request_name("org.freedesktop.Notifications", 0);
    let serial = service.send_message(&mut name).unwrap().write_all().map_err(force_finish_on_error).unwrap();
    service.wait_response(serial, HANGS).unwrap();
    send(&client, b"nonsense", SendFlags::NOSIGNAL).unwrap();
    assert!(lines.recv().unwrap().contains("make no sense"));
    // Two that come while the first rests are told in one.
    tell(&client, "org.mozilla.firefox", Reason::Runaway);
    tell(&client, "game", Reason::NothingToCompress);
    let (summary, body) = shown(&mut service);
    assert_eq!(summary, "Fovea closed org.mozilla.firefox, game");
    assert!(body.contains("firefox had 300 MB: it took more and more memory"), "{body}");
    assert!(body.contains("sudo fovea list add protect org.mozilla.firefox"), "{body}");

    // The daemon restarts: it is listened to again.
    drop(client);
    assert!(lines.recv().unwrap().contains("waiting for it"));
    let client = accept(&listener).unwrap();
    tell(&client, "maps", Reason::Thrash);
    assert_eq!(shown(&mut service).0, "Fovea closed maps");
}
