// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The subcommands `fovea trace import|info` and `fovea lab replay|sweep|reproduce|report`, whole: parse, run, print.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    dense::DenseOptions,
    ecache, hybrid,
    import::{CsvColumns, Format, ImportOptions, Order},
    policy::{self, Choice},
    replay::{Outcome, ReplayOptions},
    report, reproduce, sim,
    sweep::{output::write_json, SweepOptions},
    synthetic::Synthetic,
    Error, Op, Result, Size, Weight,
};

/// `fovea trace …`, the part that concerns files.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Turn a foreign trace into a trace file.
    Import(ImportArgs),
    /// Tell what a trace file holds.
    Info(InfoArgs),
    /// Make a trace up: requests by Zipf's law.
    Make(MakeArgs),
}

/// `fovea lab …`, the part that replays.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run cache policies on one trace file.
    #[command(after_help = policies_help())]
    Replay(ReplayArgs),
    /// Run cache policies on several trace files over all cores; can be interrupted and goes on when started again.
    #[command(after_help = policies_help())]
    Sweep(SweepArgs),
    /// Run a trace file through buffer caches in a memory of DRAM and PCM.
    Hybrid(hybrid::cli::HybridArgs),
    /// Replay what a phone asks of its eCache, under every way of choosing a device's region.
    Ecache(ecache::cli::EcacheArgs),
    /// Run a scenario of the virtual phone on a simulated one, with the daemon's own code, in no time.
    Sim(sim::cli::SimArgs),
    /// Repeat the experiments of the papers: claim, our figure, verdict. Fails if a verdict does.
    Reproduce(reproduce::cli::ReproduceArgs),
    /// Make one page of the papers' experiments and of the saved results of scenarios: plots, verdicts, how to run each again.
    Report(report::ReportArgs),
}

impl TraceCommand {
    /// Does it and prints what came of it.
    ///
    /// # Errors
    /// One line: what was wrong, where, and the mend; [`Error::exit_code`] tells the exit code.
    pub fn run(self) -> Result<()> {
        match self {
            TraceCommand::Import(args) => args.run(),
            TraceCommand::Info(args) => args.run(),
            TraceCommand::Make(args) => args.run(),
        }
    }
}

impl LabCommand {
    /// Does it and prints what came of it.
    ///
    /// # Errors
    /// One line: what was wrong, where, and the mend; [`Error::exit_code`] tells the exit code.
    pub fn run(self) -> Result<()> {
        match self {
            LabCommand::Replay(args) => args.run(),
            LabCommand::Sweep(args) => args.run(),
            LabCommand::Hybrid(args) => args.run(),
            LabCommand::Ecache(args) => args.run(),
            LabCommand::Sim(args) => args.run(),
            LabCommand::Reproduce(args) => args.run(),
            LabCommand::Report(args) => args.run(),
        }
    }
}

fn policies_help() -> String {
    let mut text = "Policies, with their parameters (name:parameter=number):\n".to_owned();
    for choice in policy::all() {
        text += &format!("  {:8} {}\n", choice.policy.name, choice.policy.source);
        for p in choice.policy.parameters {
            text += &format!("           {}={} ({} to {}): {}\n", p.name, p.default, p.least, p.greatest, p.meaning);
        }
    }
    text
}

/// What to do when time goes back.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum OrderArg {
    /// Stop there.
    #[default]
    Reject,
    /// Keep the file's order.
    Keep,
    /// Sort by time.
    Sort,
}

/// `fovea trace import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The foreign trace; may be compressed with gzip, xz or zstd.
    input: PathBuf,
    /// The trace file to make.
    output: PathBuf,
    /// Its format, if it should not be detected: mobile-block-io, msr, systor17, biotracer, blkparse, csv, ids, vscsi, oracle-general.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// What to do with records earlier than the one before them.
    #[arg(long, value_enum, default_value_t)]
    order: OrderArg,
    /// Leave bad records out (they are counted) instead of stopping.
    #[arg(long)]
    skip_bad: bool,
    /// Columns of a csv file, e.g. time=1,id=2,size=3,delimiter=tab.
    #[arg(long, value_name = "COLUMNS")]
    csv: Option<String>,
    /// The blkparse event that counts as the request: Q, D or C.
    #[arg(long, value_name = "LETTER")]
    blkparse_action: Option<char>,
    /// Print what was imported as JSON.
    #[arg(long)]
    json: bool,
}

/// `fovea trace info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The trace file.
    trace: PathBuf,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

