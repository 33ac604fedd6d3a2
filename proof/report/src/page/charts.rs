// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! From a scenario's results document to charts: what compares, by case and configuration.

use super::miss_ratio;
use crate::chart::{Chart, Kind, Origin, Place, Point, Series};
use crate::document::{distinct, Case, Document};
use crate::paper::{figure_names, is_free_memory, is_share, paper_figure, shares, Column, Paper};
use crate::plot::{drawable, paper_twin};
use crate::units::{family, words, Unit};

/// More cases or configurations than these, as a sweep has, are for the table.
const MOST: usize = 16;

/// In one chart the greatest figure is at most so many times another one: beyond that the smaller could not be seen.
const FACTOR: f64 = 25.0;

/// What a chart's axis shows. Figures of the same one can share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Unit(&'static str),
    ShareOfUserMemory,
}

/// A figure of all cases under all configurations.
struct Row<'d> {
    name: String,
    axis: Axis,
    ours: Vec<Cell<'d>>,
    paper: Vec<Cell<'d>>,
}

struct Cell<'d> {
    case: &'d str,
    configuration: &'d str,
    value: f64,
}

impl Row<'_> {
    fn largest(&self) -> f64 {
        self.ours.iter().chain(&self.paper).map(|c| c.value.abs()).fold(0.0, f64::max)
    }

    /// Whether there is something to see: two figures that differ by more than a thousandth.
    fn compares(&self) -> bool {
        let differs = |c: &Cell| (c.value - self.ours[0].value).abs() > c.value.abs() / 1000.0;
        self.ours.iter().any(differs)
    }
}

/// Free memory is a share wherever user memory is known of every case that has the figure: sizes of different phones do not compare.
fn axis(document: &Document, name: &str) -> Axis {
    let known = |c: &Case| c.figures.get("user_memory_bytes").is_some_and(|&u| u > 0.0);
    let mut with_it = document.cases.iter().filter(|c| c.figures.contains_key(name));
    if is_free_memory(name) && with_it.all(known) {
        Axis::ShareOfUserMemory
    } else {
        Axis::Unit(family(name))
    }
}

fn row<'d>(document: &'d Document, name: &str, papers: &[Paper]) -> Row<'d> {
    let axis = axis(document, name);
    let value = |figure: f64, user: Option<f64>| match axis {
        Axis::Unit(_) => Some(figure),
        Axis::ShareOfUserMemory => Some(100.0 * figure / user?),
    };
    let ours = document.cases.iter().filter_map(|c| {
        let value = value(*c.figures.get(name)?, c.figures.get("user_memory_bytes").copied())?;
        drawable(value).then_some(Cell { case: &c.case, configuration: &c.configuration, value })
    });
    let paper = document.cases.iter().filter_map(|c| {
        let print = |name: &str| paper_figure(papers, &document.scenario, name, &c.configuration);
        let value = value(print(name)?, print("user_memory_bytes"))?;
        Some(Cell { case: &c.case, configuration: &c.configuration, value })
    });
    Row { name: name.into(), axis, ours: ours.collect(), paper: paper.collect() }
}

/// Rows that can share a chart: of one axis, and of sizes that are all seen.
fn bundles(rows: Vec<Row<'_>>) -> Vec<Vec<Row<'_>>> {
    let mut bundles: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        let fits = |bundle: &&mut Vec<Row>| {
            let sizes = || bundle.iter().chain([&row]).map(Row::largest);
            let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
            bundle[0].axis == row.axis && least * FACTOR >= most
        };
        match bundles.iter_mut().find(fits) {
            Some(bundle) => bundle.push(row),
            None => bundles.push(vec![row]),
        }
    }
    bundles
}

