// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea trace import|info|make|filter|export`.

mod part;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fovea_lab::import::{AppRule, CsvOptions, Format, ImportOptions, Order};
use fovea_lab::synthetic::{self, Synthetic};

use super::bar;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// `fovea trace …`, the part that concerns files.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Turn a foreign trace into a trace file.
    Import(ImportArgs),
    /// Tell what a trace file holds.
    Info(InfoArgs),
    /// Make a trace up: requests by Zipf's law.
    Make(MakeArgs),
    /// Make a trace file of a part of one.
    Filter(part::FilterArgs),
    /// Write the requests that a replay makes of a trace file as libCacheSim's oracleGeneral.
    Export(part::ExportArgs),
}

impl TraceCommand {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            TraceCommand::Import(args) => args.run(),
            TraceCommand::Info(args) => args.run(),
            TraceCommand::Make(args) => args.run(),
            TraceCommand::Filter(args) => args.run(),
            TraceCommand::Export(args) => args.run(),
        }
    }
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
    /// The foreign trace; may be compressed with gzip, xz, zstd, bzip2 or lz4. `-` is standard input.
    input: PathBuf,
    /// The trace file to make.
    output: PathBuf,
    /// Its format, if it should not be detected: mobile-block-io, msr, systor17, biotracer, blkparse, ycsb, csv, ids, lcs,
    /// vscsi, oracle-general.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// What to do with records earlier than the one before them.
    #[arg(long, value_enum, default_value_t)]
    order: OrderArg,
    /// Leave bad records out (they are counted) instead of stopping.
    #[arg(long)]
    skip_bad: bool,
    /// What is known of a table: columns by number (from 1, 0 for none) or by name of time, id, size, op, count, disk, offset and length;
    /// time-unit (s, ms, us, ns, filetime, date), block-unit (byte, sector), delimiter (comma, tab, semicolon, pipe, space), header (yes,
    /// no), ids (text), table (such as tencent-block). E.g. time=1,id=key,size=0,time-unit=ms. What is not said is read off the file, and
    /// refused where it could be read in several ways.
    #[arg(long, value_name = "COLUMNS")]
    csv: Option<CsvOptions>,
    /// The blkparse event that counts as the request: Q, D or C.
    #[arg(long, value_name = "LETTER")]
    blkparse_action: Option<char>,
    /// An app in place of the threads whose names in the trace are like PATTERN (*, ?, [a-z]); may be said several times.
    #[arg(long = "app", value_name = "NAME=PATTERN")]
    apps: Vec<AppRule>,
    /// Make each request to a disk one for an object, named by its first byte and as large as it; else requests are for pages.
    #[arg(long)]
    whole_requests: bool,
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
    pub fn run(self) -> Result<(), Failure> {
        let what = Synthetic {
            requests: self.requests,
            objects: self.objects,
            zipf: self.zipf,
            once_percent: self.once_percent,
            seed: self.seed,
        };
        let bar = bar("{bar:40} {human_pos} of {human_len} requests, {eta} left");
        bar.set_length(self.requests);
        synthetic::make(&what, &self.output, |done| bar.set_position(done))?;
        bar.finish_and_clear();
        print(&format!("{}: {} requests\n", self.output.display(), self.requests))
    }
}

impl ImportArgs {
    pub fn run(self) -> Result<(), Failure> {
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
            csv: self.csv.unwrap_or_default(),
            blkparse_action: self.blkparse_action,
            apps: self.apps,
            whole_requests: self.whole_requests,
            input: self.input,
            output: self.output,
        };
        let bar = bar("{bar:40} {binary_bytes} of {binary_total_bytes}, {eta} left");
        let report = fovea_lab::import(&options, |read, size| {
            bar.set_length(size);
            bar.set_position(read);
        })?;
        bar.finish_and_clear();
        if self.json {
            return print_json(&report);
        }
        let mut text = format!("{}: {} records\n", options.output.display(), report.records);
        text += &format!("  read as {}\n  {}\n", report.understood, report.sanity.words());
        for (kind, count) in &report.tally.dropped {
            text += &format!("  dropped: {count} {kind}\n");
        }
        for (kind, count) in &report.tally.unattributed {
            text += &format!("  no app known: {count} ({kind})\n");
        }
        if report.tally.backwards > 0 {
            text += &format!("  earlier than the record before: {}\n", report.tally.backwards);
        }
        for warning in report.tally.jumps.warning().into_iter().chain(report.sanity.warnings()) {
            text += &format!("  warning: {warning}\n");
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
    pub fn run(self) -> Result<(), Failure> {
        let bar = bar("{bar:40} {pos} of {len} records");
        let info = fovea_lab::info(&self.trace, |read, total| {
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
        if let Some(warning) = info.jumps.warning() {
            text += &format!("  warning:     {warning}\n");
        }
        for (key, value) in &info.notes {
            text += &format!("  {key}: {value}\n");
        }
        print(&text)
    }
}
