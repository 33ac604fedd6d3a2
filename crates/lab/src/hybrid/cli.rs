// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab hybrid`: a trace file through buffer caches in a memory of two kinds.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use fovea_report::document::Case;

use super::{cost::TABLE_1, Frames, HybridTrace, Ledger, Policy, POLICIES};
use crate::{
    cli::{print, print_json},
    parallel, replay,
    size::Footprint,
    sweep::output::write_json,
    Error, Result, Size, PAGE_BYTES,
};

/// `fovea lab hybrid`.
#[derive(Debug, Args)]
pub struct HybridArgs {
    /// The trace file.
    trace: PathBuf,
    /// Policies, with commas between them: seed, lru, 2q-lru, clock-dwf; variants of the seed's: seed:switch=move, seed:read-only=page.
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

/// The figures of one run.
pub(crate) fn figures(ledger: &Ledger, frames: Frames) -> BTreeMap<String, f64> {
    let (all, front) = (ledger.all(), TABLE_1.of_class(&ledger.foreground));
    let figures = [
        ("requests", all.requests as f64),
        ("hit_percent", 100.0 * all.hit_ratio()),
        ("foreground_hit_percent", 100.0 * ledger.foreground.hit_ratio()),
        ("background_hit_percent", 100.0 * ledger.background.hit_ratio()),
        ("foreground_elapsed_ns", front.elapsed_ns),
        ("foreground_memory_ns", front.memory_ns),
        ("background_elapsed_ns", TABLE_1.of_class(&ledger.background).elapsed_ns),
        ("dynamic_energy_nj", TABLE_1.of_class(&all).dynamic_nj),
        ("energy_nj", TABLE_1.energy_nj(ledger, frames)),
        ("pcm_page_writes", all.pcm_page_writes() as f64),
        ("migrations", (all.promotions + all.demotions) as f64),
        ("write_backs", all.write_backs as f64),
    ];
    figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl HybridArgs {
    pub(crate) fn run(self) -> Result<()> {
        let policies: Vec<Policy> = match &self.policies {
            Some(names) => names.split(',').map(str::parse).collect::<Result<_>>()?,
            None => POLICIES.to_vec(),
        };
        let sizes: Vec<Size> = self.sizes.split(',').map(str::parse).collect::<Result<_>>()?;
        if !(self.dram_percent > 0.0 && self.dram_percent <= 100.0) {
            return Err(Error::Usage(format!(
                "--dram-percent {}: take more than 0 and at most 100",
                self.dram_percent
            )));
        }
        let trace = HybridTrace::open(&self.trace, &self.foreground)?;
        let pages = u64::from(trace.pages);
        let footprint = Footprint { objects: pages, bytes: pages * PAGE_BYTES };
        let mut cells = Vec::new();
        for size in sizes {
            let capacity = size.resolve(footprint)?;
            let total =
                if capacity.weight == crate::Weight::Bytes { capacity.amount / PAGE_BYTES } else { capacity.amount };
            let frames = Frames::split(total, self.dram_percent)?;
            cells.extend(policies.iter().map(|&policy| (size, frames, policy)));
        }
        let ledgers = parallel::map(&cells, parallel::threads(None), |(_, frames, p)| p.run(&trace, *frames), |_| {});
        let cases: Vec<Case> = cells
            .iter()
            .zip(&ledgers)
            .map(|((size, frames, policy), ledger)| Case {
                case: size.to_string(),
                configuration: policy.to_string(),
                figures: figures(ledger, *frames),
            })
            .collect();
        let document = replay::document("lab hybrid", cases);
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => return print_json(&document),
            Some(path) => write_json(path, &document, "make room and run again")?,
            None => {}
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
