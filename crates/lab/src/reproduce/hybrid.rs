// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Seed 001's figures 2 to 4 and its energy, on traces made after its description ([`crate::hybrid::Mix`]).

use fovea_report::chart::{Chart, Kind, Origin};
use fovea_report::document::Case;
use fovea_report::experiment::Findings;
use fovea_report::verdict::{verdict, Bound, Verdict};

use super::{Entry, Settings};
use crate::{
    hybrid::{cli::figures, cost::TABLE_1, Frames, Ledger, Mix, Policy, POLICIES},
    parallel, Result,
};

/// Share of memory that is DRAM (section 4).
pub(super) const DRAM_PERCENT: f64 = 5.0;

/// Memory sizes, percent of the footprint, as on the figures' x axis.
const SIZES_PERCENT: [u32; 9] = [10, 20, 30, 40, 50, 60, 70, 80, 90];

pub(super) const SEED: Policy = POLICIES[0];
/// What the seed compares with.
pub(super) const THEIRS: [Policy; 2] = [Policy::Lru, Policy::TwoQueue];

/// Figure 2.
pub static FIG_2: Entry = Entry {
    id: "hybrid-fig2",
    title: "hit ratio of all applications",
    source: "seed 001, section 4, figure 2",
    claim: "better than LRU and 2QLRU in all range of memory sizes; trace (b) saturated over 40 %",
    run: fig_2,
};

/// Figure 3.
pub static FIG_3: Entry = Entry {
    id: "hybrid-fig3",
    title: "hit ratio of foreground applications",
    source: "seed 001, section 4, figure 3",
    claim: "better than LRU and 2QLRU at all sizes, and better than the average of all applications",
    run: fig_3,
};

/// Figure 4.
pub static FIG_4: Entry = Entry {
    id: "hybrid-fig4",
    title: "elapsed time of foreground applications",
    source: "seed 001, section 4, figure 4",
    claim: "53 % less on average (in the text: up to 53 %), with no negative effect on background applications",
    run: fig_4,
};

/// The energy of section 4's last paragraph.
pub static ENERGY: Entry = Entry {
    id: "hybrid-energy",
    title: "energy of memory",
    source: "seed 001, section 4",
    claim: "23 % less on average than LRU and 2QLRU",
    run: energy,
};

/// One run.
struct Cell {
    trace: &'static str,
    percent: u32,
    policy: Policy,
    frames: Frames,
    ledger: Ledger,
}

struct Grid {
    cells: Vec<Cell>,
}

const TRACES: [&str; 2] = ["a", "b"];

pub(super) fn requests(settings: &Settings) -> u32 {
    if settings.quick {
        40_000
    } else {
        240_000
    }
}

impl Grid {
    fn run(settings: &Settings) -> Result<Grid> {
        let length = requests(settings);
        let traces = [Mix::first(length).trace(settings.seed), Mix::second(length).trace(settings.seed)];
        let mut plan = Vec::new();
        for (name, trace) in TRACES.into_iter().zip(&traces) {
            for percent in SIZES_PERCENT {
                let frames = Frames::split(u64::from(trace.pages) * u64::from(percent) / 100, DRAM_PERCENT)?;
                plan.extend(POLICIES.map(|policy| (name, trace, percent, policy, frames)));
            }
        }
        let ledgers = parallel::map(&plan, settings.threads, |(_, t, _, policy, f)| policy.run(t, *f), |_| {});
        let cell = |((trace, _, percent, policy, frames), ledger)| Cell { trace, percent, policy, frames, ledger };
        Ok(Grid { cells: plan.into_iter().zip(ledgers).map(cell).collect() })
    }

    fn value(&self, trace: &str, percent: u32, policy: Policy, of: &impl Fn(&Cell) -> f64) -> f64 {
        let same = |c: &&Cell| c.trace == trace && c.percent == percent && c.policy == policy;
        self.cells.iter().find(same).map_or(f64::NAN, of)
    }

