// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What memory of two kinds saves in energy.

use fovea_report::chart::{Chart, Kind};
use fovea_report::document::Case;
use fovea_report::experiment::Findings;
use fovea_report::verdict::Bound;

use super::entry::{Entry, Settings};
use super::hybrid_grid::{averages, check, requests, Cell, Grid, SEED, SIZES_PERCENT, TRACES, TRACES_NOTE};
use crate::{
    hybrid::{compare::figures, cost::TABLE_1, Frames, Ledger, Mix, Place, Policy, REQUESTS_PER_S},
    parallel, Result,
};

/// The energy of section 4's last paragraph.
pub static ENERGY: Entry = Entry {
    id: "hybrid-energy",
    title: "energy of memory",
    source: "Hybrid15, section 4",
    claim: "23 % less on average than LRU and 2QLRU",
    run: energy,
};

fn energy_of(cell: &Cell) -> f64 {
    TABLE_1.energy_nj(&cell.ledger, cell.frames)
}

/// By the trace's own clock: memory is held whether somebody asks or not.
fn energy_by_clock(cell: &Cell) -> f64 {
    TABLE_1.energy_by_clock_nj(&cell.ledger, cell.frames, cell.span_ns)
}

/// Energy if requests come at that rate, or as fast as they are served if that is slower.
fn energy_at_rate(ledger: &Ledger, frames: Frames, per_second: f64) -> f64 {
    let span_ns = ledger.all().requests as f64 / per_second * 1e9;
    TABLE_1.energy_by_clock_nj(ledger, frames, span_ns as u64)
}

fn dynamic_energy(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.all()).dynamic_nj
}

fn energy(settings: &Settings) -> Result<Findings> {
    let grid = Grid::run(settings)?;
    let (mean, _) = grid.savings(energy_of);
    let (dynamic, _) = grid.savings(dynamic_energy);
    let (by_clock, _) = grid.savings(energy_by_clock);
    // The paper's introduction argues against memory of DRAM alone: its energy, for the same requests.
    let length = requests(settings);
    let traces = [Mix::first(length).trace(settings.seed), Mix::second(length).trace(settings.seed)];
    let mut plan = Vec::new();
    for (name, trace) in TRACES.into_iter().zip(&traces) {
        for percent in SIZES_PERCENT {
            let total = u64::from(trace.pages) * u64::from(percent) / 100;
            plan.push((name, trace, percent, Frames::split(total, 100.0)?));
        }
    }
    let all_dram =
        parallel::map(&plan, settings.threads, |(_, t, _, frames)| Policy::Lru(Place::Free).run(t, *frames), |_| {});
    let mut cases =
        grid.cases(&["energy_nj", "energy_by_clock_nj", "dynamic_energy_nj", "pcm_page_writes", "migrations"]);
    for ((name, trace, percent, frames), ledger) in plan.iter().zip(&all_dram) {
        let mut kept = figures(ledger, *frames, trace.span_ns);
        kept.retain(|name, _| name.contains("energy"));
        cases.push(Case { case: format!("{name}/{percent}%"), configuration: "lru-dram-only".into(), figures: kept });
    }
    // Memory is held whether somebody asks or not: what is saved depends on how seldom that is.
    let against_dram = |per_second: f64| {
        let savings = plan.iter().zip(&all_dram).map(|((name, _, percent, frames), theirs)| {
            let ours = |c: &Cell| energy_at_rate(&c.ledger, c.frames, per_second);
            100.0 * (1.0 - grid.value(name, *percent, SEED, &ours) / energy_at_rate(theirs, *frames, per_second))
        });
        savings.sum::<f64>() / plan.len() as f64
    };
    let mut charts = grid.charts("Energy of memory", "mJ", |c| energy_of(c) / 1e6);
    let mut by_rate =
        Chart::new("Energy saved against DRAM alone", Kind::Lines, "requests for pages per second", "saving, %");
    by_rate.line("seed", [1.0, 10.0, 100.0, 1e3, 1e4, 1e5].map(|rate| (rate, against_dram(rate))));
    charts.push(by_rate);
    charts.push(averages(
        "Energy, change on average",
        [
            ("paper", -23.0),
            ("against LRU and 2QLRU", -mean),
            ("against DRAM only, by the clock", -against_dram(REQUESTS_PER_S)),
        ],
    ));
    Ok(Findings {
        cases,
        verdicts: vec![
            check(
                "mean",
                "mean saving of energy against LRU and 2QLRU on the same memory, percent",
                ENERGY.source,
                mean,
                Bound::AtLeast(23.0),
            ),
            check(
                "mean-by-clock",
                "the same by the trace's clock, with memory held for all of it, percent",
                ENERGY.source,
                by_clock,
                Bound::AtLeast(23.0),
            ),
            check(
                "against-dram",
                "mean saving of energy against LRU with DRAM alone, by the trace's clock, at 11.2 requests for pages a second, percent",
                "Hybrid15, sections 1 and 4",
                against_dram(REQUESTS_PER_S),
                Bound::AtLeast(23.0),
            ),
            check(
                "against-dram-back-to-back",
                "the same, requests as fast as they are served and no time between them, percent",
                "this project",
                against_dram(f64::INFINITY),
                Bound::AtLeast(23.0),
            ),
        ],
        charts,
        notes: vec![
            TRACES_NOTE.into(),
            format!(
                "energy is that of reads, writes and moves, and of holding data: while requests are served, reads from flash included \
                 ({mean:.1} % less), or by the clock, for all of the trace's time ({by_clock:.1} %); of reads, writes and moves alone the \
                 saving is {dynamic:.1} %"
            ),
            format!(
                "the clock is that of {REQUESTS_PER_S} requests for pages a second, the median of seven public traces of phones. Against \
                 DRAM alone the saving is that of holding data, and depends on the rate: {:.0} % at 1 a second, {:.0} % at 100, {:.0} % \
                 at 1000, {:.0} % at 10,000, {:.0} % if they never pause; below 0 it costs energy",
                against_dram(1.0),
                against_dram(100.0),
                against_dram(1000.0),
                against_dram(1e4),
                against_dram(f64::INFINITY)
            ),
        ],
        ..Findings::default()
    })
}
