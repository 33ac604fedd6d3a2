// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a person notices of each system: how long an app takes to open, what is read from flash, who is killed, how long a device waits.

use crate::chart::{Chart, Kind, Origin};
use crate::document::{distinct, Case, Document};
use crate::panel::{Form, Panel};
use crate::units::{in_time, Unit};

/// Configurations that are ours: they come last, behind what they are compared with.
const OURS: [&str; 4] = ["fovea", "ecache", "fovea-dm", "on"];

impl Panel {
    /// The chart of a document, if anything was measured for it.
    fn chart(&self, document: &Document) -> Option<Chart> {
        let name = in_time(self.figures[0].0, &document.mode);
        let values =
            document.cases.iter().flat_map(|c| self.figures.iter().filter_map(|(f, _)| c.figures.get(*f).copied()));
        let unit = Unit::of_axis(&name, values);
        let cases = distinct(document.cases.iter().map(|c| c.case.as_str()));
        let sign = if unit.sign.is_empty() { "number" } else { unit.sign };
        let mut chart = match self.form {
            Form::Bars => Chart::new(self.title, Kind::Bars, "", sign),
            Form::Shares => Chart::new(self.title, Kind::Lines, sign, "% within it"),
        };
        let mut configurations = distinct(document.cases.iter().map(|c| c.configuration.as_str()));
        configurations.sort_by_key(|c| OURS.contains(c));
        for configuration in configurations {
            let own = document.cases.iter().filter(|c| c.configuration == configuration);
            if self.form == Form::Shares {
                let share = |case: &Case, (figure, label): &(&str, &str)| {
                    Some((unit.scale(*case.figures.get(*figure)?), label.parse().ok()?))
                };
                chart.line(configuration, own.flat_map(|case| self.figures.iter().filter_map(move |f| share(case, f))));
                continue;
            }
            let bars = own.flat_map(|case| {
                let cases = &cases;
                self.figures.iter().filter_map(move |(figure, label)| {
                    let value = unit.scale(*case.figures.get(*figure)?);
                    // One case goes without saying.
                    let place = if cases.len() > 1 { format!("{}: {label}", case.case) } else { (*label).to_owned() };
                    Some((place, value))
                })
            });
            chart.bars(configuration, Origin::Ours, bars);
        }
        chart.series.iter().any(|s| !s.points.is_empty()).then_some(chart)
    }
}

/// The panels of these results, in the order of `panels`; of two documents of a scenario the first counts.
pub fn drawn<'d>(panels: &[Panel], documents: impl Iterator<Item = &'d Document> + Clone) -> Vec<Chart> {
    let of = |panel: &Panel| panel.chart(documents.clone().find(|d| d.scenario == panel.scenario)?);
    panels.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Place;

    const PANELS: [Panel; 3] = [
        Panel { scenario: "ecache", title: "Read from flash", form: Form::Bars, figures: &[("read_bytes", "read")] },
        Panel {
            scenario: "ecache",
            title: "Until the decoder has its memory",
            form: Form::Bars,
            figures: &[("alloc_mfc_insns", "on average")],
        },
        Panel { scenario: "workload", title: "Apps killed", form: Form::Bars, figures: &[("kills", "killed")] },
    ];

    /// Case, configuration, figures.
    type Measured<'m> = (&'m str, &'m str, &'m [(&'m str, f64)]);

    fn document(scenario: &str, mode: &str, cases: &[Measured]) -> Document {
        let case = |&(case, configuration, figures): &Measured| Case {
            case: case.into(),
            configuration: configuration.into(),
            figures: figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        };
        Document { mode: mode.into(), ..Document::of_host(scenario, cases.iter().map(case).collect()) }
    }

    #[test]
    fn a_panel_shows_what_was_measured_in_a_persons_unit() {
        let ecache = |mode| {
            document(
                "ecache",
                mode,
                &[
                    ("N", "normal", &[("read_bytes", 50e6)]),
                    ("N", "ecache", &[("read_bytes", 20e6), ("alloc_mfc_insns", 30_000.0)]),
                    ("N", "migrate", &[("alloc_mfc_insns", 60e6)]),
                ],
            )
        };
        let charts = drawn(&PANELS, [&ecache("exact")].into_iter());
        let titles: Vec<&str> = charts.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, [PANELS[0].title, PANELS[1].title]);
        let (alloc, points) = (&charts[1], |c: usize| &charts[1].series[c].points);
        assert_eq!((alloc.y_axis.as_str(), points(1)[0].y, points(2)[0].y), ("ms", 60.0, 0.03));
        // Nothing was measured of `normal`, but it keeps its place.
        assert_eq!(points(0).len(), 0);
        assert_eq!(drawn(&PANELS, [&ecache("fast")].into_iter())[1].y_axis, "M instructions");
    }

    #[test]
    fn shares_are_a_line_of_what_so_many_stay_within() {
        let figures = &[("p50_read_ns", "50"), ("p99_read_ns", "99")];
        let panel = Panel { scenario: "disk", title: "How long", form: Form::Shares, figures };
        let read = document(
            "disk",
            "exact",
            &[("", "bfq", &[("p50_read_ns", 2e6), ("p99_read_ns", 90e6)]), ("", "none", &[("p50_read_ns", 1e6)])],
        );
        let charts = drawn(&[panel], [&read].into_iter());
        let places: Vec<(Place, f64)> = charts[0].series[0].points.iter().map(|p| (p.x.clone(), p.y)).collect();
        assert_eq!(places, [(Place::Number(2.0), 50.0), (Place::Number(90.0), 99.0)]);
        assert_eq!((charts[0].kind, charts[0].x_axis.as_str(), charts[0].series.len()), (Kind::Lines, "ms", 2));
    }

    #[test]
    fn cases_are_named_only_where_there_are_several() {
        let day = |cases: &[&str]| {
            let cases: Vec<Measured> = cases.iter().map(|case| (*case, "fovea", &[("kills", 2.0)][..])).collect();
            drawn(&PANELS, [&document("workload", "exact", &cases)].into_iter())
        };
        let place = |chart: &Chart, at: usize| chart.series[0].points[at].x.clone();
        assert_eq!(place(&day(&["N"])[0], 0), Place::Name("killed".into()));
        assert_eq!(place(&day(&["N", "H"])[0], 1), Place::Name("H: killed".into()));
        assert_eq!(drawn(&PANELS, [&document("other", "exact", &[])].into_iter()), []);
    }
}
