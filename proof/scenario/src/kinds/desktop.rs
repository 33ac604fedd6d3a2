// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A desktop in use while a build runs, an app leaks, and a fork bomb goes off.

use fovea_report::panel::{Form, Panel};
use fovea_report::verdict::{ratio, verdict, Bound};
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{geomean, mean, p95, set, Folded};
use crate::figures::{by_case, compares, correctness, figure, id, Figures};
use crate::scenario::Scenario;
use crate::script::{draw, find, generator, in_range, open, sample, shuffle, start, BadParameter, Script};
use crate::{Boot, Case, Catalog, Configuration, Daemon, Error, PhoneProfile, Step, Swap, Touch, Verdict};

/// All have zram, whichever is swapped to.
const fn guarded(name: &'static str, daemon: Daemon, guard: Option<&'static str>) -> Configuration {
    let mut configuration = Configuration::guarded(name, daemon, guard);
    configuration.zram = true;
    configuration
}

/// The kernel's OOM killer and nothing beside it.
pub const KERNEL: Configuration = guarded("kernel", Daemon::Absent, None);

/// earlyoom.
pub const EARLYOOM: Configuration = guarded("earlyoom", Daemon::Absent, Some("earlyoom.service"));

/// systemd-oomd.
pub const SYSTEMD_OOMD: Configuration = guarded("systemd-oomd", Daemon::Absent, Some("systemd-oomd.service"));

/// Our daemon.
pub const FOVEA: Configuration = guarded("fovea", Daemon::AsInstalled, Some("fovea.service"));

/// Both at once, as on a machine whose owner installed Fovea and left in place what the distribution had.
pub const BESIDE_EARLYOOM: Configuration =
    guarded("fovea-beside-earlyoom", Daemon::AsInstalled, Some("fovea.service earlyoom.service"));

/// The same with systemd-oomd.
pub const BESIDE_SYSTEMD_OOMD: Configuration =
    guarded("fovea-beside-oomd", Daemon::AsInstalled, Some("fovea.service systemd-oomd.service"));

pub(super) const ABOUT: About = About {
    configurations: &[KERNEL, EARLYOOM, SYSTEMD_OOMD, FOVEA, BESIDE_EARLYOOM, BESIDE_SYSTEMD_OOMD],
    scenarios: builtin!["scenarios/desktop.toml"],
    lists: &["cases"],
    panels: &[
        Panel {
            scenario: "desktop",
            title: "Longest wait for memory in an app in front",
            form: Form::Bars,
            figures: &[("longest_stall_ns", "stall")],
        },
        Panel {
            scenario: "desktop",
            title: "Programs killed at the desk",
            form: Form::Bars,
            figures: &[("kills", "killed"), ("wrong_kills", "wrongly")],
        },
    ],
    ..About::NONE
};

/// What is swapped to: the cases.
const SWAPS: [Swap; 2] = [Swap::Zram, Swap::Disk];

/// The workload whose apps are used.
const WORKLOAD: &str = "desktop";
/// What runs beside them; the names are those of `profiles/apps/desktop.toml`.
const BUILD: &str = "build";
const LEAKER: &str = "leaker";
const BOMB: &str = "bomb";

/// How much further behind the best may be than the best, where Fovea need not be first.
const BEHIND_BEST: f64 = 1.1;
/// In what it must not be behind.
const COMPARED: [&str; 4] = ["launch_geomean_ns", "relaunch_geomean_ns", "relaunch_p95_ns", "step_p95_ns"];

/// Parameters, explained in `profiles/scenarios/desktop.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Desktop {
    /// Of "zram", "disk": what is swapped to.
    pub cases: Vec<String>,
    /// Boots of each case.
    pub rounds: u64,
    /// Switches between apps before anything goes wrong, while the app leaks, and after the fork bomb.
    pub switches: [u32; 3],
    /// Interactions with each app that is opened.
    pub interactions: u32,
    /// Time from one to the next.
    pub period_ns: u64,
    /// What each touches.
    pub touch: Touch,
}

impl Default for Desktop {
    fn default() -> Self {
        Desktop {
            cases: vec!["zram".into(), "disk".into()],
            rounds: 1,
            switches: [4, 10, 10],
            interactions: 5,
            period_ns: 200_000_000,
            touch: Touch { anon_percent: 10, shared_percent: 10, private_percent: 10, compute_insns: 5_000_000 },
        }
    }
}

impl Parameters for Desktop {
    fn check(&self) -> Result<(), BadParameter> {
        let names = SWAPS.map(Swap::name);
        if let Some(case) = self.cases.iter().find(|c| !names.contains(&c.as_str())) {
            return Err(("cases", format!("{case:?} is none of {}", names.join(", "))));
        }
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        in_range("rounds", self.rounds, 1, 1000)?;
        in_range("interactions", self.interactions, 1, 10_000)?;
        in_range("period_ns", self.period_ns, 0, 3_600_000_000_000)?;
        self.switches.iter().try_for_each(|&count| in_range("switches", count, 0, 100_000))
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let workload = find(catalog, &scenario.name, WORKLOAD)?;
        let mut scripts = Vec::new();
        for case in &self.cases {
            for round in 0..self.rounds {
                let seed = scenario.seed.wrapping_add(round);
                let mut rng = generator(seed, "desktop", 0);
                let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
                let mut names: Vec<&str> = workload.percent.keys().map(String::as_str).collect();
                shuffle(&mut names, &mut rng);
                steps.push(sample("begin"));
                names.iter().for_each(|name| self.use_app(name, &mut steps));
                steps.push(start(BUILD));
                let mut front = names.last().copied().unwrap_or_default();
                for (count, wrong) in self.switches.into_iter().zip(["", LEAKER, BOMB]) {
                    match wrong {
                        // Looked at, and left by the next switch.
                        LEAKER => self.use_app(LEAKER, &mut steps),
                        BOMB => steps.push(start(BOMB)),
                        _ => {}
                    }
                    for _ in 0..count {
                        front = another(front, || draw(workload, &mut rng));
                        self.use_app(front, &mut steps);
                    }
                }
                steps.extend([sample("end"), Step::Verify {}]);
                let desktop = SWAPS.into_iter().find(|swap| swap.name() == case);
                scripts.push(Script { case: case.clone(), seed, steps, desktop, ..Script::default() });
            }
        }
        Ok(scripts)
    }

