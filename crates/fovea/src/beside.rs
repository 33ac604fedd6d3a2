// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Programs that are installed beside this one, which becomes them: what they do would be a burden to a daemon on a device.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::failure::Failure;

/// Whatever follows, `--help` too: the other program judges it.
#[derive(Args)]
pub struct Words {
    /// `--help` among them tells more.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

/// Where they are looked for: beside this program, and where `make install` puts them.
pub fn places(here: &Path) -> [PathBuf; 2] {
    let beside = here.parent().unwrap_or(Path::new("/"));
    [beside.to_path_buf(), beside.parent().unwrap_or(beside).join("lib/fovea")]
}

/// One of them, unless it is this very program under that name, which would start itself for ever.
pub fn find(here: &Path, program: &str) -> Option<PathBuf> {
    let found = places(here).into_iter().map(|place| place.join(program)).filter(|path| path.is_file());
    found.into_iter().find(|path| path.canonicalize().ok().as_deref() != Some(here))
}

/// Becomes a program that is asked for as `fovea NAME`; returns only if that cannot be.
pub fn become_program(
    program: &str,
    name: &str,
    arg0: &str,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Failure {
    let here = match std::env::current_exe() {
        Ok(here) => here,
        Err(e) => return Failure::failed(format!("/proc/self/exe: {e}: mount /proc")),
    };
    match find(&here, program) {
        Some(program) => {
            let error = Command::new(&program).arg0(arg0).args(words).exec();
            Failure::failed(format!("{}: {error}: run `make install` again, or install its package anew", program.display()))
        }
        None => Failure::Lacks(format!(
            "`fovea {name}` is done by {program}, which is not in {}: install the package {program}, or run `make install` in Fovea's source tree",
            places(&here).map(|place| place.display().to_string()).join(" or ")
        )),
    }
}

/// Becomes `fovea-NAME`, which asks the daemon of that run folder and judges the words.
pub fn ask(name: &str, run_folder: &Path, words: Words) -> Failure {
    let folder = ["--run-folder".into(), run_folder.into()];
    let program = format!("fovea-{name}");
    become_program(&program, name, &program, folder.into_iter().chain(words.words))
}
