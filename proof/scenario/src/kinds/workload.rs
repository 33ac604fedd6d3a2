// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A user's day: apps opened by a workload's proportions (eCache12, section 5.2).

use fovea_report::panel::{Form, Panel};
use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::managed::{MANAGED, PEERS_AND_KERNEL};
use super::{peers, About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{geomean, mean, p95, set, Folded, Launch};
use crate::figures::{by_case, compares, correctness, figure, id, kills_as_zram, papers, Figures};
use crate::scenario::Scenario;
use crate::script::{draw, find, generator, in_range, sample, start, BadParameter, Day, Script};
use crate::{catalog, Boot, Case, Catalog, Error, LaunchKind, Step, Verdict};

pub(super) const ABOUT: About = About {
    configurations: MANAGED,
    peers: PEERS_AND_KERNEL,
    scenarios: builtin!["scenarios/workload.toml"],
    lists: &["cases"],
    shorthands: &[("workload", "cases")],
    panels: &[
        Panel {
            scenario: "workload",
            title: "Opening an app, over a day",
            form: Form::Bars,
            figures: &[("launch_geomean_ns", "any app"), ("relaunch_geomean_ns", "one used before")],
        },
        Panel {
            scenario: "workload",
            title: "Apps killed, over a day",
            form: Form::Bars,
            figures: &[("kills", "killed")],
        },
        Panel {
            scenario: "workload",
            title: "Read from flash, over a day",
            form: Form::Bars,
            figures: &[("read_bytes", "read")],
        },
    ],
    ..About::NONE
};

/// Parameters, explained in `profiles/scenarios/workload.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// Names of workloads.
    pub cases: Vec<String>,
    /// Apps opened.
    pub launches: u32,
    /// How often an app is closed and not merely left.
    pub close_percent: u32,
    /// Time spent with each app.
    pub use_ns: u64,
    /// After so many opens the screen goes off; 0 for never.
    pub session_launches: u32,
    /// For so long.
    pub off_ns: u64,
    /// Limit of the daemon's work after the screen went off.
    pub settle_limit_ns: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            cases: vec!["N".into()],
            launches: 200,
            close_percent: 40,
            use_ns: 5_000_000_000,
            session_launches: 8,
            off_ns: 60_000_000_000,
            settle_limit_ns: 300_000_000_000,
        }
    }
}

impl Parameters for Workload {
    fn check(&self) -> Result<(), BadParameter> {
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        in_range("launches", self.launches, 1, 1_000_000)?;
        in_range("close_percent", self.close_percent, 0, 100)
    }

    /// One boot for each workload.
    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let script = |case: &String| {
            let steps = self.steps(scenario, find(catalog, &scenario.name, case)?);
            Ok(Script { case: case.clone(), seed: scenario.seed, steps, ..Script::default() })
        };
        self.cases.iter().map(script).collect()
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &self.cases, folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
        let papers = papers(boots);
        let mut verdicts = Vec::new();
        for case in &self.cases {
            let get = |configuration: &str, name: &str| figure(cases, case, configuration, name);
            for (configuration, name) in scenario.configurations.iter().map(|c| (c.name(), "launches")) {
                verdicts.push(verdict(
                    &id(&format!("launches-{configuration}"), case),
                    "every app that the user opens comes to the screen",
                    "this project",
                    get(configuration, name),
                    Bound::Equal(f64::from(self.launches)),
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
            verdicts.extend(peers::verdicts(scenario, cases, case));
            verdicts.extend(correctness(scenario, cases, case));
        }
        verdicts
    }
}

impl Workload {
    fn steps(&self, scenario: &Scenario, workload: &catalog::Workload) -> Vec<Step> {
        let day = Day {
            close_percent: self.close_percent,
            use_ns: self.use_ns,
            session_launches: self.session_launches,
            off_ns: self.off_ns,
            settle_limit_ns: self.settle_limit_ns,
        };
        let mut rng = generator(scenario.seed, "workload", 0);
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        steps.push(sample("begin"));
        for launch in 1..=self.launches {
            let app = draw(workload, &mut rng);
            day.use_app(launch, app, &mut rng, &mut steps);
        }
        steps.push(sample("end"));
        steps
    }
}

/// What a boot of apps that are opened and left shows. Launch times are averaged as eCache12 does, figure 6(b): geometrically.
pub(super) fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.end()?.kills));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("wrong_victims", &|f| Some(f.desktop.wrong_victims));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("read_bytes", &|f| Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes));
    put("kill_signal_ns", &|f| f.kill_signal_ns);
    put("psi_full_ns", &|f| f.psi_full_ns);
    put("cpu_busy_ns", &|f| f.cpu_busy_ns);
    let of = |f: &Folded, which: &dyn Fn(&Launch) -> bool| -> Vec<f64> {
        f.launches.iter().filter(|l| which(l)).map(|l| l.elapsed_ns).collect()
    };
    put("launch_geomean_ns", &|f| geomean(of(f, &|_| true).into_iter()));
    put("launch_longest_ns", &|f| of(f, &|_| true).into_iter().reduce(f64::max));
    put("relaunch_geomean_ns", &|f| geomean(of(f, &|l| l.again).into_iter()));
    put("relaunch_p95_ns", &|f| p95(of(f, &|l| l.again).into_iter()));
    put("resume_geomean_ns", &|f| geomean(of(f, &|l| l.kind == LaunchKind::Resume).into_iter()));
}
