// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Verdicts and figures as tables.

use maud::{html, Markup};

use crate::document::{Case, Document};
use crate::paper::{figure_names, is_free_memory, paper_figure, Paper};
use crate::units::{number, with_margin, words, Unit};
use crate::verdict::Verdict;

/// So many rows are shown at once; longer tables are folded.
const OPEN_ROWS: usize = 24;

/// A bound as it is printed in books.
pub(super) fn bound(bound: &str) -> String {
    let signs = [(">=", "≥"), ("<=", "≤"), ("==", "="), ("<", "<"), (">", ">")];
    let printed =
        signs.iter().find_map(|(ascii, sign)| Some(format!("{sign}\u{a0}{}", bound.strip_prefix(ascii)?.trim())));
    printed.unwrap_or_else(|| bound.to_owned())
}

/// The word on a verdict: never by colour alone.
pub(super) fn word(pass: bool) -> Markup {
    html! {
        @if pass { span.holds { "✓ holds" } } @else { span.falls { "✗ falls short" } }
    }
}

/// Whether a verdict holds, or why nothing is shown of it.
fn verdict_word(verdict: &Verdict) -> Markup {
    html! {
        @if let Some(why) = &verdict.not_shown {
            span.falls { "? not shown" } br; span.paper { (why) }
        } @else { (word(verdict.pass)) }
    }
}

/// A verdict's figure, with its margin if it is of several seeds that differ.
pub(super) fn figure(verdict: &Verdict) -> String {
    with_margin(verdict.figure, verdict.margin)
}

/// With how many seeds it holds.
fn seeds(verdict: &Verdict) -> Option<String> {
    verdict.seeds.map(|seeds| format!("with {} of {} seeds", seeds.holds, seeds.of))
}

/// What was claimed, what was found, and whether it holds. On a narrow screen each row becomes a card, so cells bear their heads.
pub(super) fn verdicts<'v>(verdicts: impl Iterator<Item = &'v Verdict> + Clone) -> Markup {
    html! {
        @if verdicts.clone().next().is_some() {
            table.verdicts {
                thead { tr { th { "claim" } th { "source" } th { "claimed" } th { "ours" } th { "verdict" } } }
                tbody {
                    @for v in verdicts {
                        tr class=(if v.pass { "pass" } else { "miss" }) {
                            td data-head="claim" { (v.claim) }
                            td data-head="source" { (v.source) }
                            td.n data-head="claimed" { (bound(&v.bound)) }
                            td.n data-head="ours" { (figure(v)) }
                            td data-head="verdict" { (verdict_word(v)) @if let Some(seeds) = seeds(v) { br; span.paper { (seeds) } } }
                        }
                    }
                }
            }
        } @else {
            p.note { "Nothing is claimed here, so there is no verdict." }
        }
    }
}

fn folded(rows: usize, what: &str, table: &Markup) -> Markup {
    html! {
        details open[rows <= OPEN_ROWS] {
            summary { (what) " (" (rows) (if rows == 1 { " row" } else { " rows" }) ")" }
            div.wide tabindex="0" { (table) }
        }
    }
}

/// The margin of a case's figure, if it is a mean over seeds.
fn margin(margins: &[Case], of: &Case, name: &str) -> Option<f64> {
    let own = margins.iter().find(|m| m.case == of.case && m.configuration == of.configuration)?;
    own.figures.get(name).copied()
}

/// A row per case and configuration, a column per figure: for experiments, which have many cases and few figures.
///
/// `margins` has those of figures that are means.
pub(super) fn by_case(cases: &[Case], margins: &[Case]) -> Markup {
    let mut names: Vec<&String> = cases.iter().flat_map(|c| c.figures.keys()).collect();
    names.sort();
    names.dedup();
    let unit = |name: &String| Unit::of(name, cases.iter().filter_map(|c| c.figures.get(name).copied()));
    let units: Vec<Unit> = names.iter().map(|n| unit(n)).collect();
    let table = html! {
        table.figures {
            thead { tr {
                th { "case" } th { "configuration" }
                @for (name, unit) in names.iter().zip(&units) {
                    th.n { (words(name)) @if !unit.sign.is_empty() { br; (unit.sign) } }
                }
            } }
            tbody {
                @for case in cases {
                    tr {
                        th { (case.case) } td { (case.configuration) }
                        @for (name, unit) in names.iter().zip(&units) {
                            @match case.figures.get(*name) {
                                Some(&figure) => td.n title=(figure) {
                                    (number(unit.scale(figure)))
                                    @if let Some(margin) = margin(margins, case, name) { " \u{b1} " (number(unit.scale(margin))) }
                                },
                                None => td.n { "–" },
                            }
                        }
                    }
                }
            }
        }
    };
    html! { @if !cases.is_empty() { (folded(cases.len(), "All figures", &table)) } }
}

/// A row per figure, a column per configuration, with the paper's figure below ours: for scenarios, which have many figures.
pub(super) fn by_figure(document: &Document, papers: &[Paper]) -> Markup {
    let mut cases: Vec<&str> = Vec::new();
    for case in &document.cases {
        if !cases.contains(&case.case.as_str()) {
            cases.push(&case.case);
        }
    }
    html! { @for case in cases { (one_case(document, case, papers)) } }
}

fn one_case(document: &Document, case: &str, papers: &[Paper]) -> Markup {
    let ours: Vec<&Case> = document.cases.iter().filter(|c| c.case == case).collect();
    let names = figure_names(papers, document, case);
    let table = html! {
        table.figures {
            thead { tr { th { "figure" } @for c in &ours { th.n { (c.configuration) } } } }
            tbody {
                @for name in &names {
                    tr { th { (name) } @for c in &ours { (cell(document, &ours, c, name, papers)) } }
                }
            }
        }
    };
    let what = if case.is_empty() { "All figures".into() } else { format!("All figures of {case}") };
    folded(names.len(), &what, &table)
}

/// Our figure, as a share too if it is free memory, and the paper's.
fn cell(document: &Document, row: &[&Case], case: &Case, name: &str, papers: &[Paper]) -> Markup {
    let paper = |name: &str| paper_figure(papers, &document.scenario, name, &case.configuration);
    let all = row.iter().flat_map(|c| c.figures.get(name).copied().into_iter());
    let unit = Unit::of(name, all.chain(paper(name)));
    let share = |figure: f64, user: Option<f64>| {
        let user = user.filter(|&u| u > 0.0 && is_free_memory(name))?;
        Some(format!("{} %", number(100.0 * figure / user)))
    };
    let Some(&figure) = case.figures.get(name) else { return html! { td.n { "missing" } } };
    html! {
        td.n title=(figure) {
            (unit.show(figure))
            @if let Some(margin) = margin(&document.margins, case, name) { " \u{b1} " (number(unit.scale(margin))) }
            @if let Some(share) = share(figure, case.figures.get("user_memory_bytes").copied()) { ", " (share) }
            @if let Some(theirs) = paper(name) {
                br;
                span.paper {
                    "paper " (unit.show(theirs))
                    @if let Some(share) = share(theirs, paper("user_memory_bytes")) { ", " (share) }
                }
            }
        }
    }
}
