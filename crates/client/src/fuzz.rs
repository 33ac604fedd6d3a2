// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Fuzz targets: the parsers of bytes that other programs send.

use crate::protocol::{Reply, Request};
use crate::replay::{line_of, Replay};

/// A packet on the control socket. A request that parses must be the same after it was written and parsed again.
pub fn control(bytes: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<Request>(bytes) {
        let text = serde_json::to_vec(&request).expect("a request is JSON");
        assert_eq!(serde_json::from_slice::<Request>(&text).expect("our own words"), request);
    }
    let _ = serde_json::from_slice::<Reply>(bytes);
}

/// A journal. Every line that parses is replayed.
pub fn journal(bytes: &[u8]) {
    let mut replay = Replay::new(None);
    for line in bytes.split(|&byte| byte == b'\n').filter_map(line_of) {
        let _ = replay.line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    #[test]
    fn the_seeds_and_all_their_beginnings_are_read() {
        for (target, name) in [(control as fn(&[u8]), "control"), (journal, "journal")] {
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
            control(&bytes);
            journal(&bytes);
        }
    }
}
