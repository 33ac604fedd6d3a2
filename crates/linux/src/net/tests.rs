// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! An app in a cgroup and a network namespace of its own, at the end of a pair of interfaces of which the other end is in another namespace. As
//! root; without, or without `ip`, nothing is tested.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

use super::*;
use crate::device_traits::Net;
use crate::System;

/// The app, in the program that the test starts: connects, says so, and takes what comes until its input ends; then moves its first connection
/// to another descriptor and waits again.
#[test]
#[ignore = "the other test runs it"]
fn receiver() {
    let Ok(addresses) = std::env::var("FOVEA_TEST_SENDERS") else { return };
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let connections: Vec<_> =
        addresses.split_ascii_whitespace().map(|address| TcpStream::connect(address).unwrap()).collect();
    for connection in &connections {
        let mut connection = connection.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while connection.read(&mut buffer).is_ok_and(|length| length > 0) {}
        });
    }
    println!("connected");
    std::io::stdin().read_line(&mut line).unwrap();
}

struct App {
    child: Child,
    cgroup: String,
    /// Told of each connection that its sender has seen the end of.
    ended: Receiver<()>,
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Ok(cgroups) = System::new().and_then(|system| Ok(system.cgroups()?.mount().to_owned())) {
            let _ = std::fs::remove_dir(cgroups.join(&self.cgroup));
        }
    }
}

fn run(command: &str) -> Option<()> {
    let done = Command::new("sh").args(["-c", command]).stderr(Stdio::inherit()).status().ok()?;
    done.success().then_some(())
}

/// An app with so many connections over IPv4 and as many over IPv6 by which something comes, once or all the time, from the namespace of the calling thread.
fn app(times: usize, is_idle: bool) -> Option<App> {
    run("ip link set lo up && ip link add s0 type veth peer name r0 && ip addr add 10.99.0.1/24 dev s0 \
         && ip addr add fd99::1/64 nodad dev s0 && ip link set s0 up")?;
    let listeners = ["10.99.0.1:0", "[fd99::1]:0"].map(|address| TcpListener::bind(address).unwrap());
    let addresses: Vec<_> = listeners.iter().map(|l| l.local_addr().unwrap().to_string()).collect();
    let (ends, ended) = channel();
    for listener in listeners {
        let ends = ends.clone();
        std::thread::spawn(move || {
            for mut connection in listener.incoming().flatten() {
                let ends = ends.clone();
                std::thread::spawn(move || {
                    while connection.write_all(&[1; 16384]).is_ok() {
                        if is_idle {
                            // Open until its other end is not.
                            let _ = connection.read(&mut [0]);
                            break;
                        }
                    }
                    let _ = ends.send(());
                });
            }
        });
    }
    static APPS: AtomicU32 = AtomicU32::new(0);
    let cgroup = format!("fovea-test-net-{}-{}", std::process::id(), APPS.fetch_add(1, Ordering::Relaxed));
    let folder = System::new().ok()?.cgroups().ok()?.create(&cgroup).ok()?;
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new("unshare")
        .args(["-n", own.to_str().unwrap(), "--exact", "net::tests::receiver", "--ignored", "--nocapture"])
        .env("FOVEA_TEST_SENDERS", vec![addresses.join(" "); times].join(" "))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    std::fs::write(folder.join("cgroup.procs"), pid.to_string()).unwrap();
    let app = App { child, cgroup, ended };
    // `unshare` becomes the app; until its namespace is another one, the interface would go to ours.
    let own = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    while std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap() == own {
        std::thread::sleep(Duration::from_millis(5));
    }
    run(&format!(
        "ip link set r0 netns {pid} && nsenter -t {pid} -n sh -c 'ip link set lo up && ip addr add 10.99.0.2/24 dev r0 \
         && ip addr add fd99::2/64 nodad dev r0 && ip link set r0 up'"
    ))?;
    let mut app = app;
    child = std::mem::replace(&mut app.child, Command::new("true").spawn().unwrap());
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let (mut said, mut chunk) = (String::new(), [0; 256]);
    while !said.contains("connected") {
        let length = child.stdout.as_mut().unwrap().read(&mut chunk).unwrap();
        assert!(length > 0, "the app ended: {said}");
        said.push_str(&String::from_utf8_lossy(&chunk[..length]));
    }
    app.child = child;
    Some(app)
}

fn state(held: &HeldSocket) -> (u32, u32) {
    let socket = window::copy(held.pid, held.fd, held.inode).unwrap().expect("the app has it there");
    window::read(&socket).unwrap()
}

/// The same from a namespace of its own.
fn app_far_away(times: usize, is_idle: bool) -> Option<App> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
        return None;
    }
    let world = std::thread::spawn(move || {
        // SAFETY: this thread alone gets another network namespace; descriptors are as they were.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
            .ok()
            .and_then(|()| app(times, is_idle))
    });
    let app = world.join().unwrap();
    if app.is_none() {
        println!("skipped: no namespaces, or no ip");
    }
    app
}

