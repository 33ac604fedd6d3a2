// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Two large apps, back and forth: both fit only if the one that was left is compressed.

use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::leak::fill;
use super::managed::{best_other, FOVEA, KERNEL, KERNEL_ADJ, PEERS, STOCK, ZRAM};
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::Folded;
use crate::figures::{by_case, compares, correctness, figure};
use crate::scenario::Scenario;
use crate::script::{in_range, open, sample, start, BadParameter, Script};
use crate::{Boot, Case, Catalog, Error, Step, Verdict};

pub(super) const ABOUT: About = About {
    configurations: &[KERNEL, KERNEL_ADJ, STOCK, ZRAM, FOVEA],
    peers: PEERS,
    scenarios: builtin!["scenarios/pair.toml"],
    ..About::NONE
};

/// What coming back may take, of the best peer's.
const RELAUNCH_SHARE: f64 = 0.6;

/// The apps; those of `profiles/scenarios/pair.toml`.
const APPS: [&str; 2] = ["atlas", "studio"];

/// Parameters, explained in `profiles/scenarios/pair.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pair {
    /// How often the user goes from one to the other.
    pub switches: u32,
    /// Time spent with each.
    pub use_ns: u64,
}

impl Default for Pair {
    fn default() -> Self {
        Pair { switches: 12, use_ns: 5_000_000_000 }
    }
}

impl Parameters for Pair {
    fn check(&self) -> Result<(), BadParameter> {
        in_range("switches", self.switches, 1, 100_000)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        steps.push(sample("begin"));
        let apps = APPS.iter().cycle().take(self.switches as usize + 1);
        steps.extend(apps.flat_map(|app| [open(app), Step::Wait { ns: self.use_ns }]));
        steps.push(sample("end"));
        Ok(vec![Script { seed: scenario.seed, steps, ..Script::default() }])
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &[String::new()], folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = correctness(scenario, cases, "");
        if !compares(scenario, &["fovea"]) {
            return verdicts;
        }
        let of = |configuration: &str, name: &str| figure(cases, "", configuration, name);
        let mut push = |id: &str, claim: &str, figure: Option<f64>, bound: Bound| {
            verdicts.push(verdict(id, claim, "this project", figure, bound));
        };
        push("kills-fovea", "nobody dies (killed)", of("fovea", "kills"), Bound::Equal(0.0));
        if scenario.configurations.len() > 1 {
            let best = best_other(scenario, cases, "", "relaunch_geomean_ns");
            push(
                "relaunch-best",
                "coming back takes at most 60 % of what it takes under the best of the others (ratio)",
                ratio(of("fovea", "relaunch_geomean_ns"), best),
                Bound::AtMost(RELAUNCH_SHARE),
            );
        }
        verdicts
    }
}
