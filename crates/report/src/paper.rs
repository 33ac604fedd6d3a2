// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The papers' own numbers for figures of ours, and the order in which they print them.

use crate::Document;

/// Figures of LowMem13, section 4.2, for stock, zram and fovea, in MB and ms as printed there.
const LOWMEM: [(&str, [Option<f64>; 3]); 12] = [
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
    lowmem(name, configuration).filter(|_| scenario == "lowmem")
}

/// Whether a figure is free memory: of phones of different sizes it compares only as a share of user memory.
pub fn is_free_memory(name: &str) -> bool {
    name.starts_with("free_") && name.ends_with("_bytes")
}

/// The figure of LowMem13, in the figure's own unit.
fn lowmem(name: &str, configuration: &str) -> Option<f64> {
    let column = ["stock", "zram", "fovea"].iter().position(|c| *c == configuration)?;
    let value = LOWMEM.iter().find(|(n, _)| *n == name)?.1[column]?;
    Some(match name {
        _ if name.ends_with("_bytes") => value * f64::from(1 << 20),
        _ if name.ends_with("_ns") => value * 1e6,
        _ => value,
    })
}

/// Names of a case's figures in the paper's order, then the others by name.
pub fn figure_names(document: &Document, case: &str) -> Vec<String> {
    let mut names: Vec<&String> =
        document.cases.iter().filter(|c| c.case == case).flat_map(|c| c.figures.keys()).collect();
    let place = |name: &str| LOWMEM.iter().position(|(n, _)| *n == name).unwrap_or(LOWMEM.len());
    names.sort_by_key(|n| (place(n), (*n).clone()));
    names.dedup();
    names.into_iter().cloned().collect()
}
