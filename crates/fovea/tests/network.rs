// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The real daemon in a network namespace of its own, in which an app that must receive in time and one that downloads share a link of 2.4 Mbit/s
//! from another namespace. As root; without, or without `ip`, `tc` and `ss`, nothing is tested.

mod common;

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{run, until, Client, Daemon, HARMLESS};
use rustix::process::{kill_process, Signal};

/// Ports of the sender.
const STREAM: u16 = 1;
const BULK: u16 = 2;
const UDP: u16 = 3;

/// How apps name the sender: as most do, as it is in a network of today, and as a program does that knows IPv6 sockets alone (Java's) where the
/// sender has an IPv4 address.
const V4: &str = "10.98.0.1";
const V6: &str = "[fd98::1]";
const MAPPED: &str = "[::ffff:10.98.0.1]";

/// Rates of links, in kbit/s.
const SLOW: u64 = 2_400;
const FAST: u64 = 100_000;

/// The link's round trip is that of its queue, so a segment each is what is left.
const HELD_BYTES: u64 = 4_000;

/// This program again, as one test of it.
fn as_test(name: &str, in_namespace: bool) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut command = if in_namespace { Command::new("unshare") } else { Command::new(&own) };
    if in_namespace {
        command.arg("-n").arg(&own);
    }
    command.args(["--exact", name, "--ignored", "--nocapture"]).env("FOVEA_TEST_PART", name);
    command
}

fn is_part(name: &str) -> bool {
    std::env::var("FOVEA_TEST_PART").as_deref() == Ok(name)
}

fn shell(command: &str) -> bool {
    Command::new("sh").args(["-c", command]).status().is_ok_and(|status| status.success())
}

/// Runs a part in a network namespace of its own; false if there can be none.
fn in_a_namespace(part: &str) {
    let can = "ip link set lo up && ip link add v0 type veth peer name v1 && tc qdisc add dev v0 root tbf rate 1mbit burst 3000 limit 9000 && ss -tinH";
    if !common::is_root() || !shell(&format!("unshare -n sh -c '{can}'")) {
        println!("skipped: no root, or no ip, tc, tbf or ss");
        return;
    }
    assert!(as_test(part, true).status().unwrap().success(), "see above");
}

#[test]
#[ignore = "another test runs it"]
fn sender_part() {
    if !is_part("sender_part") {
        return;
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    // IPv4 too.
    let bulks = TcpListener::bind(("::", BULK)).unwrap();
    let streams = TcpListener::bind(("::", STREAM)).unwrap();
    let udp = UdpSocket::bind(("0.0.0.0", UDP)).unwrap();
    println!("listening");
    std::thread::spawn(move || send_by_udp(&udp));
    std::thread::spawn(move || {
        for mut connection in bulks.incoming().flatten() {
            std::thread::spawn(move || while connection.write_all(&[1; 16384]).is_ok() {});
        }
    });
    for mut connection in streams.incoming().flatten() {
        std::thread::spawn(move || {
            while connection.write_all(&[1; 5000]).is_ok() {
                std::thread::sleep(Duration::from_millis(40));
            }
        });
    }
}

const PACKET_BYTES: usize = 1200;

/// What a sender over UDP knows of one flow. As Reno: a packet more a round trip, half after a loss, and from the beginning after a silence.
#[derive(Default)]
struct Flow {
    sent: u64,
    acknowledged: u64,
    /// Of what was sent before, one loss counts.
    recovered: u64,
    window: f64,
    threshold: f64,
    heard: Option<Instant>,
}

impl Flow {
    fn hears(&mut self, number: u64) {
        self.heard = Some(Instant::now());
        if number == 0 {
            (self.window, self.threshold) = (2.0, 64.0);
        } else if number > self.acknowledged + 1 && number > self.recovered {
            self.threshold = (self.window / 2.0).max(1.0);
            (self.window, self.recovered) = (self.threshold, self.sent);
        } else {
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        }
        self.acknowledged = self.acknowledged.max(number);
    }

    fn send(&mut self, socket: &UdpSocket, to: SocketAddr) {
        if self.heard.is_some_and(|heard| heard.elapsed() > Duration::from_secs(1)) {
            self.threshold = (self.window / 2.0).max(2.0);
            (self.window, self.acknowledged, self.heard) = (1.0, self.sent, Some(Instant::now()));
        }
        while (self.sent - self.acknowledged) < self.window as u64 {
            self.sent += 1;
            let mut packet = [0; PACKET_BYTES];
            packet[..8].copy_from_slice(&self.sent.to_ne_bytes());
            let _ = socket.send_to(&packet, to);
        }
    }
}

fn send_by_udp(socket: &UdpSocket) {
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (mut flows, mut number) = (HashMap::<SocketAddr, Flow>::new(), [0; 8]);
    loop {
        match socket.recv_from(&mut number) {
            Ok((_, from)) => {
                let flow = flows.entry(from).or_default();
                flow.hears(u64::from_ne_bytes(number));
                flow.send(socket, from);
            }
            Err(_) => flows.iter_mut().for_each(|(&to, flow)| flow.send(socket, to)),
        }
    }
}

fn receive_by_udp(sender: &str, received: &AtomicU64) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let (mut packet, mut has_begun) = ([0; PACKET_BYTES], false);
    loop {
        match socket.recv(&mut packet) {
            Ok(length) => {
                has_begun = true;
                received.fetch_add(length as u64, Ordering::Relaxed);
                socket.send_to(&packet[..8], sender).unwrap();
            }
            // The first word may get lost too.
            Err(_) if !has_begun => drop(socket.send_to(&[0; 8], sender)),
            Err(_) => (),
        }
    }
}

