// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea heap list` in a phone in which a video has been played: it says what stays mapped. Skipped, with a word, where something is missing.

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "make test-phone runs it, which has built what a phone is made of"]
fn heap_list_says_what_stays_mapped() {
    let fovea = Path::new(env!("CARGO_BIN_EXE_fovea"));
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(fovea)
        .args(["phone", "run", "mapcache", "cases=unfragmented-strict-30", "configurations=off,on", "frames=2"])
        .arg("--results")
        .arg(dir.path())
        .output()
        .unwrap();
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if out.status.code() == Some(3) {
        return fovea_phone::skip(said);
    }
    assert!(out.status.success(), "{said}");
    let log = std::fs::read_to_string(dir.path().join("00-mapcache-strict-both/events.jsonl")).unwrap();
    let lists: Vec<String> = log
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["heap_list"].as_str().map(Into::into)
        })
        .collect();
    assert_eq!(lists.len(), 2, "without the cache and with it: {log}");
    // 15 frame buffers of 760 pages and 4 of 4 MiB.
    for list in &lists {
        assert!(list.contains("(system)") && list.contains(&format!("{} KiB", 15 * 3040 + 4 * 4096)), "{list}");
    }
    assert!(lists[0].contains("mapping cache off: 0 mappings (0 idle), 0 KiB; 0 hits"), "{}", lists[0]);
    // Each frame for decoder and display, each compressed one for the decoder.
    let kept = format!("mapping cache on: 34 mappings (34 idle), {} KiB;", 2 * 15 * 3040 + 4 * 4096);
    assert!(lists[1].contains(&kept) && lists[1].contains(" 0 failed"), "{}", lists[1]);
}
