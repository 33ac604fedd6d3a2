// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab` and the part of `fovea trace` that concerns files: parse, call, print.

mod ablate;
mod ecache;
mod hybrid;
mod mrc;
mod replay;
mod report;
mod reproduce;
mod sim;
pub mod trace;

use std::path::Path;

use clap::Subcommand;
use fovea_lab::output::write_json;
use fovea_report::Document;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::output::print_json;

/// `fovea lab …`, the part that replays.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run cache policies on one trace file.
    #[command(after_help = replay::policies_help())]
    Replay(replay::ReplayArgs),
    /// Run cache policies on several trace files over all cores; can be interrupted and goes on when started again.
    #[command(after_help = replay::policies_help())]
    Sweep(replay::SweepArgs),
    /// Draw miss-ratio curves: LRU's exactly from stack distances, the others' from samples, with their error.
    #[command(after_help = replay::policies_help())]
    Mrc(mrc::MrcArgs),
    /// Run a trace file through buffer caches in a memory of DRAM and PCM.
    Hybrid(hybrid::HybridArgs),
    /// Replay what a phone asks of its eCache, under every way of choosing a device's region.
    Ecache(ecache::EcacheArgs),
    /// Run a scenario of the virtual phone on a simulated one, with the daemon's own code, in no time.
    Sim(sim::SimArgs),
    /// Switch off one rule of the memory policy at a time, and tell what changes: verdicts, kills, launches.
    Ablate(ablate::AblateArgs),
    /// Repeat the experiments of the papers: claim, our figure, verdict. Fails if a verdict does.
    Reproduce(reproduce::ReproduceArgs),
    /// Make one page of the papers' experiments and of the saved results of scenarios: plots, verdicts, how to run each again.
    Report(report::ReportArgs),
}

impl LabCommand {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            LabCommand::Replay(args) => args.run(),
            LabCommand::Sweep(args) => args.run(),
            LabCommand::Mrc(args) => args.run(),
            LabCommand::Hybrid(args) => args.run(),
            LabCommand::Ecache(args) => args.run(),
            LabCommand::Sim(args) => args.run(),
            LabCommand::Ablate(args) => args.run(),
            LabCommand::Reproduce(args) => args.run(),
            LabCommand::Report(args) => args.run(),
        }
    }
}

/// A progress bar; hidden where standard error is no terminal.
fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Whether results go to standard output instead of a table.
fn to_stdout(json: Option<&Path>) -> bool {
    json == Some(Path::new("-"))
}

/// Writes results where they were asked for. `mend` is for a disk that is full.
fn write_results(json: Option<&Path>, results: &impl serde::Serialize, mend: &str) -> Result<(), Failure> {
    match json {
        Some(_) if to_stdout(json) => print_json(results),
        Some(path) => Ok(write_json(path, results, mend)?),
        None => Ok(()),
    }
}

/// A failure that names the verdicts that do not hold.
fn verdict(document: &Document) -> Result<(), Failure> {
    let failed: Vec<&str> = document.verdicts.iter().filter(|v| !v.pass).map(|v| v.id.as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{} of {} verdicts do not hold: {}; the figures above say by how much",
        failed.len(),
        document.verdicts.len(),
        failed.join(", ")
    )))
}
