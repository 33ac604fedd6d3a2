// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The workloads' traces under every way of choosing a device's region.

use std::collections::BTreeMap;

use fovea_report::document::Case;

use super::entry::Settings;
use crate::{
    ecache::{
        beam, generate, orders, replay, Alike, Base, GenerateOptions, Outcome, RegionPolicy, Trace, Worth, WORKLOADS,
    },
    parallel, Result,
};

/// Random regions are drawn so many times; their mean is shown.
pub(super) const DRAWS: u64 = 5;

/// Budgets of salvage that are compared, pages.
pub(super) const BUDGETS: [u32; 3] = [256, 1024, 4096];

/// A page copied by the paper's processor: 0.07 ms a page is its eCache read (table 8), of which most is the copy.
pub(super) const COPY_NS: f64 = 70_000.0;

/// The configurations of the paper's figure, in its order, with ours behind.
pub(super) const SHOWN: [&str; 8] = ["static", "random", "count", "lru", "aged", "salvage", "protected", "optimal"];

/// What is run: a policy, or the search for the best.
#[derive(Clone, PartialEq)]
pub(super) enum Job {
    Policy(RegionPolicy),
    Search(usize),
}

pub(super) fn jobs(width: usize) -> Vec<Job> {
    let mut jobs = vec![Job::Search(width)];
    let one = [
        RegionPolicy::Greedy,
        RegionPolicy::Count,
        RegionPolicy::Lru,
        RegionPolicy::Aged,
        RegionPolicy::Salvage(Base::Aged, u32::MAX),
        RegionPolicy::Selective(Worth::Future),
        RegionPolicy::Selective(Worth::Returned),
        RegionPolicy::Protected(0),
        RegionPolicy::Protected(u32::MAX),
        RegionPolicy::Belady,
        RegionPolicy::Undisturbed,
    ];
    jobs.extend(one.map(Job::Policy));
    jobs.extend(BUDGETS.map(|budget| Job::Policy(RegionPolicy::Salvage(Base::Aged, budget))));
    jobs.extend((1..=DRAWS).map(|seed| Job::Policy(RegionPolicy::Random(seed))));
    jobs.extend(orders(4).into_iter().map(|order| Job::Policy(RegionPolicy::Static(order))));
    jobs
}

/// Launches and the search's width.
pub(super) fn size(settings: &Settings) -> (u32, usize) {
    if settings.quick {
        (40, 2)
    } else {
        (400, 8)
    }
}

pub(super) fn traces(settings: &Settings) -> Result<Vec<Trace>> {
    let (launches, _) = size(settings);
    let options = WORKLOADS.map(|w| GenerateOptions::new(w, launches, settings.seed));
    parallel::map(&options, settings.threads, generate, |_| {}).into_iter().collect()
}

/// A number of an outcome.
pub(super) type Figure = fn(&Outcome) -> f64;

/// Outcomes of one workload by configuration.
pub(super) type Row = BTreeMap<String, Outcome>;

/// Runs all jobs on all workloads and folds them into the paper's configurations.
pub(super) fn rows(settings: &Settings) -> Result<Vec<(&'static str, Row)>> {
    let traces = traces(settings)?;
    let jobs = jobs(size(settings).1);
    // The searches, which take longest, come first.
    let plan: Vec<(&Job, usize)> = jobs.iter().flat_map(|job| (0..traces.len()).map(move |at| (job, at))).collect();
    let work = |&(job, at): &(&Job, usize)| match job {
        Job::Policy(policy) => replay(&traces[at], policy),
        Job::Search(width) => beam(&traces[at], *width, Alike::Kind),
    };
    let outcomes: Vec<Outcome> =
        parallel::map(&plan, settings.threads, work, |_| {}).into_iter().collect::<Result<_>>()?;
    Ok(WORKLOADS
        .into_iter()
        .enumerate()
        .map(|(at, name)| {
            let own =
                plan.iter().zip(&outcomes).filter(|((_, w), _)| *w == at).map(|((job, _), outcome)| (*job, *outcome));
            (name, fold(&own.collect::<Vec<_>>()))
        })
        .collect())
}

