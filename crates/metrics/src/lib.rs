// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea metrics`: the daemon's state and its decisions as OpenMetrics text, printed, written to a file for node_exporter, or served. A program
//! of its own, so that nothing of it is in the daemon's. [`families`] and [`text`] are pure.

mod families;
mod out;
#[cfg(test)]
mod parser;
mod tally;
#[cfg(test)]
mod tests;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use fovea_apps::printable;
use fovea_client::protocol::{Reply, Request};
use fovea_client::ClientError;
use serde_json::Value;

use crate::tally::Tally;

/// Entries of the journal that are asked for: as many as the daemon gives.
const ENTRIES: usize = 400;

/// Prints the daemon's state and its decisions as OpenMetrics text.
#[derive(Parser)]
#[command(name = "fovea-metrics", version, max_term_width = 80)]
struct Options {
    /// Folder of the daemon's socket and state.
    #[arg(long, env = "FOVEA_RUN", value_name = "FOLDER", default_value = fovea_client::protocol::RUN_FOLDER, overrides_with = "run_folder")]
    run_folder: PathBuf,
    /// Write to that file in one step, for node_exporter's textfile collector; its name ends in .prom.
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    textfile: Option<PathBuf>,
    /// Answer HTTP requests until ended: HOST:PORT, or unix:PATH.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Keep the counts of decisions in that file between two calls. Without it they begin with what the journal still holds.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

/// What can be said on its command line.
pub fn command() -> clap::Command {
    Options::command()
}

/// The program.
pub fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            say(&line);
            ExitCode::FAILURE
        }
    }
}

/// Says a line to people. Nobody may be listening; the exit code tells all the same.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "fovea: {}", printable(line));
}

fn run(options: Options) -> Result<(), String> {
    let mut source = Source::new(&options.run_folder, options.state)?;
    match (options.textfile, options.listen) {
        (Some(path), _) => {
            let text = source.text()?;
            out::replace(&path, text.as_bytes(), 0o644)
        }
        (None, Some(address)) => out::serve(&address, || source.text()),
        (None, None) => {
            // Whoever asks by hand wants to know why there is nothing.
            let text = source.asked().map_err(|e| in_one_line(&e))?;
            source.keep()?;
            let mut stdout = std::io::stdout().lock();
            match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
                Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                    Err(format!("standard output: {e}: free some space, or print elsewhere"))
                }
                _ => Ok(()),
            }
        }
    }
}

/// What is wrong, where, and the mend.
fn in_one_line(error: &ClientError) -> String {
    match error {
        ClientError::NotAllowed { path } => {
            format!("{}: permission denied: only root may ask the daemon: run `sudo fovea metrics`", path.display())
        }
        other => other.to_string(),
    }
}

/// The daemon, and what was counted so far.
struct Source {
    run_folder: PathBuf,
    state: Option<PathBuf>,
    tally: Tally,
}

impl Source {
    fn new(run_folder: &Path, state: Option<PathBuf>) -> Result<Source, String> {
        let tally = match &state {
            Some(path) => Tally::read(path)?,
            None => Tally::default(),
        };
        Ok(Source { run_folder: run_folder.to_owned(), state, tally })
    }

    /// The text, of a daemon that does not run too: a monitor is to see that, and not to keep what was last.
    fn text(&mut self) -> Result<String, String> {
        let text = match self.asked() {
            Err(ClientError::NotRunning { .. }) => text::written(&families::without_daemon(&self.tally)),
            asked => asked.map_err(|e| in_one_line(&e))?,
        };
        self.keep()?;
        Ok(text)
    }

    fn asked(&mut self) -> Result<String, ClientError> {
        let status = fovea_client::status(&self.run_folder, 0, None)?;
        let request = Request::Explain { app: None, limit: Some(ENTRIES), uid: None };
        let entries: Vec<Value> = match fovea_client::request(&self.run_folder, &request)? {
            Reply::Story { entries } => entries,
            other => return Err(other.into()),
        };
        self.tally.take(&entries);
        Ok(text::written(&families::families(&status, &self.tally)))
    }

    fn keep(&self) -> Result<(), String> {
        match &self.state {
            Some(path) => out::replace(path, &self.tally.written(), 0o600),
            None => Ok(()),
        }
    }
}
