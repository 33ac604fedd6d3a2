// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Several charts as one picture: SVG that stands for itself, in the page's looks, by daylight and in the dark.

use maud::{html, Markup, PreEscaped};

use super::colours::{COLOURS, COUNT, DARK, DASHES};
use super::{drawn, fitted, is_lines, legend, px, WIDTH};
use crate::chart::Chart;

const MARGIN: f64 = 20.0;
const GAP: f64 = 36.0;
/// Height of the title, and of a chart's own.
const TITLE: f64 = 44.0;
const CAPTION: f64 = 28.0;

/// What is drawn in what colour: paper, ink, pale ink, grid, zero, and the series.
struct Palette {
    paper: &'static str,
    ink: &'static str,
    soft: &'static str,
    grid: &'static str,
    zero: &'static str,
    series: [&'static str; COUNT],
}

const LIGHT: Palette =
    Palette { paper: "#fff", ink: "#1b1b1b", soft: "#5a5a5a", grid: "#d4d4d4", zero: "#777", series: COLOURS };
const NIGHT: Palette =
    Palette { paper: "#16181b", ink: "#e6e6e6", soft: "#a9adb2", grid: "#3a3e44", zero: "#8a8f96", series: DARK };

impl Palette {
    fn rules(&self) -> String {
        let Palette { paper, ink, soft, grid, zero, .. } = self;
        let mut rules = format!(
            "text {{ fill: {ink}; }} .back {{ fill: {paper}; }} .number {{ stroke: {paper}; }}\n\
             .tick, .axis, .note {{ fill: {soft}; }} .grid {{ stroke: {grid}; }} .zero {{ stroke: {zero}; }}\n\
             .error {{ stroke: {ink}; }} .fx {{ fill: {ink}; }} .px {{ fill: url(#hatchx); stroke: {ink}; }} .lx {{ stroke: {ink}; }}\n"
        );
        for (at, colour) in self.series.iter().enumerate() {
            rules += &format!(
                ".f{at} {{ fill: {colour}; }} .p{at} {{ fill: url(#hatch{at}); stroke: {colour}; }} \
                 .l{at} {{ stroke: {colour}; }}\n"
            );
        }
        rules
    }
}

/// Plain rules: not everything that shows SVG knows variables, and what does not know of the dark shows it by daylight.
pub(super) fn style() -> String {
    let mut rules = "text { font: 13px system-ui, 'DejaVu Sans', sans-serif; }
.title { font-size: 20px; font-weight: 600; } .caption { font-size: 15px; font-weight: 600; }
.number, .tick { font-size: 12.5px; }
.number { paint-order: stroke; stroke-width: 3px; stroke-linejoin: round; }
.grid { fill: none; } .zero { stroke-width: 1.5; fill: none; } .line { stroke-width: 2; fill: none; }
.error { stroke-width: 1.2; fill: none; } .event { stroke-width: 2.5; fill: none; } .hatching { stroke-width: 2.5; }
"
    .to_owned();
    for (at, dash) in DASHES.iter().enumerate() {
        rules += &format!(".l{at} {{ stroke-dasharray: {dash}; }} ");
    }
    rules += "\n.error, .event, .hatching { stroke-dasharray: none; }\n";
    rules + &LIGHT.rules() + "@media (prefers-color-scheme: dark) {\n" + &NIGHT.rules() + "}\n"
}

/// A chart with its title above and its legend below; and how high that is.
fn panel(chart: &Chart) -> (f64, Markup) {
    let caption = html! { text.caption x="0" y="16" { (fitted(&chart.title, WIDTH)) title { (chart.title) } } };
    match drawn(chart) {
        Err(why) => (CAPTION + 20.0, html! { (caption) text.note x="0" y=(px(CAPTION + 12.0)) { (why) } }),
        Ok(picture) => {
            let legend = legend::drawn_legend(chart, is_lines(chart));
            let below = CAPTION + picture.height + 6.0;
            let content = html! {
                (caption)
                g transform={ "translate(0 " (px(CAPTION)) ")" } { (picture.content) }
                g transform={ "translate(0 " (px(below)) ")" } { (legend.content) }
            };
            (below + legend.height, content)
        }
    }
}

/// The picture: two columns if there is more than one chart, each chart in the shorter one.
pub(crate) fn sheet(title: &str, charts: &[Chart]) -> Markup {
    let columns = charts.len().clamp(1, 2);
    let mut heights = vec![MARGIN + TITLE; columns];
    let mut places = Vec::new();
    for chart in charts {
        let column = (0..columns).fold(0, |best, at| if heights[at] < heights[best] { at } else { best });
        let (height, content) = panel(chart);
        places.push((MARGIN + column as f64 * (WIDTH + GAP), heights[column], content));
        heights[column] += height + GAP;
    }
    let width = 2.0 * MARGIN + columns as f64 * WIDTH + (columns - 1) as f64 * GAP;
    let height = heights.iter().copied().fold(0.0, f64::max) - GAP + MARGIN;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(px(width)) height=(px(height))
            viewBox={ "0 0 " (px(width)) " " (px(height)) } role="img" aria-label=(title) {
            style { (PreEscaped(style())) }
            (legend::hatchings())
            rect.back width="100%" height="100%" {}
            text.title x=(px(MARGIN)) y=(px(MARGIN + 18.0)) { (title) }
            @for (x, y, content) in places {
                g transform={ "translate(" (px(x)) " " (px(y)) ")" } { (content) }
            }
        }
    }
}