/// The figure of docs/design/net.md: `cargo test -p fovea-linux windows_of_500 -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn windows_of_500_connections() {
    let Some(app) = app_far_away(250, true) else { return };
    let mut system = System::new().unwrap();
    let cgroup = app.cgroup.as_str();
    // Nothing comes meanwhile: what the kernel does for packets would be counted with it.
    let cpu_ns = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let (mut looking_ns, mut holding_ns) = (0, 0);
    const LOOKS: u32 = 40;
    for at in 0..=LOOKS {
        let before_ns = cpu_ns();
        assert_eq!(system.traffic(&[cgroup]).unwrap().apps[cgroup].flows, 500);
        let looked_ns = cpu_ns();
        // Another one each time, as on a link of which the load changes.
        system.hold_windows(cgroup, 40_000 + 4_000 * (at % 2), &mut |_| Ok(())).unwrap();
        if at > 0 {
            looking_ns += looked_ns - before_ns;
            holding_ns += cpu_ns() - looked_ns;
        }
    }
    let us = |ns: u64| ns / u64::from(LOOKS) / 1000;
    println!(
        "500 connections: a look takes {} us of CPU, another window for all {} us",
        us(looking_ns),
        us(holding_ns)
    );
}

#[test]
fn windows_of_an_app_in_another_namespace_are_held_and_given_back() {
    let Some(mut app) = app_far_away(1, false) else { return };
    let mut system = System::new().unwrap();
    let cgroup = app.cgroup.as_str();
    let mut look = || {
        std::thread::sleep(Duration::from_millis(100));
        let traffic = system.traffic(&[cgroup]).unwrap();
        assert_eq!(traffic.complaints, Vec::<String>::new());
        (traffic.received_bytes, traffic.apps[cgroup])
    };
    let (_, first) = look();
    assert_eq!((first.flows, first.active_flows, first.received_bytes), (2, 0, 0), "{first:?}");
    let (received_bytes, second) = look();
    assert_eq!((second.active_flows, second.unheld_flows), (2, 2), "{second:?}");
    assert!(second.received_bytes > 1 << 20 && second.rtt_us > 0 && second.segment_bytes > 1000, "{second:?}");
    // The interface counts what the connections do, and what came between the two readings.
    let share = second.received_bytes as f64 / received_bytes as f64;
    assert!((0.7..1.3).contains(&share), "{share}");

    let mut claimed = Vec::new();
    let failing = system.hold_windows(cgroup, 4000, &mut |_| Err(io::Error::other("no room")));
    assert!(failing.is_err());
    let mut claim = |sockets: &[HeldSocket]| {
        claimed.extend_from_slice(sockets);
        Ok(())
    };
    let outcome = system.hold_windows(cgroup, 40_000, &mut claim).unwrap();
    assert_eq!((outcome.held, outcome.missed), (2, 0));
    assert_eq!(claimed.len(), 2, "each was written down once, and before");
    for held in &claimed {
        assert_ne!(held.clamp_bytes, 40_000);
        assert_eq!(state(held), (held.lock | 2, 40_000));
    }
    assert_eq!(system.traffic(&[cgroup]).unwrap().apps[cgroup].unheld_flows, 0);
    let nobody = &mut |_: &[HeldSocket]| -> io::Result<()> { panic!("nothing new is held") };
    assert_eq!(system.hold_windows(cgroup, 30_000, nobody).unwrap().held, 2);
    claimed.iter().for_each(|held| assert_eq!(state(held).1, 30_000));

    // Undone by somebody, as by the kernel itself: it is seen, and held again.
    let socket = window::copy(claimed[0].pid, claimed[0].fd, claimed[0].inode).unwrap().unwrap();
    window::hold(&socket, 0, 500_000).unwrap();
    drop(socket);
    let began = Instant::now();
    while system.traffic(&[cgroup]).unwrap().apps[cgroup].unheld_flows != 1 {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody has seen it");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(system.hold_windows(cgroup, 30_000, nobody).unwrap().held, 2);
    claimed.iter().for_each(|held| assert_eq!(state(held).1, 30_000));

    // Another daemon's log, of which one line names a connection where the app has another file by now.
    let mut moved = claimed.clone();
    moved[0].fd = 0;
    System::new().unwrap().release_windows(cgroup, &moved).unwrap();
    claimed.iter().for_each(|held| assert_eq!(state(held), (held.lock, held.clamp_bytes)));

    // Nothing of ours keeps a held connection open that the app has closed: its sender would wait for a window for ever.
    assert_eq!(system.hold_windows(cgroup, 25_000, nobody).unwrap().held, 2);
    app.child.kill().unwrap();
    app.child.wait().unwrap();
    for _ in 0..2 {
        app.ended.recv_timeout(Duration::from_secs(60)).expect("the end of a connection");
    }
    drop(app);
    system.release_windows("fovea-test-net-none", &claimed).unwrap();
}
