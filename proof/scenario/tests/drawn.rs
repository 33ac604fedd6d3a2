// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a seed draws stays the same: results that were published compare with those of today only while their plans do.

use std::collections::BTreeMap;

use fovea_scenario::hash::name64;
use fovea_scenario::{builtin_scenarios, Catalog, Scenario};

const KNOWN: &str = include_str!("drawn.txt");

/// A line for each boot that differs from others in more than the configuration: a number that stands for its steps.
fn drawn() -> String {
    let catalog = Catalog::builtin().unwrap();
    let mut text = String::new();
    for name in builtin_scenarios() {
        for seed in [1, 2] {
            let scenario = Scenario::load(name, &[format!("seed={seed}")]).unwrap();
            let mut boots = BTreeMap::new();
            for plan in scenario.plans(&catalog, true).unwrap() {
                let steps = name64(&serde_json::to_string(&plan.steps).unwrap());
                let same = *boots.entry((plan.case, plan.seed)).or_insert(steps);
                assert_eq!(same, steps, "{name}: what is compared does the same");
            }
            for ((case, seed), steps) in boots {
                text += &[name, &case, &seed.to_string(), &format!("{steps:016x}\n")].join(" ");
            }
        }
    }
    text
}

#[test]
fn the_built_in_scenarios_draw_what_they_always_drew() {
    let drawn = drawn();
    let published = |line: &&str| KNOWN.lines().any(|known| known.split(' ').next() == line.split(' ').next());
    let now: Vec<&str> = drawn.lines().filter(published).collect();
    let known: Vec<&str> = KNOWN.lines().collect();
    assert!(
        known.len() > 40 && now == known,
        "if that is meant, older results do not compare; tests/drawn.txt:\n{drawn}"
    );
}
