// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps whose pages do not compress, as media and encrypted data do not: swap in memory gives nothing back for them.

use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::leak::EIGHT;
use super::managed::{best_other, fill_victims, nobody_wrong, FOVEA, KERNEL, KERNEL_ADJ, PEERS, STOCK, ZRAM};
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::Folded;
use crate::figures::{by_case, compares, correctness, figure, kills_as_zram};
use crate::scenario::Scenario;
use crate::script::{generator, in_range, open, sample, shuffle, start, BadParameter, Script};
use crate::{AppProfile, Boot, Case, Catalog, Error, Mix, PhoneProfile, Step, Verdict};

pub(super) const ABOUT: About = About {
    configurations: &[KERNEL, KERNEL_ADJ, STOCK, ZRAM, FOVEA],
    peers: PEERS,
    scenarios: builtin!["scenarios/incompressible.toml"],
    lists: &["apps"],
    ..About::NONE
};

/// Parameters, explained in `profiles/scenarios/incompressible.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Incompressible {
    /// Apps that are opened, none of whose pages compresses.
    pub apps: Vec<String>,
    /// How often the user comes back to each.
    pub turns: u32,
    /// Time spent with each app.
    pub use_ns: u64,
}

impl Default for Incompressible {
    fn default() -> Self {
        Incompressible { apps: EIGHT.map(Into::into).into(), turns: 2, use_ns: 2_000_000_000 }
    }
}

impl Parameters for Incompressible {
    fn check(&self) -> Result<(), BadParameter> {
        if self.apps.is_empty() {
            return Err(("apps", "there are none".into()));
        }
        in_range("turns", self.turns, 1, 1000)?;
        in_range("use_ns", self.use_ns, 0, 3_600_000_000_000)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let mut rng = generator(scenario.seed, "incompressible", 0);
        let mut apps: Vec<&str> = self.apps.iter().map(String::as_str).collect();
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        steps.push(sample("begin"));
        for _ in 0..=self.turns {
            shuffle(&mut apps, &mut rng);
            steps.extend(apps.iter().flat_map(|app| [open(app), Step::Wait { ns: self.use_ns }]));
        }
        steps.push(sample("end"));
        Ok(vec![Script { seed: scenario.seed, steps, ..Script::default() }])
    }

    fn app(
        &self,
        app: &AppProfile,
        _scenario: &Scenario,
        _devices: Option<&PhoneProfile>,
        _catalog: &Catalog,
    ) -> Result<AppProfile, Error> {
        let mut app = app.clone();
        if self.apps.contains(&app.name) {
            app.mix =
                Mix { zero_percent: 0, duplicate_percent: 0, compressible_percent: 0, random_percent: 100, ..app.mix };
        }
        Ok(app)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &[String::new()], folded, fill_victims)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = correctness(scenario, cases, "");
        if !compares(scenario, &["fovea"]) {
            return verdicts;
        }
        verdicts.extend(kills_as_zram(scenario, cases, ""));
        verdicts.extend(nobody_wrong(cases, ""));
        let ours = |name: &str| figure(cases, "", "fovea", name);
        let mut push = |id: &str, claim: &str, figure: Option<f64>, bound: Bound| {
            verdicts.push(verdict(id, claim, "this project", figure, bound));
        };
        if scenario.configurations.len() > 1 {
            push(
                "stall-best",
                "under none of the others does everybody wait less for memory (PSI full, ns, less the least)",
                ours("psi_full_ns").zip(best_other(scenario, cases, "", "psi_full_ns")).map(|(ours, best)| ours - best),
                Bound::AtMost(0.0),
            );
            push(
                "relaunch-best",
                "under none of the others do apps come back faster (ratio to the best)",
                ratio(ours("relaunch_geomean_ns"), best_other(scenario, cases, "", "relaunch_geomean_ns")),
                Bound::AtMost(1.0),
            );
        }
        verdicts
    }
}
