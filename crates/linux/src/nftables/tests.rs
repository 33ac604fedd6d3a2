// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps in cgroups of their own and a sender in a network namespace of its own, with a pair of interfaces between them; nothing of the machine's own
//! network is touched. As root; without, or without `ip`, `unshare` or nf_tables, nothing is tested, and it is said why.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::*;
use crate::device_traits::Net;
use crate::System;

/// To each socket: so many lie in its buffer, so nobody has to read meanwhile.
const PACKETS: u64 = 50;
const PACKET: [u8; 1000] = [7; 1000];
const SOCKETS: u64 = 4;
const ALL: u64 = PACKETS * SOCKETS;
/// With headers of IPv4 (two sockets) and IPv6.
const ALL_BYTES: u64 = PACKETS * 2 * (1000 + 28) + PACKETS * 2 * (1000 + 48);

/// The sender's, for connected sockets.
const PORT: u16 = 999;

/// This program again, as one test of it, here or in a namespace of its own.
fn part(name: &str, in_namespace: bool) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut command = if in_namespace { Command::new("unshare") } else { Command::new(&own) };
    if in_namespace {
        command.arg("-n").arg(&own);
    }
    let name = format!("nftables::tests::{name}");
    command.args(["--exact", &name, "--ignored", "--nocapture"]).env("FOVEA_TEST_PART", name);
    command
}

fn is_part(name: &str) -> bool {
    std::env::var("FOVEA_TEST_PART").is_ok_and(|part| part == format!("nftables::tests::{name}"))
}

fn in_a_namespace(name: &str) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
    } else if let Err(e) = probe() {
        println!("skipped: {}", why(&e).0);
    } else if !Command::new("unshare").args(["-n", "ip", "link"]).output().is_ok_and(|done| done.status.success()) {
        println!("skipped: no ip or unshare");
    } else {
        assert!(part(name, true).status().unwrap().success(), "see above");
    }
}

fn shell(command: &str) {
    assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
}

/// An app: goes into its cgroup, makes its sockets, says which; for each number that it is told it takes so many packets and says so.
#[test]
#[ignore = "another test runs it"]
fn receiver_part() {
    if !is_part("receiver_part") {
        return;
    }
    let cgroup = PathBuf::from(std::env::var("FOVEA_TEST_CGROUP").unwrap());
    std::fs::write(cgroup.join("cgroup.procs"), "0").unwrap();
    let sockets: Vec<UdpSocket> = ["10.97.0.2:0", "[fd97::2]:0", "10.97.0.2:0", "[fd97::2]:0"]
        .map(|address| UdpSocket::bind(address).unwrap())
        .into();
    sockets[2].connect(("10.97.0.1", PORT)).unwrap();
    sockets[3].connect(("fd97::1", PORT)).unwrap();
    let places: Vec<_> = sockets.iter().map(|socket| socket.local_addr().unwrap().to_string()).collect();
    println!("\nsockets {}", places.join(" "));
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (mut wanted, mut packet) = (line.parse::<u64>().unwrap(), [0; 2000]);
        for socket in &sockets {
            socket.set_nonblocking(true).unwrap();
        }
        for _ in 0..10_000_000 {
            if wanted == 0 {
                break;
            }
            let came = sockets.iter().filter(|socket| socket.recv(&mut packet).is_ok()).count();
            wanted = wanted.checked_sub(came as u64).expect("more came than was let through");
            std::thread::yield_now();
        }
        assert_eq!(wanted, 0, "did not come");
        println!("\ntook {line}");
    }
}

struct App {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    cgroup: String,
    folder: PathBuf,
    sockets: Vec<String>,
}

impl App {
    fn start(name: &str) -> App {
        let cgroup = format!("fovea-test-udp-{}/{name}", std::process::id());
        Self::start_in(&cgroup)
    }

