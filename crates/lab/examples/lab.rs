// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The lab's subcommands as a program of their own: `lab trace import|info`, `lab lab replay|sweep`.

use clap::Parser;
use fovea_lab::cli::{LabCommand, TraceCommand};

#[derive(Parser)]
enum Command {
    /// Trace files.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Experiments.
    #[command(subcommand)]
    Lab(LabCommand),
}

fn main() {
    let done = match Command::parse() {
        Command::Trace(command) => command.run(),
        Command::Lab(command) => command.run(),
    };
    if let Err(error) = done {
        eprintln!("lab: {error}");
        std::process::exit(error.exit_code());
    }
}
