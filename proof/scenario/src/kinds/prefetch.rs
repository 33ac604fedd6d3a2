// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Starts of apps none of whose files is in memory, with and without somebody who reads ahead of them.

use std::collections::BTreeMap;

use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{average, geomean, mean, select, set, Folded, Launch};
use crate::figures::{by_case, compares, correctness, figure, Figures};
use crate::scenario::Scenario;
use crate::script::{find, in_range, open, sample, start, BadParameter, Script};
use crate::{
    AppProfile, Boot, Case, Catalog, Configuration, Daemon, Error, PhoneProfile, Prefetch, StartScore, Step, Verdict,
};

const fn reads(name: &'static str, prefetch: Prefetch) -> Configuration {
    let mut configuration = Configuration::new(name, Daemon::Full);
    configuration.zram = true;
    configuration.prefetch = Some(prefetch);
    configuration
}

/// The case of all apps; each has one of its own beside it.
const ALL: &str = "all";

const NONE: &str = "none";
const IN_MEMORY: &str = "in-memory";
const FOVEA: &str = "fovea";
const AHEAD: &str = "fovea-ahead";

pub(super) const ABOUT: About = About {
    configurations: &[
        reads(NONE, Prefetch::Nobody),
        reads("cat-all", Prefetch::WholeFiles),
        reads(IN_MEMORY, Prefetch::Beforehand),
        reads(FOVEA, Prefetch::AtStart),
        reads(AHEAD, Prefetch::Ahead),
    ],
    scenarios: builtin!["scenarios/prefetch.toml"],
    is_judged_by_figures: true,
    ..About::NONE
};

/// Label of the sample at the end of each start.
const RESTED: &str = "rested";

/// How often the likely apps are used in turn before their starts are measured.
const TURNS: u32 = 2;

/// Parameters, explained in `profiles/scenarios/prefetch.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prefetching {
    /// Whose apps are started.
    pub workload: String,
    /// Which files they use.
    pub footprint: String,
    /// Starts of each that are not measured.
    pub learned: u32,
    /// Starts of each that are.
    pub measured: u32,
    /// So many of them are then used in turn, and started once more.
    pub likely: u32,
    /// From a start to the app's end.
    pub rest_ns: u64,
    /// Before each start of the likely ones nothing happens for so long.
    pub idle_ns: u64,
}

impl Default for Prefetching {
    fn default() -> Self {
        Prefetching {
            workload: "N".into(),
            footprint: "android-2.3".into(),
            learned: 2,
            measured: 1,
            likely: 5,
            rest_ns: 6_000_000_000,
            idle_ns: 60_000_000_000,
        }
    }
}

impl Parameters for Prefetching {
    fn check(&self) -> Result<(), BadParameter> {
        in_range("learned", self.learned, 0, 100)?;
        in_range("measured", self.measured, 1, 100)?;
        in_range("likely", self.likely, 0, 100)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        scenario.footprint(&self.footprint, catalog)?;
        let percent = &find(catalog, &scenario.name, &self.workload)?.percent;
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        // They are starts too, and at most three of a user's are looked at at once.
        steps.extend([Step::Wait { ns: self.rest_ns }, sample(RESTED)]);
        let starts = |app: &str, idle_ns: u64| {
            let idle = (idle_ns > 0).then_some(Step::Wait { ns: idle_ns });
            let rest = [open(app), Step::Wait { ns: self.rest_ns }, Step::Home {}, Step::Crash { app: app.into() }];
            [Step::DropCaches {}].into_iter().chain(idle).chain(rest).chain([sample(RESTED)])
        };
        for _ in 0..self.learned + self.measured {
            percent.keys().for_each(|app| steps.extend(starts(app, 0)));
        }
        let mut likely: Vec<(&String, &f64)> = percent.iter().collect();
        likely.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
        likely.truncate(self.likely as usize);
        for idle_ns in (0..TURNS).map(|_| 0).chain([self.idle_ns]) {
            likely.iter().for_each(|(app, _)| steps.extend(starts(app, idle_ns)));
        }
        Ok(vec![Script { case: ALL.into(), seed: scenario.seed, steps, ..Script::default() }])
    }

