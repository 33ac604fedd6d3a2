// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A user's day: apps opened by a workload's proportions (eCache12, section 5.2).

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use crate::script::{close, generator, in_range, open, sample, start, BadParameter, Script};
use crate::{catalog, Catalog, Error, Step};

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

/// Draws an app by the proportions; tables sum to about 100, so they are taken as weights.
pub(crate) fn draw<'a>(workload: &'a catalog::Workload, rng: &mut ChaCha8Rng) -> &'a str {
    let total: f64 = workload.percent.values().sum();
    let mut left = rng.gen_range(0.0..1.0) * total;
    let mut last = "";
    for (app, &percent) in workload.percent.iter().filter(|(_, &p)| p > 0.0) {
        last = app;
        if left < percent {
            break;
        }
        left -= percent;
    }
    last
}

/// The workload of that name, or what is wrong with the name.
pub(crate) fn find<'a>(catalog: &'a Catalog, scenario: &str, name: &str) -> Result<&'a catalog::Workload, Error> {
    catalog.workload(name).ok_or_else(|| Error::Scenario {
        scenario: scenario.into(),
        what: format!("no workload {name:?}"),
        mend: format!("use one of {}", catalog.workloads().map(|w| w.name.as_str()).collect::<Vec<_>>().join(", ")),
    })
}

impl Workload {
    pub(crate) fn check(&self) -> Result<(), BadParameter> {
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        in_range("launches", self.launches, 1, 1_000_000)?;
        in_range("close_percent", self.close_percent, 0, 100)
    }

    /// One boot for each workload.
    pub(crate) fn scripts(
        &self,
        scenario: &str,
        seed: u64,
        services: &[String],
        catalog: &Catalog,
    ) -> Result<Vec<Script>, Error> {
        self.cases
            .iter()
            .map(|case| {
                let workload = find(catalog, scenario, case)?;
                Ok(Script { case: case.clone(), seed, steps: self.steps(seed, services, workload), apps: Vec::new() })
            })
            .collect()
    }

    fn steps(&self, seed: u64, services: &[String], workload: &catalog::Workload) -> Vec<Step> {
        let mut rng = generator(seed, "workload", 0);
        let mut steps: Vec<Step> = services.iter().map(|s| start(s)).collect();
        steps.push(sample("begin"));
        for launch in 1..=self.launches {
            let app = draw(workload, &mut rng);
            steps.extend([open(app), Step::Wait { ns: self.use_ns }]);
            steps.push(if rng.gen_range(0..100) < self.close_percent { close(app) } else { Step::Home {} });
            if self.session_launches > 0 && launch % self.session_launches == 0 {
                steps.extend([
                    Step::Home {},
                    Step::Screen { on: false },
                    Step::Wait { ns: self.off_ns },
                    Step::Settle { limit_ns: self.settle_limit_ns },
                    Step::Screen { on: true },
                ]);
            }
        }
        steps.push(sample("end"));
        steps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn long_draws_have_the_tables_proportions() {
        let catalog = Catalog::builtin().unwrap();
        for workload in catalog.workloads() {
            let total: f64 = workload.percent.values().sum();
            let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
            let mut rng = generator(7, "test", 0);
            for _ in 0..100_000 {
                *counts.entry(draw(workload, &mut rng)).or_default() += 100.0 / 100_000.0;
            }
            for (app, percent) in &workload.percent {
                let (found, asked) = (counts.get(app.as_str()).copied().unwrap_or(0.0), percent / total * 100.0);
                assert!((found - asked).abs() < 0.6, "{} {app}: {found} for {asked}", workload.name);
            }
        }
    }
}