/// An app: goes into its cgroup, receives, and writes down how much.
#[test]
#[ignore = "another test runs it"]
fn receiver_part() {
    if !is_part("receiver_part") {
        return;
    }
    let variable = |name: &str| std::env::var(name).unwrap();
    fs::write(Path::new(&variable("FOVEA_TEST_CGROUP")).join("cgroup.procs"), "0").unwrap();
    let received = Arc::new(AtomicU64::new(0));
    let connect = || {
        let (sender, received) = (variable("FOVEA_TEST_SENDER"), Arc::clone(&received));
        let receive = move || {
            if sender.ends_with(&format!(":{UDP}")) {
                return receive_by_udp(&sender, &received);
            }
            // Each in its thread: one after the other they would wait for the queue that the first ones fill.
            let mut connection = TcpStream::connect(sender).unwrap();
            let mut buffer = [0; 16384];
            while let Ok(length @ 1..) = connection.read(&mut buffer) {
                received.fetch_add(length as u64, Ordering::Relaxed);
            }
        };
        std::thread::Builder::new().stack_size(64 << 10).spawn(receive).unwrap();
    };
    (0..variable("FOVEA_TEST_FLOWS").parse().unwrap()).for_each(|_: u32| connect());
    let count = PathBuf::from(variable("FOVEA_TEST_COUNT"));
    for at in 0_u64.. {
        // Whoever reads it must find the whole number.
        fs::write(count.with_extension("new"), received.load(Ordering::Relaxed).to_string()).unwrap();
        fs::rename(count.with_extension("new"), &count).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        if at % 4 == 0 && count.with_extension("more").exists() {
            connect();
        }
    }
}

struct App {
    child: Child,
    folder: PathBuf,
    cgroup: String,
    count: PathBuf,
}

impl App {
    fn start(name: &str, address: &str, port: u16, flows: u32, folder: &Path) -> App {
        let system = fovea_linux::System::new().unwrap();
        let cgroup = format!("fovea-test-network-{}-{name}", std::process::id());
        let path = system.cgroups().unwrap().create(&cgroup).unwrap();
        let count = folder.join(name);
        let mut command = as_test("receiver_part", false);
        command.env("FOVEA_TEST_CGROUP", &path).env("FOVEA_TEST_COUNT", &count);
        command.env("FOVEA_TEST_SENDER", format!("{address}:{port}")).env("FOVEA_TEST_FLOWS", flows.to_string());
        App { child: command.stdout(Stdio::null()).spawn().unwrap(), folder: path, cgroup, count }
    }