/// What replay and sweep have in common.
#[derive(Debug, Args)]
struct GridArgs {
    /// Policies, with commas between them, or `all`.
    #[arg(long, visible_alias = "policy", default_value = "all")]
    policies: String,
    /// Cache sizes, with commas between them: 64MiB, 1000 (objects), 10% (of the distinct objects), 10%B (of their bytes).
    #[arg(long, visible_alias = "size", default_value = "0.1%,1%,10%")]
    sizes: String,
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
}

fn request_op(name: &str) -> Result<Op, &'static str> {
    let known = name.parse().ok().filter(|op: &Op| op.is_request());
    known.ok_or("requests are object, block, page-get, page-fault and page-map")
}

impl GridArgs {
    fn policies(&self) -> Result<Vec<Choice>> {
        if self.policies == "all" {
            return Ok(policy::all());
        }
        self.policies.split(',').map(str::parse).collect()
    }

    fn sizes(&self) -> Result<Vec<Size>> {
        self.sizes.split(',').map(str::parse).collect()
    }

    fn dense(&self) -> DenseOptions {
        DenseOptions {
            reads_only: self.reads_only,
            repeat: self.repeat,
            ops: self.ops.clone(),
            ..DenseOptions::default()
        }
    }
}

/// `fovea lab replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The trace file.
    #[arg(required_unless_present = "named_trace")]
    trace: Option<PathBuf>,
    /// The same, by name.
    #[arg(id = "named_trace", long = "trace", value_name = "TRACE", conflicts_with = "trace")]
    named: Option<PathBuf>,
    #[command(flatten)]
    grid: GridArgs,
    /// Write the results document there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// `fovea lab sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The trace files.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    grid: GridArgs,
    /// Results go to OUTPUT.json and OUTPUT.parquet; finished cells, until all are, to OUTPUT.partial.jsonl.
    #[arg(long, short)]
    output: PathBuf,
    /// Threads; all cores unless told otherwise.
    #[arg(long)]
    threads: Option<usize>,
}

/// A progress bar; hidden where standard error is no terminal.
pub(crate) fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Prints lines; a reader that went away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::io(Path::new("standard output"), error, "make room there"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&(serde_json::to_string_pretty(value).expect("results serialise") + "\n"))
}

/// `fovea trace make`.
#[derive(Debug, Args)]
pub struct MakeArgs {
    /// The trace file to make.
    output: PathBuf,
    /// Requests.
    #[arg(long, default_value_t = 1_000_000)]
    requests: u64,
    /// Objects that are asked for again and again.
    #[arg(long, default_value_t = 100_000)]
    objects: u64,
    /// Exponent of Zipf's law; 0 for all objects alike.
    #[arg(long, default_value_t = 1.0)]
    zipf: f64,
    /// Percent of the requests that go to an object asked for only once.
    #[arg(long, default_value_t = 0.0)]
    once_percent: f64,
    /// Decides everything that is drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl MakeArgs {
    fn run(self) -> Result<()> {
        let what = Synthetic {
            requests: self.requests,
            objects: self.objects,
            zipf: self.zipf,
            once_percent: self.once_percent,
            seed: self.seed,
        };
        let bar = bar("{bar:40} {human_pos} of {human_len} requests, {eta} left");
        bar.set_length(self.requests);
        crate::synthetic::make(&what, &self.output, |done| bar.set_position(done))?;
        bar.finish_and_clear();
        print(&format!("{}: {} requests\n", self.output.display(), self.requests))
    }
}

impl ImportArgs {
    fn run(self) -> Result<()> {
        let options = ImportOptions {
            // Who names columns says that it is a csv file.
            format: self
                .format
                .as_deref()
                .or(self.csv.as_ref().map(|_| "csv"))
                .map(str::parse::<&'static Format>)
                .transpose()?,
            order: match self.order {
                OrderArg::Reject => Order::Reject,
                OrderArg::Keep => Order::Keep,
                OrderArg::Sort => Order::Sort,
            },
            skip_bad: self.skip_bad,
            csv: self.csv.as_deref().map_or(Ok(CsvColumns::default()), str::parse)?,
            blkparse_action: self.blkparse_action,
            input: self.input,
            output: self.output,
        };
        let bar = bar("{bar:40} {binary_bytes} of {binary_total_bytes}, {eta} left");
        let report = crate::import(&options, |read, size| {
            bar.set_length(size);
            bar.set_position(read);
        })?;
        bar.finish_and_clear();
        if self.json {
            return print_json(&report);
        }
        let mut text = format!("{}: {} records, read as {}\n", options.output.display(), report.records, report.format);
        for (kind, count) in &report.tally.dropped {
            text += &format!("  dropped: {count} {kind}\n");
        }
        for (kind, count) in &report.tally.unattributed {
            text += &format!("  no app known: {count} ({kind})\n");
        }
        if report.tally.backwards > 0 {
            text += &format!("  earlier than the record before: {}\n", report.tally.backwards);
        }
        print(&text)
    }
}

/// Names by count, most first, and how many more there are.
fn most(counts: &std::collections::BTreeMap<String, u64>, limit: usize) -> String {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|&(name, &count)| (std::cmp::Reverse(count), name));
    let name = |name: &str| if name.is_empty() { "(not known)".to_owned() } else { name.to_owned() };
    let mut text: Vec<_> = sorted.iter().take(limit).map(|(n, count)| format!("{} {count}", name(n))).collect();
    if sorted.len() > limit {
        text.push(format!("and {} more", sorted.len() - limit));
    }
    text.join(", ")
}

