// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The link, who sends over it, and the apps that receive: processes, in namespaces and cgroups of their own.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use super::common::until;
use super::udp;

/// Ports of the sender.
pub const STREAM: u16 = 1;
pub const BULK: u16 = 2;
pub const UDP: u16 = 3;

/// How apps name the sender: as most do, as it is in a network of today, and as a program does that knows IPv6 sockets alone (Java's) where the
/// sender has an IPv4 address.
pub const V4: &str = "10.98.0.1";
pub const V6: &str = "[fd98::1]";
pub const MAPPED: &str = "[::ffff:10.98.0.1]";

/// Rates of links, in kbit/s.
pub const SLOW: u64 = 2_400;
pub const FAST: u64 = 100_000;

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

pub fn is_part(name: &str) -> bool {
    std::env::var("FOVEA_TEST_PART").as_deref() == Ok(name)
}

pub fn shell(command: &str) -> bool {
    Command::new("sh").args(["-c", command]).status().is_ok_and(|status| status.success())
}

/// Runs a part in a network namespace of its own; false if there can be none.
pub fn in_a_namespace(part: &str) {
    let can = "ip link set lo up && ip link add v0 type veth peer name v1 && tc qdisc add dev v0 root tbf rate 1mbit burst 3000 limit 9000 && ss -tinH";
    if !super::common::is_root() || !shell(&format!("unshare -n sh -c '{can}'")) {
        println!("skipped: no root, or no ip, tc, tbf or ss");
        return;
    }
    assert!(as_test(part, true).status().unwrap().success(), "see above");
}

/// Who sends: in a namespace of its own, once a line on its input says that there is a link.
pub fn send() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    // IPv4 too.
    let bulks = TcpListener::bind(("::", BULK)).unwrap();
    let streams = TcpListener::bind(("::", STREAM)).unwrap();
    let udp = UdpSocket::bind(("0.0.0.0", UDP)).unwrap();
    println!("listening");
    std::thread::spawn(move || udp::send(&udp));
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

/// An app: goes into its cgroup, receives, and writes down how much.
pub fn receive() {
    let variable = |name: &str| std::env::var(name).unwrap();
    fs::write(Path::new(&variable("FOVEA_TEST_CGROUP")).join("cgroup.procs"), "0").unwrap();
    let received = Arc::new(AtomicU64::new(0));
    let connect = || {
        let (sender, received) = (variable("FOVEA_TEST_SENDER"), Arc::clone(&received));
        let receive = move || {
            if sender.ends_with(&format!(":{UDP}")) {
                return udp::receive(&sender, &received);
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

pub struct App {
    child: Child,
    folder: PathBuf,
    pub cgroup: String,
    pub count: PathBuf,
}

impl App {
    pub fn start(name: &str, address: &str, port: u16, flows: u32, folder: &Path) -> App {
        let system = fovea_linux::System::new().unwrap();
        let cgroup = format!("fovea-test-network-{}-{name}", std::process::id());
        let path = system.cgroups().unwrap().create(&cgroup).unwrap();
        let count = folder.join(name);
        let mut command = as_test("receiver_part", false);
        command.env("FOVEA_TEST_CGROUP", &path).env("FOVEA_TEST_COUNT", &count);
        command.env("FOVEA_TEST_SENDER", format!("{address}:{port}")).env("FOVEA_TEST_FLOWS", flows.to_string());
        App { child: command.stdout(Stdio::null()).spawn().unwrap(), folder: path, cgroup, count }
    }

    pub fn received(&self) -> u64 {
        fs::read_to_string(&self.count).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Waits until each of its connections offers a window of a few segments, or of many.
    pub fn until(&self, held: bool) {
        until(&|| format!("{:?}, and {} bytes", windows(), self.received()), || {
            let windows = windows();
            !windows.is_empty() && windows.iter().all(|&bytes| (bytes <= HELD_BYTES) == held)
        });
    }
}

/// What each connection to the download's sender may offer (`rcv_ssthresh`), by the kernel's own word.
pub fn windows() -> Vec<u64> {
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

pub struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The link, and who sends over it.
pub fn sender(kbit_per_s: u64) -> Sender {
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
