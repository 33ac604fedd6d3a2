// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea phone`, `trace`, `lab` and `explain --replay` where they are not built in: `fovea-lab`, a program beside this one, does them, as git does. Thus the
//! daemon and all that speaks to it stay small on a device, and a device that also records traces has them all the same.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// The whole program under another name: built with the feature `lab`.
const PROGRAM: &str = "fovea-lab";

/// Commands of the second program.
#[derive(Subcommand)]
pub enum Command {
    /// The virtual phone.
    #[command(disable_help_flag = true)]
    Phone(Words),
    /// Trace files.
    #[command(disable_help_flag = true)]
    Trace(Words),
    /// Replay traces through cache policies.
    #[command(disable_help_flag = true)]
    Lab(Words),
}

/// Whatever follows, `--help` too: the second program judges it.
#[derive(Args)]
pub struct Words {
    /// `--help` among them tells more.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    _words: Vec<OsString>,
}

/// Becomes the second program, with this one's words; returns only if that cannot be.
pub fn run(command: &Command) -> Failure {
    turn_into(match command {
        Command::Phone(_) => "phone",
        Command::Trace(_) => "trace",
        Command::Lab(_) => "lab",
    })
}

/// The same for what is only a part of a command; `name` is for people.
pub fn turn_into(name: &str) -> Failure {
    let here = match std::env::current_exe() {
        Ok(here) => here,
        Err(e) => return Failure::failed(format!("/proc/self/exe: {e}: mount /proc")),
    };
    match find(&here) {
        Some(program) => {
            // By our name, which its help and errors then say.
            let error = std::process::Command::new(&program).arg0("fovea").args(std::env::args_os().skip(1)).exec();
            Failure::failed(format!("{}: {error}: run `make install` again in Fovea's source tree", program.display()))
        }
        None => Failure::Lacks(format!(
            "`fovea {name}` is done by {PROGRAM}, which is not in {}: run `make install` in Fovea's source tree",
            places(&here).map(|place| place.display().to_string()).join(" or ")
        )),
    }
}

/// Where it is looked for: beside this program, and where `make install` puts it.
fn places(here: &Path) -> [PathBuf; 2] {
    let beside = here.parent().unwrap_or(Path::new("/"));
    [beside.to_path_buf(), beside.parent().unwrap_or(beside).join("lib/fovea")]
}

/// It, unless it is this very program under that name, which would start itself for ever.
fn find(here: &Path) -> Option<PathBuf> {
    let found = places(here).into_iter().map(|place| place.join(PROGRAM)).filter(|path| path.is_file());
    found.into_iter().find(|path| path.canonicalize().ok().as_deref() != Some(here))
}
