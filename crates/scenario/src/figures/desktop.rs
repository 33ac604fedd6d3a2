// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures and verdicts of a desktop on which something takes all memory: who is killed for it, and how long the user waits.

use super::fold::{geomean, mean, select, set, Folded};
use super::verdict::{verdict, Bound};
use super::{compares, correctness, figure, id, Boot, Figures};
use crate::{Case, Scenario, Step, Verdict};

/// How much further behind the best may be than the best, where Fovea need not be first.
const BEHIND_BEST: f64 = 1.1;
/// In what it must not be behind.
const COMPARED: [&str; 4] = ["launch_geomean_ns", "relaunch_geomean_ns", "relaunch_p95_ns", "step_p95_ns"];

pub(crate) fn cases(scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in &scenario.desktop.cases {
        for configuration in scenario.configurations.iter().map(|c| c.name()) {
            let mut figures = Figures::new();
            if let Some(boots) = select(folded, case, configuration) {
                fill(&mut figures, &boots);
            }
            cases.push(Case { case: case.clone(), configuration: configuration.into(), figures });
        }
    }
    cases
}

/// A killed app or build counts as one kill, however many processes it had.
fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.desktop.killed.len() as f64));
    put("wrong_kills", &|f| Some(f.desktop.killed.iter().filter(|(_, culprit)| !culprit).count() as f64));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("kept_apps", &|f| Some(f.desktop.kept() as f64));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("read_bytes", &|f| Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes));
    put("psi_full_ns", &|f| Some(f.desktop.interactions.iter().map(|i| i.1).sum()));
    put("longest_stall_ns", &|f| f.desktop.interactions.iter().map(|i| i.1).reduce(f64::max));
    put("longest_step_ns", &|f| f.desktop.interactions.iter().map(|i| i.0).reduce(f64::max));
    put("step_p95_ns", &|f| p95(f.desktop.interactions.iter().map(|i| i.0)));
    put("launch_geomean_ns", &|f| geomean(f.launches.iter().map(|l| l.elapsed_ns)));
    put("relaunch_geomean_ns", &|f| geomean(f.launches.iter().filter(|l| l.again).map(|l| l.elapsed_ns)));
    put("relaunch_p95_ns", &|f| p95(f.launches.iter().filter(|l| l.again).map(|l| l.elapsed_ns)));
}

/// The least value that 95 % of all do not exceed.
fn p95(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * 95).div_ceil(100);
    values.get(rank.checked_sub(1)?).copied()
}

pub(crate) fn verdicts(scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for case in &scenario.desktop.cases {
        verdicts.extend(correctness(scenario, cases, case));
        if !compares(scenario, &["fovea"]) {
            continue;
        }
        let ours = |name: &str| figure(cases, case, "fovea", name);
        // Of the others, if all were measured: the best of some would be no best.
        let others: Vec<&str> = scenario.configurations.iter().map(|c| c.name()).filter(|&n| n != "fovea").collect();
        let best = |name: &str| {
            let figures: Option<Vec<f64>> = others.iter().map(|other| figure(cases, case, other, name)).collect();
            figures?.into_iter().reduce(f64::min)
        };
        let mut push = |name: &str, claim: &str, figure: Option<f64>, bound: Bound| {
            verdicts.push(verdict(&id(name, case), claim, "this project", figure, bound));
        };
        push("oom-kills-fovea", "the kernel's OOM killer is never reached", ours("oom_kills"), Bound::Equal(0.0));
        let opens = boots
            .iter()
            .find(|b| b.plan.case == *case)
            .map(|b| b.plan.steps.iter().filter(|s| matches!(s, Step::Open { .. })).count() as f64);
        push(
            "launches-fovea",
            "every app that the user opens comes to the screen",
            ours("launches"),
            Bound::AtLeast(opens.unwrap_or(f64::INFINITY)),
        );
        if others.is_empty() {
            continue;
        }
        let less = |name: &str| ours(name).zip(best(name)).map(|(ours, best)| ours - best);
        push(
            "wrong-kills",
            "no configuration kills fewer that did no wrong (kills less the best's)",
            less("wrong_kills"),
            Bound::AtMost(0.0),
        );
        push(
            "stalls",
            "in no configuration does the app in front wait less for memory in all (ns, less the best's)",
            less("psi_full_ns"),
            Bound::AtMost(0.0),
        );
        push(
            "longest-stall",
            "in none is its longest wait shorter (ns, less the best's)",
            less("longest_stall_ns"),
            Bound::AtMost(0.0),
        );
        push(
            "longest-step",
            "in none is its slowest answer faster (ns, less the best's)",
            less("longest_step_ns"),
            Bound::AtMost(0.0),
        );
        for name in COMPARED {
            push(
                &format!("behind-{}", name.trim_end_matches("_ns").replace('_', "-")),
                &format!("{name} at most 10 % behind the best (ratio)"),
                super::verdict::ratio(ours(name), best(name)),
                Bound::AtMost(BEHIND_BEST),
            );
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p95_is_a_value_that_was_measured() {
        assert_eq!(p95(std::iter::empty()), None);
        assert_eq!(p95([3.0].into_iter()), Some(3.0));
        assert_eq!(p95((1..=20).map(f64::from)), Some(19.0));
        assert_eq!(p95((1..=100).rev().map(f64::from)), Some(95.0));
    }
}