    /// With the footprint's files in place of its own. Its devices play no part.
    fn app(
        &self,
        app: &AppProfile,
        scenario: &Scenario,
        _devices: Option<&PhoneProfile>,
        catalog: &Catalog,
    ) -> Result<AppProfile, Error> {
        scenario.with_files(&self.footprint, app, None, catalog)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        let mut cases = by_case(scenario, &[ALL.into()], folded, |figures, boots| {
            let put = |figures: &mut Figures, name: &str, value: &dyn Fn(&Folded) -> Option<f64>| {
                set(figures, name, mean(boots, value));
            };
            put(figures, "wrong_pages", &|f| Some(f.wrong_pages));
            put(figures, "kills", &|f| Some(f.end()?.kills));
            put(figures, "daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
            put(figures, "launch_geomean_ns", &|f| geomean(self.measured(f).map(|s| s.launch.elapsed_ns)));
            put(figures, "likely_geomean_ns", &|f| geomean(self.likely(f).map(|s| s.launch.elapsed_ns)));
            put(figures, "read_bytes", &|f| average(self.measured(f).map(|s| s.read_bytes)));
            put(figures, "likely_read_bytes", &|f| average(self.likely(f).map(|s| s.read_bytes)));
            put(figures, "overlap_geomean_ns", &|f| geomean(self.measured(f).filter_map(|s| overlap_ns(s.launch))));
            for (name, of) in SCORES {
                put(figures, name, &|f| average(f.starts.iter().filter_map(of).map(|percent| percent as f64)));
            }
            put(figures, "wasted_percent", &|f| {
                let sum = |of: fn(&StartScore) -> u64| f.starts.iter().map(of).sum::<u64>() as f64;
                ratio(Some(100.0 * sum(|s| s.wasted_bytes)), Some(sum(|s| s.prefetched_bytes)))
            });
        });
        for configuration in &scenario.configurations {
            let boots = select(folded, ALL, configuration.name()).unwrap_or_default();
            let mut apps: BTreeMap<&str, Vec<Start<'_>>> = BTreeMap::new();
            for start in boots.iter().flat_map(|boot| self.measured(boot)) {
                apps.entry(&start.launch.app).or_default().push(start);
            }
            cases.extend(apps.into_iter().map(|(app, starts)| {
                let mut figures = Figures::new();
                set(&mut figures, "launch_ns", average(starts.iter().map(|s| s.launch.elapsed_ns)));
                set(&mut figures, "read_bytes", average(starts.iter().map(|s| s.read_bytes)));
                set(&mut figures, "overlap_ns", average(starts.iter().filter_map(|s| overlap_ns(s.launch))));
                Case { case: app.into(), configuration: configuration.name().into(), figures }
            }));
        }
        cases
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = correctness(scenario, cases, ALL);
        if !boots.iter().all(|boot| boot.plan.exact) {
            return verdicts;
        }
        let of = |configuration: &str, name: &str| figure(cases, ALL, configuration, name);
        let mut claim = |id: &str, title: &str, value: Option<f64>, bound: Bound| {
            verdicts.push(verdict(id, title, "this project", value, bound));
        };
        if compares(scenario, &[NONE, FOVEA]) {
            let launch = |c: &str| of(c, "launch_geomean_ns");
            let gain = launch(NONE).zip(launch(FOVEA)).map(|(none, fovea)| 100.0 * (none - fovea));
            let most = launch(NONE).zip(of(NONE, "overlap_geomean_ns")).map(|(none, bound)| none - bound);
            claim(
                "overlap",
                "of what starts could gain if reading and computing overlapped perfectly, so much is gained, percent (geometric mean)",
                ratio(gain, most),
                Bound::AtLeast(80.0),
            );
            claim(
                "slower",
                "no app starts slower than without by more than 2 percent (the worst)",
                worst(cases),
                Bound::AtMost(2.0),
            );
            claim(
                "wasted",
                "of what is prefetched so much is not used, percent, by fovea-prefetch's own account",
                of(FOVEA, "wasted_percent"),
                Bound::AtMost(10.0),
            );
            let reads = ratio(of(FOVEA, "read_bytes"), of(NONE, "read_bytes"));
            claim(
                "read-more",
                "a start reads so much more of the flash than without, percent",
                reads.map(|ratio| 100.0 * (ratio - 1.0)),
                Bound::AtMost(3.0),
            );
        }
        if compares(scenario, &[NONE, IN_MEMORY, AHEAD]) {
            let launch = |c: &str| of(c, "likely_geomean_ns");
            let gain = launch(NONE).zip(launch(AHEAD)).map(|(none, ahead)| 100.0 * (none - ahead));
            let most = launch(NONE).zip(launch(IN_MEMORY)).map(|(none, bound)| none - bound);
            claim(
                "ahead",
                "of what the likeliest apps could gain if everything was in memory, so much is gained, percent",
                ratio(gain, most),
                Bound::AtLeast(60.0),
            );
        }
        verdicts
    }
}

/// What fovea-prefetch knows of an app's starts.
type Score = fn(&StartScore) -> Option<u64>;

/// Figures of that.
const SCORES: [(&str, Score); 4] = [
    ("accuracy_percent", |s| s.accuracy_percent),
    ("coverage_percent", |s| s.coverage_percent),
    ("timeliness_percent", |s| s.timeliness_percent),
    ("first_read_ns", |s| s.first_read_ns),
];

/// A start, and what was read of the flash from when the caches were dropped until the app ended.
struct Start<'a> {
    launch: &'a Launch,
    read_bytes: f64,
}

