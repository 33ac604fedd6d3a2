// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The hash that the module recognises pages by (`kmod/ecache/nh.c`) as a program of its own: `kmod/ecache/tests/nh_model.c`.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

fn run(flags: &[&str], arguments: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("nh");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod/ecache/tests");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(compiler)
        .args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-sign-compare"])
        .arg("-Wno-unused-parameter")
        .args(flags)
        .arg("-I")
        .arg(tests.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(tests.join("nh_model.c"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Command::new(program).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// 2^20 pairs of pages: tails and middles of zeroes, a bit, swapped words, CRCs that follow and cancel.
#[test]
fn no_two_pages_that_differ_have_one_hash_and_all_implementations_agree() {
    let output = run(&[], &["pairs", "20"]);
    assert!(output.status.success() && said(&output).ends_with("done\n"), "{}", said(&output));
}

/// The program tells: a key of zeroes is one that everybody knows, 32 bits of the sum are not enough, and two CRC-32C have no key.
#[test]
fn a_hash_without_its_key_half_of_it_or_two_crcs_are_noticed() {
    for broken in ["-DMODEL_BROKEN_KEY=1", "-DMODEL_BROKEN_HALF=1", "-DMODEL_BROKEN_CRC=1"] {
        let output = run(&[broken], &["pairs", "16"]);
        assert!(!output.status.success() && said(&output).contains("their hashes"), "{broken}: {}", said(&output));
    }
}

#[test]
fn it_keeps_within_its_memory() {
    let output = run(&["-fsanitize=address,undefined", "-fno-sanitize-recover=all"], &["pairs", "12"]);
    assert!(output.status.success(), "{}", said(&output));
}
