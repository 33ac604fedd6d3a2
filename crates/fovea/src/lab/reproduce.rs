// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea lab reproduce`: runs experiments and prints claim, figures and verdicts.

use std::path::PathBuf;

use clap::Args;
use fovea_lab::reproduce::{reproduce, select, Entry, Settings};
use fovea_lab::threads;
use fovea_report::experiment::{within, Reproduction};
use fovea_report::repeat::MOST_SEEDS;
use fovea_report::{Case, Verdict};
use fovea_sim::experiments;

use super::{bar, to_stdout, verdict, write_results};
use crate::failure::Failure;
use crate::output::print;

/// `fovea lab reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Experiments; all of them without a name.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List the experiments and run none.
    #[arg(long)]
    list: bool,
    /// Write the results document, with the plots' series, there; - for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Seed of everything drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run each experiment with so many seeds, from --seed on, and tell means with 95 % confidence intervals: 5, or 1 with --quick.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SEEDS)))]
    seeds: Option<u32>,
    /// Shorter traces, for a first look.
    #[arg(long)]
    quick: bool,
    /// Threads; all cores unless told otherwise. The results do not depend on them.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl ReproduceArgs {
    pub fn run(self) -> Result<(), Failure> {
        let chosen = select(&experiments(), &self.ids)?;
        if self.list {
            let line = |e: &&Entry| format!("{:14} {} ({})\n", e.id, e.title, e.source);
            return print(&chosen.iter().map(line).collect::<String>());
        }
        let settings = Settings {
            seed: self.seed,
            seeds: self.seeds.unwrap_or(Settings::usual_seeds(self.quick)),
            quick: self.quick,
            threads: threads(self.threads.map(usize::from)),
        };
        let bar = bar("{spinner} {msg}");
        let all = reproduce(&chosen, &settings, |entry| {
            bar.set_message(entry.id);
            bar.tick();
        })?;
        bar.finish_and_clear();
        let json = self.json.as_deref();
        write_results(json, &all, "make room and run again")?;
        if !to_stdout(json) {
            print(&chosen.iter().map(|entry| text_of(entry, &all)).collect::<String>())?;
        }
        verdict(&all.document)
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "not measured".into(),
        v if v >= 1000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// A figure, and its margin if it is a mean over seeds.
fn mean(value: f64, margin: Option<f64>) -> String {
    margin.map_or(number(value), |margin| format!("{} \u{b1} {}", number(value), number(margin)))
}

/// Figures as columns: a row per case and configuration.
fn table(rows: &[(&str, &Case)], margins: &[Case]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (_, case) in rows {
        for name in case.figures.keys() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    let head: Vec<String> = ["case", "configuration"].iter().chain(&names).map(|n| (*n).to_owned()).collect();
    let mut lines = vec![head];
    for (case_name, case) in rows {
        let mut line = vec![(*case_name).to_owned(), case.configuration.clone()];
        let own = margins.iter().find(|m| m.case == case.case && m.configuration == case.configuration);
        let margin = |name: &str| own.and_then(|m| m.figures.get(name)).copied();
        line.extend(names.iter().map(|n| case.figures.get(*n).map_or("-".into(), |&v| mean(v, margin(n)))));
        lines.push(line);
    }
    let widths: Vec<usize> =
        (0..lines[0].len()).map(|at| lines.iter().map(|l| l[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, &width))| if at < 2 { format!("{cell:width$}") } else { format!("{cell:>width$}") })
            .collect();
        text += &format!("  {}\n", cells.join("  ").trim_end());
    }
    text
}

fn verdict_line(verdict: &Verdict) -> String {
    let word = if verdict.pass { "holds" } else { "FALLS SHORT" };
    let figure = mean(verdict.figure, verdict.margin);
    let seeds = verdict.seeds.map_or(String::new(), |s| format!("; with {} of {} seeds", s.holds, s.of));
    format!("  {word:11}  {}: {figure} ({}; {}{seeds})\n", verdict.claim, verdict.bound, verdict.source)
}

/// What one experiment has to say.
fn text_of(entry: &Entry, all: &Reproduction) -> String {
    let mut text = format!("{}: {} ({})\n  claim: {}\n", entry.id, entry.title, entry.source, entry.claim);
    let rows: Vec<(&str, &Case)> =
        all.document.cases.iter().filter_map(|c| within(entry.id, &c.case).map(|name| (name, c))).collect();
    if !rows.is_empty() {
        text += &table(&rows, &all.document.margins);
    }
    for verdict in all.document.verdicts.iter().filter(|v| within(entry.id, &v.id).is_some()) {
        text += &verdict_line(verdict);
    }
    for note in all.notes.iter().filter(|n| n.entry == entry.id) {
        text += &format!("  note: {}\n", note.text);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_show_what_is_missing_and_line_up() {
        let of = |configuration: &str, figures: &[(&str, f64)]| Case {
            case: String::new(),
            configuration: configuration.into(),
            figures: figures.iter().map(|&(n, v)| (n.to_owned(), v)).collect(),
        };
        let (a, b) = (of("lru", &[("hits", 12.0), ("share", 0.5)]), of("count", &[("hits", 123456.0)]));
        let text = table(&[("N", &a), ("N", &b)], &[of("lru", &[("share", 0.25)])]);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("0.500 \u{b1} 0.250") && text.lines().nth(2).unwrap().ends_with('-'), "{text}");
    }
}
