// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! sock_diag(7): what the kernel tells of sockets over netlink, a dump of one namespace's at a time (linux/netlink.h, linux/sock_diag.h).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{netlink, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
pub(crate) const TCPDIAG_GETSOCK: u16 = 18;
pub(crate) const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;

const HEADER_BYTES: usize = 16;

/// The kernel fills at most so much at a time.
pub(crate) const BUFFER_BYTES: usize = 32 << 10;

/// Messages read of one dump: beyond that something is wrong with it.
const MESSAGES_MAX: usize = 1 << 16;

/// A socket to ask by, in the calling thread's namespace.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?)
}

/// Asks for a dump; each of its sockets is a structure of the family's, with attributes behind it.
pub(crate) fn ask(
    diag: &OwnedFd,
    kind: u16,
    body: &[u8],
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8]),
) -> io::Result<()> {
    send(diag, &request(kind, body), SendFlags::empty())?;
    buffer.resize(BUFFER_BYTES, 0);
    for _ in 0..MESSAGES_MAX {
        let length = crate::file::retry(|| recv(diag.as_fd(), &mut buffer[..], RecvFlags::empty()).map(|(n, _)| n))?;
        if parse(&buffer[..length], each)? {
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

pub(crate) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_ne_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_ne_bytes)
}

/// Takes the sockets out of what the kernel sent; true after the last.
fn parse(mut bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = length as usize;
        let Some(message) = bytes.get(HEADER_BYTES..length) else { break };
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = u32_at(message, 0).unwrap_or(0) as i32;
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            TCPDIAG_GETSOCK | SOCK_DIAG_BY_FAMILY => each(message),
            _ => (),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(false)
}

/// The same, for fuzzing.
pub(crate) fn fuzz(bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    parse(bytes, each)
}

/// Kinds and values of the attributes that follow a socket's structure.
pub(crate) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_error_of_the_kernels_is_one() {
        let mut message = vec![0u8; 20];
        message[0] = 20;
        message[4] = NLMSG_ERROR as u8;
        message[16..20].copy_from_slice(&(-libc::EPERM).to_ne_bytes());
        let error = parse(&message, &mut |_| panic!()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), length in any::<u8>()) {
            let mut bytes = bytes;
            if bytes.len() > 8 {
                bytes[..8].copy_from_slice(&[length, 0, 0, 0, SOCK_DIAG_BY_FAMILY as u8, 0, 0, 0]);
            }
            let _ = parse(&bytes, &mut |message| {
                let _ = attributes(message).count();
            });
        }
    }
}
