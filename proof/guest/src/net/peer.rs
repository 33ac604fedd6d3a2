// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who sends and who receives. Programs of their own, each with as many threads as it needs.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use fovea_scenario::Traffic;
use rustix::thread::UnshareFlags;

use super::netlink::{index, Netlink};
use super::{playout, PEER, SENDER};
use crate::outcome::{At, Outcome};
use crate::readings::now_ns;

const STREAM_PORT: u16 = 1;
const BULK_PORT: u16 = 2;

/// What comes in one read.
const CHUNK_BYTES: usize = 64 << 10;

/// Follows the words behind "net".
pub fn run(args: &[String]) -> Outcome<()> {
    let traffic: Traffic = serde_json::from_str(args.get(1).ok_or("no plan")?).at(|| "the plan".into())?;
    let began_ns = args.get(2).and_then(|text| text.parse().ok()).unwrap_or(0);
    match args.first().map(String::as_str) {
        Some("sender") => sender(&traffic),
        Some("player") => player(&traffic, began_ns),
        Some("bulk") => bulk(&traffic, began_ns),
        other => Err(format!("nobody is {other:?}")),
    }
}

fn say(line: &str) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).at(|| "saying something".into())
}

fn sleep_until(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(now_ns())));
}

/// The other end of the link: its queue is the bottleneck.
fn sender(traffic: &Traffic) -> Outcome<()> {
    // SAFETY: this process has one thread, and no descriptor depends on the namespace.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.at(|| "leaving the network namespace".into())?;
    say("ready")?;
    let interface = loop {
        match index(PEER) {
            Some(index) => break index,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let netlink = Netlink::open()?;
    netlink.add_address(interface, SENDER)?;
    netlink.up(interface)?;
    let rate = u32::try_from(traffic.link_bytes_per_s).at(|| "the link's rate".into())?;
    netlink.delay(interface, traffic.rtt_ns / 2, rate, traffic.queue_packets)?;
    let listen = |port| TcpListener::bind((Ipv4Addr::from(SENDER), port)).at(|| format!("listening on port {port}"));
    let (streams, bulks) = (listen(STREAM_PORT)?, listen(BULK_PORT)?);
    say("listening")?;
    let each = *traffic;
    std::thread::spawn(move || {
        for connection in bulks.incoming().flatten() {
            std::thread::spawn(move || send_all(connection));
        }
    });
    for connection in streams.incoming().flatten() {
        std::thread::spawn(move || send_frames(connection, &each));
    }
    Ok(())
}

fn send_all(mut connection: TcpStream) {
    while connection.write_all(&[7; 16 << 10]).is_ok() {}
}

/// As a camera's pictures come: what could not be sent in time is sent as fast as it goes.
fn send_frames(mut connection: TcpStream, traffic: &Traffic) {
    let _ = connection.set_nodelay(true);
    let frame = vec![7; traffic.frame_bytes as usize];
    let began_ns = now_ns();
    for nth in 0..traffic.frames() {
        sleep_until(began_ns + nth * traffic.frame_ns());
        if connection.write_all(&frame).is_err() {
            return;
        }
    }
}

fn connect(port: u16) -> Outcome<TcpStream> {
    let address = SocketAddr::from((SENDER, port));
    TcpStream::connect(address).at(|| format!("connecting to {address}"))
}

/// Notes when each frame was whole, and says how the film was.
fn player(traffic: &Traffic, began_ns: u64) -> Outcome<()> {
    sleep_until(began_ns);
    let mut connection = connect(STREAM_PORT)?;
    let end_ns = began_ns + traffic.stream_ns;
    let (mut arrivals, mut by_second) = (Vec::new(), vec![0u64; traffic.seconds()]);
    let (mut bytes, mut buffer) = (0u64, vec![0; CHUNK_BYTES]);
    loop {
        let left_ns = end_ns.saturating_sub(now_ns());
        if left_ns == 0 {
            break;
        }
        connection.set_read_timeout(Some(Duration::from_nanos(left_ns))).at(|| "the player".into())?;
        let length = match connection.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length as u64,
            Err(_) => continue,
        };
        let at_ns = now_ns();
        bytes += length;
        if let Some(slot) = by_second.get_mut((at_ns.saturating_sub(began_ns) / 1_000_000_000) as usize) {
            *slot += length;
        }
        while (arrivals.len() as u64 + 1) * u64::from(traffic.frame_bytes) <= bytes {
            arrivals.push(at_ns - began_ns);
        }
    }
    let degraded_ns = playout::degraded_ns(&arrivals, traffic);
    // The app lives on: nobody is told that the film is over.
    sleep_until(began_ns + traffic.end_ns);
    say(&serde_json::json!({ "degraded_ns": degraded_ns, "bytes_by_second": by_second }).to_string())
}

fn bulk(traffic: &Traffic, began_ns: u64) -> Outcome<()> {
    sleep_until(began_ns + traffic.bulk_from_ns);
    let received = Arc::new(AtomicU64::new(0));
    for _ in 0..traffic.bulk_flows {
        let received = Arc::clone(&received);
        // Each on its own: one whose first packet is lost is not to keep the others waiting.
        std::thread::spawn(move || {
            let mut connection = connect(BULK_PORT).unwrap_or_else(|error| {
                eprintln!("fovea-guest: {error}");
                std::process::exit(1);
            });
            let mut buffer = vec![0; CHUNK_BYTES];
            while let Ok(length @ 1..) = connection.read(&mut buffer) {
                received.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
    }
    let (mut by_second, mut before) = (Vec::new(), 0);
    for second in 1..=traffic.seconds() as u64 {
        sleep_until(began_ns + second * 1_000_000_000);
        let now = received.load(Ordering::Relaxed);
        by_second.push(now - before);
        before = now;
    }
    say(&serde_json::json!({ "bytes_by_second": by_second }).to_string())
}
