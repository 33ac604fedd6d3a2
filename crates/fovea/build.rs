// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tells the program its commit, which every results document carries.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    // Whoever builds from a tarball may say the commit; a source tree without git and without that says "unknown".
    println!("cargo:rerun-if-env-changed=FOVEA_COMMIT");
    let commit = std::env::var("FOVEA_COMMIT")
        .ok()
        .or_else(|| git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]))
        .unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=FOVEA_COMMIT={commit}");
    if let Some(folder) = git(&["rev-parse", "--absolute-git-dir"]) {
        // The index changes with every add and commit.
        println!("cargo:rerun-if-changed={folder}/index");
        println!("cargo:rerun-if-changed={folder}/HEAD");
    }
}
