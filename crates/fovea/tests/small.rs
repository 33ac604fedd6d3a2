// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What keeps the device's program small is what it does not depend on; `make small` weighs it.

use std::process::Command;

/// The phone, the laboratory, and the largest of what they bring along.
const LARGE: [&str; 8] =
    ["fovea-lab", "fovea-phone", "fovea-scenario", "fovea-report", "maud", "parquet", "liblzma-sys", "indicatif"];

/// Names of the crates that the program is made of.
fn dependencies(features: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", "fovea", "--edges", "normal", "--prefix", "none", "--offline"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_devices_program_has_neither_phone_nor_lab() {
    let (whole, small) = (dependencies(&[]), dependencies(&["--no-default-features"]));
    for name in LARGE {
        let has = |names: &[String]| names.iter().any(|n| n == name);
        assert!(has(&whole), "{name} is in no program any more: take it off the list");
        assert!(!has(&small), "{name} is in the device's program: make what needs it part of the feature lab");
    }
    for name in ["fovea-top", "fovea-metrics", "fovea-bus", "zbus", "ratatui", "crossterm"] {
        assert!(!small.iter().chain(&whole).any(|n| n == name), "{name} is of a program beside this one");
    }
    assert!(small.iter().any(|name| name == "fovea-daemon") && small.iter().any(|name| name == "fovea-focus"));
}
