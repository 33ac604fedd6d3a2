// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The program where it is installed, for what it runs beside itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::FOVEA;

/// A prefix with `bin/fovea`. Links, beside what they link to: a file just written cannot be run while another test's fork holds it open.
pub fn prefix() -> TempDir {
    let folder = tempfile::tempdir_in(Path::new(FOVEA).parent().unwrap()).unwrap();
    fs::create_dir_all(folder.path().join("bin")).unwrap();
    fs::create_dir_all(folder.path().join("lib/fovea")).unwrap();
    fs::hard_link(FOVEA, folder.path().join("bin/fovea")).unwrap();
    folder
}

pub fn fovea(prefix: &TempDir, args: &[&str]) -> Output {
    Command::new(prefix.path().join("bin/fovea")).env_remove("FOVEA_RUN").args(args).output().unwrap()
}
