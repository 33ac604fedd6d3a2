// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Both traces at every size of memory under every policy.

use fovea_report::chart::{Chart, Kind, Origin};
use fovea_report::document::Case;
use fovea_report::verdict::{verdict, Bound, Verdict};

use super::entry::Settings;
use crate::{
    hybrid::{compare::figures, Frames, HybridTrace, Ledger, Mix, Place, Policy, POLICIES},
    parallel, Result,
};

/// Share of memory that is DRAM (section 4).
pub(super) const DRAM_PERCENT: f64 = 5.0;

/// Memory sizes, percent of the footprint, as on the figures' x axis.
pub(super) const SIZES_PERCENT: [u32; 9] = [10, 20, 30, 40, 50, 60, 70, 80, 90];

pub(super) const SEED: Policy = POLICIES[0];
/// What the paper compares with.
pub(super) const THEIRS: [Policy; 2] = [Policy::Lru(Place::Free), Policy::TwoQueue(Place::Free)];

/// One run.
pub(super) struct Cell {
    pub trace: &'static str,
    pub percent: u32,
    pub policy: Policy,
    pub frames: Frames,
    /// The trace's time by its own clock.
    pub span_ns: u64,
    pub ledger: Ledger,
}

pub(super) struct Grid {
    pub cells: Vec<Cell>,
}

pub(super) const TRACES: [&str; 2] = ["a", "b"];

pub(super) fn requests(settings: &Settings) -> u32 {
    if settings.quick {
        40_000
    } else {
        240_000
    }
}

impl Grid {
    pub fn run(settings: &Settings) -> Result<Grid> {
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
        let cell = |((trace, made, percent, policy, frames), ledger): ((_, &HybridTrace, _, _, _), _)| Cell {
            trace,
            percent,
            policy,
            frames,
            span_ns: made.span_ns,
            ledger,
        };
        Ok(Grid { cells: plan.into_iter().zip(ledgers).map(cell).collect() })
    }

    pub fn value(&self, trace: &str, percent: u32, policy: Policy, of: &impl Fn(&Cell) -> f64) -> f64 {
        let same = |c: &&Cell| c.trace == trace && c.percent == percent && c.policy == policy;
        self.cells.iter().find(same).map_or(f64::NAN, of)
    }

    pub fn cases(&self, names: &[&str]) -> Vec<Case> {
        let case = |cell: &Cell| {
            let all = figures(&cell.ledger, cell.frames, cell.span_ns);
            Case {
                case: format!("{}/{}%", cell.trace, cell.percent),
                configuration: cell.policy.to_string(),
                figures: all.into_iter().filter(|(name, _)| names.contains(&name.as_str())).collect(),
            }
        };
        self.cells.iter().map(case).collect()
    }

    /// A chart for each trace: a line per policy over memory size.
    pub fn charts(&self, title: &str, y_axis: &str, of: impl Fn(&Cell) -> f64) -> Vec<Chart> {
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

    /// The least lead of the paper's algorithm over both others, over all traces and sizes.
    pub fn least_lead(&self, of: impl Fn(&Cell) -> f64) -> f64 {
        let lead =
            |trace, percent, other| self.value(trace, percent, SEED, &of) - self.value(trace, percent, other, &of);
        self.pairs().map(|(trace, percent, other)| lead(trace, percent, other)).fold(f64::INFINITY, f64::min)
    }

    /// The mean saving against both others, over all traces and sizes, percent; and the greatest.
    pub fn savings(&self, of: impl Fn(&Cell) -> f64) -> (f64, f64) {
        let all = self.each_saving(of);
        (all.iter().sum::<f64>() / all.len() as f64, all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    /// The saving against each of both others, at each size of each trace, percent.
    pub fn each_saving(&self, of: impl Fn(&Cell) -> f64) -> Vec<f64> {
        let saving = |trace, percent, other| {
            100.0 * (1.0 - self.value(trace, percent, SEED, &of) / self.value(trace, percent, other, &of))
        };
        self.pairs().map(|(t, p, o)| saving(t, p, o)).collect()
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, u32, Policy)> {
        TRACES.into_iter().flat_map(|t| SIZES_PERCENT.into_iter().flat_map(move |p| THEIRS.map(|o| (t, p, o))))
    }
}

pub(super) fn hit(cell: &Cell) -> f64 {
    100.0 * cell.ledger.all().hit_ratio()
}

pub(super) fn foreground_hit(cell: &Cell) -> f64 {
    100.0 * cell.ledger.foreground.hit_ratio()
}

pub(super) fn check(id: &str, claim: &str, source: &str, figure: f64, bound: Bound) -> Verdict {
    verdict(id, claim, source, Some(figure), bound)
}

pub(super) const TRACES_NOTE: &str =
    "the paper's traces were not published: these are made after its description (request ratios \
    15:1 and 3:1, which apps, how concentrated); how many pages are both read and written, how fast hot pages drift and how many \
    requests come in a second are fitted to public traces of phones; shares of writes and of fresh pages, and footprints, are choices";

pub(super) fn averages(title: &str, bars: [(&str, f64); 3]) -> Chart {
    let mut chart = Chart::new(title, Kind::Bars, "", "change, %");
    let [paper, ours @ ..] = bars;
    chart.bars("paper", Origin::Paper, [paper]);
    chart.bars("ours", Origin::Ours, ours);
    chart
}