/// Best of the static orders, mean of the random draws, best of all that moves no page as the optimum; the others as they are.
pub(super) fn fold(outcomes: &[(&Job, Outcome)]) -> Row {
    let mut row = Row::new();
    let most_hits = |best: Option<Outcome>, o: Outcome| match best {
        Some(best) if best.hits >= o.hits => Some(best),
        _ => Some(o),
    };
    let (mut fixed, mut optimal, mut draws) = (None, None, Vec::new());
    for (job, outcome) in outcomes {
        match job {
            Job::Search(_) => drop(row.insert("search".into(), *outcome)),
            Job::Policy(RegionPolicy::Static(_)) => fixed = most_hits(fixed, *outcome),
            Job::Policy(RegionPolicy::Random(_)) => draws.push(*outcome),
            Job::Policy(policy) => drop(row.insert(policy.to_string(), *outcome)),
        }
        let moves_pages = matches!(
            job,
            Job::Policy(RegionPolicy::Salvage(..) | RegionPolicy::Selective(_) | RegionPolicy::Undisturbed)
        );
        // The optimum is that of the paper's one LRU list.
        if !moves_pages && !matches!(job, Job::Policy(RegionPolicy::Protected(_) | RegionPolicy::Belady)) {
            optimal = most_hits(optimal, *outcome);
        }
    }
    row.extend(fixed.map(|o| ("static".to_owned(), o)));
    row.extend(optimal.map(|o| ("optimal".to_owned(), o)));
    if let Some(first) = draws.first() {
        let count = draws.len() as u64;
        let mean = |of: fn(&Outcome) -> u64| draws.iter().map(of).sum::<u64>() / count;
        let utilisation_percent = draws.iter().map(|o| o.utilisation_percent).sum::<f64>() / count as f64;
        let random =
            Outcome { hits: mean(|o| o.hits), discarded: mean(|o| o.discarded), utilisation_percent, ..*first };
        row.insert("random".into(), random);
    }
    row
}

pub(super) fn hit_percent(outcome: &Outcome) -> f64 {
    100.0 * outcome.hits as f64 / outcome.gets.max(1) as f64
}

/// Read I/O, of that without an eCache: there every page asked for is read.
pub(super) fn read_percent(outcome: &Outcome) -> f64 {
    100.0 - hit_percent(outcome)
}

pub(super) fn case(workload: &str, configuration: &str, outcome: &Outcome) -> Case {
    let figures = [
        ("hit_percent", hit_percent(outcome)),
        ("utilisation_percent", outcome.utilisation_percent),
        ("read_percent", read_percent(outcome)),
        ("gets", outcome.gets as f64),
        ("allocs", outcome.allocs as f64),
        ("discarded", outcome.discarded as f64),
        ("salvaged", outcome.salvaged as f64),
    ];
    let figures = figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Case { case: workload.into(), configuration: configuration.into(), figures }
}

/// Mean over the workloads.
pub(super) fn mean(rows: &[(&str, Row)], of: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(|(_, row)| of(row)).sum::<f64>() / rows.len() as f64
}

pub(super) fn saving(row: &Row, ours: &str, theirs: &str) -> f64 {
    100.0 * (1.0 - row[ours].misses() as f64 / row[theirs].misses().max(1) as f64)
}

/// How much of the read I/O between LRU distance and optimal a configuration saves, percent, each workload's normalised.
pub(super) fn closed(rows: &[(&str, Row)], configuration: &str) -> f64 {
    let sum = |name: &str| mean(rows, |row| read_percent(&row[name]));
    100.0 * (sum("lru") - sum(configuration)) / (sum("lru") - sum("optimal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_is_the_best_that_moves_no_page() {
        let with = |hits| Outcome { gets: 100, hits, ..Outcome::default() };
        let jobs = [
            (Job::Policy(RegionPolicy::Lru), with(50)),
            (Job::Policy(RegionPolicy::Static(vec![0, 1])), with(60)),
            (Job::Policy(RegionPolicy::Static(vec![1, 0])), with(40)),
            (Job::Policy(RegionPolicy::Random(1)), with(10)),
            (Job::Policy(RegionPolicy::Random(2)), with(20)),
            (Job::Policy(RegionPolicy::Salvage(Base::Aged, 9)), with(90)),
            (Job::Search(2), with(55)),
        ];
        let row = fold(&jobs.iter().map(|(job, o)| (job, *o)).collect::<Vec<_>>());
        assert_eq!((row["static"].hits, row["random"].hits, row["optimal"].hits), (60, 15, 60));
        assert_eq!(row["salvage:9"].hits, 90);
    }
}
