// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab replay|sweep`: cache policies on traces.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::dense::DenseOptions;
use fovea_lab::policy::{self, Choice};
use fovea_lab::replay::{over_seeds, with_seeds, Counting, Interval, Outcome, OverSeeds, ReplayOptions, WarmUp};
use fovea_lab::sweep::{Cell, SweepOptions};
use fovea_lab::{Op, Result, Size, Weight};

use super::{bar, to_stdout, write_results};
use crate::failure::Failure;
use crate::output::print;

pub fn policies_help() -> String {
    let mut text = "Policies, with their parameters (name:parameter=number):\n".to_owned();
    for choice in policy::all() {
        text += &format!("  {:8} {}\n", choice.policy.name, choice.policy.source);
        for p in choice.policy.parameters {
            text += &format!("           {}={} ({} to {}): {}\n", p.name, p.default, p.least, p.greatest, p.meaning);
        }
    }
    text += "  external:PROGRAM  a program that was built with fovea-policy.h; its parameters are its own\n";
    text += "Of every policy, beside its own:\n";
    for p in policy::HOOKS {
        text += &format!("           {} ({} to {}): {}\n", p.name, p.least, p.greatest, p.meaning);
    }
    text
}

/// What replay, sweep and mrc have in common.
#[derive(Debug, Args)]
pub(super) struct GridArgs {
    /// Policies, with commas between them, or `all`.
    #[arg(long, visible_alias = "policy", default_value = "all")]
    policies: String,
    /// Cache sizes, with commas between them: 64MiB, 1000 (objects), 10% (of the distinct objects), 10%B (of their bytes).
    /// 0.1%,1%,10% unless named; of mrc 25 sizes from 0.1% to 100%.
    #[arg(long, visible_alias = "size")]
    sizes: Option<String>,
    /// Leave writes out.
    #[arg(long)]
    reads_only: bool,
    /// Records that count as requests, with commas between them: object, block, page-get, page-fault, page-map. Without it: the first
    /// four; of a recording of `fovea trace record`, page-get and page-fault.
    #[arg(long, value_delimiter = ',', value_parser = request_op)]
    ops: Option<Vec<Op>>,
    /// Replay each trace so many times in a row.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    repeat: u64,
    /// Keep no dense form of the trace on disk, and take none. Without it those of long traces are kept in .fovea-dense beside them.
    #[arg(long)]
    no_keep: bool,
}

pub(super) fn request_op(name: &str) -> Result<Op, &'static str> {
    let known = name.parse().ok().filter(|op: &Op| op.is_request());
    known.ok_or("requests are object, block, page-get, page-fault and page-map")
}

impl GridArgs {
    pub(super) fn policies(&self) -> Result<Vec<Choice>> {
        if self.policies == "all" {
            return Ok(policy::all());
        }
        self.policies.split(',').map(str::parse).collect()
    }

    pub(super) fn asked_sizes(&self) -> Result<Option<Vec<Size>>> {
        self.sizes.as_ref().map(|sizes| sizes.split(',').map(str::parse).collect()).transpose()
    }

    fn sizes(&self) -> Result<Vec<Size>> {
        match self.asked_sizes()? {
            Some(sizes) => Ok(sizes),
            None => ["0.1%", "1%", "10%"].into_iter().map(str::parse).collect(),
        }
    }

    pub(super) fn dense(&self) -> DenseOptions {
        let options = DenseOptions {
            reads_only: self.reads_only,
            repeat: self.repeat,
            ops: self.ops.clone(),
            ..DenseOptions::default()
        };
        DenseOptions { keep_requests: options.keep_requests.filter(|_| !self.no_keep), ..options }
    }
}

/// Which requests are counted.
#[derive(Debug, Args)]
struct CountingArgs {
    /// Requests at the beginning that fill the caches and are not counted: a number, or a share of all (10%).
    #[arg(long, value_name = "REQUESTS", default_value = "0")]
    warm_up: String,
    /// Tell the misses of so many requests at a time too, beside those of all.
    #[arg(long, value_name = "REQUESTS")]
    interval: Option<u64>,
}

impl CountingArgs {
    fn counting(&self) -> Result<Counting> {
        Ok(Counting { warm_up: self.warm_up.parse::<WarmUp>()?, interval: self.interval })
    }
}

/// `fovea lab replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The trace file, or a foreign trace as `fovea trace import` takes it.
    #[arg(required_unless_present = "named_trace")]
    trace: Option<PathBuf>,
    /// The same, by name.
    #[arg(id = "named_trace", long = "trace", value_name = "TRACE", conflicts_with = "trace")]
    named: Option<PathBuf>,
    #[command(flatten)]
    grid: GridArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// Replay policies that draw under so many seeds; the table has the mean of their misses and half of its 95 % confidence interval, the
    /// document each of them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=31))]
    seeds: u32,
    /// Write the results document there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// `fovea lab sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The trace files; foreign traces are imported on the way.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    grid: GridArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// Results go to OUTPUT.json and OUTPUT.parquet; finished cells, until all are, to OUTPUT.partial.jsonl.
    #[arg(long, short)]
    output: PathBuf,
    /// Threads; all cores unless told otherwise.
    #[arg(long)]
    threads: Option<usize>,
}

