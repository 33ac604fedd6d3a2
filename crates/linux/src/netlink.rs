// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Netlink messages (linux/netlink.h): a header, what the family has, and attributes.

use std::io;

pub(crate) const NLMSG_ERROR: u16 = 2;
pub(crate) const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
pub(crate) const NLM_F_DUMP: u16 = 0x300;

/// `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;

/// The kernel fills at most so much at a time.
pub(crate) const BUFFER_BYTES: usize = 32 << 10;

/// A request: what its family has, in parts.
pub(crate) fn request(kind: u16, flags: u16, parts: &[&[u8]]) -> Vec<u8> {
    let length = HEADER_BYTES + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut request = Vec::with_capacity(length);
    request.extend((length as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    // Sequence number and port: nobody else uses the socket.
    request.extend([0; 8]);
    parts.iter().for_each(|part| request.extend(*part));
    request
}

/// Kind and body of each message in what was received.
pub(crate) fn messages(mut bytes: &[u8], each: &mut dyn FnMut(u16, &[u8])) {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = length as usize;
        let Some(body) = bytes.get(HEADER_BYTES..length) else { break };
        each(kind, body);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
}

/// What a message of the kind [`NLMSG_ERROR`] says; 0 acknowledges.
pub(crate) fn error_of(body: &[u8]) -> io::Result<()> {
    match u32_at(body, 0).unwrap_or(0) as i32 {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

/// Kinds and values of attributes, one after the other.
pub(crate) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(bodies in prop::collection::vec((20u16.., prop::collection::vec(any::<u8>(), 0..40)), 0..5)) {
            let mut bytes = Vec::new();
            for (kind, body) in &bodies {
                let (begin, end) = body.split_at(body.len() / 2);
                bytes.extend(request(*kind, 0, &[begin, end]));
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            let mut found = Vec::new();
            messages(&bytes, &mut |kind, body| found.push((kind, body.to_vec())));
            prop_assert_eq!(found, bodies);
        }
    }
}
