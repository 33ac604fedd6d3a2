// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The kinds of tables that a marker can ask for.

use std::fmt::Write as _;

use crate::document::{distinct, Case, Document};
use crate::experiment::within;
use crate::paper::{is_free_memory, paper_figure, Paper};
use crate::units::{number, with_margin, Unit};
use crate::verdict::Verdict;

/// A cell's text: what would end the cell or become markup does neither.
pub(super) fn cell(text: &str) -> String {
    let mut safe = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let opens = |next: &char| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?');
        match letter {
            '\\' | '|' | '`' => safe.extend(['\\', letter]),
            '<' if letters.peek().is_some_and(opens) => safe += "&lt;",
            '\n' | '\r' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

pub(super) fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

/// What of a document is shown: figures by name, and of what cases and configurations if not of all.
struct Selection<'m> {
    /// A case, or what several begin with.
    case: Option<&'m str>,
    configurations: Option<Vec<&'m str>>,
    names: Vec<&'m str>,
}

impl<'m> Selection<'m> {
    fn parse(words: &[&'m str]) -> Result<Self, String> {
        let mut selection = Selection { case: None, configurations: None, names: Vec::new() };
        for word in words {
            match word.split_once('=') {
                Some(("case", case)) => selection.case = Some(case),
                Some(("configuration", list)) => selection.configurations = Some(list.split(',').collect()),
                Some((key, _)) => return Err(format!("{key}: only case and configuration can be chosen by")),
                None => selection.names.push(word),
            }
        }
        if selection.names.is_empty() {
            return Err("names no figure; name some behind the file".into());
        }
        Ok(selection)
    }

    /// The part of a case's name that is shown, if the case is.
    fn shown<'c>(&self, case: &'c str) -> Option<&'c str> {
        self.case.map_or(Some(case), |wanted| within(wanted, case))
    }

    fn configurations<'a>(&'a self, document: &'a Document) -> Vec<&'a str> {
        let own = document.cases.iter().filter(|c| self.shown(&c.case).is_some()).map(|c| c.configuration.as_str());
        self.configurations.clone().unwrap_or_else(|| distinct(own))
    }

    /// A row for each case and figure, a column for each configuration; `show` gives the cell of a case in the row's unit.
    fn grid(&self, document: &Document, show: &dyn Fn(&Case, &str, Unit) -> String) -> Result<String, String> {
        let configurations = self.configurations(document);
        if let Some(name) = configurations.iter().find(|c| !document.cases.iter().any(|d| d.configuration == **c)) {
            return Err(format!("no configuration {name}; take one that the file has"));
        }
        let mut text =
            row(["figure".to_owned()].into_iter().chain(configurations.iter().map(|c| format!("`{}`", cell(c)))));
        text += &row(["---".to_owned()].into_iter().chain(configurations.iter().map(|_| "--:".to_owned())));
        let mut found = Vec::new();
        for case in distinct(document.cases.iter().map(|c| c.case.as_str())) {
            let Some(shown) = self.shown(case) else { continue };
            for name in &self.names {
                let of = |configuration: &str| {
                    let own = document.cases.iter().find(|c| c.case == case && c.configuration == configuration);
                    own.filter(|c| c.figures.contains_key(*name))
                };
                let cells: Vec<Option<&Case>> = configurations.iter().map(|c| of(c)).collect();
                if cells.iter().all(Option::is_none) {
                    continue;
                }
                found.push(name);
                let unit = Unit::of(name, cells.iter().flatten().map(|c| c.figures[*name]));
                let head = if shown.is_empty() { format!("`{name}`") } else { format!("{}: `{name}`", cell(shown)) };
                let cells = cells.iter().map(|case| case.map_or("–".into(), |case| show(case, name, unit)));
                text += &row([head].into_iter().chain(cells));
            }
        }
        match self.names.iter().find(|name| !found.contains(name)) {
            Some(name) => Err(format!("no case has the figure {name}; take one that the file has")),
            None => Ok(text),
        }
    }
}

pub(super) fn figures(document: &Document, words: &[&str]) -> Result<String, String> {
    Selection::parse(words)?.grid(document, &|case, name, unit| unit.show(case.figures[name]))
}

/// Free memory of phones of different sizes compares as a share of user memory only.
fn share(name: &str, figure: f64, user_bytes: Option<f64>) -> Option<String> {
    user_bytes.filter(|_| is_free_memory(name)).map(|user| format!("{} %", number(100.0 * figure / user)))
}

/// Figures, and in brackets behind each what the paper prints.
pub(super) fn paper(document: &Document, words: &[&str], papers: &[Paper]) -> Result<String, String> {
    let selection = Selection::parse(words)?;
    let table = selection.grid(document, &|case, name, unit| {
        let figure = case.figures[name];
        let printed = |name: &str| paper_figure(papers, &document.scenario, name, &case.configuration);
        let own = share(name, figure, case.figures.get("user_memory_bytes").copied());
        let theirs = printed(name).map(|p| share(name, p, printed("user_memory_bytes")).unwrap_or(unit.show(p)));
        let own = own.unwrap_or(unit.show(figure));
        theirs.map_or(own.clone(), |theirs| format!("{own} ({theirs})"))
    })?;
    let mut note = "In brackets: the paper's.".to_owned();
    if selection.names.iter().any(|name| is_free_memory(name)) {
        note += " Free memory is a share of user memory.";
    }
    Ok(format!("{table}\n{note}\n"))
}

