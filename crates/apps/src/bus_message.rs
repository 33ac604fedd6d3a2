// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How long a message of a bus is, before it is read. Anybody may send anybody 32 MiB on the system bus, and messages of a later specification,
//! which libraries take for the end of the connection.

use crate::limits::BUS_MESSAGE_MAX_BYTES;

/// The part of a message that says how long it is.
pub const BUS_HEAD_BYTES: usize = 16;

/// What comes next on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusNext {
    /// A message of so many bytes.
    Message(usize),
    /// As many bytes to be passed over: too many, or of a kind that the specification has ignored.
    Passed(usize),
}

/// By a message's first bytes (D-Bus specification, "Message Format"); `None` of what is no message.
pub fn bus_next(head: &[u8; BUS_HEAD_BYTES]) -> Option<BusNext> {
    let number = |at: usize| {
        let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        match head[0] {
            b'l' => Some(u32::from_le_bytes(bytes) as usize),
            b'B' => Some(u32::from_be_bytes(bytes) as usize),
            _ => None,
        }
    };
    let (body, fields) = (number(4)?, number(12)?);
    let length = BUS_HEAD_BYTES.checked_add(fields)?.checked_next_multiple_of(8)?.checked_add(body)?;
    let is_known = matches!(head[1], 1..=4);
    Some(if is_known && length <= BUS_MESSAGE_MAX_BYTES { BusNext::Message(length) } else { BusNext::Passed(length) })
}

/// The kind of a message that its sender had not been asked for: a call, or a signal.
pub fn bus_is_unasked(message: &[u8]) -> bool {
    matches!(message.get(1), Some(1 | 4))
}

/// Who sent a message, by the bus's word: it puts the header field there itself. `None` of what is no whole header, or has fields of kinds that
/// no specification has.
pub fn bus_sender(message: &[u8]) -> Option<&str> {
    const SENDER: u8 = 7;
    let number = |at: usize| {
        let bytes = message.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let number = if message[0] == b'B' { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        usize::try_from(number).ok()
    };
    let end = BUS_HEAD_BYTES.checked_add(number(BUS_HEAD_BYTES - 4)?)?;
    let mut at = BUS_HEAD_BYTES;
    while at < end {
        at = at.checked_next_multiple_of(8)?;
        let (code, signature) = (*message.get(at)?, message.get(at + 1..at + 4)?);
        let [1, kind, 0] = *signature else { return None };
        at += 4;
        let (from, length) = match kind {
            b's' | b'o' => (at.checked_add(4)?, number(at)?),
            b'g' => (at + 1, usize::from(*message.get(at)?)),
            b'u' => (at, 3),
            b'y' => (at, 0),
            _ => return None,
        };
        let value = message.get(from..from.checked_add(length)?)?;
        if code == SENDER && kind == b's' {
            return std::str::from_utf8(value).ok();
        }
        // The zero behind a text, or a number's last byte.
        at = from.checked_add(length)?.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fields of a header, each a code and a value with its type.
    fn message(fields: &[(u8, u8, &str)]) -> Vec<u8> {
        let mut bytes = vec![b'l', 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        for &(code, kind, text) in fields {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend([code, 1, kind, 0]);
            match kind {
                b'u' => bytes.extend(7u32.to_le_bytes()),
                b'y' => bytes.push(7),
                b'g' => bytes.extend([&[text.len() as u8], text.as_bytes(), &[0]].concat()),
                _ => bytes.extend([&(text.len() as u32).to_le_bytes(), text.as_bytes(), &[0]].concat()),
            }
        }
        let length = (bytes.len() - BUS_HEAD_BYTES) as u32;
        bytes[12..16].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    #[test]
    fn the_sender_is_found_wherever_the_bus_has_put_it() {
        let others =
            [(1, b'o', "/org/fovea1"), (8, b'g', "a{sv}"), (9, b'u', ""), (200, b'y', ""), (3, b's', "Status")];
        for at in 0..=others.len() {
            let mut fields = others.to_vec();
            fields.insert(at, (7, b's', ":1.42"));
            assert_eq!(bus_sender(&message(&fields)), Some(":1.42"), "{fields:?}");
        }
        assert_eq!(bus_sender(&message(&others)), None);
        assert_eq!(bus_sender(&message(&[(7, b'g', ":1.42")])), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), length in 0u8..200) {
            if bytes.len() > 16 {
                bytes[12..16].copy_from_slice(&[length, 0, 0, 0]);
            }
            let _ = (bus_sender(&bytes), bytes.first_chunk().and_then(bus_next), bus_is_unasked(&bytes));
        }
    }

    fn head(first: [u8; 2], body: u32, fields: u32) -> [u8; BUS_HEAD_BYTES] {
        let number = |number: u32| if first[0] == b'B' { number.to_be_bytes() } else { number.to_le_bytes() };
        let mut head = [0; BUS_HEAD_BYTES];
        head[..2].copy_from_slice(&first);
        head[4..8].copy_from_slice(&number(body));
        head[12..].copy_from_slice(&number(fields));
        head
    }

    #[test]
    fn a_message_is_as_long_as_its_head_says_and_passed_over_if_that_is_too_long() {
        for order in *b"lB" {
            assert_eq!(bus_next(&head([order, 1], 3, 9)), Some(BusNext::Message(32 + 3)));
            assert_eq!(bus_next(&head([order, 4], 0, 8)), Some(BusNext::Message(24)));
            for kind in [0, 5, 255] {
                assert_eq!(bus_next(&head([order, kind], 3, 9)), Some(BusNext::Passed(35)));
            }
            let most = BUS_MESSAGE_MAX_BYTES as u32 - 24;
            assert_eq!(bus_next(&head([order, 1], most, 8)), Some(BusNext::Message(BUS_MESSAGE_MAX_BYTES)));
            assert_eq!(bus_next(&head([order, 1], most + 1, 8)), Some(BusNext::Passed(BUS_MESSAGE_MAX_BYTES + 1)));
        }
        assert_eq!(bus_next(&head([b'x', 1], 3, 9)), None);
    }
}
