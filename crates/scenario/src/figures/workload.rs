// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures and verdicts of a user's day, and the figures of a scenario of listed steps.

use super::fold::{geomean, mean, select, set, Folded};
use super::verdict::{ratio, verdict, Bound};
use super::{compares, correctness, figure, id, kills_as_zram, Figures};
use crate::{Case, Kind, Scenario, Verdict};

fn names(scenario: &Scenario) -> Vec<&str> {
    match scenario.kind {
        Kind::Workload => scenario.workload.cases.iter().map(String::as_str).collect(),
        _ => vec![""],
    }
}

pub(crate) fn cases(scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in names(scenario) {
        for configuration in scenario.configurations.iter().map(|c| c.name()) {
            let mut figures = Figures::new();
            if let Some(boots) = select(folded, case, configuration) {
                fill(&mut figures, &boots);
            }
            cases.push(Case { case: case.into(), configuration: configuration.into(), figures });
        }
    }
    cases
}

/// Launch times are averaged as eCache12 does, figure 6(b): geometrically.
fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.end()?.kills));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("read_bytes", &|f| Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes));
    put("kill_signal_ns", &|f| f.kill_signal_ns);
    put("launch_geomean_ns", &|f| geomean(f.launches.iter().map(|l| l.elapsed_ns)));
    put("relaunch_geomean_ns", &|f| geomean(f.launches.iter().filter(|l| l.again).map(|l| l.elapsed_ns)));
}

pub(crate) fn verdicts(scenario: &Scenario, cases: &[Case], papers: bool) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for case in names(scenario) {
        let get = |configuration: &str, name: &str| figure(cases, case, configuration, name);
        for (configuration, name) in scenario.configurations.iter().map(|c| (c.name(), "launches")) {
            verdicts.push(verdict(
                &id(&format!("launches-{configuration}"), case),
                "every app that the user opens comes to the screen",
                "this project",
                get(configuration, name),
                Bound::Equal(f64::from(scenario.workload.launches)),
            ));
        }
        if papers && compares(scenario, &["stock", "fovea"]) {
            let excess = get("fovea", "kills").zip(get("stock", "kills")).map(|(f, s)| f - s / 2.0);
            verdicts.push(verdict(
                &id("kills", case),
                "at most half as many kills as stock (kills less half of stock's)",
                "LowMem13, section 4.4 and figure 4-13: fewer calls of the low memory killer",
                excess,
                Bound::AtMost(0.0),
            ));
        }
        for other in ["stock", "zram"] {
            if papers && compares(scenario, &[other, "fovea"]) {
                verdicts.push(verdict(
                    &id(&format!("relaunch-{other}"), case),
                    &format!("an app used before comes back faster than under {other}"),
                    "LowMem13, section 3.2: a closed app \"can restart more quickly\"",
                    ratio(get("fovea", "relaunch_geomean_ns"), get(other, "relaunch_geomean_ns")),
                    Bound::Below(1.0),
                ));
            }
        }
        if !papers {
            verdicts.extend(kills_as_zram(scenario, cases, case));
        }
        if compares(scenario, &["fovea"]) {
            verdicts.push(verdict(
                &id("oom-kills-fovea", case),
                "the kernel's OOM killer is never reached",
                "LowMem13, section 3.2, step 8",
                get("fovea", "oom_kills"),
                Bound::Equal(0.0),
            ));
        }
        let slowest = |c: &str| get(c, "kill_signal_ns");
        if let Some(ns) = scenario.configurations.iter().filter_map(|c| slowest(c.name())).reduce(f64::max) {
            verdicts.push(verdict(
                &id("kill-signal", case),
                "from a pressure event to the kill signal it takes less than 10 ms, at most (ns)",
                "this project",
                Some(ns),
                Bound::Below(10e6),
            ));
        }
        verdicts.extend(correctness(scenario, cases, case));
    }
    verdicts
}
