// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Users of services: real processes, whose sockets and files are real.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command};
use std::time::Instant;

use fovea_apps::IoClass;

use super::*;

fn service(name: &str, peers: &[&str], devices: &[&str]) -> Service {
    let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Service {
        name: name.into(),
        class: IoClass::Bursty,
        peers: patterns(peers),
        devices: patterns(devices),
        names: Vec::new(),
    }
}

/// What this process is called.
fn own_name() -> String {
    fs::read_to_string("/proc/self/comm").unwrap().trim().to_owned()
}

fn sleeping(stdin: Option<File>) -> Child {
    let mut command = Command::new("sleep");
    if let Some(file) = stdin {
        command.stdin(file);
    }
    command.arg("1000").spawn().unwrap()
}

#[test]
fn whoever_is_connected_to_a_server_uses_it() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    let client = UnixStream::connect(folder.path().join("socket")).unwrap();
    // A program under another name, which has the listener and the connection for its own.
    let program = folder.path().join("stand-in-snapd");
    let sleep = ["/usr/bin/sleep", "/bin/sleep"].into_iter().find(|p| Path::new(p).exists()).unwrap();
    assert!(Command::new("cp").arg(sleep).arg(&program).status().unwrap().success());
    let accepted: OwnedFd = listener.accept().unwrap().0.into();
    let mut command = Command::new(program);
    command.arg("1000").stdin(OwnedFd::from(listener)).stdout(accepted);
    let mut server = command.spawn().unwrap();
    drop(command);
    // The kernel lets the parent go on before the child has its new name.
    let name = format!("/proc/{}/comm", server.id());
    while !fs::read_to_string(&name).unwrap().starts_with("stand-in") {
        std::thread::yield_now();
    }
    let table = [service("other", &["nobody"], &[]), service("packages", &["stand-in-snap*"], &[])];
    let users = users(&Root::at("/"), &Root::at(folder.path()), &table).unwrap();
    let _ = (server.kill(), server.wait());
    assert_eq!(users, [ServiceUser { pid: std::process::id(), service: 1 }]);
    drop(client);
}

#[test]
fn whoever_has_a_node_open_uses_its_service_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let node = folder.path().join("dev/dvb/adapter0/dvr0");
    fs::create_dir_all(node.parent().unwrap()).unwrap();
    fs::write(&node, "").unwrap();
    fs::write(folder.path().join("dev/other"), "").unwrap();
    let mut holder = sleeping(Some(File::open(&node).unwrap()));
    let mut other = sleeping(Some(File::open(folder.path().join("dev/other")).unwrap()));
    let table = [service("television", &[], &["/dev/dvb/*"]), service("midi", &[], &["/dev/snd/midi*"])];
    let users = users(&Root::at("/"), &Root::at(folder.path()), &table).unwrap();
    for child in [&mut holder, &mut other] {
        let _ = (child.kill(), child.wait());
    }
    assert_eq!(users, [ServiceUser { pid: holder.id(), service: 0 }]);
}

#[test]
fn without_nodes_and_peers_nobody_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let table = [service("television", &[], &["/dev/dvb/*"])];
    // A folder without /proc would be an error.
    assert_eq!(users(&Root::at(folder.path()), &Root::at(folder.path()), &table).unwrap(), []);
}

/// The figure of docs/design/aciom.md: `cargo test -p fovea-linux five_hundred -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn five_hundred_processes() {
    let mut children: Vec<Child> = (0..500).map(|_| sleeping(None)).collect();
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    let clients: Vec<_> = (0..50)
        .map(|_| (UnixStream::connect(folder.path().join("socket")).unwrap(), listener.accept().unwrap()))
        .collect();
    let own: String = own_name().chars().take(5).collect();
    let peers = [service("this", &[&format!("{own}*")], &[])];
    fs::create_dir_all(folder.path().join("dev/dvb")).unwrap();
    fs::write(folder.path().join("dev/dvb/dvr0"), "").unwrap();
    let devices = [service("television", &[], &["/dev/dvb/*"])];
    for (what, table) in [("peers", &peers[..]), ("a node", &devices[..])] {
        let begin = Instant::now();
        const TIMES: u32 = 20;
        for _ in 0..TIMES {
            users(&Root::at("/"), &Root::at(folder.path()), table).unwrap();
        }
        println!("{what}: {} us a look", begin.elapsed().as_micros() / u128::from(TIMES));
    }
    drop(clients);
    for child in &mut children {
        let _ = (child.kill(), child.wait());
    }
}