fn heads() -> String {
    format!("{:24} {:24} {:>12} {:>12} {:>9}\n", "size", "policy", "requests", "misses", "miss %")
}

/// Of several seeds the mean, with half of its 95 % confidence interval.
fn line_over_seeds(found: &OverSeeds, outcome: &Outcome) -> String {
    let percent = |misses: f64| 100.0 * misses / outcome.requests.max(1) as f64;
    let (size, requests) = (size_of(outcome), outcome.requests);
    let OverSeeds { policy, mean_misses, half_interval, seeds, .. } = found;
    let mut line = format!("{size:24} {policy:24} {requests:>12} {mean_misses:>12.0} {:>9.3}", percent(*mean_misses));
    if *seeds > 1 {
        line += &format!(" ± {:.3} ({seeds} seeds)", percent(*half_interval));
    }
    line + "\n"
}

fn table<'o>(rows: impl Iterator<Item = (String, &'o str, u64, u64)>) -> String {
    let mut text = heads();
    for (size, policy, requests, misses) in rows {
        let percent = 100.0 * misses as f64 / requests.max(1) as f64;
        text += &format!("{size:24} {policy:24} {requests:>12} {misses:>12} {percent:>9.3}\n");
    }
    text
}

/// Each interval below the others, nothing if none was asked for.
fn interval_table<'o>(rows: impl Iterator<Item = (String, &'o str, &'o [Interval])>) -> String {
    let mut text = String::new();
    for (size, policy, intervals) in rows {
        for i in intervals {
            let misses = i.requests - i.hits;
            let percent = 100.0 * misses as f64 / i.requests.max(1) as f64;
            let (first, requests) = (i.first_request, i.requests);
            text += &format!("{size:24} {policy:24} {first:>12} {requests:>12} {misses:>12} {percent:>9.3}\n");
        }
    }
    if !text.is_empty() {
        let heads = ("size", "policy", "from request", "requests", "misses", "miss %");
        let (size, policy, first, requests, misses, percent) = heads;
        text = format!("\n{size:24} {policy:24} {first:>12} {requests:>12} {misses:>12} {percent:>9}\n{text}");
    }
    text
}

fn size_of(outcome: &Outcome) -> String {
    match outcome.capacity.weight {
        Weight::Objects if outcome.size.ends_with('%') => format!("{} = {}", outcome.size, outcome.capacity.amount),
        Weight::Bytes if outcome.size.ends_with("%B") => format!("{} = {}B", outcome.size, outcome.capacity.amount),
        _ => outcome.size.clone(),
    }
}

impl ReplayArgs {
    pub fn run(self) -> Result<(), Failure> {
        let options = ReplayOptions {
            policies: with_seeds(&self.grid.policies()?, self.seeds),
            sizes: self.grid.sizes()?,
            dense: self.grid.dense(),
            counting: self.counting.counting()?,
            // The command line has one of the two.
            trace: self.trace.or(self.named).unwrap_or_default(),
        };
        let bar = bar("{bar:40} {msg} {pos} of {len}, {eta} left");
        let report = fovea_lab::replay(&options, |done, total, what| {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(what.to_owned());
        })?;
        bar.finish_and_clear();
        let json = self.json.as_deref();
        write_results(json, &report.document(), "make room and replay again")?;
        if to_stdout(json) {
            return Ok(());
        }
        let mut text = heads();
        for found in over_seeds(&options.policies, &report.outcomes) {
            let of = report.outcomes.iter().find(|outcome| outcome.size == found.size);
            text += &of.map_or_else(String::new, |outcome| line_over_seeds(&found, outcome));
        }
        text += &interval_table(report.outcomes.iter().map(|o| (size_of(o), o.policy.as_str(), &*o.intervals)));
        for (why, count) in &report.left_out {
            text += &format!("left out: {count} {why}\n");
        }
        print(&text)
    }
}

impl SweepArgs {
    pub fn run(self) -> Result<(), Failure> {
        let options = SweepOptions {
            policies: self.grid.policies()?,
            sizes: self.grid.sizes()?,
            dense: self.grid.dense(),
            counting: self.counting.counting()?,
            traces: self.traces,
            output: self.output,
            threads: self.threads,
        };
        let bar = bar("{bar:40} {pos} of {len} cells, {eta} left");
        let report = fovea_lab::sweep(&options, |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        let rows = report
            .cells
            .iter()
            .map(|c| (format!("{} {}", c.trace, c.size), c.policy.as_str(), c.requests, c.requests - c.hits));
        let mut text = table(rows);
        let name = |c: &Cell| format!("{} {}", c.trace, c.size);
        text += &interval_table(report.cells.iter().map(|c| (name(c), c.policy.as_str(), &*c.intervals)));
        if report.resumed > 0 {
            text += &format!("{} of {} cells were finished before\n", report.resumed, report.cells.len());
        }
        text += &format!("written: {}, {}\n", report.files[0].display(), report.files[1].display());
        print(&text)
    }
}
