// SPDX-License-Identifier: GPL-2.0-only OR MIT
use std::collections::BTreeMap;

use super::*;
use crate::paper::Shares;

/// A paper that prints figures of two configurations, and one that divides a figure up.
const PAPERS: [Paper; 2] = [
    Paper {
        scenario: "lowmem",
        source: "a paper",
        configurations: &["zram", "fovea"],
        figures: &[
            ("user_memory_bytes", &[Some(835.0), Some(835.0)]),
            ("free_after_idle_bytes", &[Some(18.9358), Some(147.6636)]),
            ("start_lowmem_ns", &[Some(2730.0), Some(2014.0)]),
            ("restart_ns", &[Some(298.0), Some(306.0)]),
        ],
        shares: None,
    },
    Paper {
        scenario: "ecache",
        source: "another",
        configurations: &[],
        figures: &[],
        shares: Some(Shares { holds: |name| name.starts_with("hit_"), columns: hits, render: |_, _| {} }),
    },
];

fn hits(case: &Case) -> Vec<Column> {
    let hits = case.figures.iter().filter(|(name, _)| name.starts_with("hit_"));
    let rows: Vec<_> = hits.map(|(name, &ours)| (name.clone(), ours, 50.0)).collect();
    (!rows.is_empty())
        .then_some(Column { title: "Hits by kind of file", by: "kind of file", unit: "%", rows })
        .into_iter()
        .collect()
}

fn case(case: &str, configuration: &str, figures: &[(&str, f64)]) -> Case {
    let figures: BTreeMap<String, f64> = figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    Case { case: case.into(), configuration: configuration.into(), figures }
}

fn find<'c>(charts: &'c [Chart], title: &str) -> &'c Chart {
    charts.iter().find(|c| c.title == title).unwrap_or_else(|| panic!("{title} of {charts:#?}"))
}

const MIB: f64 = 1048576.0;

#[test]
fn with_one_case_figures_of_a_unit_share_a_chart_beside_the_papers() {
    let of = |c, restart, start, free| {
        let figures = [
            ("restart_ns", restart),
            ("start_lowmem_ns", start),
            ("free_after_idle_bytes", free),
            ("user_memory_bytes", 400.0 * MIB),
        ];
        case("", c, &figures)
    };
    let cases = vec![of("zram", 250e6, 2007e6, 40.0 * MIB), of("fovea", 265e6, 1868e6, 160.0 * MIB)];
    let charts = charts(&Document::of_host("lowmem", cases), &PAPERS);
    let names: Vec<_> = charts[0].series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["zram", "zram (paper)", "fovea", "fovea (paper)"]);
    let times = find(&charts, "Times");
    assert_eq!(times.y_axis, "ms");
    assert_eq!(times.series[3].points.iter().map(|p| p.y).collect::<Vec<_>>(), [2014.0, 306.0]);
    // Of phones of different sizes free memory compares only as a share.
    let free = find(&charts, "Free after idle");
    assert_eq!(
        (free.y_axis.as_str(), free.series[0].points[0].y, free.series[2].points[0].y),
        ("% of user memory", 10.0, 40.0)
    );
    assert!((free.series[3].points[0].y - 17.684).abs() < 0.001);
}

#[test]
fn with_several_cases_each_figure_has_a_chart_by_case() {
    let cases = ["L", "N"].into_iter().flat_map(|name| {
        ["stock", "fovea"].map(|c| case(name, c, &[("kills", f64::from(c == "stock")), ("wrong_pages", 0.0)]))
    });
    let charts = charts(&Document::of_host("workload", cases.collect()), &PAPERS);
    // All wrong_pages are the same: there is nothing to compare.
    assert_eq!(charts.len(), 1);
    assert_eq!((charts[0].title.as_str(), charts[0].x_axis.as_str(), charts[0].series.len()), ("Kills", "case", 2));
    assert_eq!(charts[0].series[0].points.len(), 2);
}

#[test]
fn small_figures_are_not_drawn_beside_great_ones() {
    let of = |c, factor: f64| case("", c, &[("a_ns", 1e9 * factor), ("b_ns", 5e8 * factor), ("c_ns", 1e3 * factor)]);
    let charts = charts(&Document::of_host("some", vec![of("x", 1.0), of("y", 2.0)]), &PAPERS);
    assert_eq!(find(&charts, "Times").series[0].points.len(), 2);
    assert_eq!(find(&charts, "C").y_axis, "ns");
}

#[test]
fn what_was_not_measured_under_one_configuration_is_left_out_there() {
    let cases = vec![case("", "x", &[("a_ns", 1.0), ("b_ns", 1.0)]), case("", "y", &[("b_ns", 2.0)])];
    let charts = charts(&Document::of_host("some", cases), &PAPERS);
    assert_eq!(charts.len(), 1);
    assert_eq!(charts[0].title, "B");
}

#[test]
fn a_configuration_has_its_place_in_every_chart() {
    let both =
        |c| case("", c, &[("a_ns", if c == "x" { 1.0 } else { 2.0 }), ("b_percent", if c == "z" { 3.0 } else { 4.0 })]);
    let without = case("", "y", &[("a_ns", 3.0)]);
    let charts = charts(&Document::of_host("some", vec![both("x"), without, both("z")]), &PAPERS);
    assert_eq!(charts.len(), 2);
    let names = |c: &Chart| c.series.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&charts[0]), names(&charts[1])),
        (names(&charts[1]), ["x", "y", "z"].map(str::to_owned).to_vec())
    );
}

#[test]
fn sweeps_are_for_the_table() {
    let cases = (0..40).map(|n| case(&n.to_string(), "lru", &[("hits", f64::from(n))])).collect();
    assert_eq!(charts(&Document::of_host("lab sweep", cases), &PAPERS), []);
}

#[test]
fn figures_that_a_paper_divides_up_stand_beside_its_table_and_nowhere_else() {
    let figures = [("hit_apk_bytes", 40.0), ("hit_library_bytes", 60.0)];
    let charts = charts(&Document::of_host("ecache", vec![case("N", "ecache", &figures)]), &PAPERS);
    assert_eq!(charts.len(), 1);
    assert_eq!((charts[0].title.as_str(), charts[0].x_axis.as_str()), ("N: Hits by kind of file", "kind of file"));
    let sum = |at: usize| charts[0].series[at].points.iter().map(|p| p.y).sum::<f64>();
    assert_eq!((sum(0), sum(1), charts[0].series[1].origin), (100.0, 100.0, Origin::Paper));
}

#[test]
fn figures_that_hardly_differ_are_not_drawn() {
    let of = |c, value| case("", c, &[("user_memory_bytes", value)]);
    assert_eq!(charts(&Document::of_host("some", vec![of("x", 355_385_344.0), of("y", 355_398_997.0)]), &PAPERS), []);
}
