// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab ecache`: a trace of the eCache's interface, or a workload's, under every way of choosing regions.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::ecache::{compare, write};

use super::{to_stdout, write_results};
use crate::failure::Failure;
use crate::output::print;

/// `fovea lab ecache`.
#[derive(Debug, Args)]
pub struct EcacheArgs {
    /// Traces: files in the lab's text format, or workloads (L, N, H, LM, NM, HM) to be generated.
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<String>,
    /// Apps opened in generated traces.
    #[arg(long, default_value_t = 400)]
    launches: u32,
    /// Seed of generated traces.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Caches that the search for the best regions follows; 0 for no search.
    #[arg(long, default_value_t = 8)]
    width: usize,
    /// Write the one trace there as text (with .zst: compressed) and replay nothing.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Write the results document there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl EcacheArgs {
    pub fn run(self) -> Result<(), Failure> {
        let traces = compare::traces(&self.traces, self.launches, self.seed)?;
        if let Some(path) = &self.write {
            let [trace] = traces.as_slice() else {
                return Err(Failure::Usage("--write takes one trace; name just one".into()));
            };
            return Ok(write(trace, path)?);
        }
        let rows = compare::compare(&traces, self.width)?;
        let json = self.json.as_deref();
        write_results(json, &compare::results(&rows, self.seed), "make room and run again")?;
        if to_stdout(json) {
            return Ok(());
        }
        let mut text = format!(
            "{:16} {:18} {:>9} {:>8} {:>14} {:>10} {:>9}\n",
            "trace", "policy", "gets", "hit %", "utilisation %", "discarded", "salvaged"
        );
        for row in &rows {
            let o = &row.outcome;
            let hit = 100.0 * o.hits as f64 / o.gets.max(1) as f64;
            text += &format!(
                "{:16} {:18} {:>9} {hit:>8.2} {:>14.1} {:>10} {:>9}\n",
                row.trace, row.policy, o.gets, o.utilisation_percent, o.discarded, o.salvaged
            );
        }
        print(&text)
    }
}
