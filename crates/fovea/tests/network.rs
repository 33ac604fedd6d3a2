// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The real daemon in a network namespace of its own, in which an app that must receive in time and one that downloads share a link of 2.4 Mbit/s
//! from another namespace. As root; without, or without `ip`, `tc` and `ss`, nothing is tested.

mod common;
#[path = "network/link.rs"]
mod link;
#[path = "network/udp.rs"]
mod udp;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{run, until, Client, Daemon, HARMLESS};
use link::{in_a_namespace, is_part, sender, shell, windows, App, BULK, FAST, MAPPED, SLOW, STREAM, UDP, V4, V6};
use rustix::process::{kill_process, Signal};

#[test]
#[ignore = "another test runs it"]
fn sender_part() {
    if is_part("sender_part") {
        link::send();
    }
}

#[test]
#[ignore = "another test runs it"]
fn receiver_part() {
    if is_part("receiver_part") {
        link::receive();
    }
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

/// The table of docs/design/net.md: `cargo test -p fovea --no-default-features --test network what_udp -- --ignored --nocapture`.
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