    /// Its apps are a desktop's already.
    fn scale(&self, asked: Option<f64>, _phone: &PhoneProfile, _user_bytes: u64) -> f64 {
        asked.unwrap_or(1.0)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &self.cases, folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for case in &self.cases {
            verdicts.extend(correctness(scenario, cases, case));
            if !compares(scenario, &["fovea"]) {
                continue;
            }
            let ours = |name: &str| figure(cases, case, "fovea", name);
            // Of the others, if all were measured: the best of some would be no best.
            let others: Vec<&str> =
                scenario.configurations.iter().map(|c| c.name()).filter(|n| !n.starts_with("fovea")).collect();
            let best = |name: &str| {
                let figures: Option<Vec<f64>> = others.iter().map(|other| figure(cases, case, other, name)).collect();
                figures?.into_iter().reduce(f64::min)
            };
            let mut push = |name: &str, claim: &str, figure: Option<f64>, bound: Bound| {
                verdicts.push(verdict(&id(name, case), claim, "this project", figure, bound));
            };
            push("oom-kills-fovea", "the kernel's OOM killer is never reached", ours("oom_kills"), Bound::Equal(0.0));
            let opens = boots
                .iter()
                .find(|b| b.plan.case == *case)
                .map(|b| b.plan.steps.iter().filter(|s| matches!(s, Step::Open { .. })).count() as f64);
            push(
                "launches-fovea",
                "every app that the user opens comes to the screen",
                ours("launches"),
                Bound::AtLeast(opens.unwrap_or(f64::INFINITY)),
            );
            if *case == Swap::Disk.name() {
                push(
                    "no-zram-fovea",
                    "swap on an SSD is left as it is (memory that zram takes at most)",
                    ours("zram_most_bytes"),
                    Bound::Equal(0.0),
                );
            }
            if others.is_empty() {
                continue;
            }
            let less = |name: &str| ours(name).zip(best(name)).map(|(ours, best)| ours - best);
            push(
                "wrong-kills",
                "no configuration kills fewer that did no wrong (kills less the best's)",
                less("wrong_kills"),
                Bound::AtMost(0.0),
            );
            push(
                "stalls",
                "in no configuration does the app in front wait less for memory in all (ns, less the best's)",
                less("psi_full_ns"),
                Bound::AtMost(0.0),
            );
            push(
                "longest-stall",
                "in none is its longest wait shorter (ns, less the best's)",
                less("longest_stall_ns"),
                Bound::AtMost(0.0),
            );
            push(
                "longest-step",
                "in none is its slowest answer faster (ns, less the best's)",
                less("longest_step_ns"),
                Bound::AtMost(0.0),
            );
            for name in COMPARED {
                push(
                    &format!("behind-{}", name.trim_end_matches("_ns").replace('_', "-")),
                    &format!("{name} at most 10 % behind the best (ratio)"),
                    ratio(ours(name), best(name)),
                    Bound::AtMost(BEHIND_BEST),
                );
            }
        }
        verdicts
    }
}

impl Desktop {
    fn use_app(&self, app: &str, steps: &mut Vec<Step>) {
        let (interactions, period_ns, touch) = (self.interactions, self.period_ns, self.touch);
        steps.extend([open(app), Step::Interact { app: app.into(), interactions, period_ns, touch }]);
    }
}

/// A switch leads to another app than that in front.
fn another<'a>(front: &str, mut draw: impl FnMut() -> &'a str) -> &'a str {
    loop {
        let app = draw();
        if app != front {
            return app;
        }
    }
}

/// A killed app or build counts as one kill, however many processes it had.
fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.desktop.killed.len() as f64));
    put("wrong_kills", &|f| Some(f.desktop.killed.iter().filter(|(_, culprit)| !culprit).count() as f64));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("kept_apps", &|f| Some(f.desktop.kept() as f64));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("read_bytes", &|f| Some(f.sample("end")?.read_bytes - f.sample("begin")?.read_bytes));
    put("zram_most_bytes", &|f| f.zram_most_bytes());
    put("psi_full_ns", &|f| Some(f.desktop.interactions.iter().map(|i| i.1).sum()));
    put("longest_stall_ns", &|f| f.desktop.interactions.iter().map(|i| i.1).reduce(f64::max));
    put("longest_step_ns", &|f| f.desktop.interactions.iter().map(|i| i.0).reduce(f64::max));
    put("step_p95_ns", &|f| p95(f.desktop.interactions.iter().map(|i| i.0)));
    put("launch_geomean_ns", &|f| geomean(f.launches.iter().map(|l| l.elapsed_ns)));
    put("relaunch_geomean_ns", &|f| geomean(f.launches.iter().filter(|l| l.again).map(|l| l.elapsed_ns)));
    put("relaunch_p95_ns", &|f| p95(f.launches.iter().filter(|l| l.again).map(|l| l.elapsed_ns)));
}
