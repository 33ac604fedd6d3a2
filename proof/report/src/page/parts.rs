// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The parts of the page: the summary and what falls short first, then each experiment and each scenario.

use std::collections::BTreeSet;

use maud::{html, Markup, PreEscaped, DOCTYPE};

use super::panels::drawn;
use super::{charts as findings, tables, Experiment, Report};
use crate::chart::{Chart, Origin};
use crate::document::Document;
use crate::gather::Saved;
use crate::panel::Panel;
use crate::paper::Paper;
use crate::plot;
use crate::verdict::Verdict;

const STYLE: &str = include_str!("style.css");

/// Were some text ever not escaped, it still could not run a script or fetch anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A part of the page, with a name to link to.
struct Part<'r> {
    anchor: String,
    content: Content<'r>,
}

enum Content<'r> {
    Experiment(&'r Experiment),
    Scenario(&'r Saved),
}

impl<'r> Part<'r> {
    fn title(&self) -> &'r str {
        match self.content {
            Content::Experiment(e) => &e.id,
            Content::Scenario(s) => &s.document.scenario,
        }
    }

    /// What tells it from others of the same title.
    fn about(&self) -> &'r str {
        match self.content {
            Content::Experiment(e) => &e.title,
            Content::Scenario(s) => &s.path,
        }
    }

    fn verdicts(&self) -> &'r [Verdict] {
        match self.content {
            Content::Experiment(e) => &e.findings.verdicts,
            Content::Scenario(s) => &s.document.verdicts,
        }
    }

    fn made_by(&self) -> &'r Document {
        match self.content {
            Content::Experiment(e) => &e.made_by,
            Content::Scenario(s) => &s.document,
        }
    }
}

/// A name for links: letters and digits only, and not twice on a page.
fn anchor(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.truncate(60);
    let mut anchor = format!("r-{plain}");
    let mut count = 1;
    while !taken.insert(anchor.clone()) {
        count += 1;
        anchor = format!("r-{plain}-{count}");
    }
    anchor
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn command(words: &[String]) -> String {
    words.iter().fold("fovea".into(), |line, word| line + " " + &quoted(word))
}

fn count(verdicts: &[Verdict]) -> (usize, usize) {
    let pass = verdicts.iter().filter(|v| v.pass).count();
    (pass, verdicts.len() - pass)
}

/// Where figures come from.
fn provenance(document: &Document) -> String {
    let mut parts = Vec::new();
    match document.mode.as_str() {
        "" => {}
        "host" => parts.push("computed on the host".into()),
        mode => parts.push(format!("{mode} mode")),
    }
    for (name, value) in [("Linux", &document.kernel), ("QEMU", &document.qemu)] {
        if !value.is_empty() {
            parts.push(format!("{name} {value}"));
        }
    }
    parts.push(document.drawn_with());
    parts.push(format!("commit {}", document.commit));
    parts.join(", ")
}

pub(super) fn page(report: &Report, papers: &[Paper], panels: &[Panel]) -> Markup {
    let mut taken = BTreeSet::new();
    let experiments = report.experiments.iter().map(|e| (e.id.as_str(), Content::Experiment(e)));
    let scenarios = report.documents.iter().map(|s| (s.document.scenario.as_str(), Content::Scenario(s)));
    let mut parts = |(name, content)| Part { anchor: anchor(name, &mut taken), content };
    let experiments: Vec<Part> = experiments.map(&mut parts).collect();
    let scenarios: Vec<Part> = scenarios.map(&mut parts).collect();
    let all = || experiments.iter().chain(&scenarios);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Fovea: what was claimed, and what was found" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (plot::patterns())
                header {
                    h1 { "Fovea: what was claimed, and what was found" }
                    @if let Some(stamp) = &report.stamp { p.note { (stamp) } }
                }
                main {
                    (noticed(report, panels))
                    (summary(report, &all().collect::<Vec<_>>()))
                    (falls_short(&all().collect::<Vec<_>>()))
                    (left_out(report))
                    @if !experiments.is_empty() {
                        h2 { "The papers’ figures, repeated" }
                        p.note {
                            "Hatched: numbers that the paper prints. Where a chart has none, the paper gives its figure as a picture or in words only; "
                            "what it says is under the title, and what was asked of our figures is in the table."
                        }
                        @for part in &experiments { (section(part, papers)) }
                    }
                    @if !scenarios.is_empty() {
                        h2 { "Scenarios and replays" }
                        @for part in &scenarios { (section(part, papers)) }
                    }
                }
                footer {
                    p { "Made by " code { (command(&report.command)) } ", commit " (report.commit) "." }
                }
            }
        }
    }
}

