// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The command line: parses, calls, prints. The program is [`main`]; the manual is made of [`command`].

mod beside;
mod check;
mod explain;
#[cfg(feature = "lab")]
mod export;
mod failure;
mod groups;
mod heap;
#[cfg(feature = "lab")]
mod lab;
mod launch;
mod output;
#[cfg(feature = "lab")]
mod phone;
#[cfg(feature = "lab")]
mod record;
#[cfg(feature = "lab")]
mod replay;
mod rules;
#[cfg(not(feature = "lab"))]
mod second;
mod settings;
mod simulate;
mod size;
mod source;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use fovea_apps::AppName;
use fovea_client::protocol::Request;

use crate::failure::Failure;
use crate::settings::Settings;

#[cfg(feature = "lab")]
macro_rules! if_lab {
    ($with:literal, $without:literal) => {
        $with
    };
}
#[cfg(not(feature = "lab"))]
macro_rules! if_lab {
    ($with:literal, $without:literal) => {
        $without
    };
}

/// Version, commit, and which of the two programs this is: a report of a fault needs all three.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("FOVEA_COMMIT"),
    if_lab!("; with the virtual phone and the lab", "; without the virtual phone and the lab"),
    ")"
);

/// Gives a device's memory, storage and network to the app the user is looking at.
#[derive(Parser)]
#[command(name = "fovea", version = VERSION, max_term_width = 80)]
struct Cli {
    /// Folder of the daemon's socket and state, in place of the configured one.
    #[arg(long, global = true, env = "FOVEA_RUN", value_name = "FOLDER")]
    run_folder: Option<PathBuf>,

    /// Configuration file; /etc/fovea.toml without it, and the defaults without that.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Tell what this machine can do, and why not.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// An unknown key in the configuration is an error.
        #[arg(long)]
        strict: bool,
    },
    /// Run the daemon.
    ///
    /// A configuration that cannot be used is said, and the last good one counts, or else the defaults: a device is never left
    /// unguarded.
    Run {
        /// End with exit code 1 if anything is wrong with the configuration.
        #[arg(long)]
        strict: bool,
    },
    /// Look at this machine, propose each step that would help, and do what is agreed to.
    Setup {
        /// Tell what would be done, and change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Agree to everything.
        #[arg(long)]
        yes: bool,
        /// Take back what was done.
        #[arg(long)]
        undo: bool,
    },
    /// Have the daemon read its configuration again; fails, and changes nothing, if it cannot be used.
    Reload,
    /// For the daemon: look at what other users' processes have open, and answer on standard input.
    #[command(hide = true)]
    Probe {
        /// Where proc is.
        root: PathBuf,
        /// Where sound and video devices are.
        devices: PathBuf,
    },
    /// Undo what a dead daemon left changed.
    Restore {
        /// Wait for a daemon that is ending.
        #[arg(long)]
        wait: bool,
    },
    /// Start an app in a cgroup of its own, known to the daemon.
    Launch(launch::Launch),
    /// Say that an app has come to the screen.
    Focus {
        /// App.
        #[arg(required_unless_present = "none")]
        name: Option<AppName>,
        /// Nothing is in front: the home screen.
        #[arg(long, conflicts_with = "name")]
        none: bool,
    },
    /// Say that the user closed an app; it is kept until its memory is needed.
    Close {
        /// App.
        name: AppName,
    },
    /// Say that the screen went on or off.
    Screen {
        /// on or off.
        state: ScreenState,
    },
    /// Tell what the daemon would do now, and why; nothing is done.
    Simulate(simulate::Simulate),
    /// The owner's lists: apps that are spared, or taken first.
    #[command(subcommand, alias = "list")]
    Rules(rules::Rules),
    /// Print the state of memory and apps.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Pass over so many apps, in the order of their names.
        #[arg(long, default_value_t = 0)]
        offset: usize,
        /// Tell of so many apps at most.
        #[arg(long)]
        limit: Option<usize>,
    },
    /// Show memory, apps and the last decisions on one screen.
    #[command(disable_help_flag = true)]
    Top(beside::Words),
    /// Print the daemon's state and its decisions as OpenMetrics text.
    #[command(disable_help_flag = true)]
    Metrics(beside::Words),
    /// Read what an app's start will want before it asks, and show how well that went.
    #[command(disable_help_flag = true)]
    Prefetch(beside::Words),
    /// In a user's session, as that user: show a notification for each kill of the own apps; runs until ended.
    Notify(source::Notify),
    /// Tell an app's story: what was done to it, when and why.
    Explain {
        /// App; all of them without it.
        app: Option<AppName>,
        /// At most so many of the latest entries.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Print the journal's JSON lines.
        #[arg(long)]
        json: bool,
        /// Make the decisions of a journal (or of a run's events.jsonl) again, and tell which would be others: by the configuration that was
        /// in force, or by --config.
        #[arg(long, value_name = "FILE", conflicts_with = "limit")]
        replay: Option<PathBuf>,
        /// Write the journal, or that of --replay, to a file as a timeline for Perfetto (https://ui.perfetto.dev) or Chrome.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["app", "limit", "json"])]
        export: Option<PathBuf>,
    },
    /// Tell the daemon who is in front and whether the screen is on, as a compositor or the login manager says; runs until ended.
    #[command(alias = "watch")]
    Source(source::SourceCommand),
    /// Buffers of devices that have memory reserved.
    #[command(subcommand)]
    Heap(heap::HeapCommand),
    /// The virtual phone.
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Phone(phone::Phone),
    /// Trace files.
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Replay traces through cache policies.
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Lab(lab::LabCommand),
    #[cfg(not(feature = "lab"))]
    #[command(flatten)]
    Second(second::Command),
}

