// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A rule that is switched off changes what it is about, and nothing is changed by none.

use fovea_policy::memory::Rule;
use fovea_sim::{ablate, ALL_RULES};

#[test]
fn without_a_rule_its_figures_change_and_the_same_on_any_number_of_threads() {
    let scenes: [(&str, &[&str]); 1] = [("leak", &["cases=background"])];
    let found = ablate(&scenes, &[21], 2).unwrap();
    assert_eq!(found, ablate(&scenes, &[21], 1).unwrap());
    let names: Vec<&str> = found.cases.iter().map(|c| c.case.as_str()).collect();
    let expected: Vec<&str> = [ALL_RULES].into_iter().chain(Rule::ALL.map(Rule::name)).collect();
    assert_eq!(names, expected);
    let scene = found.cases[0].configuration.as_str();
    let figure = |case: &str, name: &str| found.figure(case, scene, name).unwrap();
    assert_eq!((figure(ALL_RULES, "verdicts_lost"), figure(ALL_RULES, "kills")), (0.0, 1.0), "the leak alone");
    let changed = Rule::ALL
        .into_iter()
        .filter(|rule| found.cases.iter().any(|c| c.case == rule.name() && c.figures != found.cases[0].figures));
    assert!(changed.count() > 0, "no rule changes anything: the switches are not heard");
}
