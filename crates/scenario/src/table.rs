// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A results document as a plain-text table, the seed's figures beside ours.

use std::fmt::Write;

use crate::steps::SEED_USER_BYTES;
use crate::table_kinds::{self, is_of_kinds};
use crate::Document;

/// Figures of seed 002, section 4.2, for stock, zram and fovea, in MB and ms as printed there.
const SEED: [(&str, [Option<f64>; 3]); 12] = [
    ("user_memory_bytes", [Some(835.0), Some(835.0), Some(835.0)]),
    ("free_after_idle_bytes", [None, Some(18.9358), Some(147.6636)]),
    ("free_normal_initial_bytes", [Some(80.0), Some(80.0), Some(80.0)]),
    ("free_normal_before_start_bytes", [Some(80.0), Some(80.0), Some(163.7)]),
    ("start_normal_ns", [Some(2080.0), Some(2086.0), Some(2083.0)]),
    ("restart_normal_ns", [Some(267.0), Some(264.0), Some(304.0)]),
    ("free_lowmem_initial_bytes", [Some(20.5), Some(20.5), Some(20.5)]),
    ("free_lowmem_before_start_bytes", [Some(20.5), Some(20.5), Some(104.3)]),
    ("free_lowmem_after_start_bytes", [Some(46.1), Some(22.6), Some(57.4)]),
    ("start_lowmem_ns", [Some(2315.0), Some(2730.0), Some(2014.0)]),
    ("restart_ns", [Some(2061.0), Some(298.0), Some(306.0)]),
    ("killed_before_restart_percent", [Some(100.0), Some(0.0), Some(0.0)]),
];

/// The figure that the scenario's paper prints, in the figure's own unit.
pub fn paper_figure(scenario: &str, name: &str, configuration: &str) -> Option<f64> {
    seed(name, configuration).filter(|_| scenario == "lowmem")
}

/// Whether a figure is free memory: of phones of different sizes it compares only as a share of user memory.
pub fn is_free_memory(name: &str) -> bool {
    name.starts_with("free_") && name.ends_with("_bytes")
}

/// The seed's figure, in the figure's own unit.
fn seed(name: &str, configuration: &str) -> Option<f64> {
    let column = ["stock", "zram", "fovea"].iter().position(|c| *c == configuration)?;
    let value = SEED.iter().find(|(n, _)| *n == name)?.1[column]?;
    Some(match name {
        _ if name.ends_with("_bytes") => value * f64::from(1 << 20),
        _ if name.ends_with("_ns") => value * 1e6,
        _ => value,
    })
}

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
pub(crate) fn columns(rows: &[Vec<String>], out: &mut String) {
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

/// Names of a case's figures in the seed's order, then the others by name.
pub fn figure_names(document: &Document, case: &str) -> Vec<String> {
    let mut names: Vec<&String> =
        document.cases.iter().filter(|c| c.case == case).flat_map(|c| c.figures.keys()).collect();
    let place = |name: &str| SEED.iter().position(|(n, _)| *n == name).unwrap_or(SEED.len());
    names.sort_by_key(|n| (place(n), (*n).clone()));
    names.dedup();
    names.into_iter().cloned().collect()
}

/// The document as text. For `lowmem`, the seed's figure follows ours in brackets; free memory is also a share of user memory.
pub fn render(document: &Document) -> String {
    let mut out = format!("{}, {} mode, seed {}", document.scenario, document.mode, document.seed);
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
        let with_seed = document.scenario == "lowmem";
        for name in figure_names(document, case).into_iter().filter(|name| !is_of_kinds(name)) {
            let mut row = vec![name.clone()];
            for c in &ours {
                let user = c.figures.get("user_memory_bytes").copied();
                let mut cell = c.figures.get(&name).map_or_else(|| "missing".into(), |&v| show(&name, v, user));
                if let Some(theirs) = seed(&name, &c.configuration).filter(|_| with_seed) {
                    let _ = write!(cell, " ({})", show(&name, theirs, Some(SEED_USER_BYTES as f64)));
                }
                row.push(cell);
            }
            rows.push(row);
        }
        out.push('\n');
        columns(&rows, &mut out);
        ours.iter().for_each(|c| table_kinds::render(c, &mut out));
        if with_seed {
            out.push_str(
                "In brackets: seed 002, section 4.2, on another phone. Ratios between columns compare, times do not.\n",
            );
        }
    }
    out.push('\n');
    for v in &document.verdicts {
        let figure = if v.figure.is_finite() { format!("{:.4}", v.figure) } else { "not measured".into() };
        let word = if v.pass { "holds" } else { "FAILS" };
        let _ = writeln!(out, "{word}  {}: {}: {figure}, bound {} ({})", v.id, v.claim, v.bound, v.source);
    }
    out
}
