// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What reads other people's bytes, for fuzzing.

use fovea_apps::{bus_next, bus_sender};
use rustbus::wire::unmarshal::{unmarshal_dynamic_header, unmarshal_header, unmarshal_next_message};

use crate::inhibitions::{heard, Holders};
use crate::sway_wire;

/// A D-Bus message, as a monitor of a session hears it.
pub fn dbus(bytes: &[u8]) {
    let _ = (bytes.first_chunk().and_then(bus_next), bus_sender(bytes));
    let Ok((head, header)) = unmarshal_header(bytes, 0) else { return };
    let Ok((fields, dynamic)) = unmarshal_dynamic_header(&header, bytes, head) else { return };
    let Ok((_, message)) = unmarshal_next_message(&header, dynamic, bytes, head + fields) else { return };
    let mut holders = Holders::default();
    if let Some((sender, what)) = heard(&message) {
        holders.take(sender, what);
    }
    let _ = message.body.parser().get3::<&str, &str, &str>();
}

/// What an X server sends.
pub fn x11(bytes: &[u8]) {
    crate::x11_stream::fuzz(bytes);
}

/// What sway sends: messages, and the tree in them.
pub fn sway(mut bytes: &[u8]) {
    while let Ok(message) = sway_wire::receive(&mut bytes) {
        let _ = (sway_wire::is_news(&message), sway_wire::granted(&message.payload));
        let _ = sway_wire::windows(&message.payload);
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
#[test]
fn seeds_and_what_is_made_of_them_are_read_without_a_panic() {
    replay::play(&[(dbus, "dbus"), (x11, "x11"), (sway, "sway")]);
}
