// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea trace filter|export`.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::dense::DenseOptions;
use fovea_lab::{Filter, Op};

use crate::failure::Failure;
use crate::lab::{bar, replay::request_op};
use crate::output::print;

fn op(name: &str) -> Result<Op, String> {
    let known = Op::ALL.map(|op| op.name());
    name.parse().map_err(|()| format!("operations are {}", known.join(", ")))
}

fn share(text: &str) -> Result<f64, &'static str> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|p: f64| p / 100.0),
        None => text.parse(),
    };
    number.ok().filter(|s| *s > 0.0 && *s <= 1.0).ok_or("take a share above 0 and up to 1, 0.1 or 10%")
}

/// Nanoseconds of seconds.
fn seconds(text: &str) -> Result<u64, &'static str> {
    let number = text.parse::<f64>().ok().filter(|s| (0.0..1e10).contains(s));
    number.map(|s| (s * 1e9).round() as u64).ok_or("take seconds after the trace's first record, 0 or more: 12.5")
}

/// `fovea trace filter`.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// The trace file.
    trace: PathBuf,
    /// The trace file to make.
    output: PathBuf,
    /// Seconds after the trace's first record; what is earlier is left out.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    from: Option<u64>,
    /// Seconds after the trace's first record; what is then or later is left out.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    to: Option<u64>,
    /// Operations to keep, with commas between them.
    #[arg(long, value_delimiter = ',', value_parser = op)]
    ops: Option<Vec<Op>>,
    /// Apps to keep, with commas between them; an empty name is what has none.
    #[arg(long, visible_alias = "app", value_delimiter = ',')]
    apps: Option<Vec<String>>,
    /// Keep all requests for such a share of the objects and pages, drawn by a hash of their numbers: 0.1 or 10%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    sample: Option<f64>,
    /// Decides which are drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl FilterArgs {
    pub fn run(self) -> Result<(), Failure> {
        let filter = Filter {
            from_ns: self.from,
            to_ns: self.to,
            ops: self.ops,
            apps: self.apps,
            sample: self.sample,
            seed: self.seed,
        };
        let bar = bar("{bar:40} {pos} of {len} records");
        let records = fovea_lab::filter(&self.trace, &self.output, &filter, |read, total| {
            bar.set_length(total);
            bar.set_position(read);
        })?;
        bar.finish_and_clear();
        print(&format!("{}: {records} records\n", self.output.display()))
    }
}

/// `fovea trace export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The trace file.
    trace: PathBuf,
    /// The file to make.
    output: PathBuf,
    /// Leave writes out.
    #[arg(long)]
    reads_only: bool,
    /// Records that count as requests, as of `fovea lab replay`.
    #[arg(long, value_delimiter = ',', value_parser = request_op)]
    ops: Option<Vec<Op>>,
    /// Count seconds from the first record, for a trace whose times have no room in the format's 32 bits.
    #[arg(long)]
    from_start: bool,
}

impl ExportArgs {
    pub fn run(self) -> Result<(), Failure> {
        let options = DenseOptions { reads_only: self.reads_only, ops: self.ops, ..DenseOptions::default() };
        let bar = bar("{bar:40} {pos} of {len} requests");
        let requests = fovea_lab::export(&self.trace, &self.output, &options, self.from_start, |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        print(&format!("{}: {requests} requests\n", self.output.display()))
    }
}
