// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Charts as inline SVG.
//!
//! Drawn here and not by a plotting library: those name colours and fonts in each element, so that a page cannot have a dark mode, and
//! have neither groups of bars nor hatching. Here colours are the style sheet's, and text is escaped by maud as everywhere on the page.

mod bars;
mod colours;
mod legend;
mod lines;
mod scale;
mod sheet;

use maud::{html, Markup};

use crate::chart::{Chart, Kind, Place, Point};
use colours::looks;
pub(crate) use legend::patterns;
pub(crate) use scale::drawable;
pub(crate) use sheet::sheet;

/// Width of a picture in its own units. Text is 13 of them high, which is still read on a phone's screen, some 380 pixels wide.
const WIDTH: f64 = 440.0;

/// Bars beyond this number are not drawn: a picture some ten screens high shows nothing.
const MOST_BARS: usize = 160;

/// Points of lines beyond this number are not drawn.
const MOST_POINTS: usize = 20_000;

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    /// Its colour and mark; None for the page's ink.
    colour: Option<usize>,
    /// Whether these are the paper's numbers, which are hatched.
    paper: bool,
}

impl Look {
    fn name(self) -> String {
        self.colour.map_or("x".into(), |colour| (colour % colours::COUNT).to_string())
    }

    /// The class of an area.
    fn area(self) -> String {
        format!("{}{}", if self.paper { 'p' } else { 'f' }, self.name())
    }

    /// The class of a line.
    fn line(self) -> String {
        format!("l{}{}", self.name(), if self.paper { " paper" } else { "" })
    }
}

/// What the paper's series of `name` is called.
pub(crate) fn paper_twin(name: &str) -> String {
    format!("{name} (paper)")
}

fn numeric(point: &Point) -> Option<f64> {
    match point.x {
        Place::Number(x) => Some(x),
        Place::Name(_) => None,
    }
}

/// A picture before it has a place: how high it is, [`WIDTH`] being given, and what is in it.
struct Drawn {
    height: f64,
    content: Markup,
}

fn is_lines(chart: &Chart) -> bool {
    chart.kind != Kind::Bars && chart.series.iter().flat_map(|s| &s.points).all(|p| numeric(p).is_some())
}

/// Draws, or says why not.
fn drawn(chart: &Chart) -> Result<Drawn, &'static str> {
    let points = || chart.series.iter().flat_map(|s| &s.points);
    if !points().any(|p| drawable(p.y)) {
        return Err("Nothing was measured that could be drawn.");
    }
    let lines = is_lines(chart);
    if points().count() > if lines { MOST_POINTS } else { MOST_BARS } {
        return Err("Too much to be drawn; the table has it.");
    }
    let drawn = if lines { lines::picture(chart) } else { bars::picture(chart) };
    drawn.ok_or("Nothing was measured that could be drawn.")
}

/// A chart with its title and legend, or a word on why it is not drawn.
pub(crate) fn figure(chart: &Chart) -> Markup {
    html! {
        figure {
            figcaption { (chart.title) }
            @match drawn(chart) {
                Err(why) => p.note { (why) },
                Ok(drawn) => {
                    svg viewBox={ "0 0 " (px(WIDTH)) " " (px(drawn.height)) } role="img" aria-label=(chart.title) {
                        (drawn.content)
                    }
                    (legend::legend(chart, is_lines(chart)))
                }
            }
        }
    }
}

/// A length, in few characters.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// About the width of a letter of the usual size, in a wide font.
const LETTER: f64 = 8.0;

fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// A text that fits; the whole of it goes into a title beside it.
fn fitted(text: &str, width: f64) -> String {
    let room = (width / LETTER) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// A text in two lines at most, broken between words or behind a hyphen where that can be.
fn two_lines(text: &str, width: f64) -> Vec<String> {
    let room = (width / LETTER) as usize;
    if text.chars().count() <= room {
        return vec![text.to_owned()];
    }
    let letters: Vec<char> = text.chars().collect();
    let fits = letters.len().min(room + 1);
    let line = |letters: &[char]| letters.iter().collect::<String>();
    if let Some(gap) = letters[..fits].iter().rposition(|c| *c == ' ').filter(|&at| at > 0) {
        return vec![line(&letters[..gap]), fitted(&line(&letters[gap + 1..]), width)];
    }
    match letters[..fits - 1].iter().rposition(|c| *c == '-').filter(|&at| at > 0) {
        Some(hyphen) => vec![line(&letters[..=hyphen]), fitted(&line(&letters[hyphen + 1..]), width)],
        None => vec![fitted(text, width)],
    }
}

#[cfg(test)]
mod tests;
