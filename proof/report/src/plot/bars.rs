// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Groups of bars, lying: names of any length stand beside them in one line each, and on a narrow screen a picture of many bars
//! gets no smaller, only higher.

use maud::{html, Markup};

use super::{drawable, fitted, looks, px, scale::Scale, text_width, two_lines, Drawn, Look, WIDTH};
use crate::chart::{Chart, Place, Point, Series};
use crate::units::short;

const BAR: f64 = 14.0;
const BAR_PITCH: f64 = 16.0;
const GROUP_GAP: f64 = 10.0;
/// Room above the bars, with a name of the axis and without.
const TOP: f64 = 22.0;
const TOP_BARE: f64 = 8.0;
const BOTTOM: f64 = 44.0;
/// Room for a number at the end of a bar.
const NUMBER: f64 = 54.0;
/// Two lines of a name fit beside one bar and the gap behind it.
const LINE: f64 = 13.0;
/// Names get no more than this.
const NAMES: f64 = 165.0;

/// The bars at one place.
struct Group<'c> {
    name: String,
    bars: Vec<(&'c Series, Look, &'c Point)>,
}

fn place(place: &Place) -> String {
    match place {
        Place::Name(name) => name.clone(),
        Place::Number(number) => short(*number),
    }
}

/// Places in the order in which they first occur, each with the bars that there are.
fn groups(chart: &Chart) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for (series, look) in chart.series.iter().zip(looks(chart)) {
        for point in &series.points {
            let name = place(&point.x);
            match groups.iter_mut().find(|g| g.name == name) {
                Some(group) => group.bars.push((series, look, point)),
                None => groups.push(Group { name, bars: vec![(series, look, point)] }),
            }
        }
    }
    groups
}

/// The number at the end of a bar.
fn number(point: &Point) -> String {
    match (point.to, point.margin) {
        (Some(to), _) => format!("{} to {}", short(point.y), short(to)),
        (None, Some(margin)) => format!("{} \u{b1} {}", short(point.y), short(margin)),
        (None, None) => short(point.y),
    }
}

/// Where things are.
struct Layout {
    scale: Scale,
    left: f64,
    right: f64,
}

impl Layout {
    fn x(&self, value: f64) -> f64 {
        self.left + self.scale.at(value) * (self.right - self.left)
    }

    /// One bar and its number.
    fn bar(&self, series: &Series, look: Look, point: &Point, place: &str, y: f64) -> Markup {
        let text_y = px(y + 11.5);
        if !drawable(point.y) || point.to.is_some_and(|to| !drawable(to)) {
            return html! {
                text.number x=(px(self.x(0.0) + 4.0)) y=(text_y) { "not measured" }
            };
        }
        let zero_or_end = point.to.unwrap_or(0.0);
        let (from, to) = (self.x(point.y.min(zero_or_end)), self.x(point.y.max(zero_or_end)));
        let below = point.y < 0.0;
        let margin = point.margin.filter(|&m| drawable(m));
        // The number stands clear of the error bar.
        let (first, last) = match margin {
            Some(margin) => (from.min(self.x(point.y - margin)), to.max(self.x(point.y + margin))),
            None => (from, to),
        };
        html! {
            rect class=(look.area()) x=(px(from)) y=(px(y)) width=(px((to - from).max(1.0))) height=(px(BAR)) {
                title { (series.name) ", " (place) ": " (number(point)) }
            }
            @if let Some(margin) = margin {
                path.error d=(error_bar((self.x(point.y - margin), self.x(point.y + margin)), y + BAR / 2.0)) {}
            }
            @if below {
                text.number text-anchor="end" x=(px(first - 4.0)) y=(text_y) { (number(point)) }
            } @else {
                text.number x=(px(last + 4.0)) y=(text_y) { (number(point)) }
            }
        }
    }
}

/// From end to end, with a stroke across at each.
fn error_bar((from, to): (f64, f64), y: f64) -> String {
    let (from, to, y, top) = (px(from), px(to), px(y), px(y - 3.0));
    format!("M{from} {y}H{to}M{from} {top}v6M{to} {top}v6")
}

/// The name of a group, beside its middle.
fn name(name: &str, end: f64, middle: f64) -> Markup {
    let lines = two_lines(name, NAMES);
    let first = middle + 4.0 - (lines.len() - 1) as f64 * LINE / 2.0;
    html! {
        g {
            title { (name) }
            @for (at, line) in lines.iter().enumerate() {
                text x=(px(end)) y=(px(first + at as f64 * LINE)) text-anchor="end" { (line) }
            }
        }
    }
}

/// The picture.
pub(super) fn picture(chart: &Chart) -> Option<Drawn> {
    let groups = groups(chart);
    let points = || groups.iter().flat_map(|g| &g.bars).map(|(_, _, p)| *p);
    let values = || points().flat_map(Point::ends);
    let scale = Scale::linear(values(), true)?;
    let names = groups.iter().map(|g| text_width(&g.name)).fold(30.0, f64::max).min(NAMES);
    let below = values().any(|v| v < 0.0 && drawable(v));
    let above = values().any(|v| v > 0.0 && drawable(v));
    let widest = points().map(|p| text_width(&number(p))).fold(NUMBER, f64::max);
    let layout = Layout {
        scale,
        left: names + 8.0 + if below { widest } else { 0.0 },
        right: WIDTH - if above || !below { widest } else { 12.0 },
    };
    let top = if chart.x_axis.is_empty() { TOP_BARE } else { TOP };
    let mut y = top;
    let mut tops = Vec::new();
    for group in &groups {
        tops.push(y);
        y += group.bars.len() as f64 * BAR_PITCH + GROUP_GAP;
    }
    let (foot, height) = (y, y + BOTTOM);
    let middle = (layout.left + layout.right) / 2.0;
    let content = html! {
        @if !chart.x_axis.is_empty() {
            text.axis x="0" y="13" { (fitted(&chart.x_axis, WIDTH)) }
        }
        @for &tick in &layout.scale.ticks {
            path class=(if tick == 0.0 { "zero" } else { "grid" })
                d={ "M" (px(layout.x(tick))) " " (px(top - 4.0)) "V" (px(foot)) } {}
            text.tick x=(px(layout.x(tick))) y=(px(foot + 16.0)) text-anchor="middle" { (short(tick)) }
        }
        text.axis x=(px(middle)) y=(px(foot + 36.0)) text-anchor="middle" { (chart.y_axis) }
        @for (group, top) in groups.iter().zip(tops) {
            (name(&group.name, names, top + group.bars.len() as f64 * BAR_PITCH / 2.0))
            @for (at, (series, look, point)) in group.bars.iter().enumerate() {
                (layout.bar(series, *look, point, &group.name, top + at as f64 * BAR_PITCH))
            }
        }
    };
    Some(Drawn { height, content })
}
