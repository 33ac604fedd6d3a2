// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a person notices of each system: how long an app takes to open, what is read from flash, who is killed, how long a device waits.

use crate::chart::{Chart, Kind, Origin};
use crate::document::{distinct, Document};
use crate::panel::Panel;
use crate::units::{in_time, Unit};

/// Configurations that are ours: they come last, behind what they are compared with.
const OURS: [&str; 2] = ["fovea", "ecache"];

impl Panel {
    /// The chart of a document, if anything was measured for it.
    fn chart(&self, document: &Document) -> Option<Chart> {
        let name = in_time(self.figures[0].0, &document.mode);
        let values =
            document.cases.iter().flat_map(|c| self.figures.iter().filter_map(|(f, _)| c.figures.get(*f).copied()));
        let unit = Unit::of(&name, values);
        let cases = distinct(document.cases.iter().map(|c| c.case.as_str()));
        let mut chart = Chart::new(self.title, Kind::Bars, "", if unit.sign.is_empty() { "number" } else { unit.sign });
        let mut configurations = distinct(document.cases.iter().map(|c| c.configuration.as_str()));
        configurations.sort_by_key(|c| OURS.contains(c));
        for configuration in configurations {
            let own = document.cases.iter().filter(|c| c.configuration == configuration);
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
    use crate::document::Case;

    const PANELS: [Panel; 3] = [
        Panel { scenario: "ecache", title: "Read from flash", figures: &[("read_bytes", "read")] },
        Panel {
            scenario: "ecache",
            title: "Until the decoder has its memory",
            figures: &[("alloc_mfc_insns", "on average")],
        },
        Panel { scenario: "workload", title: "Apps killed", figures: &[("kills", "killed")] },
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
