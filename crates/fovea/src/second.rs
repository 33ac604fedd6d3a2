// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea phone`, `trace`, `lab` and `explain --replay` where they are not built in: `fovea-lab`, a program beside this one, does them, as git does. Thus the
//! daemon and all that speaks to it stay small on a device, and a device that also records traces has them all the same.

use clap::Subcommand;

use crate::beside::{become_program, Words};
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

/// Becomes the second program, with this one's words; returns only if that cannot be.
pub fn run(command: &Command) -> Failure {
    turn_into(match command {
        Command::Phone(_) => "phone",
        Command::Trace(_) => "trace",
        Command::Lab(_) => "lab",
    })
}

/// The same for what is only a part of a command; `name` is for people. It has our name, which its help and errors then say.
pub fn turn_into(name: &str) -> Failure {
    become_program(PROGRAM, name, "fovea", std::env::args_os().skip(1))
}
