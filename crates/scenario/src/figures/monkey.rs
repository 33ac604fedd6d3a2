// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Figures and verdicts of the stability test (LowMem13, section 4.1).

use super::fold::{mean, select, set, Folded};
use super::verdict::{verdict, Bound};
use super::{compares, correctness, figure, Figures};
use crate::{Case, Scenario, Verdict};

/// Most memory the daemon may hold.
const RESIDENT_MAX_BYTES: f64 = 8.0 * 1024.0 * 1024.0;

pub(crate) fn cases(scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
    scenario
        .configurations
        .iter()
        .map(|c| {
            let mut figures = Figures::new();
            if let Some(boots) = select(folded, "", c.name()) {
                let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| {
                    set(&mut figures, name, mean(&boots, value));
                };
                put("events", &|f| Some(f.steps));
                put("launches", &|f| Some(f.launches.len() as f64));
                put("kills", &|f| Some(f.end()?.kills));
                put("oom_kills", &|f| Some(f.end()?.oom_kills));
                put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
                put("wrong_pages", &|f| Some(f.wrong_pages));
                put("stray_frozen", &|f| f.stray_frozen);
                put("resident_bytes", &|f| f.resident_bytes);
                put("idle_wakeups", &|f| f.idle_wakeups);
                put("left_after_kill", &|f| f.left_after_kill);
                put("zram_kept_after_kill", &|f| f.zram_kept);
            }
            Case { case: String::new(), configuration: c.name().into(), figures }
        })
        .collect()
}

pub(crate) fn verdicts(scenario: &Scenario, cases: &[Case]) -> Vec<Verdict> {
    let mut verdicts = correctness(scenario, cases, "");
    for configuration in scenario.configurations.iter().map(|c| c.name()) {
        verdicts.push(verdict(
            &format!("events-{configuration}"),
            "all events are survived",
            "LowMem13, section 4.1: passes 1000 to 10000 events",
            figure(cases, "", configuration, "events"),
            Bound::AtLeast(f64::from(scenario.monkey.events)),
        ));
    }
    if !compares(scenario, &["fovea"]) {
        return verdicts;
    }
    let mut bounded = |id: &str, claim: &str, name: &str, bound: Bound| {
        verdicts.push(verdict(id, claim, "this project", figure(cases, "", "fovea", name), bound));
    };
    bounded("oom-kills-fovea", "the kernel's OOM killer is never reached", "oom_kills", Bound::Equal(0.0));
    bounded("stray-frozen", "nothing is frozen that the daemon does not know of", "stray_frozen", Bound::Equal(0.0));
    bounded("resident", "the daemon holds at most 8 MiB", "resident_bytes", Bound::AtMost(RESIDENT_MAX_BYTES));
    bounded(
        "idle-wakeups",
        "the daemon never wakes while the screen is off and nothing happens",
        "idle_wakeups",
        Bound::Equal(0.0),
    );
    if scenario.monkey.kills > 0 {
        bounded(
            "left-after-kill",
            "however often the daemon is killed, nothing stays frozen, limited or set",
            "left_after_kill",
            Bound::Equal(0.0),
        );
    }
    verdicts
}
