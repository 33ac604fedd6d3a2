// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What each experiment promises: the same on any number of threads, everything measured, and fit for a report.

use fovea_lab::reproduce::{reproduce, Entry, Settings};
use fovea_report::chart::Place;

pub fn check(entry: &Entry) {
    let of = |threads| {
        let settings = Settings { seed: 5, seeds: 1, quick: true, threads };
        reproduce(&[entry], &settings, |_| {}).unwrap()
    };
    let one = of(1);
    assert_eq!(of(3), one, "{}", entry.id);
    assert!(!one.document.verdicts.is_empty() && !one.document.cases.is_empty(), "{}", entry.id);
    assert_eq!(one.document.seed, 5);
    for verdict in &one.document.verdicts {
        assert!(verdict.figure.is_finite(), "{}: {} was not measured", entry.id, verdict.id);
        assert!(!verdict.source.is_empty());
    }
    for case in &one.document.cases {
        assert!(case.figures.values().all(|v| v.is_finite()), "{}: {case:?}", entry.id);
    }
    assert!(!one.charts.is_empty(), "{}", entry.id);
    for series in one.charts.iter().flat_map(|chart| &chart.series) {
        assert!(!series.points.is_empty(), "{}: {}", entry.id, series.name);
        let fits = |x: &Place| !matches!(x, Place::Number(x) if !x.is_finite());
        assert!(series.points.iter().all(|p| p.y.is_finite() && fits(&p.x)), "{}: {}", entry.id, series.name);
    }
}
