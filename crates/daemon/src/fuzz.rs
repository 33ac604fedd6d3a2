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
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The fuzzer's seeds, whole and cut anywhere.
    #[test]
    fn the_seeds_and_all_their_beginnings_are_read() {
        for (target, name) in [(undo_log as fn(&[u8]), "undo_log"), (config, "config")] {
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
            undo_log(&bytes);
            config(&bytes);
        }
    }
}
