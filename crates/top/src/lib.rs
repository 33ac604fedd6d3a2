// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea top`: memory, apps and decisions on one screen. A program of its own, so that nothing of it is in the daemon's. What is drawn
//! depends on a [`view::View`] alone; [`live`] asks the daemon and reads keys.

mod apps;
mod draw;
mod live;
mod memory;
#[cfg(test)]
mod tests;
mod view;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use fovea_apps::printable;
use fovea_client::ClientError;

use crate::view::Sort;

/// Shows memory, apps and the last decisions, and keeps them up to date; q ends it.
#[derive(Parser)]
#[command(name = "fovea-top", version, max_term_width = 80)]
struct Options {
    /// Folder of the daemon's socket and state.
    #[arg(long, env = "FOVEA_RUN", value_name = "FOLDER", default_value = fovea_client::protocol::RUN_FOLDER, overrides_with = "run_folder")]
    run_folder: PathBuf,
    /// Print one screen as text, with all apps, and end.
    #[arg(long)]
    once: bool,
    /// Order of the apps.
    #[arg(long, value_enum, default_value_t = Sort::Rank)]
    sort: Sort,
    /// Time between two looks, in seconds.
    #[arg(long, default_value_t = 1, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
}

/// What can be said on its command line.
pub fn command() -> clap::Command {
    Options::command()
}

/// The program.
pub fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            // Nobody may be listening; the exit code tells all the same.
            let _ = writeln!(std::io::stderr(), "fovea: {}", printable(&line));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let mut daemon = live::Daemon::new(&options.run_folder);
    let mut view = view::View { sort: options.sort, ..view::View::default() };
    daemon.look(&mut view).map_err(|e| in_one_line(&e))?;
    if options.once {
        let text = draw::as_text(&view, columns()).map_err(|e| format!("drawing: {e}: report it"))?;
        return print(&text);
    }
    if !std::io::stdout().is_terminal() {
        return Err("standard output is no terminal: print one screen with `fovea top --once`".into());
    }
    live::show(&mut daemon, view, Duration::from_secs(options.interval))
}

/// What is wrong, where, and the mend.
fn in_one_line(error: &ClientError) -> String {
    match error {
        ClientError::NotAllowed { path } => {
            format!("{}: permission denied: only root may ask the daemon: run `sudo fovea top`", path.display())
        }
        other => other.to_string(),
    }
}

/// Columns of a text: the terminal's, or what COLUMNS says, or 100.
fn columns() -> u16 {
    let of_terminal = || ratatui::crossterm::terminal::size().ok().filter(|_| std::io::stdout().is_terminal());
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().map(|(columns, _)| columns).or_else(said).unwrap_or(100).clamp(60, 500)
}

fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has left has read what it wanted.
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {e}: free some space, or print elsewhere"))
        }
        _ => Ok(()),
    }
}
