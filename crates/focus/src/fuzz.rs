// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What reads other people's bytes, for fuzzing.

use rustbus::wire::unmarshal::{unmarshal_dynamic_header, unmarshal_header, unmarshal_next_message};

use crate::inhibitions::{heard, Holders};
use crate::sway_wire;

/// A D-Bus message, as a monitor of a session hears it.
pub fn dbus(bytes: &[u8]) {
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    #[test]
    fn the_seeds_and_all_their_beginnings_are_read() {
        for (target, name) in [(dbus as fn(&[u8]), "dbus"), (x11, "x11"), (sway, "sway")] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
            let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
            assert!(!seeds.is_empty());
            for seed in seeds {
                let bytes = std::fs::read(seed.path()).unwrap();
                (0..=bytes.len()).for_each(|length| target(&bytes[..length]));
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_them_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            dbus(&bytes);
            x11(&bytes);
            sway(&bytes);
        }
    }
}
