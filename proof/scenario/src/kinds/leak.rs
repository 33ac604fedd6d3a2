// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One app takes memory without end, in front or in the background. It should die, soon, and nobody else.

use fovea_report::verdict::{verdict, Bound};
use serde::Deserialize;

use super::managed::{FOVEA, KERNEL, KERNEL_ADJ, PEERS, ZRAM};
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{geomean, mean, p95, set, Folded};
use crate::figures::{by_case, compares, correctness, figure, id, Figures};
use crate::scenario::Scenario;
use crate::script::{generator, in_range, open, sample, shuffle, start, BadParameter, Script};
use crate::{Boot, Case, Catalog, Error, LaunchKind, Step, Verdict, PAGE_BYTES};

pub(super) const ABOUT: About = About {
    configurations: &[KERNEL, KERNEL_ADJ, ZRAM, FOVEA],
    peers: PEERS,
    scenarios: builtin!["scenarios/leak.toml"],
    lists: &["cases"],
    ..About::NONE
};

/// Who leaks where: an app of the user's that he looks at, or a service. (An app that was left is frozen a second later.) Or a process
/// that belongs to no app.
const CASES: [(&str, &str, bool); 6] = [
    ("front", "hoarder", false),
    ("front-slow", "hoarder", true),
    ("background", "indexer", false),
    ("background-slow", "indexer", true),
    ("outside", OUTSIDE, false),
    ("outside-slow", OUTSIDE, true),
];

/// So many of them are played unless the scenario says otherwise.
const USUAL: usize = 4;

/// A process of no app's, of which the daemon is not told.
const OUTSIDE: &str = "stray";

/// The apps that are opened.
pub(super) const EIGHT: [&str; 8] =
    ["browser", "gallery", "maps", "facebook", "twitter", "market", "movies", "youtube"];

/// How much later than the kernel alone the leaker may be ended.
const LATER_NS: f64 = 2e9;

/// Parameters, explained in `profiles/scenarios/leak.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Leak {
    /// Of "front", "front-slow", "background", "background-slow", "outside", "outside-slow".
    pub cases: Vec<String>,
    /// Boots of each case, each with another order of apps.
    pub rounds: u64,
    /// Apps that are opened before.
    pub apps: Vec<String>,
    /// Time spent with each app.
    pub use_ns: u64,
    /// Taken at a time, by a fast and by a slow leak.
    pub leak_mib: [f64; 2],
    /// From one time to the next.
    pub period_ns: u64,
    /// It stops by itself after so long.
    pub limit_ns: u64,
}

impl Default for Leak {
    fn default() -> Self {
        Leak {
            cases: CASES[..USUAL].iter().map(|(name, ..)| (*name).into()).collect(),
            rounds: 1,
            apps: EIGHT.map(Into::into).into(),
            use_ns: 2_000_000_000,
            leak_mib: [8.0, 2.0],
            period_ns: 500_000_000,
            limit_ns: 300_000_000_000,
        }
    }
}

impl Parameters for Leak {
    fn check(&self) -> Result<(), BadParameter> {
        let known = |case: &&String| CASES.iter().any(|(name, ..)| name == *case);
        if let Some(case) = self.cases.iter().find(|case| !known(case)) {
            let names: Vec<&str> = CASES.iter().map(|(name, ..)| *name).collect();
            return Err(("cases", format!("{case:?} is none of {}", names.join(", "))));
        }
        if self.cases.is_empty() || self.apps.is_empty() {
            return Err((if self.apps.is_empty() { "apps" } else { "cases" }, "there are none".into()));
        }
        self.leak_mib.iter().try_for_each(|&mib| in_range("leak_mib", mib, 0.01, 1024.0))?;
        in_range("rounds", self.rounds, 1, 1000)?;
        in_range("period_ns", self.period_ns, 1_000_000, 60_000_000_000)?;
        in_range("limit_ns", self.limit_ns, 1, 3_600_000_000_000)
    }

