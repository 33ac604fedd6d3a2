// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What reads bytes from a disk, for fuzzing.

use crate::bytes::{put, sum};
use crate::UserStore;

/// A user's file: as it is, and with a head that fits, so that what is behind the checksum is reached.
pub fn launch(bytes: &[u8]) {
    let body = bytes.get(32..).unwrap_or(bytes);
    let numbers = [crate::store::VERSION, body.len() as u64, sum(body)].map(u64::to_le_bytes).concat();
    let sealed = [b"FOVEALCH", &numbers[..], body].concat();
    for bytes in [bytes, &sealed] {
        let Ok(mut store) = UserStore::read(bytes) else { continue };
        for (_, app) in store.apps() {
            let _ = (app.mode(), app.expected(), app.wasted(), app.timeliness());
        }
        let (written, dropped) = store.written();
        assert_eq!(dropped, 0);
        assert_eq!(UserStore::read(&written).as_ref(), Ok(&store));
    }
    // Numbers come back as they were put.
    let mut number = Vec::new();
    put(&mut number, sum(bytes));
    assert_eq!(crate::bytes::Reader(&number).number(), Some(sum(bytes)));
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
#[test]
fn seeds_and_what_is_made_of_them_are_read_without_a_panic() {
    replay::play(&[(launch, "launch")]);
}