impl Prefetching {
    fn starts<'a>(&self, boot: &'a Folded) -> Vec<Start<'a>> {
        let rested: Vec<f64> = boot.samples(RESTED).into_iter().map(|sample| sample.read_bytes).collect();
        let read = rested.windows(2).map(|pair| pair[1] - pair[0]);
        boot.launches.iter().zip(read).map(|(launch, read_bytes)| Start { launch, read_bytes }).collect()
    }

    /// Starts of all apps that are measured, and those of the likely ones at the end.
    fn parts<'a>(&self, boot: &'a Folded) -> (Vec<Start<'a>>, Vec<Start<'a>>) {
        let mut starts = self.starts(boot);
        let likely = self.likely as usize;
        let last = starts.split_off(starts.len().saturating_sub(likely));
        starts.truncate(starts.len().saturating_sub(TURNS as usize * likely));
        let rounds = (self.learned + self.measured) as usize;
        let learned = starts.len() / rounds * self.learned as usize;
        (starts.split_off(learned), last)
    }

    fn measured<'a>(&self, boot: &'a Folded) -> impl Iterator<Item = Start<'a>> {
        self.parts(boot).0.into_iter()
    }

    fn likely<'a>(&self, boot: &'a Folded) -> impl Iterator<Item = Start<'a>> {
        self.parts(boot).1.into_iter()
    }
}

/// What a start would take if it read and computed at the same time: computed, from what it did one after the other.
fn overlap_ns(launch: &Launch) -> Option<f64> {
    let cpu = launch.cpu?;
    let cpu_ns = (cpu.user_ns + cpu.system_ns) as f64;
    Some(cpu_ns.max(launch.elapsed_ns - cpu_ns))
}

/// How much slower the app starts that fares worst, percent.
fn worst(cases: &[Case]) -> Option<f64> {
    let launch = |app: &str, configuration: &str| figure(cases, app, configuration, "launch_ns");
    let apps = cases.iter().filter(|case| case.configuration == NONE && case.case != ALL);
    let slower = apps.filter_map(|case| ratio(launch(&case.case, FOVEA), launch(&case.case, NONE)));
    slower.map(|ratio| 100.0 * (ratio - 1.0)).reduce(f64::max)
}
