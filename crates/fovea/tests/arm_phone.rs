// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon on Debian's arm64 kernels, with pages of 4 and of 16 KiB: it makes a swap area that the kernel takes, and compresses apps whose
//! memory is right afterwards. Skipped, with a word, where something is missing.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn events(machine: &str) -> Option<Vec<Value>> {
    let fovea = Path::new(env!("CARGO_BIN_EXE_fovea"));
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(fovea)
        .args(["phone", "run", "crash", "--exact", "--machine", machine, "--results"])
        .arg(dir.path())
        .output()
        .unwrap();
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if out.status.code() == Some(3) {
        fovea_phone::skip(said);
        return None;
    }
    assert!(out.status.success(), "{machine}: {said}");
    let log = std::fs::read_to_string(dir.path().join("00-crash-fovea-exact/events.jsonl")).unwrap();
    Some(log.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Pages that the daemon had the kernel compress, by its journal.
fn compressed_pages(events: &[Value]) -> u64 {
    let entries = events.iter().filter_map(|event| event.get("entry")).filter(|entry| entry["action"] == "compress");
    entries.filter_map(|entry| entry["outcome"]["swapped_pages"].as_u64()).sum()
}

#[test]
#[ignore = "make test-arm runs it, which has built what such a phone is made of"]
fn the_daemon_works_on_arm64_with_pages_of_4_and_16_kib() {
    for (machine, release) in [("virt-arm64", "-cloud-arm64"), ("virt-arm64-16k", "-arm64-16k")] {
        let Some(events) = events(machine) else { return };
        let ready = events.iter().find(|event| event["event"] == "ready").unwrap();
        assert!(ready["kernel"].as_str().unwrap().ends_with(release), "{ready}");
        // An app of 40 MiB is 10,240 pages of 4 KiB, on either kernel; half of one compresses.
        let pages = compressed_pages(&events);
        assert!((1_000..=20_480).contains(&pages), "{machine}: {pages} pages");
        let verified: Vec<u64> = events.iter().filter_map(|event| event["wrong_pages"].as_u64()).collect();
        assert!(!verified.is_empty() && verified.iter().all(|&wrong| wrong == 0), "{machine}: a page came back wrong");
        assert!(events.iter().any(|event| event["event"] == "done"));
    }
}
