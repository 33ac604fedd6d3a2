// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which colour is whose. On a page a list and not part of the picture, so that it wraps and is never cut off.

use maud::{html, Markup};

use super::{colours::COUNT, fitted, looks, px, text_width, Drawn, Look, WIDTH};
use crate::chart::{Chart, Series};

/// The hatchings of the paper's numbers, once a page: all pictures refer to them.
pub(crate) fn patterns() -> Markup {
    html! { svg.patterns width="0" height="0" aria-hidden="true" { (hatchings()) } }
}

pub(super) fn hatchings() -> Markup {
    let names = (0..COUNT).map(|n| n.to_string()).chain(["x".to_owned()]);
    html! {
        defs {
            @for name in names {
                pattern id={ "hatch" (name) } width="6" height="6" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)" {
                    path class={ "l" (name) " hatching" } d="M1.5 0V6" {}
                }
            }
        }
    }
}

/// A series' mark around a point.
pub(super) fn mark(look: Look, x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
    let polygon = |corners: &[(f64, f64)]| {
        let corners: Vec<String> = corners.iter().map(|&(dx, dy)| at(dx, dy)).collect();
        format!("M{}Z", corners.join("L"))
    };
    match look.colour.map_or(4, |c| c % 5) {
        0 => format!("M{}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", at(-4.0, 0.0)),
        1 => polygon(&[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)]),
        2 => polygon(&[(0.0, -4.5), (4.5, 3.5), (-4.5, 3.5)]),
        3 => polygon(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
        _ => polygon(&[(-4.5, -3.5), (4.5, -3.5), (0.0, 4.5)]),
    }
}

/// A sample of what a series looks like, 30 wide and 14 high.
fn sample(look: Look, lines: bool) -> Markup {
    html! {
        @if lines {
            path class={ "line " (look.line()) } d="M1 7H29" {}
            path class=(look.area()) d=(mark(look, 15.0, 7.0)) {}
        } @else {
            rect class=(look.area()) x="1" y="1" width="28" height="12" {}
        }
    }
}

fn named(chart: &Chart) -> impl Iterator<Item = (&Series, Look)> {
    chart.series.iter().zip(looks(chart)).filter(|(series, _)| !series.points.is_empty())
}

/// The names of the series that are there, behind samples of what they look like.
pub(super) fn legend(chart: &Chart, lines: bool) -> Markup {
    html! {
        ul.legend {
            @for (series, look) in named(chart) {
                li {
                    svg width="30" height="14" aria-hidden="true" { (sample(look, lines)) }
                    (series.name)
                }
            }
        }
    }
}

const ROW: f64 = 20.0;

/// The same within a picture, in as many rows as it takes.
pub(super) fn drawn_legend(chart: &Chart, lines: bool) -> Drawn {
    let (mut x, mut y) = (0.0, 0.0);
    let mut places = Vec::new();
    for (series, look) in named(chart) {
        let name = fitted(&series.name, WIDTH - 36.0);
        let width = 36.0 + text_width(&name) + 16.0;
        if x > 0.0 && x + width > WIDTH {
            (x, y) = (0.0, y + ROW);
        }
        places.push((x, y, name, look));
        x += width;
    }
    let content = html! {
        @for (x, y, name, look) in &places {
            g transform={ "translate(" (px(*x)) " " (px(*y)) ")" } {
                (sample(*look, lines))
                text x="36" y="11.5" { (name) }
            }
        }
    };
    Drawn { height: if places.is_empty() { 0.0 } else { y + ROW }, content }
}
