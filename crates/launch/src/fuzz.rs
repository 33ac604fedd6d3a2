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
mod tests {
    use super::*;
    use crate::store::FileId;
    use crate::{Observation, Pages, Seen, When};

    #[test]
    fn seeds_and_what_is_made_of_them_are_read_without_a_panic() {
        replay::play(&[(launch, "launch")]);
    }

    /// Set, the test writes the seed instead of comparing it.
    const WRITE: &str = "FOVEA_WRITE_DOCS";

    /// Two apps with a file in common: one that is prefetched and read ahead, and one that was given up.
    fn two_apps() -> UserStore {
        let mut store = UserStore::default();
        store.page_bytes = 4096;
        let mut observe = |app: &str, files: [(&str, &[std::ops::Range<u32>]); 2], blind: std::ops::Range<u32>| {
            let mut seen = Observation::default();
            for (inode, (path, ranges)) in (1u64..).zip(files) {
                let id = FileId { device: 0x801, inode, size: 1 << 21, mtime_ns: 1_767_225_600_000_000_000 + inode };
                let read: Pages = ranges.iter().cloned().collect();
                let when = When::of_steps(
                    (0u8..).step_by(3).zip(&ranges.iter().cloned().map(Pages::from).collect::<Vec<_>>()),
                );
                let key = store.key(path.as_bytes(), id).unwrap();
                seen.files.insert(key, Seen { blind: Pages::from(blind.clone()).without(&read), read, when });
            }
            store.app_mut(app).observed(1_800_000_000, seen);
        };
        let shared = "/usr/lib/x86_64-linux-gnu/libgtk-4.so.1";
        for nth in 0..3 {
            let binary = ("/usr/bin/viewer", &[0..40, 60 + nth..90, 200..333][..]);
            observe("org.example.Viewer", [(shared, &[0..16, 100..164]), binary], 90..120);
        }
        for nth in 0..4u32 {
            let poor = nth * 1000..nth * 1000 + 100;
            observe(
                "org.example.Editor",
                [(shared, std::slice::from_ref(&poor)), ("/usr/bin/editor", std::slice::from_ref(&poor))],
                4000..4001,
            );
        }
        store.app_mut("org.example.Viewer").left(1_800_000_100, 120, 150);
        store.app_mut("org.example.Viewer").ahead.reads(77);
        store.spend(20_833, 197);
        store
    }

    #[test]
    fn a_seed_is_what_this_version_writes() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/launch/two-apps");
        let mut store = two_apps();
        let written = store.written().0;
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(&path, &written).unwrap();
        }
        let [viewer, editor] = ["org.example.Viewer", "org.example.Editor"].map(|name| store.app(name).unwrap());
        assert!(viewer.ahead.waits > 0 && viewer.prefetched > 0 && editor.stopped && !viewer.history.is_empty());
        let seed = std::fs::read(&path).unwrap_or_default();
        assert!(seed == written, "{}: stale: {WRITE}=1 cargo test --workspace --lib -- a_seed_is", path.display());
    }
}
