// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab ecache`: a trace of the eCache's interface, or a workload's, under every way of choosing regions.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use fovea_report::document::Case;

use super::{
    beam, generate, orders, read, replay, write, Alike, Base, GenerateOptions, Outcome, RegionPolicy, Trace, Worth,
    WORKLOADS,
};
use crate::{
    cli::{print, print_json},
    parallel,
    replay::document,
    sweep::output::write_json,
    Error, Result,
};

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

/// All orders of more devices than that are too many to try: 5 have 120.
const MOST_ORDERED: usize = 5;

fn policies(devices: usize) -> Vec<RegionPolicy> {
    let mut policies = vec![
        RegionPolicy::Random(1),
        RegionPolicy::Count,
        RegionPolicy::Lru,
        RegionPolicy::Aged,
        RegionPolicy::Salvage(Base::Aged, 1024),
        RegionPolicy::Salvage(Base::Aged, u32::MAX),
        RegionPolicy::Selective(Worth::Returned),
        RegionPolicy::Selective(Worth::Future),
        RegionPolicy::Protected(0),
        RegionPolicy::Protected(u32::MAX),
        RegionPolicy::Greedy,
        RegionPolicy::Belady,
        RegionPolicy::Undisturbed,
    ];
    if devices <= MOST_ORDERED {
        policies.extend(orders(devices).into_iter().map(RegionPolicy::Static));
    } else {
        policies.push(RegionPolicy::Static((0..devices).collect()));
    }
    policies
}

fn figures(outcome: &Outcome) -> BTreeMap<String, f64> {
    let figures = [
        ("requests", outcome.gets as f64),
        ("hits", outcome.hits as f64),
        ("misses", outcome.misses() as f64),
        ("utilisation_percent", outcome.utilisation_percent),
        ("allocs", outcome.allocs as f64),
        ("discarded", outcome.discarded as f64),
        ("salvaged", outcome.salvaged as f64),
    ];
    figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl EcacheArgs {
    fn traces(&self) -> Result<Vec<Trace>> {
        let one = |name: &String| match WORKLOADS.iter().find(|w| **w == name.as_str()) {
            Some(workload) if self.launches > 0 => generate(&GenerateOptions::new(workload, self.launches, self.seed)),
            Some(_) => Err(Error::Usage("--launches 0: nothing would happen; take at least 1".into())),
            None => read(Path::new(name)),
        };
        parallel::map(&self.traces, parallel::threads(None), one, |_| {}).into_iter().collect()
    }

    pub(crate) fn run(self) -> Result<()> {
        let traces = self.traces()?;
        if let Some(path) = &self.write {
            let [trace] = traces.as_slice() else {
                return Err(Error::Usage("--write takes one trace; name just one".into()));
            };
            return write(trace, path);
        }
        let mut plan: Vec<(&Trace, Option<RegionPolicy>)> = Vec::new();
        for trace in &traces {
            plan.extend((self.width > 0).then_some((trace, None)));
            plan.extend(policies(trace.devices.len()).into_iter().map(|policy| (trace, Some(policy))));
        }
        let work = |(trace, policy): &(&Trace, Option<RegionPolicy>)| match policy {
            Some(policy) => replay(trace, policy),
            None => beam(trace, self.width, Alike::Kind),
        };
        let outcomes: Vec<Outcome> =
            parallel::map(&plan, parallel::threads(None), work, |_| {}).into_iter().collect::<Result<_>>()?;
        let cases = plan.iter().zip(&outcomes).map(|((trace, policy), outcome)| Case {
            case: trace.name.clone(),
            configuration: policy.as_ref().map_or("search".into(), RegionPolicy::to_string),
            figures: figures(outcome),
        });
        let mut document = document("lab ecache", cases.collect());
        document.seed = self.seed;
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => return print_json(&document),
            Some(path) => write_json(path, &document, "make room and run again")?,
            None => {}
        }
        let mut text = format!(
            "{:16} {:18} {:>9} {:>8} {:>14} {:>10} {:>9}\n",
            "trace", "policy", "gets", "hit %", "utilisation %", "discarded", "salvaged"
        );
        for (case, o) in document.cases.iter().zip(&outcomes) {
            let hit = 100.0 * o.hits as f64 / o.gets.max(1) as f64;
            text += &format!(
                "{:16} {:18} {:>9} {hit:>8.2} {:>14.1} {:>10} {:>9}\n",
                case.case, case.configuration, o.gets, o.utilisation_percent, o.discarded, o.salvaged
            );
        }
        print(&text)
    }
}
