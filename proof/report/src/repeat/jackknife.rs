// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How far a verdict on the folded cases may be off, where its figure is no mean but made of means: a ratio of two configurations, or to the best
//! of several.

use super::cases;
use super::mean::{arithmetic, by_name};
use crate::document::Case;
use crate::verdict::Verdict;

/// Half the width of the 95 % confidence interval of a verdict's figure, by Tukey's jackknife ("Bias and confidence in not-quite large samples",
/// Annals of Mathematical Statistics 29, 1958): the verdict is judged again without each seed in turn, and n times the whole's figure less n - 1
/// times the one without a seed counts as that seed's own. A seed that is hard under one configuration is hard under the others, so a ratio lies
/// closer than the margins of its two means would have it.
///
/// `without` are the verdicts without each of the seeds. `None` where a figure is the same without any of them, or was not found.
pub(super) fn margin(verdict: &Verdict, without: &[Vec<Verdict>]) -> Option<f64> {
    let figure = |found: &Vec<Verdict>| found.iter().find(|v| v.id == verdict.id).map(|v| v.figure);
    let without: Vec<f64> = without.iter().map(figure).collect::<Option<_>>()?;
    if without.iter().all(|&f| f == verdict.figure) {
        return None;
    }
    let count = without.len() as f64;
    let own: Vec<f64> = without.iter().map(|f| count * verdict.figure - (count - 1.0) * f).collect();
    arithmetic(&own).1
}

/// The cases folded without each of the seeds in turn.
pub(super) fn without_each(of_seeds: &[&[Case]]) -> Vec<Vec<Case>> {
    let without = |left_out: usize| {
        let rest: Vec<&[Case]> =
            of_seeds.iter().enumerate().filter(|&(at, _)| at != left_out).map(|(_, &cases)| cases).collect();
        cases(&rest, by_name).0
    };
    (0..of_seeds.len()).map(without).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::verdict::{ratio, verdict, Bound};

    /// What one seed took under ours and under a peer.
    fn seed((ours_ns, peer_ns): (f64, f64)) -> Vec<Case> {
        let of = |configuration: &str, start_ns: f64| Case {
            case: "N".into(),
            configuration: configuration.into(),
            figures: [("start_ns".to_owned(), start_ns), ("kills".to_owned(), start_ns)].into(),
        };
        vec![of("ours", ours_ns), of("peer", peer_ns)]
    }

    fn judge(cases: &[Case]) -> Vec<Verdict> {
        let figure = |at: usize, name: &str| cases[at].figures.get(name).copied();
        let sooner = ratio(figure(0, "start_ns"), figure(1, "start_ns"));
        vec![
            verdict("sooner", "sooner", "this project", sooner, Bound::AtMost(1.0)),
            verdict("kills", "few", "this project", figure(0, "kills"), Bound::AtMost(10.0)),
        ]
    }

    /// Figure and margin of each verdict.
    fn judged(seeds: &[(f64, f64)]) -> Vec<(f64, Option<f64>)> {
        let all: Vec<Vec<Case>> = seeds.iter().copied().map(seed).collect();
        let all: Vec<&[Case]> = all.iter().map(Vec::as_slice).collect();
        let without: Vec<_> = without_each(&all).iter().map(|cases| judge(cases)).collect();
        judge(&cases(&all, by_name).0).iter().map(|v| (v.figure, margin(v, &without))).collect()
    }

    #[test]
    fn a_ratio_that_is_the_same_with_every_seed_is_known_however_far_they_lie_apart() {
        let (figure, margin) = judged(&[(50e6, 100e6), (200e6, 400e6), (800e6, 1600e6)])[0];
        assert!((figure - 0.5).abs() < 1e-9 && margin.is_none_or(|margin| margin < 1e-9), "{figure} {margin:?}");
    }

    #[test]
    fn what_is_the_same_without_any_seed_has_no_margin() {
        assert_eq!(judged(&[(0.3, 2.0), (0.3, 2.0), (0.3, 2.0)]), [(0.15, None), (0.3, None)]);
    }

    #[test]
    fn what_one_seed_lacks_has_no_margin() {
        let without = vec![judge(&seed((1.0, 2.0))), Vec::new()];
        assert_eq!(margin(&judge(&seed((1.0, 2.0)))[0], &without), None);
    }

    /// Nineteen of twenty intervals should hold the true ratio; of ratios whose logarithms are drawn from a normal distribution.
    #[test]
    fn intervals_hold_the_true_ratio_as_often_as_they_say() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        // Box and Muller's.
        let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let trials = 2000;
        let holds = (0..trials).filter(|_| {
            let seeds: Vec<(f64, f64)> = (0..9)
                .map(|_| {
                    // How hard the seed is, and what chance adds to each.
                    let hard = (0.5 * normal()).exp() * 1e8;
                    (0.9 * hard * (0.1 * normal()).exp(), hard * (0.1 * normal()).exp())
                })
                .collect();
            let (figure, margin) = judged(&seeds)[0];
            (figure - 0.9).abs() <= margin.unwrap()
        });
        let share = holds.count() as f64 / f64::from(trials);
        assert!((0.93..0.97).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn of_a_mean_it_is_the_means_own(kills in prop::collection::vec(0.0..20.0, 2..9)) {
            let seeds: Vec<(f64, f64)> = kills.iter().map(|&kills| (kills, 1.0)).collect();
            let (figure, margin) = judged(&seeds)[1];
            let (mean, own) = arithmetic(&kills);
            prop_assert_eq!(figure, mean);
            prop_assert!((margin.unwrap_or(0.0) - own.unwrap_or(0.0)).abs() < 1e-6, "{:?} {:?}", margin, own);
        }
    }
}
