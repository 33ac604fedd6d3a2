// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Seed 000's figures of the eCache: which region a device should get (figure 10), and what is read from flash (figure 6a).

use std::collections::BTreeMap;

use fovea_report::chart::{Chart, Kind, Origin};
use fovea_report::document::Case;
use fovea_report::experiment::Findings;
use fovea_report::verdict::{verdict, Bound};

use super::{Entry, Settings};
use crate::{
    ecache::{
        beam, generate, orders, replay, Alike, Base, GenerateOptions, Outcome, RegionPolicy, Trace, Worth, WORKLOADS,
    },
    parallel, Result,
};

/// Figure 10.
pub static FIG_10: Entry = Entry {
    id: "ecache-fig10",
    title: "hit ratio, utilisation and read I/O by the way a device's region is chosen",
    source: "seed 000, section 5.4, figure 10",
    claim: "LRU distance reads 2 to 13 % less than count; cost-based policies hit more and read less than static and random; \
            workloads with more multimedia hit less",
    run: fig_10,
};

/// Figure 6(a).
pub static FIG_6A: Entry = Entry {
    id: "ecache-fig6a",
    title: "read I/O of the workloads, without and with the eCache",
    source: "seed 000, section 5.3, figure 6(a)",
    claim: "read I/O less by 76 to 85 %; with much multimedia 50 to 70 % are still served by the eCache (section 1)",
    run: fig_6a,
};

/// Random regions are drawn so many times; their mean is shown.
const DRAWS: u64 = 5;

/// Budgets of salvage that are compared, pages.
const BUDGETS: [u32; 3] = [256, 1024, 4096];

/// A page copied by the seed's processor: 0.07 ms a page is its eCache read (table 8), of which most is the copy.
const COPY_NS: f64 = 70_000.0;

/// The configurations of the seed's figure, in its order, with ours behind.
const SHOWN: [&str; 8] = ["static", "random", "count", "lru", "aged", "salvage", "protected", "optimal"];

/// What is run: a policy, or the search for the best.
#[derive(Clone, PartialEq)]
enum Job {
    Policy(RegionPolicy),
    Search(usize),
}

