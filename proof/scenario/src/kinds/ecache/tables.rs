// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Tables 9 and 10 of eCache12 beside ours: what the eCache was asked for, by kind of file.

use std::fmt::Write;

use fovea_report::paper::{Column, Shares};
use fovea_report::text::columns;
use fovea_report::Case;

use crate::FileKind;

/// Table 9, workload N: percent of the hits and of the misses, in the order of [`kinds`].
const TABLE_9: [(u32, u32); 8] = [(14, 12), (26, 28), (2, 11), (25, 6), (1, 0), (8, 7), (23, 15), (1, 21)];

/// Table 10: what Movies asks for while it launches, and what of it was there, in MB; and which kinds that is.
const TABLE_10: [(&str, [f64; 2], &[&str]); 4] = [
    ("Dalvik caches", [0.55, 0.55], &["app_dalvik", "framework_dalvik"]),
    ("libraries", [1.30, 1.16], &["library"]),
    ("framework resources", [0.83, 0.81], &["framework_resource"]),
    ("others", [0.38, 0.02], &["apk", "app_data", "system_bin", "other"]),
];

const MIB: f64 = 1048576.0;

/// Both, for whoever shows figures.
pub(super) const SHARES: Shares = Shares { holds: is_of_kinds, columns: kind_columns, render };

/// The kinds, in the order of table 9, as figures name them.
fn kinds() -> [&'static str; 8] {
    FileKind::ALL.map(FileKind::name)
}

/// Every column of both tables that a case has the figures for.
fn kind_columns(case: &Case) -> Vec<Column> {
    let of = |what: &str, kind: &str| case.figures.get(&format!("{what}_{kind}_bytes")).copied();
    let mut columns = Vec::new();
    for (what, title, papers) in [
        ("hit", "Hits by kind of file (eCache12, table 9: workload N)", TABLE_9.map(|(hit, _)| hit)),
        ("miss", "Misses by kind of file (eCache12, table 9: workload N)", TABLE_9.map(|(_, miss)| miss)),
    ] {
        let all = kinds().iter().map(|k| of(what, k)).sum::<Option<f64>>();
        let Some(all) = all.filter(|&all| all > 0.0) else { continue };
        let row = |(kind, paper): (&str, u32)| {
            (kind.replace('_', " "), of(what, kind).unwrap_or(0.0) / all * 100.0, f64::from(paper))
        };
        columns.push(Column {
            title,
            by: "kind of file",
            unit: "%",
            rows: kinds().into_iter().zip(papers).map(row).collect(),
        });
    }
    for (at, what, title) in [
        (0, "movies_get", "Asked for while Movies launches (eCache12, table 10)"),
        (1, "movies_hit", "Of that, had from the eCache (eCache12, table 10)"),
    ] {
        let row = |(name, paper, kinds): &(&str, [f64; 2], &[&str])| {
            let ours = kinds.iter().map(|k| of(what, k)).sum::<Option<f64>>()?;
            Some(((*name).to_owned(), ours / MIB, paper[at]))
        };
        if let Some(rows) = TABLE_10.iter().map(row).collect() {
            columns.push(Column { title, by: "kind of file", unit: "MB", rows });
        }
    }
    columns
}

/// Whether a figure stands in these tables and not in the list.
fn is_of_kinds(name: &str) -> bool {
    ["hit_", "miss_", "movies_get_", "movies_hit_"].iter().any(|start| {
        let kind = name.strip_prefix(start).and_then(|rest| rest.strip_suffix("_bytes"));
        kind.is_some_and(|kind| kinds().contains(&kind))
    })
}

/// Both tables of a case that has the figures.
fn render(case: &Case, out: &mut String) {
    let of = |what: &str, kind: &str| case.figures.get(&format!("{what}_{kind}_bytes")).copied();
    let sum = |what: &str| kinds().iter().map(|k| of(what, k)).sum::<Option<f64>>();
    if let (Some(hits), Some(misses)) = (sum("hit"), sum("miss")) {
        let cell = |bytes: f64, all: f64, paper: u32| {
            let percent = if all > 0.0 { bytes / all * 100.0 } else { 0.0 };
            format!("{:.1} MB {percent:.0} % ({paper} %)", bytes / MIB)
        };
        let mut rows = vec![["read through the eCache, by kind".to_owned(), "hits".into(), "misses".into()].to_vec()];
        for (kind, (hit, miss)) in kinds().into_iter().zip(TABLE_9) {
            let (h, m) = (of("hit", kind).unwrap_or(0.0), of("miss", kind).unwrap_or(0.0));
            rows.push(vec![kind.replace('_', " "), cell(h, hits, hit), cell(m, misses, miss)]);
        }
        let _ = writeln!(out, "\n{}: in brackets: eCache12, table 9, shares in workload N.", case.case);
        columns(&rows, out);
    }
    if sum("movies_get").is_some() {
        let mut rows =
            vec![["read while Movies launches, by kind".to_owned(), "asked for".into(), "hit".into()].to_vec()];
        for (name, paper, kinds) in TABLE_10 {
            let ours = |what: &str| kinds.iter().filter_map(|k| of(what, k)).sum::<f64>() / MIB;
            let cell = |ours: f64, paper: f64| format!("{ours:.2} MB ({paper:.2} MB)");
            rows.push(vec![name.into(), cell(ours("movies_get"), paper[0]), cell(ours("movies_hit"), paper[1])]);
        }
        let _ = writeln!(out, "\n{}: in brackets: eCache12, table 10, one launch; ours is the mean.", case.case);
        columns(&rows, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_bear_the_kinds_names_in_the_order_of_table_9() {
        let names = ["apk", "app_dalvik", "app_data", "framework_dalvik", "system_bin", "framework_resource"];
        assert_eq!(kinds()[..6], names);
        assert_eq!(kinds()[6..], ["library", "other"]);
    }

    #[test]
    fn columns_are_shares_of_all_and_there_only_if_measured() {
        let mut case = Case { case: "N".into(), configuration: "ecache".into(), figures: Default::default() };
        assert_eq!(kind_columns(&case), []);
        for kind in kinds() {
            case.figures.insert(format!("hit_{kind}_bytes"), MIB);
            case.figures.insert(format!("movies_get_{kind}_bytes"), MIB);
        }
        let columns = kind_columns(&case);
        assert_eq!(columns.len(), 2);
        let sums = |c: &Column| (c.rows.iter().map(|r| r.1).sum::<f64>(), c.rows.iter().map(|r| r.2).sum::<f64>());
        assert_eq!((columns[0].unit, sums(&columns[0])), ("%", (100.0, 100.0)));
        assert_eq!((columns[1].unit, columns[1].rows[0].1), ("MB", 2.0));
        assert!(case.figures.keys().all(|name| is_of_kinds(name)) && !is_of_kinds("read_bytes"));
    }
}
