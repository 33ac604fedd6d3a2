// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The stability test of LowMem13, section 4.1: random events, a stated share of them switches between apps.

use fovea_report::verdict::{verdict, Bound};
use rand::Rng;
use serde::Deserialize;

use super::managed::MANAGED;
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{mean, set, Folded};
use crate::figures::{by_case, compares, correctness, figure, Figures};
use crate::scenario::Scenario;
use crate::script::{close, find, generator, in_range, open, sample, start, BadParameter, Script};
use crate::{AppProfile, Boot, Case, Catalog, Error, PhoneProfile, Step, Verdict};

/// Most memory the daemon may hold.
const RESIDENT_MAX_BYTES: f64 = 8.0 * 1024.0 * 1024.0;

pub(super) const ABOUT: About =
    About { configurations: MANAGED, scenarios: builtin!["scenarios/monkey.toml"], ..About::NONE };

/// Parameters, explained in `profiles/scenarios/monkey.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Monkey {
    /// Workload whose apps are used.
    pub workload: String,
    /// Random events.
    pub events: u32,
    /// Share of them that open an app.
    pub switch_percent: u32,
    /// Longest short wait.
    pub wait_limit_ns: u64,
    /// Share of their computing that the apps do: what is tested is memory.
    pub compute_percent: u64,
    /// How often the daemon is killed.
    pub kills: u32,
    /// How long the idle daemon is watched.
    pub idle_ns: u64,
    /// Limit of the daemon's work before that.
    pub settle_limit_ns: u64,
}

impl Default for Monkey {
    fn default() -> Self {
        Monkey {
            workload: "N".into(),
            events: 1000,
            switch_percent: 40,
            wait_limit_ns: 500_000_000,
            compute_percent: 10,
            kills: 3,
            idle_ns: 60_000_000_000,
            settle_limit_ns: 300_000_000_000,
        }
    }
}

impl Parameters for Monkey {
    fn check(&self) -> Result<(), BadParameter> {
        in_range("events", self.events, 1, 10_000_000)?;
        in_range("switch_percent", self.switch_percent, 0, 100)?;
        in_range("wait_limit_ns", self.wait_limit_ns, 1, 3_600_000_000_000)?;
        in_range("compute_percent", self.compute_percent, 0, 100)?;
        in_range("kills", self.kills, 0, self.events)
    }

    /// The one boot.
    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let workload = find(catalog, &scenario.name, &self.workload)?;
        let apps: Vec<&str> = workload.percent.keys().map(String::as_str).collect();
        let mut rng = generator(scenario.seed, "monkey", 0);
        let mut kill_at: Vec<u32> = Vec::new();
        while (kill_at.len() as u32) < self.kills {
            let at = rng.gen_range(0..self.events);
            if !kill_at.contains(&at) {
                kill_at.push(at);
            }
        }
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        steps.push(sample("begin"));
        let (mut on, mut opened): (bool, Vec<&str>) = (true, Vec::new());
        let mut event = 0;
        while event < self.events {
            let step = if rng.gen_range(0..100) < self.switch_percent {
                let app = apps[rng.gen_range(0..apps.len())];
                if !opened.contains(&app) {
                    opened.push(app);
                }
                open(app)
            } else {
                match rng.gen_range(0..4) {
                    0 => Step::Home {},
                    1 if !opened.is_empty() => close(opened.swap_remove(rng.gen_range(0..opened.len()))),
                    2 => Step::Screen { on: !on },
                    _ => Step::Wait { ns: rng.gen_range(1..=self.wait_limit_ns) },
                }
            };
            // Nobody taps on a dark screen: it is turned on first, which is no event of the monkey's own.
            let taps = matches!(step, Step::Open { .. } | Step::Home {} | Step::Close { .. });
            if taps && !on {
                steps.push(Step::Screen { on: true });
                on = true;
            }
            if let Step::Screen { on: now } = step {
                on = now;
            }
            steps.push(step);
            if kill_at.contains(&event) {
                steps.push(Step::KillDaemon {});
            }
            event += 1;
        }
        if !on {
            steps.push(Step::Screen { on: true });
        }
        steps.extend([
            Step::Home {},
            Step::Settle { limit_ns: self.settle_limit_ns },
            sample("end"),
            Step::CheckFrozen {},
            // With the screen on and memory nearly short the daemon looks now and then (policy/src/watch.rs): idle is a dark screen.
            Step::Screen { on: false },
            Step::Settle { limit_ns: self.settle_limit_ns },
            // The kernel tells of a stall up to one window of the daemon's trigger (0.5 s) after it.
            Step::Wait { ns: 2_000_000_000 },
            Step::IdleCheck { ns: self.idle_ns },
        ]);
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
        for touch in [&mut app.launch, &mut app.resume] {
            touch.compute_insns = touch.compute_insns / 100 * self.compute_percent;
        }
        Ok(app)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &[String::new()], folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = correctness(scenario, cases, "");
        for configuration in scenario.configurations.iter().map(|c| c.name()) {
            verdicts.push(verdict(
                &format!("events-{configuration}"),
                "all events are survived",
                "LowMem13, section 4.1: passes 1000 to 10000 events",
                figure(cases, "", configuration, "events"),
                Bound::AtLeast(f64::from(self.events)),
            ));
        }
        if !compares(scenario, &["fovea"]) {
            return verdicts;
        }
        let mut bounded = |id: &str, claim: &str, name: &str, bound: Bound| {
            verdicts.push(verdict(id, claim, "this project", figure(cases, "", "fovea", name), bound));
        };
        bounded("oom-kills-fovea", "the kernel's OOM killer is never reached", "oom_kills", Bound::Equal(0.0));
        bounded(
            "stray-frozen",
            "nothing is frozen that the daemon does not know of",
            "stray_frozen",
            Bound::Equal(0.0),
        );
        bounded("resident", "the daemon holds at most 8 MiB", "resident_bytes", Bound::AtMost(RESIDENT_MAX_BYTES));
        bounded(
            "idle-wakeups",
            "the daemon never wakes while the screen is off and nothing happens",
            "idle_wakeups",
            Bound::Equal(0.0),
        );
        if self.kills > 0 {
            bounded(
                "left-after-kill",
                "however often the daemon is killed, nothing stays frozen, limited or set",
                "left_after_kill",
                Bound::Equal(0.0),
            );
        }
        verdicts
    }
}

fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    put("events", &|f| Some(f.steps));
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.end()?.kills));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
    put("stray_frozen", &|f| f.stray_frozen);
    put("resident_bytes", &|f| f.resident_bytes);
    put("idle_wakeups", &|f| f.idle_wakeups);
    put("left_after_kill", &|f| f.left_after_kill);
    put("zram_kept_after_kill", &|f| f.zram_kept);
}
