// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What papers print, to be set beside figures of ours. The numbers stand where the figures are defined; whoever shows a document hands them in.

use crate::{Case, Document};

/// What one paper prints of one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The scenario.
    pub scenario: &'static str,
    /// The paper and its section.
    pub source: &'static str,
    /// The configurations that it compares, by the names of ours.
    pub configurations: &'static [&'static str],
    /// Its figures, by the names and in the order of theirs: in MB and ms, one for each configuration.
    pub figures: &'static [(&'static str, &'static [Option<f64>])],
    /// Tables that divide figures up.
    pub shares: Option<Shares>,
}

/// Tables of a paper that divide figures up: the parts are figures of ours too, and stand in these tables and nowhere else.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Whether a figure is such a part.
    pub holds: fn(&str) -> bool,
    /// The tables of a case that has the figures, a column each.
    pub columns: fn(&Case) -> Vec<Column>,
    /// The same tables as text.
    pub render: fn(&Case, &mut String),
}

/// A column of these tables: ours beside the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What is counted, and where the paper prints it.
    pub title: &'static str,
    /// What the parts are.
    pub by: &'static str,
    /// Unit of all numbers.
    pub unit: &'static str,
    /// Part, ours, the paper's.
    pub rows: Vec<(String, f64, f64)>,
}

/// The figure that the scenario's paper prints, in the figure's own unit.
pub fn paper_figure(papers: &[Paper], scenario: &str, name: &str, configuration: &str) -> Option<f64> {
    let mut all = papers.iter().filter(|paper| paper.scenario == scenario);
    let value = all.find_map(|paper| {
        let column = paper.configurations.iter().position(|c| *c == configuration)?;
        *paper.figures.iter().find(|(n, _)| *n == name)?.1.get(column)?
    })?;
    Some(match name {
        _ if name.ends_with("_bytes") => value * f64::from(1 << 20),
        _ if name.ends_with("_ns") => value * 1e6,
        _ => value,
    })
}

/// Whether a figure is free memory: of phones of different sizes it compares only as a share of user memory.
pub fn is_free_memory(name: &str) -> bool {
    name.starts_with("free_") && name.ends_with("_bytes")
}

/// Names of a case's figures in the papers' order, then the others by name.
pub fn figure_names(papers: &[Paper], document: &Document, case: &str) -> Vec<String> {
    let mut names: Vec<&String> =
        document.cases.iter().filter(|c| c.case == case).flat_map(|c| c.figures.keys()).collect();
    let place = |name: &str| {
        let mut printed = papers.iter().flat_map(|paper| paper.figures);
        printed.position(|(n, _)| *n == name).unwrap_or(usize::MAX)
    };
    names.sort_by_key(|n| (place(n), (*n).clone()));
    names.dedup();
    names.into_iter().cloned().collect()
}

/// The papers' tables that divide figures up.
pub fn shares(papers: &[Paper]) -> impl Iterator<Item = Shares> + '_ {
    papers.iter().filter_map(|paper| paper.shares)
}

/// Whether a figure stands in such a table and not in the list.
pub fn is_share(papers: &[Paper], name: &str) -> bool {
    shares(papers).any(|shares| (shares.holds)(name))
}
