// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How much of Hybrid15's gains depends on the mix of requests, which it does not publish: one thing varied at a time.

use std::collections::BTreeMap;

use fovea_report::chart::{Chart, Kind, Origin};
use fovea_report::document::Case;
use fovea_report::experiment::Findings;
use fovea_report::verdict::{verdict, Bound};

use super::entry::{Entry, Settings};
use super::hybrid_grid::{requests, DRAM_PERCENT, SEED, THEIRS};
use crate::{
    hybrid::{cost::TABLE_1, AppMix, Frames, HybridTrace, Ledger, Mix, OnSwitch, Policy, ReadOnly, Readings},
    parallel, Result,
};

/// The entry.
pub static MIX: Entry = Entry {
    id: "hybrid-mix",
    title: "sensitivity of the savings to the mix of requests, at 40 % memory",
    source: "Hybrid15, section 4",
    claim: "53 % less foreground time and 23 % less energy on average, on its two mixes",
    run,
};

const WHAT: [&str; 3] = ["memory_saving_percent", "elapsed_saving_percent", "energy_saving_percent"];

fn run(settings: &Settings) -> Result<Findings> {
    let cases = sensitivity(settings)?;
    let best = |what: &str| {
        cases
            .iter()
            .filter(|c| c.configuration == SEED.to_string())
            .map(|c| c.figures[what])
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let mut chart = Chart::new("Foreground time saved at memory, by mix", Kind::Bars, "mix", "saving, %");
    let mut rows: BTreeMap<&str, Vec<(String, f64)>> = BTreeMap::new();
    for case in &cases {
        rows.entry(&case.configuration).or_default().push((case.case.clone(), case.figures[WHAT[0]]));
    }
    for (policy, bars) in rows {
        chart.bars(policy, Origin::Ours, bars);
    }
    // Printed for the paper's own mixes, whose shares of writes and of fresh pages nobody knows.
    chart.bars("paper", Origin::Paper, [("the paper's two mixes", 53.0)]);
    let source = "Hybrid15, abstract";
    let any = |id: &str, claim: &str, what: &str, bound| verdict(id, claim, source, Some(best(what)), bound);
    Ok(Findings {
        verdicts: vec![
            any(
                "time",
                "greatest saving of foreground time at memory over all mixes, percent",
                WHAT[0],
                Bound::AtLeast(53.0),
            ),
            any("energy", "greatest saving of energy over all mixes, percent", WHAT[2], Bound::AtLeast(23.0)),
        ],
        charts: vec![chart],
        notes: vec![
            "savings are against the mean of LRU and 2QLRU on the same memory".into(),
            "only the mix is varied here, and nobody waits for pages that leave DRAM; what other readings of the paper give is \
             hybrid-readings"
                .into(),
        ],
        cases,
        ..Findings::default()
    })
}

/// One thing of the mix varied at a time.
fn variants(length: u32) -> Vec<(String, Mix)> {
    let mut variants = vec![("base".to_owned(), Mix::first(length)), ("switching".to_owned(), Mix::second(length))];
    for share in [1.0, 3.0, 7.0, 31.0] {
        variants.push((format!("foreground-{share}to1"), Mix { foreground_share: share, ..Mix::first(length) }));
    }
    variants.push(("no-drift".to_owned(), Mix { lifetime_writes: 0.0, ..Mix::first(length) }));
    let with = |change: &dyn Fn(&mut AppMix)| {
        let mut mix = Mix::first(length);
        mix.apps.iter_mut().for_each(change);
        mix
    };
    for percent in [0, 10, 70] {
        variants.push((format!("writes-{percent}%"), with(&|app| app.write_percent = percent)));
    }
    for percent in [0, 30] {
        variants.push((format!("fresh-{percent}%"), with(&|app| app.fresh_percent = percent)));
    }
    for skew in [0.5, 1.1] {
        variants.push((format!("skew-{skew}"), with(&|app| app.skew = skew)));
    }
    variants
}

/// Savings of the paper's algorithm, its other readings and CLOCK-DWF for every variant, at 40 % of the footprint.
fn sensitivity(settings: &Settings) -> Result<Vec<Case>> {
    let variants = variants(requests(settings) / 3);
    let traces: Vec<HybridTrace> = parallel::map(&variants, settings.threads, |(_, m)| m.trace(settings.seed), |_| {});
    let candidates = [
        SEED,
        Policy::Seed(Readings { on_switch: OnSwitch::Move, ..Readings::OURS }),
        Policy::Seed(Readings { read_only: ReadOnly::Page, ..Readings::OURS }),
        Policy::ClockDwf,
    ];
    let mut plan = Vec::new();
    for ((name, _), trace) in variants.iter().zip(&traces) {
        let frames = Frames::split(u64::from(trace.pages) * 2 / 5, DRAM_PERCENT)?;
        plan.extend(candidates.into_iter().chain(THEIRS).map(|policy| (name, trace, policy, frames)));
    }
    let ledgers = parallel::map(&plan, settings.threads, |(_, t, policy, frames)| policy.run(t, *frames), |_| {});
    let mut cases = Vec::new();
    for (row, found) in
        plan.chunks(candidates.len() + THEIRS.len()).zip(ledgers.chunks(candidates.len() + THEIRS.len()))
    {
        let (name, _, _, frames) = row[0];
        let theirs = &found[candidates.len()..];
        for (policy, ledger) in candidates.iter().zip(found) {
            let saving = |of: &dyn Fn(&Ledger) -> f64| {
                let mean = theirs.iter().map(of).sum::<f64>() / theirs.len() as f64;
                100.0 * (1.0 - of(ledger) / mean)
            };
            let figures = [
                (WHAT[0], saving(&|l| TABLE_1.of_class(&l.foreground).memory_ns)),
                (WHAT[1], saving(&|l| TABLE_1.of_class(&l.foreground).elapsed_ns)),
                (WHAT[2], saving(&|l| TABLE_1.energy_nj(l, frames))),
            ];
            cases.push(Case {
                case: name.clone(),
                configuration: policy.to_string(),
                figures: figures.into_iter().map(|(n, v)| (n.to_owned(), v)).collect(),
            });
        }
    }
    Ok(cases)
}
