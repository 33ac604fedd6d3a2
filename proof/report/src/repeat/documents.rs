// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A scenario's documents, one of each seed, folded into one.

use std::collections::BTreeSet;

use super::mean::{arithmetic, by_name};
use super::{cases, has_figures, jackknife};
use crate::document::{Case, Document};
use crate::seeds::SeedList;
use crate::verdict::{Seeds, Verdict};

/// What one document of every seed says, as one; `judge` gives the verdicts on folded cases, and is asked once more without each of the seeds,
/// for the margins of its figures. Of one seed it is the document as it is.
///
/// # Panics
/// If there is none.
pub fn documents(mut of_seeds: Vec<Document>, judge: impl Fn(&[Case]) -> Vec<Verdict>) -> Document {
    if of_seeds.len() == 1 {
        return of_seeds.remove(0);
    }
    let of_each: Vec<&[Case]> = of_seeds.iter().map(|d| &d.cases[..]).collect();
    let (cases, margins) = cases(&of_each, by_name);
    let without: Vec<Vec<Verdict>> = jackknife::without_each(&of_each).iter().map(|cases| judge(cases)).collect();
    let mut verdicts: Vec<Verdict> = judge(&cases)
        .into_iter()
        .map(|verdict| Verdict { margin: jackknife::margin(&verdict, &without), ..verdict })
        .map(|verdict| counted(verdict, &of_seeds))
        .collect();
    let judged: BTreeSet<String> = verdicts.iter().map(|v| v.id.clone()).collect();
    verdicts.extend(of_some(&of_seeds, &judged));
    let seeds: Vec<u64> = of_seeds.iter().map(|d| d.seed).collect();
    // A seed none of whose boots came up knows no kernel.
    let kernel = of_seeds.iter().map(|d| &d.kernel).find(|kernel| !kernel.is_empty()).cloned().unwrap_or_default();
    let margins = margins.into_iter().filter(has_figures).collect();
    Document { seeds: SeedList::of(&seeds), kernel, cases, margins, verdicts, ..of_seeds.remove(0) }
}

/// A verdict of each seed that has it.
fn own<'d>(id: &str, of_seeds: &'d [Document]) -> Vec<&'d Verdict> {
    of_seeds.iter().filter_map(|document| document.verdicts.iter().find(|v| v.id == id)).collect()
}

fn count(own: &[&Verdict]) -> Seeds {
    Seeds { holds: own.iter().filter(|v| v.pass).count() as u32, of: own.len() as u32 }
}

/// A verdict on the folded cases, with how many seeds it holds with. If the bound is not the same with all of them, it comes from the boots, and
/// no mean can be held to it: then it has to hold with each.
fn counted(verdict: Verdict, of_seeds: &[Document]) -> Verdict {
    let own = own(&verdict.id, of_seeds);
    let seeds = count(&own);
    let one_bound = own.iter().all(|v| v.bound == verdict.bound);
    Verdict { pass: verdict.pass && (one_bound || seeds.holds == seeds.of), seeds: Some(seeds), ..verdict }
}

