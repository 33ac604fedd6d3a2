// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A plot as data: what a report draws, the paper's numbers beside ours.

use serde::{Deserialize, Serialize};

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Lines through points.
    #[default]
    Lines,
    /// Groups of bars: a group per place on the x axis, a bar per series.
    Bars,
    /// Lines over time, from zero: of so many points that none is marked but the events.
    Time,
}

/// Whose numbers a series has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Measured here.
    #[default]
    Ours,
    /// Printed in the paper.
    Paper,
}

/// A place on the x axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Place {
    /// On a scale.
    Number(f64),
    /// In a row of names.
    Name(String),
}

/// A point or the top of a bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Where.
    pub x: Place,
    /// How much; not a number, and `null` in JSON, if it was not measured.
    #[serde(with = "crate::document::null_if_missing")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub y: f64,
    /// If the paper prints a range: its other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// Half the width of the 95 % confidence interval, if `y` is a mean over seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

impl Point {
    /// A number at a place.
    pub fn new(x: Place, y: f64) -> Self {
        Point { x, y, to: None, margin: None }
    }

    /// The ends of what is drawn of it.
    pub fn ends(&self) -> impl Iterator<Item = f64> {
        let margin = self.margin.unwrap_or(0.0);
        [Some(self.y - margin), Some(self.y + margin), self.to].into_iter().flatten()
    }
}

/// One line, or one bar of each group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Whose numbers.
    pub origin: Origin,
    /// Its points.
    pub points: Vec<Point>,
    /// Where on the x axis something happened to it; a cross is drawn there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<f64>,
}

/// One plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chart {
    /// The entry it belongs to.
    pub entry: String,
    /// Its title.
    pub title: String,
    /// How it is drawn.
    pub kind: Kind,
    /// What the x axis is, with its unit.
    pub x_axis: String,
    /// What the y axis is, with its unit.
    pub y_axis: String,
    /// The series.
    pub series: Vec<Series>,
}

impl Chart {
    /// A chart without series yet; the entry's id is filled in by whoever runs it.
    pub fn new(title: impl Into<String>, kind: Kind, x_axis: &str, y_axis: &str) -> Self {
        Chart { title: title.into(), kind, x_axis: x_axis.into(), y_axis: y_axis.into(), ..Chart::default() }
    }

    /// Adds a series over numbers.
    pub fn line(&mut self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) {
        let points = points.into_iter().map(|(x, y)| Point::new(Place::Number(x), y)).collect();
        self.series.push(Series { name: name.into(), points, ..Series::default() });
    }

    /// Adds a series over names.
    pub fn bars<N: Into<String>>(
        &mut self,
        name: impl Into<String>,
        origin: Origin,
        points: impl IntoIterator<Item = (N, f64)>,
    ) {
        let points = points.into_iter().map(|(x, y)| Point::new(Place::Name(x.into()), y)).collect();
        self.series.push(Series { name: name.into(), origin, points, ..Series::default() });
    }
    /// Adds the paper's ranges over names.
    pub fn paper_ranges<N: Into<String>>(
        &mut self,
        name: impl Into<String>,
        ranges: impl IntoIterator<Item = (N, f64, f64)>,
    ) {
        let point = |(x, y, to): (N, f64, f64)| Point { to: Some(to), ..Point::new(Place::Name(x.into()), y) };
        let points = ranges.into_iter().map(point).collect();
        self.series.push(Series { name: name.into(), origin: Origin::Paper, points, ..Series::default() });
    }
}
