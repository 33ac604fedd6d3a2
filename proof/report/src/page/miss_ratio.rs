// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Charts of replays of cache policies: the miss ratio over the size of the cache, a chart per
//! trace. Ratios compare between traces; counts of misses do not.

use crate::chart::{Chart, Kind, Origin};
use crate::document::{distinct, Case, Document};

/// With fewer sizes a chart has bars.
const LINE_SIZES: usize = 3;

/// Ratios in percent: the title, the figure, and the figure that it is divided by, if any.
const RATIOS: [(&str, &str, Option<&str>); 3] = [
    ("Miss ratio", "miss_ratio_percent", None),
    ("Miss ratio", "misses", Some("requests")),
    ("Byte miss ratio", "miss_bytes", Some("request_bytes")),
];

const CAPACITIES: [(&str, &str); 2] = [("capacity_objects", "cache, objects"), ("capacity_bytes", "cache, MiB")];

/// Charts of a document; `None` if it is not one of replays.
pub(super) fn charts(document: &Document) -> Option<Vec<Chart>> {
    if !matches!(document.scenario.as_str(), "lab replay" | "lab sweep" | "lab mrc") {
        return None;
    }
    let trace = |case: &Case| match document.scenario.as_str() {
        // A sweep's cases are a trace and a size.
        "lab sweep" => case.case.rsplit_once(' ').map_or(String::new(), |(trace, _)| trace.to_owned()),
        _ => String::new(),
    };
    let mut traces: Vec<String> = Vec::new();
    for case in &document.cases {
        let name = trace(case);
        if !traces.contains(&name) {
            traces.push(name);
        }
    }
    let mut charts = Vec::new();
    for name in &traces {
        for capacity in CAPACITIES {
            let cases: Vec<&Case> = document
                .cases
                .iter()
                .filter(|case| trace(case) == *name && case.figures.contains_key(capacity.0))
                .collect();
            charts.extend(RATIOS.iter().filter_map(|ratio| chart(name, &cases, capacity, ratio)));
        }
    }
    Some(charts)
}

fn chart(
    trace: &str,
    cases: &[&Case],
    (capacity, x_axis): (&str, &str),
    (what, figure, of): &(&str, &str, Option<&str>),
) -> Option<Chart> {
    let ratio = |case: &Case| {
        let value = *case.figures.get(*figure)?;
        match of {
            None => Some(value),
            Some(of) => Some(100.0 * value / case.figures.get(*of).filter(|&&of| of > 0.0)?),
        }
    };
    if !cases.iter().any(|case| ratio(case).is_some()) {
        return None;
    }
    let scale = if capacity == "capacity_bytes" { f64::from(1 << 20) } else { 1.0 };
    let mut sizes: Vec<f64> = cases.iter().map(|case| case.figures[capacity]).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let lines = sizes.len() >= LINE_SIZES;
    let title = if trace.is_empty() { (*what).to_owned() } else { format!("{what}, {trace}") };
    let kind = if lines { Kind::Lines } else { Kind::Bars };
    let mut chart = Chart::new(title, kind, if lines { x_axis } else { "cache size" }, "miss ratio, %");
    for policy in distinct(cases.iter().map(|case| case.configuration.as_str())) {
        let own = || cases.iter().filter(|case| case.configuration == policy);
        if lines {
            let mut points: Vec<(f64, f64)> =
                own().filter_map(|case| Some((case.figures[capacity] / scale, ratio(case)?))).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            chart.line(policy, points);
        } else {
            let size = |case: &Case| case.case.rsplit(' ').next().unwrap_or_default().to_owned();
            chart.bars(policy, Origin::Ours, own().filter_map(|case| Some((size(case), ratio(case)?))));
        }
    }
    Some(chart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Place;

    fn case(name: &str, policy: &str, figures: &[(&str, f64)]) -> Case {
        let figures = figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Case { case: name.into(), configuration: policy.into(), figures }
    }

    #[test]
    fn sweeps_have_a_chart_per_trace_with_ratios_over_sizes() {
        let mut cases = Vec::new();
        for (trace, requests) in [("a", 100.0), ("b", 100_000.0)] {
            for (size, capacity, share) in [("1%", 10.0, 0.9), ("10%", 100.0, 0.5), ("50%", 500.0, 0.2)] {
                for policy in ["lru", "arc"] {
                    let figures = [
                        ("requests", requests),
                        ("misses", requests * share),
                        ("hits", 0.0),
                        ("capacity_objects", capacity),
                    ];
                    cases.push(case(&format!("{trace} {size}"), policy, &figures));
                }
            }
        }
        let charts = charts(&Document::of_host("lab sweep", cases)).unwrap();
        assert_eq!(charts.iter().map(|c| c.title.as_str()).collect::<Vec<_>>(), ["Miss ratio, a", "Miss ratio, b"]);
        for chart in &charts {
            assert_eq!((chart.kind, chart.series.len()), (Kind::Lines, 2));
            let points: Vec<_> = chart.series[0].points.iter().map(|p| (p.x.clone(), p.y.round())).collect();
            let at = |x| Place::Number(x);
            assert_eq!(points, [(at(10.0), 90.0), (at(100.0), 50.0), (at(500.0), 20.0)]);
        }
    }

    #[test]
    fn few_sizes_are_bars_and_bytes_have_a_ratio_of_their_own() {
        let figures = [
            ("requests", 10.0),
            ("misses", 5.0),
            ("request_bytes", 100.0),
            ("miss_bytes", 20.0),
            ("capacity_bytes", 1048576.0),
        ];
        let charts = charts(&Document::of_host("lab replay", vec![case("1MiB", "lru", &figures)])).unwrap();
        assert_eq!(charts.iter().map(|c| c.title.as_str()).collect::<Vec<_>>(), ["Miss ratio", "Byte miss ratio"]);
        assert_eq!(charts.iter().map(|c| c.series[0].points[0].y).collect::<Vec<_>>(), [50.0, 20.0]);
        assert!(charts.iter().all(|c| c.kind == Kind::Bars));
        assert_eq!(super::charts(&Document::of_host("lowmem", Vec::new())), None);
    }
}