    fn scripts(&self, scenario: &Scenario, scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let mut scripts = Vec::new();
        for (case, leaker, is_slow) in CASES.into_iter().filter(|(name, ..)| self.cases.iter().any(|c| c == name)) {
            for round in 0..self.rounds {
                let seed = scenario.seed.wrapping_add(round);
                let mut apps: Vec<&str> = self.apps.iter().map(String::as_str).collect();
                shuffle(&mut apps, &mut generator(seed, "leak", 0));
                let use_app = |app: &&str| [open(app), Step::Wait { ns: self.use_ns }];
                let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
                steps.push(sample("begin"));
                let is_in_front = leaker == "hoarder";
                if !is_in_front {
                    steps.push(start(leaker));
                }
                steps.extend(apps.iter().flat_map(use_app));
                if is_in_front {
                    steps.extend(use_app(&leaker));
                }
                let mib = self.leak_mib[usize::from(is_slow)] * scale;
                let pages = ((mib * 1024.0 * 1024.0) as u64).div_ceil(PAGE_BYTES as u64);
                let (period_ns, limit_ns) = (self.period_ns, self.limit_ns);
                steps.push(Step::Leak { app: leaker.into(), pages, period_ns, limit_ns });
                steps.push(Step::Wait { ns: self.use_ns });
                // Which of them are still there shows when the user comes back to each.
                steps.extend(apps.iter().flat_map(use_app));
                steps.push(sample("end"));
                scripts.push(Script { case: case.into(), seed, steps, ..Script::default() });
            }
        }
        Ok(scripts)
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
            let ours = |name: &str| figure(cases, case, "fovea", name);
            let mut push = |name: &str, claim: &str, figure: Option<f64>, bound: Bound| {
                verdicts.push(verdict(&id(name, case), claim, "this project", figure, bound));
            };
            push("wrong-kills", "only the leaker dies (others killed)", ours("wrong_kills"), Bound::Equal(0.0));
            push(
                "kept-apps",
                "every app that was open is still there when the user comes back to it",
                ours("kept_apps"),
                Bound::AtLeast(self.apps.len() as f64),
            );
            // What is nobody's app is the kernel's to end.
            if !case.starts_with("outside") {
                push("oom-kills", "the kernel's OOM killer is never reached", ours("oom_kills"), Bound::Equal(0.0));
            }
            if compares(scenario, &["kernel"]) {
                let later = ours("leak_ns").zip(figure(cases, case, "kernel", "leak_ns"));
                push(
                    "leak-ends",
                    "the leaker is ended at most 2 s later than by the kernel alone (ns, less the kernel's)",
                    later.map(|(ours, kernel)| ours - kernel),
                    Bound::AtMost(LATER_NS),
                );
            }
        }
        verdicts
    }
}

/// Who died, who was there when the user came back, and how long that took.
pub(super) fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    let again = |f: &Folded| f.launches.iter().filter(|l| l.again).map(|l| l.elapsed_ns).collect::<Vec<_>>();
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.desktop.killed.len() as f64));
    put("wrong_kills", &|f| Some(f.desktop.killed.iter().filter(|(_, culprit)| !culprit).count() as f64));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("kept_apps", &|f| Some(f.launches.iter().filter(|l| l.again && l.kind == LaunchKind::Resume).count() as f64));
    put("psi_full_ns", &|f| f.psi_full_ns);
    put("cpu_busy_ns", &|f| f.cpu_busy_ns);
    put("leak_ns", &|f| f.desktop.leak_ns);
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("read_bytes", &|f| Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes));
    put("launch_geomean_ns", &|f| geomean(f.launches.iter().map(|l| l.elapsed_ns)));
    put("relaunch_geomean_ns", &|f| geomean(again(f).into_iter()));
    put("relaunch_p95_ns", &|f| p95(again(f).into_iter()));
}