/// The panels, before all else.
fn noticed(report: &Report, panels: &[Panel]) -> Markup {
    let shown = drawn(panels, report.documents.iter().map(|s| &s.document));
    let mut scenarios = BTreeSet::new();
    let is_shown = |scenario: &str| panels.iter().any(|panel| panel.scenario == scenario);
    let first =
        report.documents.iter().filter(|s| is_shown(&s.document.scenario) && scenarios.insert(&s.document.scenario));
    let paths: Vec<&str> = first.map(|s| s.path.as_str()).collect();
    html! {
        @if !shown.is_empty() {
            section {
                h2 { "What a person notices" }
                (charts(&shown))
                p.note { "From " (paths.join(", ")) ". Where nothing else is said, shorter bars are better, and lines further left." }
            }
        }
    }
}

fn summary(report: &Report, parts: &[&Part<'_>]) -> Markup {
    let all: Vec<Verdict> = report.verdicts().cloned().collect();
    let (pass, miss) = count(&all);
    let distinct = |of: &dyn Fn(&Document) -> String| {
        let values: BTreeSet<String> = parts.iter().map(|p| of(p.made_by())).filter(|v| !v.is_empty()).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let in_phone = |value: &String, d: &Document| if d.qemu.is_empty() { String::new() } else { value.clone() };
    let facts = [
        ("commit", distinct(&|d| d.commit.clone())),
        ("seed", distinct(&Document::seed_numbers)),
        ("phone’s kernel", distinct(&|d| in_phone(&d.kernel, d))),
        ("QEMU", distinct(&|d| d.qemu.clone())),
        ("host’s kernel", distinct(&|d| if d.qemu.is_empty() { d.kernel.clone() } else { String::new() })),
    ];
    html! {
        section.summary {
            p.score {
                span.holds { (pass) (if pass == 1 { " verdict holds" } else { " verdicts hold" }) }
                span.falls { (miss) (if miss == 1 { " falls short" } else { " fall short" }) }
            }
            ul.facts { @for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
                li { span { (name) } " " (value) }
            } }
            @if !parts.is_empty() {
                div.wide tabindex="0" { table.contents {
                    thead { tr { th { "results" } th { "about" } th.n { "hold" } th.n { "fall short" } } }
                    tbody { @for part in parts {
                        @let (pass, miss) = count(part.verdicts());
                        tr {
                            th { a href={ "#" (part.anchor) } { (part.title()) } }
                            td { (part.about()) }
                            td.n { (pass) }
                            td.n { @if miss > 0 { span.falls { (miss) } } @else { "0" } }
                        }
                    } }
                } }
            } @else {
                p { "There is nothing to show." }
            }
        }
    }
}

fn falls_short(parts: &[&Part<'_>]) -> Markup {
    let missed = || parts.iter().flat_map(|p| p.verdicts().iter().filter(|v| !v.pass).map(move |v| (p, v)));
    html! {
        @if missed().next().is_some() {
            section {
                h2 { "What falls short" }
                ul.missed { @for (part, v) in missed() {
                    li {
                        a href={ "#" (part.anchor) } { (part.title()) } ": " (v.claim) ": "
                        b { (tables::figure(v)) } ", claimed " b { (tables::bound(&v.bound)) }
                    }
                } }
            }
        }
    }
}

fn left_out(report: &Report) -> Markup {
    html! {
        @if !report.left_out.is_empty() {
            section.left-out {
                h2 { "What is not on this page" }
                ul { @for out in &report.left_out { li { code { (out.what) } ": " (out.why) } } }
            }
        }
    }
}

fn charts(charts: &[Chart]) -> Markup {
    html! { @if !charts.is_empty() { div.charts { @for chart in charts { (plot::figure(chart)) } } } }
}

fn again(command: &str) -> Markup {
    html! { p.again { "Repeat it: " code { (command) } } }
}

fn section(part: &Part<'_>, papers: &[Paper]) -> Markup {
    let (_, miss) = count(part.verdicts());
    html! {
        section.part id=(part.anchor) {
            h3 {
                (part.title()) ": " (part.about())
                @if miss > 0 { " " span.falls { "✗ " (miss) " of " (part.verdicts().len()) } }
            }
            @match part.content {
                Content::Experiment(experiment) => (of_experiment(experiment)),
                Content::Scenario(saved) => (of_scenario(saved, papers)),
            }
        }
    }
}

fn of_experiment(experiment: &Experiment) -> Markup {
    let findings = &experiment.findings;
    let (seed, seeds) = (experiment.made_by.seed.to_string(), experiment.made_by.seed_count());
    let mut words: Vec<String> = ["lab", "reproduce", &experiment.id, "--seed", &seed].map(str::to_owned).to_vec();
    // One seed is what --quick has unless told otherwise.
    if seeds > 1 || !experiment.quick {
        words.extend(["--seeds".to_owned(), seeds.to_string()]);
    }
    words.extend(experiment.quick.then(|| "--quick".to_owned()));
    html! {
        p.claim { b { "Paper" } " (" (experiment.source) "): " (experiment.claim) "." }
        p.note {
            (experiment.origin) "; " (provenance(&experiment.made_by)) "."
            @if experiment.quick { " " b { "Short traces: figures move in their second digit." } }
        }
        (charts(&findings.charts))
        (tables::verdicts(findings.verdicts.iter()))
        @if !findings.notes.is_empty() {
            details { summary { "Notes (" (findings.notes.len()) ")" }
                ul.notes { @for note in &findings.notes { li { (note) } } }
            }
        }
        (tables::by_case(&findings.cases, &findings.margins))
        (again(&command(&words)))
    }
}

fn of_scenario(saved: &Saved, papers: &[Paper]) -> Markup {
    let document = &saved.document;
    let charts_of = findings::charts(document, papers);
    let hatched = charts_of.iter().flat_map(|c| &c.series).any(|s| s.origin == Origin::Paper);
    html! {
        p.note {
            "Saved in " code { (saved.path) } "; " (provenance(document)) "."
            @if hatched {
                " Hatched: the paper’s figures, on another phone. Ratios between configurations compare, times do not."
            }
        }
        (charts(&charts_of))
        (tables::verdicts(document.verdicts.iter()))
        @if document.scenario.starts_with("lab ") {
            (tables::by_case(&document.cases, &document.margins))
        } @else {
            (tables::by_figure(document, papers))
        }
        @if !document.command.is_empty() {
            (again(&command(&document.command)))
        } @else if !document.qemu.is_empty() {
            @let seeds = document.seed_parameter();
            @let words: Vec<String> = ["phone", "run", &document.scenario, &seeds].map(str::to_owned).to_vec();
            (again(&(command(&words) + if document.mode == "exact" { " --exact" } else { "" })))
            p.note { "Its other parameters, if it had any, were not noted." }
        } @else {
            p.note { "The command that made it was not noted." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_plain_and_never_twice_the_same() {
        let mut taken = BTreeSet::new();
        let anchors = ["a b", "a-b", "\"><", "a b"].map(|name| anchor(name, &mut taken));
        assert_eq!(anchors, ["r-a-b", "r-a-b-2", "r----", "r-a-b-3"]);
    }

    #[test]
    fn commands_are_what_a_shell_reads() {
        let words = ["phone", "run", "it's", "cases=[\"N\"]", ""].map(str::to_owned);
        assert_eq!(command(&words), r#"fovea phone run 'it'\''s' 'cases=["N"]' ''"#);
    }
}
