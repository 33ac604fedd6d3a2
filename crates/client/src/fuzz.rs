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
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
#[test]
fn seeds_and_what_is_made_of_them_are_read_without_a_panic() {
    replay::play(&[(control, "control"), (journal, "journal")]);
}
