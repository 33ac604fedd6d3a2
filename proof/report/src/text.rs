// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A results document as a plain-text table, the paper's figures beside ours.

use std::fmt::Write;

use crate::paper::{figure_names, is_free_memory, is_share, paper_figure, shares, Paper};
use crate::Document;

/// A figure for people: the name's end is its unit.
fn show(name: &str, value: f64, user_bytes: Option<f64>) -> String {
    if name.ends_with("_bytes") {
        let mib = value / f64::from(1 << 20);
        match user_bytes.filter(|&u| u > 0.0 && is_free_memory(name)) {
            Some(user) => format!("{mib:.1} MB {:.1} %", value / user * 100.0),
            None => format!("{mib:.1} MB"),
        }
    } else if name.ends_with("_ns") {
        format!("{:.1} ms", value / 1e6)
    } else if name.ends_with("_percent") {
        format!("{value:.0} %")
    } else if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// Lays rows out in columns, the first to the left and the others to the right.
pub fn columns(rows: &[Vec<String>], out: &mut String) {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a String cannot fail.
            let _ = if i == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// The document as text. A paper's figure follows ours in brackets; free memory is also a share of user memory.
pub fn render(document: &Document, papers: &[Paper]) -> String {
    let mut out = format!("{}, {} mode, {}", document.scenario, document.mode, document.drawn_with());
    if !document.kernel.is_empty() {
        let _ = write!(out, ", Linux {}", document.kernel);
    }
    out.push('\n');
    let mut cases: Vec<&str> = document.cases.iter().map(|c| c.case.as_str()).collect();
    cases.dedup();
    for case in cases {
        let ours: Vec<_> = document.cases.iter().filter(|c| c.case == case).collect();
        let mut rows = vec![vec![if case.is_empty() { "figure".into() } else { format!("{case}: figure") }]];
        rows[0].extend(ours.iter().map(|c| c.configuration.clone()));
        for name in figure_names(papers, document, case).into_iter().filter(|name| !is_share(papers, name)) {
            let mut row = vec![name.clone()];
            for c in &ours {
                let user = c.figures.get("user_memory_bytes").copied();
                let mut cell = c.figures.get(&name).map_or_else(|| "missing".into(), |&v| show(&name, v, user));
                let paper = |name: &str| paper_figure(papers, &document.scenario, name, &c.configuration);
                if let Some(theirs) = paper(&name) {
                    let _ = write!(cell, " ({})", show(&name, theirs, paper("user_memory_bytes")));
                }
                row.push(cell);
            }
            rows.push(row);
        }
        out.push('\n');
        columns(&rows, &mut out);
        ours.iter().for_each(|c| shares(papers).for_each(|shares| (shares.render)(c, &mut out)));
        for paper in papers.iter().filter(|p| p.scenario == document.scenario && !p.figures.is_empty()) {
            let _ = writeln!(
                out,
                "In brackets: {}, on another phone. Ratios between columns compare, times do not.",
                paper.source
            );
        }
    }
    out.push('\n');
    for v in &document.verdicts {
        let margin = v.margin.map_or(String::new(), |margin| format!(" \u{b1} {margin:.4}"));
        let figure = if v.figure.is_finite() { format!("{:.4}{margin}", v.figure) } else { "not measured".into() };
        let word = match v.not_shown {
            Some(_) => "NOT SHOWN",
            None if v.pass => "holds",
            None => "FAILS",
        };
        let seeds = v.seeds.map_or(String::new(), |s| format!("; with {} of {} seeds", s.holds, s.of));
        let _ = writeln!(out, "{word}  {}: {}: {figure}, bound {} ({}{seeds})", v.id, v.claim, v.bound, v.source);
        if let Some(why) = &v.not_shown {
            let _ = writeln!(out, "           {why}");
        }
    }
    out
}
