// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Commands that programs beside this one do: they get the run folder and every word.

#[allow(unused)]
mod common;

use std::os::unix::fs::symlink;

use common::one_line;
use common::prefix::{fovea, prefix};

const NAMES: [&str; 2] = ["top", "metrics"];

#[test]
fn the_program_beside_gets_the_run_folder_and_every_word() {
    let prefix = prefix();
    for name in NAMES {
        symlink("/bin/echo", prefix.path().join(format!("lib/fovea/fovea-{name}"))).unwrap();
        for (args, words) in [
            (&["--run-folder", "/r", name][..], "--run-folder /r"),
            (&["--run-folder", "/r", name, "--once", "x", "--json"], "--run-folder /r --once x --json"),
            (&["--run-folder", "/r", name, "-h"], "--run-folder /r -h"),
        ] {
            let output = fovea(&prefix, args);
            assert!(output.status.success(), "{args:?} {output:?}");
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), words);
        }
        let behind = String::from_utf8(fovea(&prefix, &[name, "--once", "--run-folder", "/r"]).stdout).unwrap();
        assert!(behind.trim_end().ends_with("/r"), "{behind}");
    }
}

#[test]
fn without_it_one_line_says_what_is_missing() {
    let prefix = prefix();
    for name in NAMES {
        let output = fovea(&prefix, &[name, "--once"]);
        assert_eq!(output.status.code(), Some(3));
        let line = one_line(&output);
        assert!(line.contains(&format!("`fovea {name}`")) && line.contains(&format!("fovea-{name}")), "{line}");
        assert!(line.contains("lib/fovea") && line.contains("make install"), "{line}");
    }
}
