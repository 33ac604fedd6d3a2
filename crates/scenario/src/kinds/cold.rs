// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a launch loses when none of its files is in the page cache (eCache12, section 3.1, figure 3): why files are worth an eCache.

use std::collections::BTreeMap;

use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::ecache::NORMAL;
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{set, Folded, Launch};
use crate::figures::{correctness, figure};
use crate::scenario::Scenario;
use crate::script::{find, in_range, open, start, BadParameter, Script};
use crate::{AppProfile, Boot, Case, Catalog, Error, Footprint, LaunchKind, PhoneProfile, Step, Verdict};

pub(super) const ABOUT: About =
    About { configurations: &[NORMAL], scenarios: builtin!["scenarios/cold.toml"], ..About::NONE };

/// How each app is opened in a round: first, and then alive and dead with its files in the page cache, and alive and dead without.
const ROUND: [Option<(LaunchKind, &str)>; 5] = [
    None,
    Some((LaunchKind::Resume, "alive_ns")),
    Some((LaunchKind::Restart, "dead_ns")),
    Some((LaunchKind::Resume, "alive_cold_ns")),
    Some((LaunchKind::Restart, "dead_cold_ns")),
];

/// Parameters, explained in `profiles/scenarios/cold.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cold {
    /// Whose apps are opened.
    pub workload: String,
    /// How often each is.
    pub rounds: u32,
    /// Which files they use.
    pub footprint: String,
}

impl Default for Cold {
    fn default() -> Self {
        Cold { workload: "N".into(), rounds: 2, footprint: "android-2.3".into() }
    }
}

impl Parameters for Cold {
    fn check(&self) -> Result<(), BadParameter> {
        in_range("rounds", self.rounds, 1, 10_000)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        self.footprint(scenario, catalog)?;
        let apps = &find(catalog, &scenario.name, &self.workload)?.percent;
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        for _ in 0..self.rounds {
            for app in apps.keys() {
                let opened = [open(app), Step::Home {}];
                let crash = Step::Crash { app: app.clone() };
                steps.extend(opened.clone().into_iter().chain(opened.clone()));
                steps.extend([crash.clone()].into_iter().chain(opened.clone()));
                steps.extend([Step::DropCaches {}].into_iter().chain(opened.clone()));
                steps.extend([crash.clone(), Step::DropCaches {}].into_iter().chain(opened));
                // Nobody else is alive when the next one's turn comes, so that memory is never short.
                steps.push(crash);
            }
        }
        Ok(vec![Script { seed: scenario.seed, steps, ..Script::default() }])
    }

    /// With the footprint's files in place of its own.
    fn app(
        &self,
        app: &AppProfile,
        scenario: &Scenario,
        devices: Option<&PhoneProfile>,
        catalog: &Catalog,
    ) -> Result<AppProfile, Error> {
        let laid = self.footprint(scenario, catalog)?.lay_over(app, devices);
        laid.map_err(|what| scenario.wrong(what, "correct profiles/footprints or the scenario"))
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        let mut cases = Vec::new();
        for configuration in scenario.configurations.iter().map(|c| c.name()) {
            let boots: Vec<&Folded> =
                folded.iter().filter(|f| f.configuration == configuration && f.complete()).collect();
            let mut times: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
            let (mut rounds, mut as_meant) = (0.0, 0.0);
            for boot in &boots {
                for (app, round) in rounds_of(&boot.launches) {
                    rounds += 1.0;
                    if is_as_meant(&round) {
                        as_meant += 1.0;
                        let of = times.entry(app).or_default();
                        for (launch, (_, name)) in round.iter().zip(ROUND).filter_map(|(l, r)| Some((l, r?))) {
                            of.entry(name).or_default().push(launch.elapsed_ns);
                        }
                    }
                }
            }
            let sum = |of: fn(&Folded) -> f64| (!boots.is_empty()).then(|| boots.iter().map(|f| of(f)).sum::<f64>());
            let mut all = Case { case: String::new(), configuration: configuration.into(), figures: BTreeMap::new() };
            set(&mut all.figures, "launches", sum(|f| f.launches.len() as f64));
            set(&mut all.figures, "wrong_pages", sum(|f| f.wrong_pages));
            set(&mut all.figures, "kills", sum(|f| f.end().map_or(0.0, |end| end.kills)));
            set(&mut all.figures, "rounds_as_meant_percent", ratio(Some(as_meant * 100.0), Some(rounds)));
            let apps = times.into_iter().map(|(app, times)| {
                let mut figures: BTreeMap<String, f64> = times
                    .into_iter()
                    .map(|(name, all)| (name.to_owned(), all.iter().sum::<f64>() / all.len() as f64))
                    .collect();
                for state in ["alive", "dead"] {
                    let of = |name: String| figures.get(&name).copied();
                    let slower = ratio(of(format!("{state}_cold_ns")), of(format!("{state}_ns")));
                    set(&mut figures, &format!("{state}_slower_percent"), slower.map(|r| (r - 1.0) * 100.0));
                }
                Case { case: app.into(), configuration: configuration.into(), figures }
            });
            cases.extend([all].into_iter().chain(apps));
        }
        cases
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = correctness(scenario, cases, "");
        verdicts.push(verdict(
            "rounds-as-meant",
            "rounds in which nobody else ended an app, percent",
            "this project",
            figure(cases, "", NORMAL.name(), "rounds_as_meant_percent"),
            Bound::Equal(100.0),
        ));
        if boots.iter().all(|b| b.plan.exact) {
            let source = "eCache12, section 3.1 and figure 3";
            let least = |name: &str| cases.iter().filter_map(|c| c.figures.get(name).copied()).reduce(f64::min);
            verdicts.push(verdict(
                "dead-slower",
                "without its files in the page cache an app that is dead launches so much slower, percent, least of the apps (paper: 19 to 270)",
                source,
                least("dead_slower_percent"),
                Bound::AtLeast(19.0),
            ));
            verdicts.push(verdict(
                "alive-slower",
                "the same of an app that is alive: it \"still benefits\"",
                source,
                least("alive_slower_percent"),
                Bound::Above(0.0),
            ));
        }
        verdicts
    }
}

impl Cold {
    fn footprint<'a>(&self, scenario: &Scenario, catalog: &'a Catalog) -> Result<&'a Footprint, Error> {
        let found = catalog.footprint(&self.footprint);
        found.ok_or_else(|| {
            scenario.wrong(
                format!("no footprint {:?}", self.footprint),
                "name one of profiles/footprints, such as android-2.3",
            )
        })
    }
}

/// Launches in a row of one app, as many as a round has.
fn rounds_of(launches: &[Launch]) -> Vec<(&str, Vec<&Launch>)> {
    let mut by_app: BTreeMap<&str, Vec<&Launch>> = BTreeMap::new();
    for launch in launches {
        by_app.entry(&launch.app).or_default().push(launch);
    }
    let mut rounds = Vec::new();
    for (app, all) in by_app {
        rounds.extend(all.chunks(ROUND.len()).map(|round| (app, round.to_vec())));
    }
    rounds
}

/// Whether each launch is of the kind that the plan wants: who is killed on the way starts where it should come back.
fn is_as_meant(round: &[&Launch]) -> bool {
    let fits = |(launch, meant): (&&Launch, &Option<(LaunchKind, &str)>)| meant.is_none_or(|(k, _)| launch.kind == k);
    round.len() == ROUND.len() && round.iter().zip(&ROUND).all(fits)
}
