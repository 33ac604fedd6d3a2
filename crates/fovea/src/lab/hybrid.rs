// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab hybrid`: a trace file through buffer caches in a memory of two kinds.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::hybrid::{compare::compare, HybridTrace, Policy, POLICIES};
use fovea_lab::{Result, Size};

use super::{to_stdout, write_results};
use crate::failure::Failure;
use crate::output::print;

/// `fovea lab hybrid`.
#[derive(Debug, Args)]
pub struct HybridArgs {
    /// The trace file.
    trace: PathBuf,
    /// Policies, with commas between them: seed, lru, 2q-lru, clock-dwf; variants of the paper's: seed:switch=move, seed:read-only=page.
    #[arg(long)]
    policies: Option<String>,
    /// Memory sizes, with commas between them: 64MiB, 1000 (pages), 10% (of the distinct pages).
    #[arg(long, default_value = "10%,20%,40%,70%")]
    sizes: String,
    /// Share of memory that is DRAM, percent.
    #[arg(long, default_value_t = 5.0)]
    dram_percent: f64,
    /// Apps in the foreground, with commas between them; parts of their names do. For traces that do not tell.
    #[arg(long, value_delimiter = ',')]
    foreground: Vec<String>,
    /// Write the results document there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl HybridArgs {
    pub fn run(self) -> Result<(), Failure> {
        let policies: Vec<Policy> = match &self.policies {
            Some(names) => names.split(',').map(str::parse).collect::<Result<_>>()?,
            None => POLICIES.to_vec(),
        };
        let sizes: Vec<Size> = self.sizes.split(',').map(str::parse).collect::<Result<_>>()?;
        let trace = HybridTrace::open(&self.trace, &self.foreground)?;
        let document = compare(&trace, &policies, &sizes, self.dram_percent)?;
        let json = self.json.as_deref();
        write_results(json, &document, "make room and run again")?;
        if to_stdout(json) {
            return Ok(());
        }
        let mut text = format!(
            "{:10} {:24} {:>8} {:>8} {:>14} {:>14} {:>12}\n",
            "size", "policy", "hit %", "fg hit %", "fg elapsed ms", "energy mJ", "PCM writes"
        );
        for case in &document.cases {
            let of = |name: &str| case.figures.get(name).copied().unwrap_or(f64::NAN);
            text += &format!(
                "{:10} {:24} {:>8.2} {:>8.2} {:>14.1} {:>14.2} {:>12}\n",
                case.case,
                case.configuration,
                of("hit_percent"),
                of("foreground_hit_percent"),
                of("foreground_elapsed_ns") / 1e6,
                of("energy_nj") / 1e6,
                of("pcm_page_writes")
            );
        }
        print(&text)
    }
}