    fn received(&self) -> u64 {
        fs::read_to_string(&self.count).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Waits until each of its connections offers a window of a few segments, or of many.
    fn until(&self, held: bool) {
        until(&|| format!("{:?}, and {} bytes", windows(), self.received()), || {
            let windows = windows();
            !windows.is_empty() && windows.iter().all(|&bytes| (bytes <= HELD_BYTES) == held)
        });
    }
}

/// What each connection to the download's sender may offer (`rcv_ssthresh`), by the kernel's own word.
fn windows() -> Vec<u64> {
    let output = Command::new("ss").args(["-tinH", "dport", "=", &format!(":{BULK}")]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_ascii_whitespace().filter_map(|word| word.strip_prefix("rcv_ssthresh:"));
    words.map(|number| number.parse().unwrap()).collect()
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir(&self.folder);
    }
}

struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The link, and who sends over it.
fn sender(kbit_per_s: u64) -> Sender {
    let mut child = as_test("sender_part", true).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    until(&|| "it has no namespace".into(), || fs::read_link(format!("/proc/{pid}/ns/net")).unwrap() != own);
    assert!(shell(&format!(
        "ip link set lo up && ip link add r0 type veth peer name s0 netns {pid} && ip addr add 10.98.0.2/24 dev r0 \
         && ip addr add fd98::2/64 dev r0 nodad && ip link set r0 up gso_max_segs 1 && nsenter -t {pid} -n sh -c 'ip addr add 10.98.0.1/24 dev s0 && ip addr add fd98::1/64 dev s0 nodad \
         && ip link set s0 up gso_max_segs 1 && tc qdisc add dev s0 root tbf rate {kbit_per_s}kbit burst {kbit_per_s} limit {}'",
        kbit_per_s * 25
    )));
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let (mut said, mut chunk) = (String::new(), [0; 256]);
    while !said.contains("listening") {
        let length = child.stdout.as_mut().unwrap().read(&mut chunk).unwrap();
        assert!(length > 0, "the sender ended: {said}");
        said.push_str(&String::from_utf8_lossy(&chunk[..length]));
    }
    Sender(child)
}

fn daemon(kbit_per_s: u64) -> Daemon {
    daemon_with(kbit_per_s, false)
}

fn daemon_with(kbit_per_s: u64, limit_udp: bool) -> Daemon {
    Daemon::start_with(|command, folder| {
        let capacity = kbit_per_s * 125;
        let text = format!("{HARMLESS}[net]\ncapacity_bytes_per_s = {capacity}\nlimit_udp = {limit_udp}\n");
        fs::write(folder.join("fovea.toml"), text).unwrap();
        command.stderr(fs::File::create(folder.join("stderr")).unwrap());
    })
}

fn register(daemon: &Daemon, player: &App, download: &App) {
    let client = Client::connect(&daemon.run_folder());
    for (name, app, class) in [("player", player, "time-sensitive"), ("download", download, "bursty")] {
        let cgroup = &app.cgroup;
        client.say(&format!(r#"{{"request":"register","app":"{name}","cgroup":"{cgroup}","io_class":"{class}"}}"#));
    }
}

fn window(daemon: &Daemon) -> u64 {
    of_download(daemon, "receive_window_bytes")
}

fn udp_limit(daemon: &Daemon) -> u64 {
    of_download(daemon, "udp_limit_bytes_per_s")
}

fn of_download(daemon: &Daemon, key: &str) -> u64 {
    let status = daemon.status();
    let apps = status["apps"].as_array().unwrap();
    apps.iter().find(|app| app["name"] == "download").unwrap()[key].as_u64().unwrap_or(0)
}

fn until_held(daemon: &Daemon) {
    until(&|| format!("nothing is held: {}", daemon.stderr()), || window(daemon) > 0);
}

fn log(daemon: &Daemon) -> String {
    fs::read_to_string(daemon.run_folder().join("undo.log")).unwrap()
}

#[test]
fn a_daemon_that_is_killed_leaves_no_window_held() {
    in_a_namespace("killed_part");
}

#[test]
#[ignore = "another test runs it"]
fn killed_part() {
    if is_part("killed_part") {
        killed(V4);
    }
}

#[test]
fn connections_by_ipv6_are_held_and_let_go() {
    in_a_namespace("v6_part");
}

#[test]
#[ignore = "another test runs it"]
fn v6_part() {
    if is_part("v6_part") {
        killed(V6);
    }
}

#[test]
fn ipv6_sockets_with_an_ipv4_peer_are_held_and_let_go() {
    in_a_namespace("mapped_part");
}

#[test]
#[ignore = "another test runs it"]
fn mapped_part() {
    if is_part("mapped_part") {
        killed(MAPPED);
    }
}

fn killed(address: &str) {
    let folder = tempfile::tempdir().unwrap();
    let _sender = sender(SLOW);
    let (player, download) = (
        App::start("player", address, STREAM, 1, folder.path()),
        App::start("download", address, BULK, 1, folder.path()),
    );
    download.until(false);
    let mut first = daemon(SLOW);
    register(&first, &player, &download);
    until_held(&first);
    download.until(true);
    let explained = run(&first.run_folder(), &["explain", "download"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("another app must receive in time"), "{explained}");

    // Both processes are dead, and nobody has put it back.
    let worker = first.worker();
    kill_process(first.supervisor_pid(), Signal::STOP).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    kill_process(first.supervisor_pid(), Signal::KILL).unwrap();
    first.ended();
    assert!(log(&first).contains("windows"), "{}", log(&first));
    download.until(true);
    assert_eq!(run(&first.run_folder(), &["restore", "--wait"]).status.code(), Some(0));
    assert_eq!(log(&first), "");
    download.until(false);

    // The supervisor alone puts it back.
    let mut second = daemon(SLOW);
    register(&second, &player, &download);
    until_held(&second);
    download.until(true);
    kill_process(second.worker(), Signal::KILL).unwrap();
    second.ended();
    assert_eq!(log(&second), "");
    download.until(false);

    // Nobody must receive in time any more; and a daemon that is stopped in order leaves nothing either.
    let third = daemon(SLOW);
    register(&third, &player, &download);
    until_held(&third);
    download.until(true);
    drop(player);
    until(&|| format!("still held: {}", third.stderr()), || window(&third) == 0);
    download.until(false);
    third.stop();
}

/// How much of a CPU the daemon takes, by `cargo test -p fovea --release --test network 500 -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn what_500_connections_cost() {
    in_a_namespace("cost_part");
}

#[test]
#[ignore = "another test runs it"]
fn cost_part() {
    if !is_part("cost_part") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _sender = sender(FAST);
    let (player, download) =
        (App::start("player", V4, STREAM, 1, folder.path()), App::start("download", V4, BULK, 500, folder.path()));
    until(&|| format!("{} connections", windows().len()), || windows().len() == 500);
    let daemon = daemon(FAST);
    register(&daemon, &player, &download);
    until_held(&daemon);
    download.until(true);
    let worker = daemon.worker().as_raw_nonzero();
    let cpu_ns = || {
        let text = fs::read_to_string(format!("/proc/{worker}/schedstat")).unwrap();
        text.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    for what in ["500 connections", "five more each second"] {
        std::thread::sleep(Duration::from_secs(2));
        let (began, before_ns) = (Instant::now(), cpu_ns());
        std::thread::sleep(Duration::from_secs(20));
        let share = (cpu_ns() - before_ns) as f64 / began.elapsed().as_nanos() as f64 * 100.0;
        println!(
            "{what}: {share:.3} % of a CPU; {} connections, each held to {} bytes",
            windows().len(),
            window(&daemon)
        );
        fs::write(download.count.with_extension("more"), "").unwrap();
    }
    daemon.stop();
}

#[test]
fn udp_is_limited_until_the_daemon_is_killed_or_nobody_receives() {
    in_a_namespace("udp_part");
}

fn has_table() -> bool {
    let output = Command::new("nft").args(["list", "tables"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).contains("table inet fovea")
}

#[test]
#[ignore = "another test runs it"]
fn udp_part() {
    if !is_part("udp_part") {
        return;
    }
    if !shell("nft list tables >/dev/null 2>&1") {
        println!("skipped: no nft to look with, or no nf_tables");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _sender = sender(SLOW);
    let player = App::start("player", V4, STREAM, 1, folder.path());
    let download = App::start("download", V4, UDP, 2, folder.path());
    until(&|| "nothing comes".into(), || download.received() > 0 && player.received() > 0);
    let until_limited = |daemon: &Daemon| {
        until(&|| format!("not limited: {}", daemon.stderr()), || udp_limit(daemon) > 0);
        assert!(has_table());
    };

    assert!(!has_table());
    let mut first = daemon_with(SLOW, true);
    register(&first, &player, &download);
    until_limited(&first);
    let explained = run(&first.run_folder(), &["explain", "download"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("limit-udp") && explained.contains("rate_bytes_per_s"), "{explained}");
    assert!(!log(&first).contains("udp"), "the kernel undoes it");
    let worker = first.worker();
    kill_process(first.supervisor_pid(), Signal::STOP).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    until(&|| "the table has outlived its owner".into(), || !has_table());
    kill_process(first.supervisor_pid(), Signal::KILL).unwrap();
    first.ended();
    assert_eq!(run(&first.run_folder(), &["restore", "--wait"]).status.code(), Some(0));

    let second = daemon_with(SLOW, true);
    register(&second, &player, &download);
    until_limited(&second);
    drop(player);
    until(&|| format!("still limited: {}", second.stderr()), || udp_limit(&second) == 0 && !has_table());
    second.stop();
}

/// The table of docs/net.md: `cargo test -p fovea --no-default-features --test network what_udp -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn what_udp_costs_a_stream() {
    in_a_namespace("stream_part");
}

#[test]
#[ignore = "another test runs it"]
fn stream_part() {
    if !is_part("stream_part") {
        return;
    }
    for flows in [1, 8] {
        for limit_udp in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let sender = sender(SLOW);
            let player = App::start("player", V4, STREAM, 1, folder.path());
            until(&|| "nothing comes".into(), || player.received() > 0);
            let download = App::start("download", V4, UDP, flows, folder.path());
            let daemon = daemon_with(SLOW, limit_udp);
            register(&daemon, &player, &download);
            std::thread::sleep(Duration::from_secs(5));
            let before = (player.received(), download.received());
            std::thread::sleep(Duration::from_secs(15));
            let rate = |now: u64, before: u64| (now - before) / 15;
            println!(
                "{flows} flows, limit {limit_udp}: stream {} bytes/s, UDP {} bytes/s, limited to {}",
                rate(player.received(), before.0),
                rate(download.received(), before.1),
                udp_limit(&daemon)
            );
            daemon.stop();
            drop((player, download, sender));
            shell("ip link del r0 2>/dev/null");
        }
    }
}