impl InfoArgs {
    fn run(self) -> Result<()> {
        let bar = bar("{bar:40} {pos} of {len} records");
        let info = crate::info(&self.trace, |read, total| {
            bar.set_length(total);
            bar.set_position(read);
        })?;
        bar.finish_and_clear();
        if self.json {
            return print_json(&info);
        }
        let mut text = format!(
            "{}: {} records over {} s\n",
            self.trace.display(),
            info.records,
            (info.last_ns - info.first_ns) as f64 / 1e9
        );
        text += &format!("  operations:  {}\n", most(&info.operations, 10));
        text += &format!("  writes:      {}, waited for: {}\n", info.writes, info.syncs);
        text += &format!("  bytes:       {}\n", info.bytes);
        text += &format!("  namespaces:  {}\n", most(&info.spaces, 10));
        text += &format!("  apps:        {}\n", most(&info.apps, 10));
        if !info.files.is_empty() {
            text += &format!("  files:       {}\n", most(&info.files, 10));
        }
        text += &format!("  replay:      {} requests\n", info.requests);
        text += &format!("  footprint:   {} objects, {} bytes\n", info.footprint_objects, info.footprint_bytes);
        if info.backwards > 0 {
            text += &format!("  time:        goes back at {} records\n", info.backwards);
        }
        for (key, value) in &info.notes {
            text += &format!("  {key}: {value}\n");
        }
        print(&text)
    }
}

fn table<'o>(rows: impl Iterator<Item = (String, &'o str, u64, u64)>) -> String {
    let mut text = format!("{:24} {:24} {:>12} {:>12} {:>9}\n", "size", "policy", "requests", "misses", "miss %");
    for (size, policy, requests, misses) in rows {
        let percent = 100.0 * misses as f64 / requests.max(1) as f64;
        text += &format!("{size:24} {policy:24} {requests:>12} {misses:>12} {percent:>9.3}\n");
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
    fn run(self) -> Result<()> {
        let options = ReplayOptions {
            policies: self.grid.policies()?,
            sizes: self.grid.sizes()?,
            dense: self.grid.dense(),
            // The command line has one of the two.
            trace: self.trace.or(self.named).unwrap_or_default(),
        };
        let bar = bar("{bar:40} {msg} {pos} of {len}, {eta} left");
        let report = crate::replay(&options, |done, total, what| {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(what.to_owned());
        })?;
        bar.finish_and_clear();
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => return print_json(&report.document()),
            Some(path) => write_json(path, &report.document(), "make room and replay again")?,
            None => {}
        }
        let rows = report.outcomes.iter().map(|o| (size_of(o), o.policy.as_str(), o.requests, o.misses()));
        let mut text = table(rows);
        for (why, count) in &report.left_out {
            text += &format!("left out: {count} {why}\n");
        }
        print(&text)
    }
}

impl SweepArgs {
    fn run(self) -> Result<()> {
        let options = SweepOptions {
            policies: self.grid.policies()?,
            sizes: self.grid.sizes()?,
            dense: self.grid.dense(),
            traces: self.traces,
            output: self.output,
            threads: self.threads,
        };
        let bar = bar("{bar:40} {pos} of {len} cells, {eta} left");
        let report = crate::sweep(&options, |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        let rows = report
            .cells
            .iter()
            .map(|c| (format!("{} {}", c.trace, c.size), c.policy.as_str(), c.requests, c.requests - c.hits));
        let mut text = table(rows);
        if report.resumed > 0 {
            text += &format!("{} of {} cells were finished before\n", report.resumed, report.cells.len());
        }
        text += &format!("written: {}, {}\n", report.files[0].display(), report.files[1].display());
        print(&text)
    }
}