    fn start_in(cgroup: &str) -> App {
        let folder = System::new().unwrap().cgroups().unwrap().create(cgroup).unwrap();
        let mut command = part("receiver_part", false);
        command.env("FOVEA_TEST_CGROUP", &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut app = App { child, input, output, cgroup: cgroup.to_owned(), folder, sockets: Vec::new() };
        app.sockets = app.hear("sockets ").split(' ').map(str::to_owned).collect();
        app
    }

    fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim_end().to_owned();
            }
            line.clear();
        }
        panic!("the app ended");
    }

    /// Waits until its sockets have brought it so many packets; more is an error of its.
    fn takes(&mut self, packets: u64) {
        writeln!(self.input, "{packets}").unwrap();
        assert_eq!(self.hear("took "), packets.to_string());
    }

    fn rule(&self, packets_per_1000_s: u64, burst_packets: u32) -> Rule {
        let id = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&self.folder).unwrap());
        let cgroup = Cgroup { level: self.cgroup.split('/').count() as u32, id };
        Rule::Limit { cgroup, packets_per_1000_s, burst_packets }
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.end();
        for folder in self.folder.ancestors().take(2) {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Sends from the other end to whom it is told, and says when it has.
struct Sender {
    orders: std::sync::mpsc::Sender<Vec<String>>,
    done: std::sync::mpsc::Receiver<()>,
}

impl Sender {
    fn new() -> Sender {
        let (orders, ordered) = std::sync::mpsc::channel::<Vec<String>>();
        let (say, done) = std::sync::mpsc::channel();
        let here = std::process::id();
        std::thread::spawn(move || {
            crate::net::leave_for_an_empty_namespace().unwrap();
            shell(&format!(
                "ip link set lo up && ip link add s0 address 02:00:00:00:00:01 type veth \
                 peer name r0 address 02:00:00:00:00:02 netns {here} \
                 && nsenter -t {here} -n sh -c 'ip link set lo up && ip addr add 10.97.0.2/24 dev r0 \
                 && ip addr add fd97::2/64 nodad dev r0 && ip link set r0 up' \
                 && ip addr add 10.97.0.1/24 dev s0 && ip addr add fd97::1/64 nodad dev s0 && ip link set s0 up \
                 && for to in 10.97.0.2 fd97::2; do ip neigh add $to lladdr 02:00:00:00:00:02 dev s0 nud permanent; done"
            ));
            let (v4, v6) = (UdpSocket::bind(("10.97.0.1", PORT)).unwrap(), UdpSocket::bind(("fd97::1", PORT)).unwrap());
            say.send(()).unwrap();
            for places in ordered {
                for place in places {
                    let socket = if place.starts_with('[') { &v6 } else { &v4 };
                    (0..PACKETS).for_each(|_| assert_eq!(socket.send_to(&PACKET, &place).unwrap(), PACKET.len()));
                }
                say.send(()).unwrap();
            }
        });
        done.recv_timeout(Duration::from_secs(60)).expect("the sender's interfaces");
        Sender { orders, done }
    }

    fn flood(&self, app: &App) {
        self.orders.send(app.sockets.clone()).unwrap();
        self.done.recv().unwrap();
    }
}

/// Waits until so many packets have arrived; what is let through is in the sockets then.
fn arrived(table: &Table, app: &App, packets: u64) -> Count {
    let Rule::Limit { cgroup, .. } = app.rule(1, 1) else { unreachable!() };
    for _ in 0..1_000_000 {
        let count = table.counts().unwrap().get(&cgroup.id).copied().unwrap_or_default();
        if count.arrived_packets >= packets {
            return count;
        }
        std::thread::yield_now();
    }
    panic!("{packets} packets never arrived: {:?}", table.counts());
}

#[test]
fn above_the_rate_udp_is_dropped_for_one_cgroup_and_no_other() {
    in_a_namespace("flood_part");
}

/// One packet in a thousand seconds, and so many at once.
const BURST: u32 = 20;

fn is_dropped_above_the_burst(count: Count) -> bool {
    count.arrived_packets == ALL && count.dropped_packets == ALL - u64::from(BURST)
}

#[test]
#[ignore = "another test runs it"]
fn flood_part() {
    if !is_part("flood_part") {
        return;
    }
    let sender = Sender::new();
    let (mut bursty, mut plain) = (App::start("bursty"), App::start("plain"));
    let mut table = Table::new().unwrap();

    // Without a limit that bites, everything is counted and nothing is dropped: what is asserted below would fail.
    table.replace(&[bursty.rule(1_000_000_000, 60_000), plain.rule(1_000_000_000, 60_000)]).unwrap();
    sender.flood(&bursty);
    sender.flood(&plain);
    let unlimited = arrived(&table, &bursty, ALL);
    assert_eq!((unlimited.arrived_bytes, unlimited.dropped_packets), (ALL_BYTES, 0));
    assert!(!is_dropped_above_the_burst(unlimited));
    arrived(&table, &plain, ALL);
    bursty.takes(ALL);
    plain.takes(ALL);

    // One of them is limited; its count goes on, and nobody counts the other any more.
    table.replace(&[bursty.rule(1, BURST)]).unwrap();
    sender.flood(&bursty);
    sender.flood(&plain);
    let both = arrived(&table, &bursty, 2 * ALL);
    let limited = Count { arrived_packets: both.arrived_packets - ALL, ..both };
    assert!(is_dropped_above_the_burst(limited), "{limited:?}");
    assert!(limited.dropped_bytes >= limited.dropped_packets * 1028, "{limited:?}");
    bursty.takes(BURST.into());
    plain.takes(ALL);
    assert_eq!(table.counts().unwrap().len(), 1);

    // Nobody is.
    table.replace(&[]).unwrap();
    sender.flood(&bursty);
    bursty.takes(ALL);
    assert_eq!(table.counts().unwrap().len(), 0);
}

#[test]
fn a_cgroup_is_limited_by_its_path_with_what_is_below_it() {
    in_a_namespace("cgroup_part");
}

/// The limit as the daemon has it, by the door.
#[test]
#[ignore = "another test runs it"]
fn cgroup_part() {
    if !is_part("cgroup_part") {
        return;
    }
    let sender = Sender::new();
    let mut app = App::start("app");
    let cgroup = app.cgroup.clone();
    let mut system = System::new().unwrap();
    let look = |system: &mut System, apps: &[&str]| {
        let traffic = system.traffic(apps).unwrap();
        assert_eq!(traffic.complaints, Vec::<String>::new());
        traffic.apps[cgroup.as_str()]
    };
    let seen = look(&mut system, &[&app.cgroup]);
    assert_eq!((seen.udp_sockets, seen.unconnected_udp_sockets, seen.udp_arrived_bytes), (2, 2, 0));

    // A time-sensitive app of which the cgroup is below a limited one's is left alone, though its packets are for both.
    let mut inner = App::start_in(&format!("{}/inner", app.cgroup));
    let inner_cgroup = inner.cgroup.clone();
    let apps = [cgroup.as_str(), inner_cgroup.as_str()];
    look(&mut system, &apps);
    system.limit_udp(&app.cgroup, Some(1)).unwrap();
    sender.flood(&app);
    sender.flood(&inner);
    inner.takes(ALL);
    let until_all = |system: &mut System| {
        let (mut arrived_bytes, mut dropped_bytes) = (0, 0);
        for _ in 0..100_000 {
            let seen = look(system, &apps);
            arrived_bytes += seen.udp_arrived_bytes;
            dropped_bytes += seen.udp_dropped_bytes;
            if arrived_bytes >= ALL_BYTES + 14 * ALL {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!(arrived_bytes, ALL_BYTES + 14 * ALL);
        dropped_bytes
    };
    // The least burst is 4 packets; the sizes that come have the rule made anew, which lets 4 more through.
    let dropped_bytes = until_all(&mut system);
    assert!(dropped_bytes >= (ALL - 16) * 1042, "{dropped_bytes}");

    // It goes away and comes back under the same name, with another number.
    let old = app.rule(1, 1);
    app.end();
    inner.end();
    std::fs::remove_dir(&inner.folder).unwrap();
    std::fs::remove_dir(&app.folder).unwrap();
    system.traffic(&[&app.cgroup]).unwrap();
    let again = App::start("app");
    assert_ne!(again.rule(1, 1), old, "another cgroup");
    drop(std::mem::replace(&mut app.folder, PathBuf::from("/nonexistent/nothing")));
    // With its processes known of at the latest after ten looks.
    for _ in 0..10 {
        system.traffic(&[&again.cgroup]).unwrap();
    }
    sender.flood(&again);
    let dropped_bytes = until_all(&mut system);
    assert!(dropped_bytes >= (ALL - 16) * 1042, "{dropped_bytes}");

    // Let go: the table is gone, so there is room for another.
    assert_eq!(Table::new().unwrap_err().raw_os_error(), Some(libc::EEXIST));
    system.limit_udp(&again.cgroup, None).unwrap();
    Table::new().unwrap();
}

#[test]
fn the_table_goes_with_its_owner() {
    in_a_namespace("owner_part");
}

#[test]
#[ignore = "another test runs it"]
fn holder_part() {
    if !is_part("holder_part") {
        return;
    }
    let mut table = Table::new().unwrap();
    table.replace(&[Rule::Spare(Cgroup { level: 1, id: 1 })]).unwrap();
    println!("\nheld");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
#[ignore = "another test runs it"]
fn owner_part() {
    if !is_part("owner_part") {
        return;
    }
    for is_killed in [false, true] {
        let mut holder = part("holder_part", false).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "held"), "it has made none");
        assert_eq!(Table::new().unwrap_err().raw_os_error(), Some(libc::EEXIST), "another's");
        match is_killed {
            true => holder.kill().unwrap(),
            false => drop(holder.stdin.take()),
        }
        holder.wait().unwrap();
        drop(Table::new().unwrap());
    }
}

#[test]
fn no_bytes_make_it_panic() {
    use proptest::prelude::*;
    proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..200), length in any::<u8>())| {
        let mut bytes = bytes;
        if bytes.len() > 4 {
            bytes[..4].copy_from_slice(&[length, 0, 0, 0]);
        }
        let mut counts = BTreeMap::new();
        messages(&bytes, &mut |_, body| {
            let _ = (counter(body, &mut counts), error_of(body));
        });
        let _ = counter(&bytes, &mut counts);
    });
}

#[test]
fn each_failure_has_its_mend() {
    for code in [libc::EPERM, libc::EPROTONOSUPPORT, libc::ENOENT, libc::EEXIST, libc::EIO] {
        let (wrong, mend) = why(&io::Error::from_raw_os_error(code));
        assert!(!wrong.is_empty() && !mend.is_empty() && !wrong.contains('\n'));
    }
}
