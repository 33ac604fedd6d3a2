// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The steps that a scenario's file lists.

use serde::Deserialize;

use super::managed::MANAGED;
use super::{workload, About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::Folded;
use crate::figures::{by_case, correctness};
use crate::scenario::Scenario;
use crate::script::{start, BadParameter, Script};
use crate::{Boot, Case, Catalog, Error, Step, Verdict};

pub(super) const ABOUT: About = About {
    configurations: MANAGED,
    scenarios: builtin![
        "scenarios/crash.toml",
        "scenarios/no-memory-controller.toml",
        "scenarios/no-pidfd.toml",
        "scenarios/no-psi.toml",
        "scenarios/no-zram.toml",
    ],
    lists: &["steps"],
    ..About::NONE
};

/// The steps, after the services' starts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Steps(pub Vec<Step>);

impl Parameters for Steps {
    fn check(&self) -> Result<(), BadParameter> {
        match self.0.is_empty() {
            true => Err(("steps", "there are none".into())),
            false => Ok(()),
        }
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let services = scenario.services.iter().map(|s| start(s));
        let steps = services.chain(self.0.iter().cloned()).collect();
        Ok(vec![Script { seed: scenario.seed, steps, ..Script::default() }])
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &[String::new()], folded, workload::fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        correctness(scenario, cases, "")
    }
}