/// Verdicts that only some seeds have, on figures that only they measured, such as the time to a kill: they have to hold with each of those.
fn of_some(of_seeds: &[Document], judged: &BTreeSet<String>) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for verdict in of_seeds.iter().flat_map(|d| &d.verdicts) {
        if judged.contains(&verdict.id) || verdicts.iter().any(|v| v.id == verdict.id) {
            continue;
        }
        let own = own(&verdict.id, of_seeds);
        let (figure, margin) = arithmetic(&own.iter().map(|v| v.figure).collect::<Vec<_>>());
        let seeds = count(&own);
        verdicts.push(Verdict { figure, margin, pass: seeds.holds == seeds.of, seeds: Some(seeds), ..verdict.clone() });
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::verdict::{verdict, Bound};
    use proptest::prelude::*;

    fn case(configuration: &str, figures: &[(&str, f64)]) -> Case {
        let figures = figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Case { case: "N".into(), configuration: configuration.into(), figures }
    }

    /// At most ten kills.
    fn judge(cases: &[Case]) -> Vec<Verdict> {
        let kills = cases.iter().find_map(|c| c.figures.get("kills")).copied();
        vec![verdict("kills", "few die", "this project", kills, Bound::AtMost(10.0))]
    }

    fn document(seed: u64, figures: &[(&str, f64)]) -> Document {
        let cases = vec![case("fovea", figures)];
        let verdicts = judge(&cases);
        Document { seed, kernel: "6.12".into(), verdicts, ..Document::of_host("workload", cases) }
    }

    #[test]
    fn one_seed_changes_nothing() {
        let alone = document(7, &[("kills", 3.0)]);
        assert_eq!(documents(vec![alone.clone()], |_| panic!("it has its verdicts")), alone);
    }

    #[test]
    fn several_seeds_are_one_document_that_names_them() {
        let of = |seed, kills, ns| document(seed, &[("kills", kills), ("start_ns", ns)]);
        let all = documents(vec![of(22, 8.0, 1e6), of(21, 11.0, 4e6)], judge);
        assert_eq!((all.seed, all.seeds.clone()), (22, Some(SeedList::Named(vec![22, 21]))));
        assert_eq!(all.figure("N", "fovea", "kills"), Some(9.5));
        assert!((all.figure("N", "fovea", "start_ns").unwrap() - 2e6).abs() < 1e-3);
        assert_eq!(all.margins[0].figures.keys().collect::<Vec<_>>(), ["kills", "start_ns"]);
        let found = &all.verdicts[..];
        assert_eq!((found.len(), found[0].figure, found[0].pass), (1, 9.5, true), "the verdict is on the mean");
        assert_eq!(found[0].seeds, Some(Seeds { holds: 1, of: 2 }));
        let read: Document = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(read, all);
    }

    #[test]
    fn a_figure_that_one_seed_lacks_is_left_out() {
        let mut failed = document(22, &[]);
        failed.kernel = String::new();
        let all = documents(vec![failed, document(21, &[("kills", 3.0)])], judge);
        assert_eq!(all.cases, [case("fovea", &[])], "the case is told, and that nothing was measured of it");
        assert_eq!((all.margins.len(), all.kernel.as_str()), (0, "6.12"));
        assert!(!all.verdicts[0].pass && all.verdicts[0].seeds == Some(Seeds { holds: 1, of: 2 }));
    }

    #[test]
    fn a_case_of_the_second_seed_alone_is_told() {
        let mut more = document(22, &[("kills", 3.0)]);
        more.cases.push(case("stock", &[("kills", 9.0)]));
        let all = documents(vec![document(21, &[("kills", 3.0)]), more], judge);
        assert_eq!(all.cases, [case("fovea", &[("kills", 3.0)]), case("stock", &[])]);
    }

    #[test]
    fn a_verdict_that_only_some_seeds_have_must_hold_with_each_of_them() {
        let slow = |figure: f64| verdict("kill-signal", "soon", "this project", Some(figure), Bound::Below(10.0));
        let of = |figures: &[f64]| {
            let mut all = vec![document(1, &[("kills", 0.0)])];
            for (seed, &figure) in figures.iter().enumerate() {
                let mut some = document(seed as u64 + 2, &[("kills", 1.0)]);
                some.verdicts.push(slow(figure));
                all.push(some);
            }
            documents(all, judge).verdicts[1].clone()
        };
        let found = of(&[4.0, 6.0]);
        assert_eq!((found.figure, found.pass, found.seeds), (5.0, true, Some(Seeds { holds: 2, of: 2 })));
        let found = of(&[4.0, 12.0]);
        assert_eq!((found.figure, found.pass, found.seeds), (8.0, false, Some(Seeds { holds: 1, of: 2 })));
    }

    #[test]
    fn a_bound_that_comes_from_the_boots_must_be_kept_with_each_seed() {
        let opened = |opened: f64, planned: f64| {
            verdict("launches", "all come", "this project", Some(opened), Bound::AtLeast(planned))
        };
        let of = |opens: [(f64, f64); 2]| {
            let of_seed = |(seed, (got, planned))| Document {
                verdicts: vec![opened(got, planned)],
                ..document(seed, &[("launches", got)])
            };
            let mean = (opens[0].0 + opens[1].0) / 2.0;
            let all =
                documents([1, 2].into_iter().zip(opens).map(of_seed).collect(), |_| vec![opened(mean, opens[0].1)]);
            all.verdicts[0].pass
        };
        assert!(of([(10.0, 10.0), (12.0, 12.0)]));
        assert!(!of([(10.0, 10.0), (11.0, 12.0)]), "the mean is above the first seed's bound");
    }

    proptest! {
        #[test]
        fn the_order_of_seeds_changes_no_figure_and_no_verdict(
            found in prop::collection::vec((0.0..20.0, 1.0..1e9), 2..8),
            by in any::<prop::sample::Index>(),
        ) {
            let of = |(seed, &(kills, ns)): (u64, &(f64, f64))| document(seed, &[("kills", kills), ("start_ns", ns)]);
            let mut all: Vec<Document> = (1..).zip(&found).map(of).collect();
            let straight = documents(all.clone(), judge);
            let places = all.len();
            all.rotate_left(by.index(places));
            let turned = documents(all.clone(), judge);
            prop_assert_eq!(&straight.cases, &turned.cases);
            prop_assert_eq!(&straight.margins, &turned.margins);
            prop_assert_eq!(&straight.verdicts, &turned.verdicts);
            // And they are what the rule says of each figure.
            let mut figures = BTreeMap::new();
            for name in ["kills", "start_ns"] {
                let values: Vec<f64> = all.iter().map(|d| d.cases[0].figures[name]).collect();
                figures.insert(name.to_owned(), by_name(name, &values).0);
            }
            prop_assert_eq!(&turned.cases[0].figures, &figures);
        }
    }
}
