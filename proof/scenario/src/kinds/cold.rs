// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a launch loses when none of its files is in the page cache (eCache12, section 3.1, figure 3): why files are worth an eCache.

use std::collections::BTreeMap;

use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::ecache::NORMAL;
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{average, mean, select, set, Folded, Launch};
use crate::figures::{by_case, correctness, figure, Figures};
use crate::scenario::Scenario;
use crate::script::{find, in_range, open, start, BadParameter, Script};
use crate::{AppProfile, Boot, Case, Catalog, Error, LaunchKind, PhoneProfile, Step, Verdict};

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
        scenario.footprint(&self.footprint, catalog)?;
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
        scenario.with_files(&self.footprint, app, devices, catalog)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        let mut cases = by_case(scenario, &[String::new()], folded, common);
        for configuration in &scenario.configurations {
            let boots = select(folded, "", configuration.name()).unwrap_or_default();
            cases.extend(apps(configuration.name(), &boots));
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

/// What all apps have in common.
fn common(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("launches", &|f| Some(f.launches.len() as f64));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("kills", &|f| Some(f.end()?.kills));
    put("rounds_as_meant_percent", &|f| {
        let rounds = rounds_of(&f.launches);
        let as_meant = rounds.iter().filter(|(_, round)| is_as_meant(round)).count();
        ratio(Some(as_meant as f64 * 100.0), Some(rounds.len() as f64))
    });
}

/// A case for each app, of the rounds that went as meant.
fn apps(configuration: &str, boots: &[&Folded]) -> Vec<Case> {
    let mut times: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    let rounds = boots.iter().flat_map(|boot| rounds_of(&boot.launches)).filter(|(_, round)| is_as_meant(round));
    for (app, round) in rounds {
        let of = times.entry(app).or_default();
        for (launch, (_, name)) in round.iter().zip(ROUND).filter_map(|(l, r)| Some((l, r?))) {
            of.entry(name).or_default().push(launch.elapsed_ns);
        }
    }
    let case = |(app, times): (&str, BTreeMap<&str, Vec<f64>>)| {
        let mut figures = Figures::new();
        for (name, all) in times {
            set(&mut figures, name, average(all));
        }
        for state in ["alive", "dead"] {
            let of = |name: String| figures.get(&name).copied();
            let slower = ratio(of(format!("{state}_cold_ns")), of(format!("{state}_ns")));
            set(&mut figures, &format!("{state}_slower_percent"), slower.map(|r| (r - 1.0) * 100.0));
        }
        Case { case: app.into(), configuration: configuration.into(), figures }
    };
    times.into_iter().map(case).collect()
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
