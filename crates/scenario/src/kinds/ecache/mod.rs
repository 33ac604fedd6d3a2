// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps opened by a workload's proportions and used, on a phone with memory reserved for devices (eCache12, section 5.2).

use rand::Rng;
use serde::Deserialize;

pub(crate) mod figures;

use super::workload::{draw, find};
use crate::script::{close, generator, in_range, open, sample, start, BadParameter, Script};
use crate::{catalog, Catalog, Error, Footprint, Step};

/// Parameters, explained in `profiles/scenarios/ecache.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecache {
    /// Names of workloads.
    pub cases: Vec<String>,
    /// Apps opened before anything is measured.
    pub warm_launches: u32,
    /// Apps opened.
    pub launches: u32,
    /// How often an app is closed and not merely left.
    pub close_percent: u32,
    /// Time spent with each app, unless the footprint says otherwise.
    pub use_ns: u64,
    /// Which files the apps use.
    pub footprint: String,
    /// Those of the cases in which hits are counted by kind of file, in a boot of their own.
    pub traced: Vec<String>,
    /// Further parameters of dm-ecache.
    pub module: String,
}

impl Default for Ecache {
    fn default() -> Self {
        Ecache {
            cases: ["L", "N", "H", "LM", "NM", "HM"].map(String::from).into(),
            warm_launches: 0,
            launches: 200,
            close_percent: 40,
            use_ns: 5_000_000_000,
            footprint: "android-2.3".into(),
            traced: vec!["N".into()],
            module: String::new(),
        }
    }
}

impl Ecache {
    pub(crate) fn check(&self) -> Result<(), BadParameter> {
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        in_range("warm_launches", self.warm_launches, 0, 1_000_000)?;
        in_range("launches", self.launches, 1, 1_000_000)?;
        in_range("close_percent", self.close_percent, 0, 100)?;
        in_range("use_ns", self.use_ns, 0, 3_600_000_000_000)
    }

    /// The footprint, or what is wrong with its name.
    pub(crate) fn footprint<'a>(&self, scenario: &str, catalog: &'a Catalog) -> Result<&'a Footprint, Error> {
        catalog.footprint(&self.footprint).ok_or_else(|| Error::Scenario {
            scenario: scenario.into(),
            what: format!("no footprint {:?}", self.footprint),
            mend: "name one of profiles/footprints, such as android-2.3".into(),
        })
    }

    /// One boot for each workload.
    pub(crate) fn scripts(
        &self,
        scenario: &str,
        seed: u64,
        services: &[String],
        catalog: &Catalog,
    ) -> Result<Vec<Script>, Error> {
        let footprint = self.footprint(scenario, catalog)?;
        // A traced workload need not be among the cases, but must not be a slip of the pen.
        self.traced.iter().try_for_each(|case| find(catalog, scenario, case).map(drop))?;
        self.cases
            .iter()
            .map(|case| {
                let workload = find(catalog, scenario, case)?;
                let steps = self.steps(seed, services, workload, footprint);
                Ok(Script { case: case.clone(), seed, steps, apps: Vec::new() })
            })
            .collect()
    }

    fn steps(&self, seed: u64, services: &[String], workload: &catalog::Workload, footprint: &Footprint) -> Vec<Step> {
        let mut rng = generator(seed, "ecache", 0);
        let mut steps: Vec<Step> = services.iter().map(|s| start(s)).collect();
        for launch in 0..self.warm_launches + self.launches {
            if launch == self.warm_launches {
                steps.push(sample("begin"));
            }
            let app = draw(workload, &mut rng);
            let ns = footprint.use_ns(app).unwrap_or(self.use_ns);
            steps.extend([open(app), Step::Use { app: app.into(), ns }]);
            steps.push(if rng.gen_range(0..100) < self.close_percent { close(app) } else { Step::Home {} });
        }
        steps.push(sample("end"));
        steps
    }
}
