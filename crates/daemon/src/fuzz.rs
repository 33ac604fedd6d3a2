// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What reads bytes that the daemon has not written itself a moment ago, for fuzzing.

use std::path::Path;

/// An undo log, as a death or a disk may have left it.
pub fn undo_log(bytes: &[u8]) {
    crate::undo::fuzz(bytes);
}

/// A configuration: an error is one line.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(e) = crate::Config::parse(text, Path::new("fovea.toml")) {
        let line = e.to_string();
        assert!(!line.is_empty() && !line.contains('\n'), "{line}");
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
#[test]
fn seeds_and_what_is_made_of_them_are_read_without_a_panic() {
    replay::play(&[(undo_log, "undo_log"), (config, "config")]);
}
