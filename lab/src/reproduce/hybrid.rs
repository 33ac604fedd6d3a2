// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Hybrid15's figures 2 to 4, on traces made after its description ([`crate::hybrid::Mix`]).

use fovea_report::experiment::Findings;
use fovea_report::verdict::Bound;

use super::entry::{Entry, Settings};
use super::hybrid_grid::{averages, check, foreground_hit, hit, Cell, Grid, SEED, SIZES_PERCENT, TRACES, TRACES_NOTE};
use crate::{hybrid::cost::TABLE_1, Result};

/// Figure 2.
pub static FIG_2: Entry = Entry {
    id: "hybrid-fig2",
    title: "hit ratio of all applications",
    source: "Hybrid15, section 4, figure 2",
    claim: "better than LRU and 2QLRU in all range of memory sizes; trace (b) saturated over 40 %",
    run: fig_2,
};

/// Figure 3.
pub static FIG_3: Entry = Entry {
    id: "hybrid-fig3",
    title: "hit ratio of foreground applications",
    source: "Hybrid15, section 4, figure 3",
    claim: "better than LRU and 2QLRU at all sizes, and better than the average of all applications",
    run: fig_3,
};

/// Figure 4.
pub static FIG_4: Entry = Entry {
    id: "hybrid-fig4",
    title: "elapsed time of foreground applications",
    source: "Hybrid15, section 4, figure 4",
    claim: "53 % less on average (in the text: up to 53 %), with no negative effect on background applications",
    run: fig_4,
};

fn fig_2(settings: &Settings) -> Result<Findings> {
    let grid = Grid::run(settings)?;
    let saturated = hit_share(&grid, "b", 40);
    Ok(Findings {
        cases: grid.cases(&["hit_percent", "requests"]),
        verdicts: vec![
            check(
                "lead",
                "least lead in hit ratio over LRU and 2QLRU, over all sizes and both traces, points of a percent",
                FIG_2.source,
                grid.least_lead(hit),
                Bound::AtLeast(0.0),
            ),
            check(
                "saturated",
                "hit ratio at 40 % of the footprint, of that at 90 %, trace (b), percent",
                FIG_2.source,
                saturated,
                Bound::AtLeast(98.0),
            ),
        ],
        charts: grid.charts("Hit ratio of all applications", "hit ratio, %", hit),
        notes: vec![TRACES_NOTE.into()],
        ..Findings::default()
    })
}

fn hit_share(grid: &Grid, trace: &str, percent: u32) -> f64 {
    let last = SIZES_PERCENT[SIZES_PERCENT.len() - 1];
    100.0 * grid.value(trace, percent, SEED, &hit) / grid.value(trace, last, SEED, &hit)
}

fn fig_3(settings: &Settings) -> Result<Findings> {
    let grid = Grid::run(settings)?;
    let over_average = TRACES
        .into_iter()
        .flat_map(|t| SIZES_PERCENT.map(|p| (t, p)))
        .map(|(t, p)| grid.value(t, p, SEED, &foreground_hit) - grid.value(t, p, SEED, &hit))
        .fold(f64::INFINITY, f64::min);
    Ok(Findings {
        cases: grid.cases(&["foreground_hit_percent", "background_hit_percent"]),
        verdicts: vec![
            check(
                "lead",
                "least lead in the foreground's hit ratio over LRU and 2QLRU, points of a percent",
                FIG_3.source,
                grid.least_lead(foreground_hit),
                Bound::AtLeast(0.0),
            ),
            check(
                "over-average",
                "least lead of the foreground's hit ratio over that of all applications, points of a percent",
                FIG_3.source,
                over_average,
                Bound::AtLeast(0.0),
            ),
        ],
        charts: grid.charts("Hit ratio of the foreground", "hit ratio, %", foreground_hit),
        notes: vec![TRACES_NOTE.into()],
        ..Findings::default()
    })
}

fn elapsed(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.foreground).elapsed_ns
}

fn memory_time(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.foreground).memory_ns
}

fn waited_memory_time(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.foreground).waited_memory_ns
}

fn background_elapsed(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.background).elapsed_ns
}

fn fig_4(settings: &Settings) -> Result<Findings> {
    let grid = Grid::run(settings)?;
    let (memory_mean, memory_most) = grid.savings(memory_time);
    let (waited_mean, _) = grid.savings(waited_memory_time);
    let (mean, most) = grid.savings(elapsed);
    let (background, _) = grid.savings(background_elapsed);
    let background_least = grid.each_saving(background_elapsed).into_iter().fold(f64::INFINITY, f64::min);
    let mut charts = grid.charts("Elapsed time of the foreground at memory", "ms", |c| memory_time(c) / 1e6);
    charts.extend(grid.charts("Elapsed time of the foreground with flash", "ms", |c| elapsed(c) / 1e6));
    charts.push(averages(
        "Foreground elapsed time, change on average",
        [("paper", -53.0), ("memory only", -memory_mean), ("with flash", -mean)],
    ));
    Ok(Findings {
        cases: grid.cases(&[
            "foreground_elapsed_ns",
            "foreground_memory_ns",
            "foreground_waited_memory_ns",
            "background_elapsed_ns",
        ]),
        verdicts: vec![
            check(
                "memory-mean",
                "mean saving of foreground time by Table 1's metrics alone, percent",
                "Hybrid15, abstract",
                memory_mean,
                Bound::AtLeast(53.0),
            ),
            check(
                "memory-most",
                "greatest saving of foreground time by Table 1's metrics alone, percent",
                FIG_4.source,
                memory_most,
                Bound::AtLeast(53.0),
            ),
            check(
                "waited-mean",
                "mean saving of foreground time by Table 1's metrics if the foreground waits for pages that leave DRAM, percent",
                "this project",
                waited_mean,
                Bound::AtLeast(53.0),
            ),
            check(
                "storage-mean",
                "mean saving of foreground time with reads from flash (eCache12, table 8), percent",
                "Hybrid15, abstract",
                mean,
                Bound::AtLeast(53.0),
            ),
            check(
                "storage-gains",
                "the same, any saving at all, percent",
                "this project",
                mean,
                Bound::Above(0.0),
            ),
            check(
                "background",
                "least saving of background time with reads from flash over sizes and policies, percent: \"without any negative \
                 performance effects\"",
                "Hybrid15, abstract",
                background_least,
                Bound::AtLeast(0.0),
            ),
            check(
                "background-mean",
                "mean saving of background time with reads from flash, percent",
                "this project",
                background,
                Bound::AtLeast(0.0),
            ),
        ],
        charts,
        notes: vec![
            TRACES_NOTE.into(),
            format!(
                "nobody waits until a page that leaves DRAM is written to PCM, as section 3 has it: \"there is no performance degradation by \
                 page migration\"; if the foreground did, the saving at memory would be {waited_mean:.1} %"
            ),
            format!(
                "the paper says its times follow from Table 1, which has no price of storage; with flash at 1.51 ms a page the \
                 saving is that of misses: {mean:.1} % on average, {most:.1} % at most"
            ),
        ],
        ..Findings::default()
    })
}
