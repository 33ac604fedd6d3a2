// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Which colour is whose. A list of the page and not part of the picture, so that it wraps and is never cut off.

use maud::{html, Markup};

use super::{looks, px, Look, COLOURS};
use crate::reproduce::chart::Chart;

/// The hatchings of the paper's numbers, once a page: all pictures refer to them.
pub(in crate::report) fn patterns() -> Markup {
    let names = (0..COLOURS).map(|n| n.to_string()).chain(["x".to_owned()]);
    html! {
        svg.patterns width="0" height="0" aria-hidden="true" {
            defs {
                @for name in names {
                    pattern id={ "hatch" (name) } width="6" height="6" patternUnits="userSpaceOnUse"
                        patternTransform="rotate(45)" {
                        path class={ "l" (name) } d="M1.5 0V6" {}
                    }
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

/// The names of the series behind samples of what they look like.
pub(super) fn legend(chart: &Chart, lines: bool) -> Markup {
    html! {
        ul.legend {
            @for (series, look) in chart.series.iter().zip(looks(chart)) {
                li {
                    svg width="30" height="14" aria-hidden="true" {
                        @if lines {
                            path class={ "line " (look.line()) } d="M1 7H29" {}
                            path class=(look.area()) d=(mark(look, 15.0, 7.0)) {}
                        } @else {
                            rect class=(look.area()) x="1" y="1" width="28" height="12" {}
                        }
                    }
                    (series.name)
                }
            }
        }
    }
}
