// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The low-memory tests of LowMem13, section 4.2, on the simulated phone (docs/design/sim.md): the paper's table beside ours.

use std::collections::BTreeMap;

use fovea_lab::reproduce::{Entry, Settings};
use fovea_lab::{Error, Result};
use fovea_report::chart::{Chart, Kind, Origin};
use fovea_report::document::{Case, Document};
use fovea_report::experiment::Findings;
use fovea_report::paper::paper_figure;
use fovea_report::verdict::{ratio, verdict, Bound, Verdict};
use fovea_scenario::kinds::papers;
use fovea_scenario::Scenario;

use super::{failures, results, simulate};

/// The table of section 4.2 and its conclusions.
pub static TABLE: Entry = Entry {
    id: "lowmem-table",
    title: "free memory, start and restart with kills only, with zram, and with idle apps compressed ahead of need",
    source: "LowMem13, section 4.2, figures 4-7 to 4-10",
    claim: "compressing idle apps ahead of need frees 15.44 % of user memory; a start in low memory takes 0.87 of the time with kills only \
            and 0.74 of that with zram alone; a restart is 6.7 times as fast as with kills only",
    run,
};

/// Rounds of each case: the paper's.
const ROUNDS: u64 = 5;

/// What is shown: times as they are, memory as a share of user memory, since the phones differ in size.
const SHOWN: [&str; 8] = [
    "free_after_idle_bytes",
    "free_lowmem_before_start_bytes",
    "start_normal_ns",
    "restart_normal_ns",
    "start_lowmem_ns",
    "restart_ns",
    "kills",
    "oom_kills",
];

fn run(settings: &Settings) -> Result<Findings> {
    let rounds = if settings.quick { 1 } else { ROUNDS };
    let parameters = [format!("rounds={rounds}"), format!("seed={}", settings.seed)];
    let scenario = Scenario::load("lowmem", &parameters).map_err(|e| Error::Usage(e.to_string()))?;
    let (plans, events) = simulate(&scenario, settings.threads)?;
    if let Some(failure) = failures(&plans, &events).into_iter().next() {
        return Err(Error::Experiment(failure));
    }
    let document = results(&scenario, &plans, &events);
    let mut cases = Vec::new();
    let papers = papers();
    for configuration in scenario.configurations.iter().map(|c| c.name()) {
        cases.push(shown("simulated", configuration, |name| document.figure("", configuration, name)));
        cases.push(shown("paper", configuration, |name| paper_figure(&papers, "lowmem", name, configuration)));
    }
    let charts = vec![chart(&cases)];
    let notes = notes(&document, rounds);
    Ok(Findings { cases, notes, verdicts: verdicts(document), charts, ..Findings::default() })
}

/// The paper's own bounds, by the ratios of its table; and those of the scenario, which are wider, under names that say so.
fn verdicts(document: Document) -> Vec<Verdict> {
    let of = |configuration: &str, figure: &str| document.figure("", configuration, figure);
    let quotient = |figure: &str, a: &str, b: &str| ratio(of(a, figure), of(b, figure));
    let user = of("fovea", "user_memory_bytes");
    let freed = of("fovea", "free_after_idle_bytes").zip(of("zram", "free_after_idle_bytes")).map(|(a, b)| a - b);
    let paper = [
        (
            "free-after-idle",
            "idle compression frees this share of user memory over zram alone",
            "LowMem13, section 4.2: 129 MB of 835 MB",
            ratio(freed, user),
            Bound::AtLeast(0.1544),
        ),
        (
            "start-lowmem-stock",
            "a start at low memory, of its time under stock",
            "LowMem13, section 4.2: 2014 ms against 2315 ms",
            quotient("start_lowmem_ns", "fovea", "stock"),
            Bound::AtMost(0.87),
        ),
        (
            "start-lowmem-zram",
            "a start at low memory, of its time under zram",
            "LowMem13, section 4.2: 2014 ms against 2730 ms",
            quotient("start_lowmem_ns", "fovea", "zram"),
            Bound::AtMost(0.74),
        ),
        (
            "restart-stock",
            "a restart at low memory is so many times as fast as under stock",
            "LowMem13, section 4.2: 2061 ms against 306 ms",
            quotient("restart_ns", "stock", "fovea"),
            Bound::AtLeast(6.7),
        ),
        (
            "restart-zram",
            "a restart at low memory, of its time under zram",
            "LowMem13, section 4.2: 306 ms against 298 ms",
            quotient("restart_ns", "fovea", "zram"),
            Bound::AtMost(1.03),
        ),
    ];
    let wider = |verdict: Verdict| match paper.iter().any(|p| p.0 == verdict.id) {
        true => Verdict { id: format!("{}-wider", verdict.id), source: "this project".into(), ..verdict },
        false => verdict,
    };
    let ours = document.verdicts.clone().into_iter().map(wider);
    paper
        .iter()
        .map(|&(id, claim, source, figure, bound)| verdict(id, claim, source, figure, bound))
        .chain(ours)
        .collect()
}

/// Times at low memory as multiples of `fovea`'s: those of different phones do not compare, their ratios do.
fn chart(cases: &[Case]) -> Chart {
    let mut chart = Chart::new("Times at low memory", Kind::Bars, "", "times that of fovea");
    for (case, name, origin) in [("simulated", "ours, simulated", Origin::Ours), ("paper", "paper", Origin::Paper)] {
        let time = |configuration: &str, figure: &str| {
            cases.iter().find(|c| c.case == case && c.configuration == configuration)?.figures.get(figure).copied()
        };
        let mut bars = Vec::new();
        for (figure, what) in [("start_lowmem_ns", "start"), ("restart_ns", "restart")] {
            for configuration in ["stock", "zram", "fovea"] {
                if let (Some(of), Some(by)) = (time(configuration, figure), time("fovea", figure)) {
                    bars.push((format!("{what}, {configuration}"), of / by));
                }
            }
        }
        chart.bars(name, origin, bars);
    }
    chart
}

fn shown(case: &str, configuration: &str, figure: impl Fn(&str) -> Option<f64>) -> Case {
    let mut figures = BTreeMap::new();
    for name in SHOWN {
        let Some(value) = figure(name) else { continue };
        match name.strip_suffix("_bytes") {
            None => drop(figures.insert(name.to_owned(), value)),
            Some(of) => {
                if let Some(user) = figure("user_memory_bytes").filter(|&user| user > 0.0) {
                    figures.insert(format!("{of}_percent"), value / user * 100.0);
                }
            }
        }
    }
    Case { case: case.into(), configuration: configuration.into(), figures }
}

fn notes(document: &Document, rounds: u64) -> Vec<String> {
    let mut notes = vec![
        format!("figures and verdicts are of {rounds} simulated rounds, not of a kernel: docs/design/sim.md holds them against the virtual phone's"),
        "the phones differ: ratios between configurations compare, times do not".to_owned(),
        "the simulated kernel does not raise its marks when memory is fragmented (boost_watermark): under zram alone it swaps later than the \
         virtual phone's, so that the verdicts against zram's start and restart say little"
            .to_owned(),
    ];
    if document.figure("", "stock", "killed_before_restart_percent").is_some_and(|share| share < 100.0) {
        notes.push(
            "stock did not kill the restarted app in every round: where it lives on, its restart is no restart"
                .to_owned(),
        );
    }
    notes
}
