// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Policies that draw, under several seeds: what one seed finds is one of many things it could have found.

use fovea_report::repeat::arithmetic;

use super::Outcome;
use crate::policy::Choice;

/// The policies, and those that draw once for each of so many seeds, beginning with the one that is named.
pub fn with_seeds(policies: &[Choice], seeds: u32) -> Vec<Choice> {
    let mut all: Vec<Choice> = Vec::new();
    for choice in policies {
        all.push(choice.clone());
        let Some(first) = choice.seed() else { continue };
        let others = (1..).map(f64::from).filter(|&seed: &f64| seed != first).take(seeds.max(1) as usize - 1);
        for other in others.filter_map(|seed| choice.with_seed(seed)) {
            let name = other.to_string();
            if policies.iter().chain(&all).all(|known| known.to_string() != name) {
                all.push(other);
            }
        }
    }
    all
}

/// What came of one policy at one size under all its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct OverSeeds {
    /// The policy without its seed.
    pub policy: String,
    /// The size as asked for.
    pub size: String,
    /// How many.
    pub seeds: usize,
    /// Mean of the misses.
    pub mean_misses: f64,
    /// Half of the 95 % confidence interval of that mean; 0 of one seed.
    pub half_interval: f64,
    /// Least and most misses of a seed.
    pub range: [u64; 2],
}

/// Outcomes of the same policy and size taken together, in their order. `policies` are those that were replayed.
pub fn over_seeds(policies: &[Choice], outcomes: &[Outcome]) -> Vec<OverSeeds> {
    let without_seed = |policy: &str| {
        let choice = policies.iter().find(|choice| choice.to_string() == policy);
        choice.and_then(|choice| choice.with_seed(1.0)).map_or(policy.to_owned(), |choice| choice.to_string())
    };
    let mut groups: Vec<(String, &Outcome, Vec<u64>)> = Vec::new();
    for outcome in outcomes {
        let policy = without_seed(&outcome.policy);
        match groups.iter_mut().find(|(known, first, _)| *known == policy && first.size == outcome.size) {
            Some((_, _, misses)) => misses.push(outcome.misses()),
            None => groups.push((policy, outcome, vec![outcome.misses()])),
        }
    }
    groups.into_iter().map(|(policy, first, misses)| summary(policy, &first.size, &misses)).collect()
}

fn summary(policy: String, size: &str, misses: &[u64]) -> OverSeeds {
    let (mean_misses, margin) = arithmetic(&misses.iter().map(|&one| one as f64).collect::<Vec<_>>());
    let half_interval = margin.unwrap_or(0.0);
    let range = [misses.iter().min(), misses.iter().max()].map(|one| one.copied().unwrap_or_default());
    OverSeeds { policy, size: size.to_owned(), seeds: misses.len(), mean_misses, half_interval, range }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dense::Dense, replay::run, Size};

    fn names(policies: &[&str], seeds: u32) -> Vec<String> {
        let policies: Vec<Choice> = policies.iter().map(|text| text.parse().unwrap()).collect();
        with_seeds(&policies, seeds).iter().map(Choice::to_string).collect()
    }

    #[test]
    fn only_what_draws_has_several_seeds() {
        assert_eq!(names(&["lru", "random"], 3), ["lru", "random", "random:seed=2", "random:seed=3"]);
        assert_eq!(names(&["random:seed=2"], 3), ["random:seed=2", "random", "random:seed=3"]);
        assert_eq!(names(&["random", "random:seed=2"], 3), ["random", "random:seed=3", "random:seed=2"]);
        assert_eq!(names(&["lhd", "lru"], 1), ["lhd", "lru"]);
        let admitted = "lru:admit-probability=0.5";
        assert_eq!(names(&[admitted], 2), [admitted.to_owned(), format!("{admitted}:admit-seed=2")]);
    }

    #[test]
    fn seeds_have_a_mean_and_an_interval() {
        let found = summary("random".into(), "10", &[10, 14, 12]);
        assert_eq!((found.mean_misses, found.range, found.seeds), (12.0, [10, 14], 3));
        // 4.303 x 2 / sqrt(3).
        assert!((found.half_interval - 4.968).abs() < 0.01, "{found:?}");
        assert_eq!(summary("lru".into(), "10", &[7]).half_interval, 0.0);
    }

    #[test]
    fn seeds_of_one_policy_are_taken_together_by_size() {
        let requests = (0..4000u64).map(|at| (at * at % 97, 1u32));
        let dense = Dense::from_objects(requests, &Default::default()).unwrap();
        let policies = with_seeds(&["lru".parse().unwrap(), "random".parse().unwrap()], 5);
        let outcomes: Vec<Outcome> = [10, 20]
            .into_iter()
            .flat_map(|size| policies.iter().map(move |policy| (policy, Size::Objects(size))))
            .map(|(policy, size)| run(&dense, policy, size).unwrap())
            .collect();
        let found = over_seeds(&policies, &outcomes);
        let told: Vec<_> = found.iter().map(|f| (f.policy.as_str(), f.size.as_str(), f.seeds)).collect();
        assert_eq!(told, [("lru", "10", 1), ("random", "10", 5), ("lru", "20", 1), ("random", "20", 5)]);
        // Seeds that all find the same are one seed.
        assert!(found[1].range[0] < found[1].range[1] && found[1].half_interval > 0.0, "{found:?}");
    }
}