#[derive(Clone, Copy, ValueEnum)]
enum ScreenState {
    On,
    Off,
}

/// What makes trace files of this system, and what works on any.
#[cfg(feature = "lab")]
#[derive(Subcommand)]
enum TraceCommand {
    /// Record what this system reads and writes through its page cache and on its disks (as root).
    Record(record::Record),
    #[command(flatten)]
    Files(lab::trace::TraceCommand),
}

/// What can be said on the command line.
pub fn command() -> clap::Command {
    groups::grouped(Cli::command())
}

/// The program.
pub fn main() -> ExitCode {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        // Help and the version are what was asked for.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        Err(error) => return Failure::from(error).report(),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let settings = Settings::new(cli.config, cli.run_folder);
    let folder = &settings.run_folder();
    let tell = |request| Ok(fovea_client::tell(folder, &request)?);
    match cli.command {
        Command::Check { json, strict } => check::check(json, &settings, strict),
        Command::Run { strict } => {
            let loaded = settings.guarded();
            if let Some(problem) = loaded.problems.first().filter(|_| strict) {
                return Err(Failure::failed(problem));
            }
            fovea_daemon::run(loaded, move || settings.read_again()).map_err(Failure::failed)
        }
        Command::Setup { .. } => {
            let words = std::env::args_os().skip_while(|word| word != "setup").skip(1);
            Err(beside::become_program("fovea-setup", "setup", "fovea-setup", words))
        }
        Command::Reload => tell(Request::Reload {}),
        Command::Probe { root, devices } => fovea_linux::serve_probe(root, devices)
            .map_err(|e| Failure::failed(format!("probe: {e}: it is the daemon that starts it"))),
        Command::Restore { wait } => restore(folder, wait),
        Command::Launch(launch) => launch::launch(folder, launch),
        Command::Focus { name: Some(app), .. } => tell(Request::Focus { app }),
        Command::Focus { name: None, .. } => tell(Request::Home {}),
        Command::Close { name: app } => tell(Request::Close { app }),
        Command::Screen { state } => tell(Request::Screen { on: matches!(state, ScreenState::On) }),
        Command::Simulate(options) => simulate::simulate(&settings, folder, options),
        Command::Rules(rules) => rules::rules(folder, rules),
        Command::Status { json, offset, limit } => status::status(folder, json, offset, limit),
        Command::Top(words) => Err(beside::ask("top", folder, words)),
        Command::Metrics(words) => Err(beside::ask("metrics", folder, words)),
        Command::Prefetch(words) => Err(beside::ask("prefetch", folder, words)),
        #[cfg(feature = "lab")]
        Command::Explain { export: Some(to), replay, .. } => export::export(&to, replay, folder),
        #[cfg(not(feature = "lab"))]
        Command::Explain { export: Some(_), .. } => Err(second::turn_into("explain --export")),
        Command::Explain { app, limit, json, replay: None, .. } => explain::explain(folder, app, limit, json),
        #[cfg(feature = "lab")]
        Command::Explain { app, json, replay: Some(file), .. } => replay::replay(&file, &settings, app, json),
        #[cfg(not(feature = "lab"))]
        Command::Explain { replay: Some(_), .. } => Err(second::turn_into("explain --replay")),
        Command::Notify(notify) => source::notify(folder, notify),
        Command::Source(source) => source::source(folder, source),
        Command::Heap(command) => heap::heap(command),
        #[cfg(feature = "lab")]
        Command::Phone(phone) => phone::phone(phone),
        #[cfg(feature = "lab")]
        Command::Trace(TraceCommand::Record(what)) => record::record(folder, what),
        #[cfg(feature = "lab")]
        Command::Trace(TraceCommand::Files(command)) => command.run(),
        #[cfg(feature = "lab")]
        Command::Lab(command) => command.run(),
        #[cfg(not(feature = "lab"))]
        Command::Second(command) => Err(second::run(&command)),
    }
}

/// For systemd's ExecStopPost and for people: works without a daemon, and only without one.
fn restore(run_folder: &Path, wait: bool) -> Result<(), Failure> {
    let complaints = fovea_daemon::restore_alone(run_folder, wait).map_err(Failure::Failed)?;
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(complaints.join("; "))),
    }
}
