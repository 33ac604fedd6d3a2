// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One trace or several under every way of choosing a device's region, side by side.

use std::collections::BTreeMap;
use std::path::Path;

use fovea_report::document::{Case, Document};

use super::{
    beam, generate, orders, read, replay, Alike, Base, GenerateOptions, Outcome, RegionPolicy, Trace, Worth, WORKLOADS,
};
use crate::{parallel, replay::document, Error, Result};

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

/// The traces of these names: files in the lab's text format, or workloads to be generated with so many launches.
///
/// # Errors
/// If one cannot be read or made.
pub fn traces(names: &[String], launches: u32, seed: u64) -> Result<Vec<Trace>> {
    let one = |name: &String| match WORKLOADS.iter().find(|w| **w == name.as_str()) {
        Some(workload) if launches > 0 => generate(&GenerateOptions::new(workload, launches, seed)),
        Some(_) => Err(Error::Usage("--launches 0: nothing would happen; take at least 1".into())),
        None => read(Path::new(name)),
    };
    parallel::map(names, parallel::threads(None), one, |_| {}).into_iter().collect()
}

/// What came of a trace under a policy.
#[derive(Clone, Debug)]
pub struct Row {
    /// The trace's name.
    pub trace: String,
    /// The policy's, or that of the search.
    pub policy: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// Every policy on every trace; before them the search for the best regions, which follows `width` caches, unless that is 0.
///
/// # Errors
/// If a trace makes no sense.
pub fn compare(traces: &[Trace], width: usize) -> Result<Vec<Row>> {
    let mut plan: Vec<(&Trace, Option<RegionPolicy>)> = Vec::new();
    for trace in traces {
        plan.extend((width > 0).then_some((trace, None)));
        plan.extend(policies(trace.devices.len()).into_iter().map(|policy| (trace, Some(policy))));
    }
    let work = |(trace, policy): &(&Trace, Option<RegionPolicy>)| {
        let outcome = match policy {
            Some(policy) => replay(trace, policy),
            None => beam(trace, width, Alike::Kind),
        };
        let policy = policy.as_ref().map_or("search".into(), RegionPolicy::to_string);
        outcome.map(|outcome| Row { trace: trace.name.clone(), policy, outcome })
    };
    parallel::map(&plan, parallel::threads(None), work, |_| {}).into_iter().collect()
}

/// The results document: a case per trace, a configuration per policy.
pub fn results(rows: &[Row], seed: u64) -> Document {
    let case = |r: &Row| Case { case: r.trace.clone(), configuration: r.policy.clone(), figures: figures(&r.outcome) };
    Document { seed, ..document("lab ecache", rows.iter().map(case).collect()) }
}