    fn cases(&self, names: &[&str]) -> Vec<Case> {
        let case = |cell: &Cell| {
            let all = figures(&cell.ledger, cell.frames);
            Case {
                case: format!("{}/{}%", cell.trace, cell.percent),
                configuration: cell.policy.to_string(),
                figures: all.into_iter().filter(|(name, _)| names.contains(&name.as_str())).collect(),
            }
        };
        self.cells.iter().map(case).collect()
    }

    /// A chart for each trace: a line per policy over memory size.
    fn charts(&self, title: &str, y_axis: &str, of: impl Fn(&Cell) -> f64) -> Vec<Chart> {
        TRACES
            .map(|trace| {
                let mut chart =
                    Chart::new(format!("{title} ({trace})"), Kind::Lines, "memory, % of the footprint", y_axis);
                for policy in POLICIES {
                    let y = |p| self.value(trace, p, policy, &of);
                    chart.line(policy.to_string(), SIZES_PERCENT.map(|p| (f64::from(p), y(p))));
                }
                chart
            })
            .to_vec()
    }

    /// The least lead of the seed's algorithm over both others, over all traces and sizes.
    fn least_lead(&self, of: impl Fn(&Cell) -> f64) -> f64 {
        let lead =
            |trace, percent, other| self.value(trace, percent, SEED, &of) - self.value(trace, percent, other, &of);
        self.pairs().map(|(trace, percent, other)| lead(trace, percent, other)).fold(f64::INFINITY, f64::min)
    }

    /// The mean saving against both others, over all traces and sizes, percent; and the greatest.
    fn savings(&self, of: impl Fn(&Cell) -> f64) -> (f64, f64) {
        let saving = |trace, percent, other| {
            100.0 * (1.0 - self.value(trace, percent, SEED, &of) / self.value(trace, percent, other, &of))
        };
        let all: Vec<f64> = self.pairs().map(|(t, p, o)| saving(t, p, o)).collect();
        (all.iter().sum::<f64>() / all.len() as f64, all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    fn pairs(&self) -> impl Iterator<Item = (&'static str, u32, Policy)> {
        TRACES.into_iter().flat_map(|t| SIZES_PERCENT.into_iter().flat_map(move |p| THEIRS.map(|o| (t, p, o))))
    }
}

fn hit(cell: &Cell) -> f64 {
    100.0 * cell.ledger.all().hit_ratio()
}

fn foreground_hit(cell: &Cell) -> f64 {
    100.0 * cell.ledger.foreground.hit_ratio()
}

fn check(id: &str, claim: &str, source: &str, figure: f64, bound: Bound) -> Verdict {
    verdict(id, claim, source, Some(figure), bound)
}

const TRACES_NOTE: &str = "the seed's traces were not published: these are made after its description (request ratios \
    15:1 and 3:1, which apps, how concentrated); shares of writes and of fresh pages, and footprints, are choices";

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
    })
}

fn elapsed(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.foreground).elapsed_ns
}

fn memory_time(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.foreground).memory_ns
}

fn background_elapsed(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.background).elapsed_ns
}

fn energy_of(cell: &Cell) -> f64 {
    TABLE_1.energy_nj(&cell.ledger, cell.frames)
}

/// Requests for pages a second (4 MB/s), at which memory of DRAM alone is compared: a busy phone's, to PCM's disadvantage.
const A_PHONES_RATE: f64 = 1000.0;

/// Energy if requests come at that rate, or as fast as they are served if that is slower.
fn energy_at_rate(ledger: &Ledger, frames: Frames, per_second: f64) -> f64 {
    let cost = TABLE_1.of_class(&ledger.all());
    let time_ns = cost.elapsed_ns.max(ledger.all().requests as f64 / per_second * 1e9);
    cost.dynamic_nj + TABLE_1.static_nj(frames, time_ns)
}

fn dynamic_energy(cell: &Cell) -> f64 {
    TABLE_1.of_class(&cell.ledger.all()).dynamic_nj
}

