// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! sock_diag(7): what the kernel tells of sockets over netlink, a dump of one namespace's at a time (linux/netlink.h, linux/sock_diag.h).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{netlink, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::netlink::{error_of, messages, request, BUFFER_BYTES, NLMSG_DONE, NLMSG_ERROR, NLM_F_DUMP};

pub(crate) const TCPDIAG_GETSOCK: u16 = 18;
pub(crate) const SOCK_DIAG_BY_FAMILY: u16 = 20;

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
    send(diag, &request(kind, NLM_F_DUMP, &[body]), SendFlags::empty())?;
    buffer.resize(BUFFER_BYTES, 0);
    for _ in 0..MESSAGES_MAX {
        let length = crate::file::retry(|| recv(diag.as_fd(), &mut buffer[..], RecvFlags::empty()).map(|(n, _)| n))?;
        if parse(&buffer[..length], each)? {
            return Ok(());
        }
    }
    Err(io::Error::other("the kernel's answer does not end"))
}

/// Takes the sockets out of what the kernel sent; true after the last.
fn parse(bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    let mut end = None;
    messages(bytes, &mut |kind, body| match kind {
        _ if end.is_some() => (),
        NLMSG_DONE => end = Some(Ok(true)),
        NLMSG_ERROR => end = Some(error_of(body).map(|()| true)),
        TCPDIAG_GETSOCK | SOCK_DIAG_BY_FAMILY => each(body),
        _ => (),
    });
    end.unwrap_or(Ok(false))
}

/// The same, for fuzzing.
pub(crate) fn fuzz(bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    parse(bytes, each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attributes;
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
