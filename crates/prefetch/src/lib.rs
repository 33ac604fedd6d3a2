// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea-prefetch`: reads what an app's start will want before it asks. It learns that from earlier starts (`fovea-launch`), and is a
//! program of its own, so that neither its reading nor a file system that hangs can hold the daemon up. docs/design/prefetch.md tells more.

mod ahead;
mod files;
mod keep;
mod read;
mod report;
mod serve;
mod session;
mod show;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use fovea_client::protocol::RUN_FOLDER;

/// Where what was learned is kept.
pub const STATE_FOLDER: &str = "/var/lib/fovea/launch";

/// Reads what an app's start will want before it asks, as earlier starts have taught.
#[derive(Parser)]
#[command(name = "fovea-prefetch", version, max_term_width = 80)]
struct Options {
    /// Folder of the daemon's socket, which is asked who is likely to be next.
    #[arg(long, env = "FOVEA_RUN", value_name = "FOLDER", hide = true, overrides_with = "run_folder")]
    run_folder: Option<PathBuf>,
    /// Folder of what was learned.
    #[arg(long, global = true, value_name = "FOLDER", default_value = STATE_FOLDER)]
    state: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Watch for apps that start, learn from them and prefetch for them, until ended.
    Run {
        /// While nothing starts and memory is plentiful, read what the apps that the daemon finds likely to be next would read.
        #[arg(long)]
        ahead: bool,
    },
    /// Print what was prefetched for each app, and how much of it was used.
    Status {
        /// Only that app.
        app: Option<String>,
        /// As data.
        #[arg(long)]
        json: bool,
    },
    /// Forget what was learned of an app, or of all.
    Forget {
        /// The app; all of every user without it.
        app: Option<String>,
    },
}

/// What is wrong, and with which exit code the program ends.
pub(crate) struct Failure {
    line: String,
    code: u8,
}

impl Failure {
    fn failed(line: impl ToString) -> Failure {
        Failure { line: line.to_string(), code: 1 }
    }

    fn lacks(line: impl ToString) -> Failure {
        Failure { line: line.to_string(), code: 3 }
    }
}

/// What can be said on its command line.
pub fn command() -> clap::Command {
    Options::command()
}

/// The program.
pub fn main() -> ExitCode {
    let options = Options::parse();
    let keeper = keep::Keeper::new(options.state);
    let done = match options.command {
        Command::Run { ahead } => {
            let run_folder = options.run_folder.unwrap_or_else(|| RUN_FOLDER.into());
            serve::run(&keeper, ahead.then_some(run_folder.as_path()))
        }
        Command::Status { app, json } => show::status(&keeper, app.as_deref(), json),
        Command::Forget { app } => keeper.forget(app.as_deref()).map_err(Failure::failed),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure.line);
            ExitCode::from(failure.code)
        }
    }
}

/// Says a line to people. Nobody may be listening.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "fovea-prefetch: {}", fovea_apps::log_line(line));
}