fn jobs(width: usize) -> Vec<Job> {
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
fn size(settings: &Settings) -> (u32, usize) {
    if settings.quick {
        (40, 2)
    } else {
        (400, 8)
    }
}

fn traces(settings: &Settings) -> Result<Vec<Trace>> {
    let (launches, _) = size(settings);
    let options = WORKLOADS.map(|w| GenerateOptions::new(w, launches, settings.seed));
    parallel::map(&options, settings.threads, generate, |_| {}).into_iter().collect()
}

/// A number of an outcome.
type Figure = fn(&Outcome) -> f64;

/// Outcomes of one workload by configuration.
type Row = BTreeMap<String, Outcome>;

/// Runs all jobs on all workloads and folds them into the seed's configurations.
fn rows(settings: &Settings) -> Result<Vec<(&'static str, Row)>> {
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
fn fold(outcomes: &[(&Job, Outcome)]) -> Row {
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
        // The optimum is that of the seed's one LRU list.
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

fn hit_percent(outcome: &Outcome) -> f64 {
    100.0 * outcome.hits as f64 / outcome.gets.max(1) as f64
}

/// Read I/O, of that without an eCache: there every page asked for is read.
fn read_percent(outcome: &Outcome) -> f64 {
    100.0 - hit_percent(outcome)
}

fn case(workload: &str, configuration: &str, outcome: &Outcome) -> Case {
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
fn mean(rows: &[(&str, Row)], of: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(|(_, row)| of(row)).sum::<f64>() / rows.len() as f64
}

fn saving(row: &Row, ours: &str, theirs: &str) -> f64 {
    100.0 * (1.0 - row[ours].misses() as f64 / row[theirs].misses().max(1) as f64)
}

/// How much of the read I/O between LRU distance and optimal a configuration saves, percent, each workload's normalised.
fn closed(rows: &[(&str, Row)], configuration: &str) -> f64 {
    let sum = |name: &str| mean(rows, |row| read_percent(&row[name]));
    100.0 * (sum("lru") - sum(configuration)) / (sum("lru") - sum("optimal"))
}

fn charts(rows: &[(&str, Row)]) -> Vec<Chart> {
    let what: [(&str, &str, Figure); 3] = [
        ("Hit ratio", "hit ratio, %", hit_percent),
        ("Mean utilisation", "frames that hold a page, %", |o| o.utilisation_percent),
        ("Read I/O", "% of that without an eCache", read_percent),
    ];
    let mut lead = Chart::new("Reads saved by LRU distance against count", Kind::Bars, "workload", "saving, %");
    lead.bars("ours", Origin::Ours, rows.iter().map(|(workload, row)| (*workload, saving(row, "lru", "count"))));
    lead.paper_ranges("paper", rows.iter().map(|(workload, _)| (*workload, 2.0, 13.0)));
    let shown = what.into_iter().map(|(title, y_axis, of)| {
        let mut chart = Chart::new(title, Kind::Bars, "workload", y_axis);
        for name in SHOWN {
            chart.bars(name, Origin::Ours, rows.iter().map(|(workload, row)| (*workload, of(&row[name]))));
        }
        chart
    });
    shown.chain([lead]).collect()
}

fn fig_10(settings: &Settings) -> Result<Findings> {
    let rows = rows(settings)?;
    let source = FIG_10.source;
    let by_workload = |of: &dyn Fn(&Row) -> f64| {
        rows.iter().map(|(name, row)| format!("{name} {:.1}", of(row))).collect::<Vec<_>>().join(", ")
    };
    let multimedia = ["L", "N", "H"].map(|plain| {
        let of =
            |name: &str| rows.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, row)| hit_percent(&row["lru"]));
        of(&format!("{plain}M")) - of(plain)
    });
    let check =
        |id: &str, claim: &str, source: &str, figure: f64, bound| verdict(id, claim, source, Some(figure), bound);
    let full_ms = rows.iter().map(|(_, row)| row["salvage"].most_salvaged).max().unwrap_or(0) as f64 * COPY_NS / 1e6;
    let verdicts = vec![
        check(
            "lru-against-count",
            "LRU distance reads less than count, mean of the workloads, percent (seed: 2 to 13)",
            source,
            mean(&rows, |row| saving(row, "lru", "count")),
            Bound::AtLeast(2.0),
        ),
        check(
            "lru-against-static",
            "LRU distance reads less than the best static order, mean, percent",
            source,
            mean(&rows, |row| saving(row, "lru", "static")),
            Bound::AtLeast(0.0),
        ),
        check(
            "lru-against-random",
            "LRU distance reads less than random, mean, percent",
            source,
            mean(&rows, |row| saving(row, "lru", "random")),
            Bound::AtLeast(0.0),
        ),
        check(
            "count-against-random",
            "count reads less than random, mean, percent",
            source,
            mean(&rows, |row| saving(row, "count", "random")),
            Bound::AtLeast(0.0),
        ),
        check(
            "multimedia",
            "multimedia workloads hit less than those without, greatest difference, points of a percent",
            source,
            multimedia.into_iter().fold(f64::NEG_INFINITY, f64::max),
            Bound::Below(0.0),
        ),
        check(
            "aged-against-count",
            "aged, LRU's costs without its walk, reads less than count, mean, percent",
            "this project",
            mean(&rows, |row| saving(row, "aged", "count")),
            Bound::AtLeast(0.0),
        ),
        check(
            "protected-against-aged",
            "keeping pages that came back from those read once reads less than one LRU list, mean, percent",
            "this project",
            mean(&rows, |row| saving(row, "protected", "aged")),
            Bound::AtLeast(0.0),
        ),
        check(
            "salvage",
            "share of the read I/O between LRU distance and optimal that salvage saves, mean, percent",
            "this project",
            closed(&rows, "salvage"),
            Bound::AtLeast(50.0),
        ),
    ];
    let notes = vec![
        "traces are generated, the seed's were not published: see docs/lab.md; their traffic is fitted to table 9's".into(),
        format!("LRU distance against count, by workload, percent less: {}", by_workload(&|r| saving(r, "lru", "count"))),
        format!(
            "salvage against LRU distance, percent less: {}; optimal: {}",
            by_workload(&|r| saving(r, "salvage", "lru")),
            by_workload(&|r| saving(r, "optimal", "lru"))
        ),
        format!("aged against LRU distance, percent less: {}", by_workload(&|r| saving(r, "aged", "lru"))),
        format!(
            "protected against aged, percent less: {}; with salvage: {}",
            by_workload(&|r| saving(r, "protected", "aged")),
            by_workload(&|r| saving(r, "protected-salvage", "aged"))
        ),
        format!(
            "share of the gap between LRU distance and optimal that salvage saves, by workload: {}",
            by_workload(&|r| 100.0 * saving(r, "salvage", "lru") / saving(r, "optimal", "lru"))
        ),
        format!(
            "what limits salvage is its order: moving the most recently put pages saves {:.0} % of the gap, moving just those that \
             will be got would save {:.0} %, and those that had been put before {:.0} %; budgets of {BUDGETS:?} pages save {}",
            closed(&rows, "salvage"),
            closed(&rows, "salvage-future"),
            closed(&rows, "salvage-returned"),
            BUDGETS.map(|b| format!("{:.0} %", closed(&rows, &format!("salvage:{b}")))).join(", ")
        ),
        format!(
            "without a budget salvage moves up to {full_ms:.0} ms' worth of pages in one allocation on the seed's phone (0.07 ms \
             each, table 8)"
        ),
        "salvage may save more than the gap: optimal moves no page. Where it closes less than half, a film takes 70 of 90 MB at \
         every second to third launch; docs/lab.md has what it keeps then"
            .into(),
        "optimal is the best found by a search that follows 8 caches through the trace, or by any policy that moves no page; it is \
         reachable, and not proven best"
            .into(),
    ];
    let cases = rows.iter().flat_map(|(workload, row)| row.iter().map(|(name, o)| case(workload, name, o))).collect();
    Ok(Findings { cases, verdicts, charts: charts(&rows), notes })
}

/// What the module does unless told otherwise: `protect_percent` and `salvage_pages` as it comes.
const SHIPPED: RegionPolicy = RegionPolicy::Protected(16_384);

fn fig_6a(settings: &Settings) -> Result<Findings> {
    let traces = traces(settings)?;
    let plan: Vec<(&Trace, RegionPolicy)> =
        [RegionPolicy::Lru, SHIPPED].iter().flat_map(|policy| traces.iter().map(|t| (t, policy.clone()))).collect();
    let outcomes: Vec<Outcome> = parallel::map(&plan, settings.threads, |(t, policy)| replay(t, policy), |_| {})
        .into_iter()
        .collect::<Result<_>>()?;
    let (seed, shipped) = outcomes.split_at(traces.len());
    let least = |names: &[&str]| {
        let of = WORKLOADS.iter().zip(seed).filter(|(name, _)| names.contains(name)).map(|(_, o)| hit_percent(o));
        of.fold(f64::INFINITY, f64::min)
    };
    let gain = seed.iter().zip(shipped).map(|(s, o)| hit_percent(o) - hit_percent(s)).fold(f64::INFINITY, f64::min);
    let mut chart = Chart::new("Read I/O", Kind::Bars, "workload", "MiB");
    // As the report's tables write bytes, so that the same figure is the same number.
    let mib = |pages: u64| pages as f64 * crate::PAGE_BYTES as f64 / f64::from(1 << 20);
    chart.bars("normal", Origin::Ours, WORKLOADS.into_iter().zip(seed.iter().map(|o| mib(o.gets))));
    let mut served = Chart::new("Reads served by the eCache", Kind::Bars, "workload", "% of all reads");
    let mut cases = Vec::new();
    for (label, name, outcomes) in [("eCache", "ecache", seed), ("eCache as shipped", "shipped", shipped)] {
        chart.bars(label, Origin::Ours, WORKLOADS.into_iter().zip(outcomes.iter().map(|o| mib(o.misses()))));
        served.bars(label, Origin::Ours, WORKLOADS.into_iter().zip(outcomes.iter().map(hit_percent)));
        cases.extend(WORKLOADS.iter().zip(outcomes).map(|(workload, o)| {
            let bytes = |pages: u64| pages as f64 * crate::PAGE_BYTES as f64;
            let mut case = case(workload, name, o);
            case.figures.retain(|figure, _| ["hit_percent", "allocs"].contains(&figure.as_str()));
            case.figures.insert("normal_read_bytes".into(), bytes(o.gets));
            case.figures.insert("read_bytes".into(), bytes(o.misses()));
            case
        }));
    }
    let range = |name: &'static str| if name.contains('M') { (name, 50.0, 70.0) } else { (name, 76.0, 85.0) };
    served.paper_ranges("paper", WORKLOADS.map(range));
    let check = |id: &str, claim: &str, source: &str, figure, bound| verdict(id, claim, source, Some(figure), bound);
    Ok(Findings {
        cases,
        verdicts: vec![
            check(
                "plain",
                "least saving of read I/O in L, N and H, percent (seed: 76 to 85)",
                FIG_6A.source,
                least(&["L", "N", "H"]),
                Bound::AtLeast(76.0),
            ),
            check(
                "multimedia",
                "least share of reads served by the eCache in LM, NM and HM, percent (seed: 50 to 70)",
                "seed 000, section 1",
                least(&["LM", "NM", "HM"]),
                Bound::AtLeast(50.0),
            ),
            check(
                "shipped",
                "the module as it comes serves this much more than the seed's in each workload, points",
                "this project",
                gain,
                Bound::AtLeast(0.0),
            ),
        ],
        charts: vec![chart, served],
        notes: vec!["ecache: region by LRU distance, as the seed's phone; shipped: by aged cost, pages that came back protected, and the \
             best salvaged. The traces' traffic is fitted to table 9's, their reuse is not: an exclusive cache that a film emptied is \
             filled by misses only, and these apps come back for more of what was lost than the seed's did"
            .into()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_do_not_depend_on_the_threads() {
        let of = |threads| fig_6a(&Settings { seed: 2, quick: true, threads }).unwrap();
        let one = of(1);
        assert_eq!(of(3), one);
        assert_eq!(one.cases.len(), 2 * WORKLOADS.len());
    }

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
