// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Lines through points, each series with a colour, a dash and a mark of its own: two of the three are left on paper without colour.

use maud::html;

use super::{drawable, legend::mark, looks, numeric, px, scale::Scale, text_width, Drawn, WIDTH};
use crate::chart::{Chart, Kind, Point, Series};
use crate::units::short;

const HEIGHT: f64 = 300.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 52.0;
const RIGHT: f64 = 18.0;
/// Room between the axis and the first mark.
const INSET: f64 = 8.0;

/// A point as it is drawn, and its error bar.
struct Shown {
    x: f64,
    y: f64,
    title: String,
    error: Option<String>,
}

/// From end to end, with a stroke across at each.
fn error_bar(x: f64, (from, to): (f64, f64)) -> String {
    let (x, from, to, left) = (px(x), px(from), px(to), px(x - 3.0));
    format!("M{x} {from}V{to}M{left} {from}h6M{left} {to}h6")
}

struct Layout {
    x: Scale,
    y: Scale,
    left: f64,
}

impl Layout {
    fn x(&self, value: f64) -> f64 {
        self.left + INSET + self.x.at(value) * (WIDTH - RIGHT - INSET - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.at(value) * (HEIGHT - BOTTOM - TOP)
    }

    /// The points that can be drawn, and the path through them; it is broken where one cannot.
    fn path(&self, series: &Series) -> (Vec<Shown>, String) {
        let (mut shown, mut path, mut pen) = (Vec::new(), String::new(), 'M');
        for point in &series.points {
            let Some(x) = numeric(point).filter(|&x| drawable(x) && drawable(point.y)) else {
                pen = 'M';
                continue;
            };
            let (at_x, at_y) = (self.x(x), self.y(point.y));
            path += &format!("{pen}{} {}", px(at_x), px(at_y));
            pen = 'L';
            let mut title = format!("{}, {}: {}", series.name, short(x), short(point.y));
            let margin = point.margin.filter(|&margin| drawable(margin));
            if let Some(margin) = margin {
                title += &format!(" \u{b1} {}", short(margin));
            }
            let error = margin.map(|margin| error_bar(at_x, (self.y(point.y + margin), self.y(point.y - margin))));
            shown.push(Shown { x: at_x, y: at_y, title, error });
        }
        (shown, path)
    }
}

/// Ticks that do not run into each other when labelled: every second one, or third, if need be.
fn labelled(scale: &Scale, room: f64) -> Vec<f64> {
    let widest = scale.ticks.iter().map(|&t| text_width(&short(t))).fold(0.0, f64::max) + 10.0;
    let fit = (room / widest).max(1.0) as usize;
    let every = scale.ticks.len().div_ceil(fit).max(1);
    scale.ticks.iter().copied().step_by(every).collect()
}

/// Where a series is at a place on the x axis: on the line between the points around it, and beyond them the nearest one.
fn height_at(series: &Series, x: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = series
        .points
        .iter()
        .filter_map(|p| Some((numeric(p)?, p.y)))
        .filter(|&(x, y)| drawable(x) && drawable(y))
        .collect();
    let next = points.partition_point(|p| p.0 < x);
    match (next.checked_sub(1).and_then(|i| points.get(i)), points.get(next)) {
        (Some(a), Some(b)) if b.0 > a.0 => Some(a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0)),
        (_, Some(p)) | (Some(p), None) => Some(p.1),
        (None, None) => None,
    }
}

/// A cross.
fn cross(x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
    format!("M{}L{}M{}L{}", at(-4.0, -4.0), at(4.0, 4.0), at(-4.0, 4.0), at(4.0, -4.0))
}

/// The picture.
pub(super) fn picture(chart: &Chart) -> Option<Drawn> {
    let points = chart.series.iter().flat_map(|s| &s.points);
    let drawn = points.filter_map(|p| Some((numeric(p)?, p.y))).filter(|&(x, y)| drawable(x) && drawable(y));
    let time = chart.kind == Kind::Time;
    // Error bars are no part of a course over time.
    let ends = |p: &Point| if time { vec![p.y] } else { p.ends().filter(|y| drawable(*y)).collect() };
    let heights = chart.series.iter().flat_map(|s| &s.points).filter(|p| drawable(p.y)).flat_map(ends);
    let x =
        if time { Scale::from_end_to_end(drawn.clone().map(|p| p.0)) } else { Scale::of_x(drawn.clone().map(|p| p.0)) };
    let (x, y) = x.zip(Scale::linear(heights, time))?;
    let left = 16.0 + y.ticks.iter().map(|&t| text_width(&short(t))).fold(0.0, f64::max);
    let layout = Layout { x, y, left };
    let (foot, end) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let content = html! {
        text.axis x="0" y="14" { (chart.y_axis) }
        @for &tick in &layout.y.ticks {
            path class=(if tick == 0.0 { "zero" } else { "grid" })
                d={ "M" (px(left)) " " (px(layout.y(tick))) "H" (px(end)) } {}
            text.tick x=(px(left - 6.0)) y=(px(layout.y(tick) + 4.5)) text-anchor="end" { (short(tick)) }
        }
        @for tick in labelled(&layout.x, end - left) {
            path.grid d={ "M" (px(layout.x(tick))) " " (px(foot)) "v5" } {}
            text.tick x=(px(layout.x(tick))) y=(px(foot + 20.0)) text-anchor="middle" { (short(tick)) }
        }
        text.axis x=(px((left + end) / 2.0)) y=(px(HEIGHT - 10.0)) text-anchor="middle" { (chart.x_axis) }
        @for (series, look) in chart.series.iter().zip(looks(chart)) {
            @let (shown, path) = layout.path(series);
            @if !path.is_empty() {
                path class={ "line " (look.line()) } d=(path) {}
            }
            @if !time {
                @for point in shown {
                    @if let Some(error) = point.error { path class={ "error " (look.line()) } d=(error) {} }
                    path class=(look.area()) d=(mark(look, point.x, point.y)) { title { (point.title) } }
                }
            }
            @for (x, y) in series.events.iter().filter(|x| drawable(**x)).filter_map(|&x| Some((x, height_at(series, x)?))) {
                path class={ "event " (look.line()) } d=(cross(layout.x(x), layout.y(y))) {}
            }
        }
    };
    Some(Drawn { height: HEIGHT, content })
}
