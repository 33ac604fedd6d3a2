// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel tells of connections: a dump of one namespace's TCP or UDP sockets. Their order and layout are the kernel's
//! (linux/inet_diag.h, linux/tcp.h), which only ever adds at the end.

use std::io;
use std::os::fd::OwnedFd;

use crate::netlink::{attributes, number, u32_at, u64_at};
use crate::sock_diag::{ask, SOCK_DIAG_BY_FAMILY, TCPDIAG_GETSOCK};

/// linux/inet_diag.h.
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CGROUP_ID: u16 = 21;

const MESSAGE_BYTES: usize = 72;

/// States in which something can come: established, and closed for sending only.
const TCP_STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5;
/// Connected UDP sockets are "established", others "closed".
const ESTABLISHED: u8 = 1;
const UDP_STATES: u32 = 1 << ESTABLISHED | 1 << 7;

/// Which sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// One socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Socket {
    /// Never given to another.
    pub cookie: u64,
    /// 0 if no process has it any more.
    pub inode: u64,
    /// The cgroup it was made in; `None` from kernels before 5.8.
    pub cgroup: Option<u64>,
    /// It has another end.
    pub is_connected: bool,
    /// Both ends are on this machine.
    pub is_local: bool,
    pub received_bytes: u64,
    pub segments: u32,
    /// The shortest that was measured; 0 if none was.
    pub rtt_us: u32,
    pub segment_bytes: u32,
    /// The largest window it offers now (`rcv_ssthresh`); never above what it is held to.
    pub window_bytes: u32,
}

/// Asks for all sockets of both families.
///
/// Of TCP the older request tells both at once, and the kernel goes through its table once and not twice: with few connections that is most of what
/// a look costs.
pub(super) fn dump(
    diag: &OwnedFd,
    protocol: Protocol,
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(Socket),
) -> io::Result<()> {
    let mut take = |message: &[u8]| {
        if let Some(socket) = socket(message, protocol) {
            each(socket);
        }
    };
    match protocol {
        Protocol::Tcp => ask(diag, TCPDIAG_GETSOCK, &tcp_request(), buffer, &mut take),
        Protocol::Udp => {
            ask(diag, SOCK_DIAG_BY_FAMILY, &udp_request(libc::AF_INET), buffer, &mut take)?;
            match ask(diag, SOCK_DIAG_BY_FAMILY, &udp_request(libc::AF_INET6), buffer, &mut take) {
                // A kernel without that family has none of it.
                Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                result => result,
            }
        }
    }
}

/// `struct inet_diag_req`, which knows no protocol: the message's kind is TCP's.
pub(super) fn fuzz(message: &[u8]) {
    let _ = (socket(message, Protocol::Tcp), socket(message, Protocol::Udp));
}

fn tcp_request() -> [u8; 60] {
    let mut body = [0; 60];
    body[0] = libc::AF_INET as u8;
    body[3] = 1 << (INET_DIAG_INFO - 1);
    body[52..56].copy_from_slice(&TCP_STATES.to_ne_bytes());
    body
}

/// `struct inet_diag_req_v2`.
fn udp_request(family: libc::c_int) -> [u8; 56] {
    let mut body = [0; 56];
    body[0] = family as u8;
    body[1] = libc::IPPROTO_UDP as u8;
    body[4..8].copy_from_slice(&UDP_STATES.to_ne_bytes());
    body
}

fn socket(message: &[u8], protocol: Protocol) -> Option<Socket> {
    let (head, rest) = (message.get(..MESSAGE_BYTES)?, message.get(MESSAGE_BYTES..)?);
    let mut socket = Socket {
        cookie: u64_at(head, 44)?,
        inode: u32_at(head, 68)?.into(),
        is_connected: head[1] == ESTABLISHED,
        is_local: is_local(head[0], number(head, 8)?, number(head, 24)?),
        ..Socket::default()
    };
    for (kind, value) in attributes(rest) {
        match kind {
            INET_DIAG_CGROUP_ID => socket.cgroup = u64_at(value, 0),
            INET_DIAG_INFO if protocol == Protocol::Tcp => info(value, &mut socket),
            _ => (),
        }
    }
    Some(socket)
}

/// `struct tcp_info`; what an older kernel has not got is 0.
fn info(value: &[u8], socket: &mut Socket) {
    socket.segment_bytes = u32_at(value, 20).unwrap_or(0);
    socket.window_bytes = u32_at(value, 64).unwrap_or(0);
    socket.received_bytes = u64_at(value, 128).unwrap_or(0);
    socket.segments = u32_at(value, 152).unwrap_or(0);
    // ~0 while nothing was measured.
    socket.rtt_us = u32_at(value, 148).filter(|&us| us != u32::MAX).unwrap_or(0);
}

fn is_local(family: u8, local: [u8; 16], remote: [u8; 16]) -> bool {
    const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    const LOOPBACK: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let first = match i32::from(family) {
        libc::AF_INET => Some(remote[0]),
        _ if remote[..12] == MAPPED => Some(remote[12]),
        _ => None,
    };
    first == Some(127) || remote == LOOPBACK || (remote == local && remote != [0; 16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sock_diag::open;
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;

    fn all(protocol: Protocol) -> Option<Vec<Socket>> {
        let mut found = Vec::new();
        let diag = open().ok()?;
        match dump(&diag, protocol, &mut Vec::new(), &mut |socket| found.push(socket)) {
            Ok(()) => Some(found),
            Err(e) => {
                println!("skipped: {e}");
                None
            }
        }
    }

    fn inode(socket: &impl AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        link.to_str().unwrap().trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap()
    }

    #[test]
    fn what_came_by_a_connection_is_told() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut receiver = listener.accept().unwrap().0;
            sender.write_all(&[7; 5000]).unwrap();
            receiver.read_exact(&mut [0; 5000]).unwrap();
            let Some(found) = all(Protocol::Tcp) else { return };
            let socket = found.iter().find(|socket| socket.inode == inode(&receiver)).unwrap();
            assert_eq!((socket.received_bytes, socket.is_local), (5000, true));
            assert!(socket.segments > 0 && socket.segment_bytes > 500 && socket.rtt_us < 10_000_000, "{socket:?}");
            assert!(socket.cgroup.is_some());
            let other = found.iter().find(|socket| socket.inode == inode(&sender)).unwrap();
            assert_eq!(other.received_bytes, 0);
        }
    }

    #[test]
    fn udp_is_told_of_connected_or_not() {
        let Ok(ours) = UdpSocket::bind("127.0.0.1:0") else { return };
        let idle = UdpSocket::bind("127.0.0.1:0").unwrap();
        ours.connect(idle.local_addr().unwrap()).unwrap();
        let Some(found) = all(Protocol::Udp) else { return };
        for (socket, is_connected) in [(&ours, true), (&idle, false)] {
            let seen = found.iter().find(|seen| seen.inode == inode(socket)).unwrap();
            assert_eq!((seen.is_connected, seen.is_local), (is_connected, is_connected), "{seen:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = socket(&bytes, Protocol::Tcp);
        }
    }
}
