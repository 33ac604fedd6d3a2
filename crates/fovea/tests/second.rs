// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What goes on a device, and the second program that it runs for `phone`, `trace` and `lab`: `cargo test -p fovea --no-default-features`.
#![cfg(not(feature = "lab"))]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use common::prefix::{fovea, prefix};
use common::{one_line, FOVEA};
use tempfile::TempDir;

fn second(prefix: &TempDir) -> PathBuf {
    prefix.path().join("lib/fovea/fovea-lab")
}

#[test]
fn the_second_program_gets_every_word_and_its_end_is_ours() {
    let prefix = prefix();
    symlink("/bin/echo", second(&prefix)).unwrap();
    for args in [
        &["phone", "run", "workload", "launches=3", "--exact"][..],
        &["--run-folder", "/r", "trace", "record", "--json", "x", "--", "prog", "--help"],
        &["lab", "replay", "--sizes", "1MiB", "-"],
        &["phone", "--help"],
        &["trace", "-h"],
        &["lab"],
    ] {
        let output = fovea(&prefix, args);
        assert!(output.status.success(), "{args:?} {output:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), args.join(" "));
    }
    // Its own commands it does itself, words and all.
    let output = fovea(&prefix, &["check", "--json"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"rows\""));
    fs::remove_file(second(&prefix)).unwrap();
    symlink("/bin/false", second(&prefix)).unwrap();
    assert_eq!(fovea(&prefix, &["lab", "replay"]).status.code(), Some(1));
}

#[test]
fn one_beside_the_program_comes_first_and_links_to_us_are_followed() {
    let prefix = prefix();
    symlink("/bin/false", second(&prefix)).unwrap();
    symlink("/bin/true", prefix.path().join("bin/fovea-lab")).unwrap();
    assert!(fovea(&prefix, &["lab", "replay"]).status.success());
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("fovea");
    symlink(prefix.path().join("bin/fovea"), &link).unwrap();
    assert!(Command::new(link).args(["lab", "replay"]).status().unwrap().success());
}

#[test]
fn without_it_one_line_says_what_is_missing() {
    let prefix = prefix();
    for name in ["phone", "trace", "lab"] {
        let output = fovea(&prefix, &[name, "list"]);
        assert_eq!(output.status.code(), Some(3));
        let line = one_line(&output);
        assert!(line.contains(&format!("`fovea {name}`")) && line.contains("lib/fovea"), "{line}");
        assert!(line.contains("fovea-lab") && line.contains("make install"), "{line}");
    }
    let help = fovea(&prefix, &["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(["phone ", "trace ", "lab "].iter().all(|name| text.contains(&format!("\n  {name}"))), "{text}");
}

#[test]
fn what_is_no_second_program_is_not_run_for_ever() {
    let prefix = prefix();
    // Ourselves by another name, as a link and as another file.
    symlink("../../bin/fovea", second(&prefix)).unwrap();
    assert_eq!(fovea(&prefix, &["lab", "replay"]).status.code(), Some(3));
    fs::remove_file(second(&prefix)).unwrap();
    fs::hard_link(FOVEA, second(&prefix)).unwrap();
    assert_eq!(fovea(&prefix, &["lab", "replay"]).status.code(), Some(3));
    fs::remove_file(second(&prefix)).unwrap();
    fs::write(second(&prefix), "").unwrap();
    let output = fovea(&prefix, &["lab", "replay"]);
    assert_eq!(output.status.code(), Some(1));
    let line = one_line(&output);
    assert!(line.contains("Permission denied") && line.contains("make install"), "{line}");
}