/// Charts of a document. With one case, figures that share an axis are in one chart, side by side; with several, each figure has
/// its own, by case.
pub(super) fn charts(document: &Document, papers: &[Paper]) -> Vec<Chart> {
    if let Some(charts) = miss_ratio::charts(document) {
        return charts;
    }
    let cases = distinct(document.cases.iter().map(|c| c.case.as_str()));
    let configurations = distinct(document.cases.iter().map(|c| c.configuration.as_str()));
    if cases.len() > MOST || configurations.len() > MOST {
        return Vec::new();
    }
    // Figures of the first case come in the paper's order; others may have more.
    let mut names: Vec<String> = Vec::new();
    for name in cases.iter().flat_map(|case| figure_names(papers, document, case)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.retain(|name| !is_share(papers, name));
    let rows: Vec<Row> = names.iter().map(|name| row(document, name, papers)).filter(Row::compares).collect();
    let mut charts: Vec<Chart> = if cases.len() > 1 {
        rows.iter().map(|row| chart(&configurations, std::slice::from_ref(row), true)).collect()
    } else {
        bundles(rows).iter().map(|bundle| chart(&configurations, bundle, false)).collect()
    };
    charts.extend(divided(document, &configurations, papers));
    charts
}

/// Figures that a paper divides up, beside its tables.
fn divided(document: &Document, configurations: &[&str], papers: &[Paper]) -> Vec<Chart> {
    let of = |case| shares(papers).flat_map(move |shares| (shares.columns)(case)).map(move |column| (case, column));
    let columns = document.cases.iter().flat_map(of);
    let chart = |(case, column): (&Case, Column)| {
        let title = if case.case.is_empty() { column.title.into() } else { format!("{}: {}", case.case, column.title) };
        let mut chart = Chart::new(title, Kind::Bars, column.by, column.unit);
        for configuration in configurations {
            let own =
                column.rows.iter().filter(|(_, value, _)| *configuration == case.configuration && drawable(*value));
            chart.bars(*configuration, Origin::Ours, own.map(|(kind, ours, _)| (kind.as_str(), *ours)));
        }
        let paper = column.rows.iter().map(|(kind, _, paper)| (kind.as_str(), *paper));
        chart.bars(paper_twin(&case.configuration), Origin::Paper, paper);
        chart
    };
    columns.map(chart).collect()
}

fn chart(configurations: &[&str], rows: &[Row<'_>], by_case: bool) -> Chart {
    let first = &rows[0];
    let unit = Unit::of_axis(&first.name, rows.iter().map(Row::largest));
    let (scale, y_axis): (Box<dyn Fn(f64) -> f64>, String) = match first.axis {
        Axis::ShareOfUserMemory => (Box::new(|v| v), "% of user memory".into()),
        Axis::Unit(_) if unit.sign.is_empty() => (Box::new(|v| v), "number".into()),
        Axis::Unit(_) => (Box::new(move |v| unit.scale(v)), unit.sign.into()),
    };
    let title = match rows {
        [only] => capitalised(&words(&only.name)),
        _ => match first.axis {
            Axis::ShareOfUserMemory => "Free memory".into(),
            Axis::Unit("_ns") => "Times".into(),
            Axis::Unit("_bytes") => "Sizes".into(),
            Axis::Unit("_percent") => "Shares".into(),
            Axis::Unit("_insns") => "Instructions".into(),
            Axis::Unit("") => "Counts".into(),
            Axis::Unit(_) => capitalised(&format!("{} and others", words(&first.name))),
        },
    };
    let mut chart = Chart::new(title, Kind::Bars, if by_case { "case" } else { "figure" }, &y_axis);
    let series = |configuration: &str, of: &dyn Fn(&Row<'_>) -> Vec<(String, f64)>, origin: Origin| {
        let points = rows.iter().flat_map(of).map(|(x, value)| Point::new(Place::Name(x), scale(value)));
        let name = if origin == Origin::Paper { paper_twin(configuration) } else { configuration.to_owned() };
        Series { name, origin, points: points.collect(), ..Series::default() }
    };
    for configuration in configurations {
        let place = |row: &Row, case: &str| if by_case { case.to_owned() } else { words(&row.name) };
        let cells = |row: &Row, cells: &[Cell]| {
            let own = cells.iter().filter(|c| c.configuration == *configuration);
            own.map(|c| (place(row, c.case), c.value)).collect::<Vec<_>>()
        };
        let both = [
            series(configuration, &|row| cells(row, &row.ours), Origin::Ours),
            series(configuration, &|row| cells(row, &row.paper), Origin::Paper),
        ];
        // Without a point it is not shown, but holds its colour: a configuration has the same one in every chart.
        chart.series.extend(both.into_iter().filter(|s| s.origin == Origin::Ours || !s.points.is_empty()));
    }
    chart
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
