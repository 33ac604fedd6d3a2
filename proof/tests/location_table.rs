// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The module's location tables (`kmod/ecache/track.c`) as a program of its own: `kmod/ecache/tests/track_model.c`.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

fn run(flags: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("track");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod/ecache/tests");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(compiler)
        .args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-sign-compare", "-pthread"])
        .args(flags)
        .arg("-I")
        .arg(tests.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(tests.join("track_model.c"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Command::new(program).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn it_does_what_the_model_does_and_nobody_who_looks_without_the_lock_misses_a_page() {
    let output = run(&[]);
    assert!(output.status.success() && said(&output).ends_with("done\n"), "{}", said(&output));
}

/// Who forgets a page that another volume has noted since must lose that volume's note: else the test above shows nothing.
#[test]
fn without_a_look_at_whose_page_it_is_notes_are_lost() {
    let output = run(&["-DTRACK_BROKEN_INDEX=1"]);
    // Which of the model's comparisons tells first is chance.
    assert!(!output.status.success() && said(&output).contains("not so: "), "{}", said(&output));
}

#[test]
fn it_keeps_within_its_memory() {
    let output = run(&["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    assert!(output.status.success(), "{}", said(&output));
}
