// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab mrc`: miss-ratio curves of a trace.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::mrc::{mrc, MrcOptions};
use fovea_lab::threads;

use super::replay::GridArgs;
use super::{bar, to_stdout, write_results};
use crate::failure::Failure;
use crate::output::print;

/// `fovea lab mrc`.
#[derive(Debug, Args)]
pub struct MrcArgs {
    /// The trace file, or a foreign trace as `fovea trace import` takes it.
    trace: PathBuf,
    #[command(flatten)]
    grid: GridArgs,
    /// Share of the objects in each of the four samples of an estimate, above 0 and up to 1. More are taken where the small cache would
    /// hold too few.
    #[arg(long, default_value_t = 0.01)]
    rate: f64,
    /// Estimate nothing: simulate every size in full.
    #[arg(long)]
    exact: bool,
    /// Estimate LRU too, which is exact otherwise (by objects).
    #[arg(long, conflicts_with = "exact")]
    shards: bool,
    /// Threads; all cores unless told otherwise. The result does not depend on them.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Write the results document there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl MrcArgs {
    pub fn run(self) -> Result<(), Failure> {
        let options = MrcOptions {
            policies: self.grid.policies()?,
            sizes: self.grid.asked_sizes()?.unwrap_or_default(),
            dense: self.grid.dense(),
            trace: self.trace,
            rate: self.rate,
            exact: self.exact,
            shards: self.shards,
            threads: threads(self.threads.map(usize::from)),
        };
        let bar = bar("{bar:40} {pos} of {len} points, {eta} left");
        let curves = mrc(&options, |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        let json = self.json.as_deref();
        write_results(json, &curves.document, "make room and run again")?;
        if to_stdout(json) {
            return Ok(());
        }
        let mut text =
            format!("{:12} {:24} {:>9} {:>9} {:>9}  {}\n", "size", "policy", "miss %", "+-", "sampled", "method");
        for p in &curves.points {
            let (miss, error, rate) = (100.0 * p.miss_ratio, 100.0 * p.error, 100.0 * p.rate);
            let (size, method) = (p.size.to_string(), p.method.name());
            text += &format!("{size:12} {:24} {miss:>9.3} {error:>9.3} {rate:>8.2}%  {method}\n", p.policy);
        }
        print(&text)
    }
}
