// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A job in the background takes memory in bursts while apps are opened and come back to in front, and the same without the job.

use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::leak::EIGHT;
use super::managed::{best_other, fill_victims, nobody_wrong, FOVEA, KERNEL, KERNEL_ADJ, PEERS, ZRAM};
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{mean, set, Folded};
use crate::figures::{by_case, compares, correctness, figure, id, Figures};
use crate::scenario::Scenario;
use crate::script::{generator, in_range, open, sample, shuffle, start, BadParameter, Script};
use crate::{Boot, Case, Catalog, Error, Step, Verdict};

pub(super) const ABOUT: About = About {
    configurations: &[KERNEL, KERNEL_ADJ, ZRAM, FOVEA],
    peers: PEERS,
    scenarios: builtin!["scenarios/burst.toml"],
    lists: &["cases"],
    ..About::NONE
};

/// The cases, and the job of each; those of `profiles/scenarios/burst.toml`.
const CASES: [(&str, Option<&str>); 5] = [
    (UNLOADED, None),
    ("compile", Some("compiler")),
    ("processes", Some("spawner")),
    ("wide", Some("wide-build")),
    ("editor", Some("editor")),
];
const UNLOADED: &str = "unloaded";

/// So many of them are played unless the scenario says otherwise.
const USUAL: usize = 3;

/// What opening an app may take beside the job, of what it takes without.
const LOADED_SHARE: f64 = 1.1;

/// Parameters, explained in `profiles/scenarios/burst.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Burst {
    /// Of "unloaded", "compile", "processes", "wide", "editor".
    pub cases: Vec<String>,
    /// Apps that are opened.
    pub apps: Vec<String>,
    /// How often the user comes back to each.
    pub turns: u32,
    /// Time spent with each app.
    pub use_ns: u64,
}

impl Default for Burst {
    fn default() -> Self {
        Burst {
            cases: CASES[..USUAL].iter().map(|(name, _)| (*name).into()).collect(),
            apps: EIGHT.map(Into::into).into(),
            turns: 2,
            use_ns: 2_000_000_000,
        }
    }
}

impl Parameters for Burst {
    fn check(&self) -> Result<(), BadParameter> {
        if let Some(case) = self.cases.iter().find(|case| CASES.iter().all(|(name, _)| name != case)) {
            return Err(("cases", format!("{case:?} is none of {}", CASES.map(|(name, _)| name).join(", "))));
        }
        if self.cases.is_empty() || self.apps.is_empty() {
            return Err((if self.apps.is_empty() { "apps" } else { "cases" }, "there are none".into()));
        }
        in_range("turns", self.turns, 1, 1000)?;
        in_range("use_ns", self.use_ns, 0, 3_600_000_000_000)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let script = |(case, job): (&str, Option<&str>)| {
            let mut rng = generator(scenario.seed, "burst", 0);
            let mut apps: Vec<&str> = self.apps.iter().map(String::as_str).collect();
            let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
            steps.push(sample("begin"));
            steps.extend(job.map(start));
            for _ in 0..=self.turns {
                shuffle(&mut apps, &mut rng);
                steps.extend(apps.iter().flat_map(|app| [open(app), Step::Wait { ns: self.use_ns }]));
            }
            steps.push(sample("end"));
            Script { case: case.into(), seed: scenario.seed, steps, ..Script::default() }
        };
        let wanted = CASES.into_iter().filter(|(name, _)| self.cases.iter().any(|case| case == name));
        Ok(wanted.map(script).collect())
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &self.cases, folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for case in &self.cases {
            verdicts.extend(correctness(scenario, cases, case));
            if !compares(scenario, &["fovea"]) {
                continue;
            }
            verdicts.extend(nobody_wrong(cases, case));
            let ours = |case: &str, name: &str| figure(cases, case, "fovea", name);
            let mut push = |name: &str, claim: &str, figure: Option<f64>, bound: Bound| {
                verdicts.push(verdict(&id(name, case), claim, "this project", figure, bound));
            };
            if case != UNLOADED {
                push("job-kills", "the job goes on: it is not ended", ours(case, "job_kills"), Bound::Equal(0.0));
            }
            if case != UNLOADED && self.cases.iter().any(|case| case == UNLOADED) {
                push(
                    "launch-unloaded",
                    "opening an app takes at most 10 % longer than without the job (ratio)",
                    ratio(ours(case, "launch_geomean_ns"), ours(UNLOADED, "launch_geomean_ns")),
                    Bound::AtMost(LOADED_SHARE),
                );
            }
            if scenario.configurations.len() > 1 {
                push(
                    "launch-best",
                    "under none of the others are apps opened faster (ratio to the best)",
                    ratio(ours(case, "launch_geomean_ns"), best_other(scenario, cases, case, "launch_geomean_ns")),
                    Bound::AtMost(1.0),
                );
            }
        }
        verdicts
    }
}

/// Who died that must not, and how often the job did: what many short-lived processes take and give back is no leak.
fn fill(figures: &mut Figures, boots: &[&Folded]) {
    fill_victims(figures, boots);
    let is_job = |app: &str| CASES.iter().any(|&(_, job)| job == Some(app));
    let job_kills = |f: &Folded| f.desktop.killed.iter().filter(|(app, _)| is_job(app)).count();
    set(figures, "job_kills", mean(boots, |f| Some(job_kills(f) as f64)));
}