/// Figures of one document, and behind a stroke those of another.
pub(super) fn beside(document: &Document, other: &Document, words: &[&str]) -> Result<String, String> {
    Selection::parse(words)?.grid(document, &|case, name, unit| {
        let theirs = other.figure(&case.case, &case.configuration, name);
        let theirs = theirs.map_or("–".into(), |figure| number(unit.scale(figure)));
        format!("{} / {}", number(unit.scale(case.figures[name])), with_sign(&theirs, unit))
    })
}

fn with_sign(number: &str, unit: Unit) -> String {
    format!("{number} {}", unit.sign).trim_end().to_owned()
}

pub(super) fn verdicts(document: &Document, experiments: &[&str]) -> Result<String, String> {
    let of = |id: &str, names: &[&str]| names.is_empty() || names.iter().any(|name| within(name, id).is_some());
    if let Some(name) = experiments.iter().find(|name| !document.verdicts.iter().any(|v| of(&v.id, &[name]))) {
        return Err(format!("no verdict of {name}; take an experiment that the file has"));
    }
    Ok(table_of(document.verdicts.iter().filter(|v| of(&v.id, experiments))))
}

fn table_of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> String {
    let mut text = "| verdict | claim | claimed | ours | |\n|---|---|--:|--:|---|\n".to_owned();
    for v in verdicts {
        let word = match v.not_shown {
            Some(_) => "**not shown**",
            None if v.pass => "holds",
            None => "**falls short**",
        };
        let seeds = v.seeds.map_or(String::new(), |s| format!(", with {} of {} seeds", s.holds, s.of));
        text += &row([
            format!("`{}`", cell(&v.id)),
            format!("{} ({})", cell(&v.claim), cell(&v.source)),
            cell(&v.bound),
            with_margin(v.figure, v.margin),
            format!("{word}{seeds}"),
        ]);
    }
    text
}

/// How many verdicts hold, and those that do not.
pub(super) fn shortfalls(document: &Document) -> String {
    let (all, holds) = (document.verdicts.len(), document.verdicts.iter().filter(|v| v.pass).count());
    if holds == all {
        return format!("All {all} verdicts hold.\n");
    }
    let table = table_of(document.verdicts.iter().filter(|v| !v.pass));
    format!("{holds} of {all} verdicts hold. The others:\n\n{table}")
}

/// One of the claims that are made of each case, case by case: a row per claim, a column per case. What falls short is bold.
pub(super) fn claims(document: &Document, names: &[&str]) -> Result<String, String> {
    if names.is_empty() {
        return Err("names no claim; name some behind the file".into());
    }
    let of = |name: &str, case: &str| {
        let id = if case.is_empty() { name.to_owned() } else { format!("{name}-{case}") };
        document.verdicts.iter().find(|v| v.id == id)
    };
    let all = distinct(document.cases.iter().map(|c| c.case.as_str()));
    let cases: Vec<&str> = all.into_iter().filter(|case| names.iter().any(|name| of(name, case).is_some())).collect();
    let heads = ["claim", "claimed"].into_iter().map(str::to_owned);
    let mut text = row(heads.chain(cases.iter().map(|case| cell(case))));
    text += &row(["---".to_owned()].into_iter().chain((0..=cases.len()).map(|_| "--:".to_owned())));
    for name in names {
        let found: Vec<_> = cases.iter().map(|case| of(name, case)).collect();
        let Some(first) = found.iter().copied().flatten().next() else {
            return Err(format!("no case has the claim {name}; take one that the file has"));
        };
        let shown = |v: &Verdict| {
            let figure = with_margin(v.figure, v.margin);
            if v.pass {
                figure
            } else {
                format!("**{figure}**")
            }
        };
        let cells = found.iter().map(|v| v.map_or("–".into(), shown));
        text += &row([cell(&first.claim), cell(&first.bound)].into_iter().chain(cells));
    }
    Ok(text)
}

/// What changes without each rule: verdicts lost in all scenes together, kills in all, and the scene whose launches change most.
///
/// # Errors
/// If the document has no case.
pub fn ablation(document: &Document) -> Result<String, String> {
    let rules = distinct(document.cases.iter().map(|c| c.case.as_str()));
    let &[all, ref rules @ ..] = rules.as_slice() else {
        return Err("has no case; make it by `fovea lab ablate`".into());
    };
    let sum = |case: &str, name: &str| -> f64 {
        document.cases.iter().filter(|c| c.case == case).filter_map(|c| c.figures.get(name)).sum()
    };
    let launches = |rule: &str| {
        let of = |case: &str, scene: &str| document.figure(case, scene, "launch_geomean_ns");
        let scenes = distinct(document.cases.iter().map(|c| c.configuration.as_str())).into_iter();
        let change = |scene: &str| Some(100.0 * (of(rule, scene)? / of(all, scene)? - 1.0));
        scenes.filter_map(change).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0)
    };
    let mut text = "| without | verdicts lost | kills | launches, % |\n|---|--:|--:|--:|\n".to_owned();
    for &rule in rules {
        let kills = sum(rule, "kills") - sum(all, "kills");
        let lost = number(sum(rule, "verdicts_lost"));
        text += &format!("|`{}`|{lost}|{kills:+.1}|{:+.1}|\n", cell(rule), launches(rule));
    }
    Ok(text)
}

/// What it was measured on.
pub(super) fn origin(document: &Document, file: &str, results: &str) -> String {
    let mut text = format!("[{file}]({results}{file}): {} mode", document.mode);
    for (name, value) in [("Linux", &document.kernel), ("QEMU", &document.qemu)] {
        if !value.is_empty() && (name != "Linux" || !document.qemu.is_empty()) {
            let _ = write!(text, ", {name} {value}");
        }
    }
    let _ = write!(text, ", {}, commit {}", document.drawn_with(), document.commit);
    text
}
