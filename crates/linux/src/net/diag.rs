// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel tells of connections: sock_diag(7) over netlink, a dump of one namespace's TCP or UDP sockets. Their order and layout are the
//! kernel's (linux/inet_diag.h, linux/tcp.h), which only ever adds at the end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{netlink, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const TCPDIAG_GETSOCK: u16 = 18;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CGROUP_ID: u16 = 21;

const HEADER_BYTES: usize = 16;
const MESSAGE_BYTES: usize = 72;

/// The kernel fills at most so much at a time.
pub(super) const BUFFER_BYTES: usize = 32 << 10;

/// Messages read of one dump: beyond that something is wrong with it.
const MESSAGES_MAX: usize = 1 << 16;

/// States in which something can come: established, and closed for sending only.
const TCP_STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5;
/// Connected UDP sockets are "established".
const UDP_STATES: u32 = 1 << 1;

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

/// A socket to ask by, in the calling thread's namespace.
pub(super) fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?)
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
    match protocol {
        Protocol::Tcp => ask(diag, &tcp_request(), protocol, buffer, each),
        Protocol::Udp => {
            ask(diag, &udp_request(libc::AF_INET), protocol, buffer, each)?;
            match ask(diag, &udp_request(libc::AF_INET6), protocol, buffer, each) {
                // A kernel without that family has none of it.
                Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                result => result,
            }
        }
    }
}

fn ask(
    diag: &OwnedFd,
    request: &[u8],
    protocol: Protocol,
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(Socket),
) -> io::Result<()> {
    send(diag, request, SendFlags::empty())?;
    buffer.resize(BUFFER_BYTES, 0);
    for _ in 0..MESSAGES_MAX {
        let length = crate::file::retry(|| recv(diag.as_fd(), &mut buffer[..], RecvFlags::empty()).map(|(n, _)| n))?;
        if parse(&buffer[..length], protocol, each)? {
            return Ok(());
        }
    }
    Err(io::Error::other("the kernel's answer does not end"))
}

fn request(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut request = Vec::with_capacity(HEADER_BYTES + body.len());
    request.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    // Sequence number and port: nobody else uses the socket.
    request.extend([0; 8]);
    request.extend(body);
    request
}

/// `struct inet_diag_req`, which knows no protocol: the message's kind is TCP's.
fn tcp_request() -> Vec<u8> {
    let mut body = [0; 60];
    body[0] = libc::AF_INET as u8;
    body[3] = 1 << (INET_DIAG_INFO - 1);
    body[52..56].copy_from_slice(&TCP_STATES.to_ne_bytes());
    request(TCPDIAG_GETSOCK, &body)
}

/// `struct inet_diag_req_v2`.
fn udp_request(family: libc::c_int) -> Vec<u8> {
    let mut body = [0; 56];
    body[0] = family as u8;
    body[1] = libc::IPPROTO_UDP as u8;
    body[4..8].copy_from_slice(&UDP_STATES.to_ne_bytes());
    request(SOCK_DIAG_BY_FAMILY, &body)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_ne_bytes)
}

/// Takes the sockets out of what the kernel sent; true after the last.
fn parse(mut bytes: &[u8], protocol: Protocol, each: &mut dyn FnMut(Socket)) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = length as usize;
        let Some(message) = bytes.get(HEADER_BYTES..length) else { break };
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = u32_at(message, 0).unwrap_or(0) as i32;
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            TCPDIAG_GETSOCK | SOCK_DIAG_BY_FAMILY => {
                if let Some(socket) = socket(message, protocol) {
                    each(socket);
                }
            }
            _ => (),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(false)
}

fn socket(message: &[u8], protocol: Protocol) -> Option<Socket> {
    let (head, mut rest) = (message.get(..MESSAGE_BYTES)?, message.get(MESSAGE_BYTES..)?);
    let mut socket = Socket {
        cookie: u64_at(head, 44)?,
        inode: u32_at(head, 68)?.into(),
        is_local: is_local(head[0], number(head, 8)?, number(head, 24)?),
        ..Socket::default()
    };
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let Some(value) = rest.get(4..usize::from(length)) else { break };
        match kind {
            INET_DIAG_CGROUP_ID => socket.cgroup = u64_at(value, 0),
            INET_DIAG_INFO if protocol == Protocol::Tcp => info(value, &mut socket),
            _ => (),
        }
        rest = rest.get(usize::from(length).next_multiple_of(4)..).unwrap_or(&[]);
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
            let told = found.iter().find(|socket| socket.inode == inode(&receiver)).unwrap();
            assert_eq!((told.received_bytes, told.is_local), (5000, true));
            assert!(told.segments > 0 && told.segment_bytes > 500 && told.rtt_us < 10_000_000, "{told:?}");
            assert!(told.cgroup.is_some());
            let other = found.iter().find(|socket| socket.inode == inode(&sender)).unwrap();
            assert_eq!(other.received_bytes, 0);
        }
    }

    #[test]
    fn only_connected_udp_is_told_of() {
        let Ok(ours) = UdpSocket::bind("127.0.0.1:0") else { return };
        let idle = UdpSocket::bind("127.0.0.1:0").unwrap();
        ours.connect(idle.local_addr().unwrap()).unwrap();
        let Some(found) = all(Protocol::Udp) else { return };
        assert!(found.iter().any(|socket| socket.inode == inode(&ours)));
        assert!(!found.iter().any(|socket| socket.inode == inode(&idle)));
    }

    #[test]
    fn an_error_of_the_kernels_is_one() {
        let mut message = vec![0u8; 20];
        message[0] = 20;
        message[4] = NLMSG_ERROR as u8;
        message[16..20].copy_from_slice(&(-libc::EPERM).to_ne_bytes());
        let error = parse(&message, Protocol::Tcp, &mut |_| panic!()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), length in any::<u8>()) {
            let mut bytes = bytes;
            if bytes.len() > 8 {
                bytes[..8].copy_from_slice(&[length, 0, 0, 0, SOCK_DIAG_BY_FAMILY as u8, 0, 0, 0]);
            }
            let _ = parse(&bytes, Protocol::Tcp, &mut |_| ());
        }
    }
}