fn fig_4(settings: &Settings) -> Result<Findings> {
    let grid = Grid::run(settings)?;
    let (memory_mean, memory_most) = grid.savings(memory_time);
    let (mean, most) = grid.savings(elapsed);
    let (background, _) = grid.savings(background_elapsed);
    let mut charts = grid.charts("Elapsed time of the foreground at memory", "ms", |c| memory_time(c) / 1e6);
    charts.extend(grid.charts("Elapsed time of the foreground with flash", "ms", |c| elapsed(c) / 1e6));
    charts.push(averages(
        "Foreground elapsed time, change on average",
        [("paper", -53.0), ("memory only", -memory_mean), ("with flash", -mean)],
    ));
    Ok(Findings {
        cases: grid.cases(&["foreground_elapsed_ns", "foreground_memory_ns", "background_elapsed_ns"]),
        verdicts: vec![
            check(
                "memory-mean",
                "mean saving of foreground time by Table 1's metrics alone, percent",
                "seed 001, abstract",
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
                "storage-mean",
                "mean saving of foreground time with reads from flash (seed 000, table 8), percent",
                "seed 001, abstract",
                mean,
                Bound::AtLeast(0.0),
            ),
            check(
                "background",
                "mean saving of background time with reads from flash, percent: no negative effect",
                "seed 001, abstract",
                background,
                Bound::AtLeast(0.0),
            ),
        ],
        charts,
        notes: vec![
            TRACES_NOTE.into(),
            format!(
                "the seed says its times follow from Table 1, which has no price of storage; with flash at 1.51 ms a page the \
                 saving is that of misses: {mean:.1} % on average, {most:.1} % at most"
            ),
        ],
    })
}

fn averages(title: &str, bars: [(&str, f64); 3]) -> Chart {
    let mut chart = Chart::new(title, Kind::Bars, "", "change, %");
    let [paper, ours @ ..] = bars;
    chart.bars("paper", Origin::Paper, [paper]);
    chart.bars("ours", Origin::Ours, ours);
    chart
}

fn energy(settings: &Settings) -> Result<Findings> {
    let grid = Grid::run(settings)?;
    let (mean, _) = grid.savings(energy_of);
    let (dynamic, _) = grid.savings(dynamic_energy);
    // The seed's introduction argues against memory of DRAM alone: its energy, for the same requests.
    let length = requests(settings);
    let traces = [Mix::first(length).trace(settings.seed), Mix::second(length).trace(settings.seed)];
    let mut plan = Vec::new();
    for (name, trace) in TRACES.into_iter().zip(&traces) {
        for percent in SIZES_PERCENT {
            let total = u64::from(trace.pages) * u64::from(percent) / 100;
            plan.push((name, trace, percent, Frames::split(total, 100.0)?));
        }
    }
    let all_dram = parallel::map(&plan, settings.threads, |(_, t, _, frames)| Policy::Lru.run(t, *frames), |_| {});
    let mut cases = grid.cases(&["energy_nj", "dynamic_energy_nj", "pcm_page_writes", "migrations"]);
    for ((name, _, percent, frames), ledger) in plan.iter().zip(&all_dram) {
        let mut kept = figures(ledger, *frames);
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
    by_rate.line("seed", [10.0, 100.0, 1e3, 1e4, 1e5].map(|rate| (rate, against_dram(rate))));
    charts.push(by_rate);
    charts.push(averages(
        "Energy, change on average",
        [("paper", -23.0), ("against LRU and 2QLRU", -mean), ("against DRAM only", -against_dram(A_PHONES_RATE))],
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
                "against-dram",
                "mean saving of energy against LRU with DRAM alone, at 1000 requests for pages a second, percent",
                "seed 001, sections 1 and 4",
                against_dram(A_PHONES_RATE),
                Bound::AtLeast(23.0),
            ),
        ],
        charts,
        notes: vec![
            TRACES_NOTE.into(),
            format!(
                "energy is that of reads, writes and moves, and of holding data while requests are served, reads from flash \
                 included; of reads, writes and moves alone the saving is {dynamic:.1} %"
            ),
            format!(
                "which memory the seed's LRU and 2QLRU had is not said: both readings are shown. Against DRAM alone the saving \
                 is that of holding data, and depends on the rate of requests: {:.0} % at 100 a second, {:.0} % if they never \
                 pause",
                against_dram(100.0),
                against_dram(f64::INFINITY)
            ),
        ],
    })
}
