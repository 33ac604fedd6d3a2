// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures and verdicts of the tests of LowMem13, section 4.2.

use super::fold::{mean, select, set, Folded};
use super::verdict::{ratio, verdict, Bound};
use super::{compares, correctness, figure, kills_as_zram, Figures};
use crate::{Case, LaunchKind, Scenario, Verdict};

/// The app that is started and restarted.
const FISH: &str = "fish-demo";

/// First and last time the fish demo came to the screen, if these are two.
fn fish(boot: &Folded) -> Option<(&super::fold::Launch, &super::fold::Launch)> {
    let mut launches = boot.launches.iter().filter(|l| l.app == FISH);
    Some((launches.next()?, launches.next_back()?))
}

/// All tests as one case: the names tell them apart.
pub(crate) fn cases(scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
    scenario.configurations.iter().map(|c| one(scenario, folded, c.name())).collect()
}

fn one(scenario: &Scenario, folded: &[Folded], configuration: &str) -> Case {
    let mut figures = Figures::new();
    let all: Vec<&Folded> = folded.iter().filter(|f| f.configuration == configuration).collect();
    set(&mut figures, "user_memory_bytes", mean(&all, |f| f.user_memory_bytes));
    if let Some(boots) = select(folded, "free-memory", configuration) {
        let free = |label: &str| mean(&boots, |f| Some(f.sample(label)?.free_bytes));
        set(&mut figures, "free_idle_initial_bytes", free("initial"));
        set(&mut figures, "free_after_idle_bytes", free("after-idle"));
    }
    for (case, status, start, restart) in [
        ("start-normal", "normal", "start_normal_ns", "restart_normal_ns"),
        ("start-lowmem", "lowmem", "start_lowmem_ns", "restart_ns"),
    ] {
        let Some(boots) = select(folded, case, configuration) else { continue };
        for (label, when) in [("initial", "initial"), ("before-start", "before_start"), ("after-start", "after_start")]
        {
            let free = mean(&boots, |f| Some(f.sample(label)?.free_bytes));
            set(&mut figures, &format!("free_{status}_{when}_bytes"), free);
        }
        set(&mut figures, start, mean(&boots, |f| Some(fish(f)?.0.elapsed_ns)));
        set(&mut figures, restart, mean(&boots, |f| Some(fish(f)?.1.elapsed_ns)));
        if status == "lowmem" {
            let killed = |f: &Folded| Some(if fish(f)?.1.kind == LaunchKind::Restart { 100.0 } else { 0.0 });
            set(&mut figures, "killed_before_restart_percent", mean(&boots, killed));
        }
    }
    // One round is one boot of each case: kills of a round are the sum over its boots.
    let selected: Option<Vec<_>> = scenario.lowmem.cases.iter().map(|c| select(folded, c, configuration)).collect();
    if let Some(by_case) = selected {
        let sum = |value: &dyn Fn(&Folded) -> Option<f64>| -> Option<f64> {
            by_case.iter().map(|boots| mean(boots, value)).sum()
        };
        set(&mut figures, "kills", sum(&|f| Some(f.end()?.kills)));
        set(&mut figures, "oom_kills", sum(&|f| Some(f.end()?.oom_kills)));
        set(&mut figures, "daemon_cpu_ns", sum(&|f| Some(f.end()?.daemon_cpu_ns)));
        set(&mut figures, "wrong_pages", sum(&|f| Some(f.wrong_pages)));
    }
    Case { case: String::new(), configuration: configuration.into(), figures }
}

pub(crate) fn verdicts(scenario: &Scenario, cases: &[Case], papers: bool) -> Vec<Verdict> {
    let get = |configuration: &str, name: &str| figure(cases, "", configuration, name);
    let has = |case: &str| scenario.lowmem.cases.iter().any(|c| c == case);
    let mut verdicts = Vec::new();
    if papers && has("free-memory") && compares(scenario, &["zram", "fovea"]) {
        let free = |c| get(c, "free_after_idle_bytes");
        let gained = free("fovea").zip(free("zram")).map(|(fovea, zram)| fovea - zram);
        verdicts.push(verdict(
            "free-after-idle",
            "idle compression frees a share of user memory over zram alone",
            "LowMem13, section 4.2: 129 MB of 835 MB, 0.1544",
            ratio(gained, get("fovea", "user_memory_bytes")),
            Bound::AtLeast(0.15),
        ));
    }
    if papers && has("start-lowmem") {
        start_verdicts(scenario, &get, &mut verdicts);
    }
    if !papers {
        verdicts.extend(kills_as_zram(scenario, cases, ""));
    }
    if compares(scenario, &["fovea"]) {
        verdicts.push(verdict(
            "oom-kills-fovea",
            "the kernel's OOM killer is never reached",
            "LowMem13, section 3.2, step 8",
            get("fovea", "oom_kills"),
            Bound::Equal(0.0),
        ));
    }
    verdicts.extend(correctness(scenario, cases, ""));
    verdicts
}

fn start_verdicts(scenario: &Scenario, get: &dyn Fn(&str, &str) -> Option<f64>, verdicts: &mut Vec<Verdict>) {
    for (other, seed) in [("stock", "2014 ms against 2315 ms"), ("zram", "2014 ms against 2730 ms")] {
        if compares(scenario, &[other, "fovea"]) {
            verdicts.push(verdict(
                &format!("start-lowmem-{other}"),
                // A layout of memory that differs by a few pages moves a start by 1 %.
                &format!("a start at low memory takes no longer than under {other}, within 2 %"),
                &format!("LowMem13, section 4.2: {seed}"),
                ratio(get("fovea", "start_lowmem_ns"), get(other, "start_lowmem_ns")),
                Bound::AtMost(1.02),
            ));
        }
    }
    if compares(scenario, &["stock", "fovea"]) {
        verdicts.push(verdict(
            "restart-stock",
            "a restart at low memory is several times faster than under stock",
            "LowMem13, section 4.2: 2061 ms against 306 ms, 6.7",
            ratio(get("stock", "restart_ns"), get("fovea", "restart_ns")),
            Bound::AtLeast(5.0),
        ));
    }
    if compares(scenario, &["zram", "fovea"]) {
        verdicts.push(verdict(
            "restart-zram",
            // 5 to 21 % in 20 boots: whether the daemon has to compress meanwhile is a matter of a megabyte (docs/lowmem.md).
            "a restart at low memory takes at most 30 % longer than under zram",
            "LowMem13, section 4.2: 306 ms against 298 ms, 1.03",
            ratio(get("fovea", "restart_ns"), get("zram", "restart_ns")),
            Bound::AtMost(1.3),
        ));
    }
    if compares(scenario, &["stock"]) {
        verdicts.push(verdict(
            "restart-valid",
            "stock killed the restarted app in every round (percent), else the restarts do not compare",
            "LowMem13, section 4.2: \"the test application will be killed by LMK\"",
            get("stock", "killed_before_restart_percent"),
            Bound::Equal(100.0),
        ));
    }
}
