// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A sender over UDP that keeps to what the link can carry, as QUIC does, and who receives from it.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// Answers whoever says something, for ever.
pub fn send(socket: &UdpSocket) {
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

/// Asks for packets, and acknowledges each, for ever.
pub fn receive(sender: &str, received: &AtomicU64) {
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
