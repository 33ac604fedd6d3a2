// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The stability test of LowMem13, section 4.1: random events, a stated share of them switches between apps.

use rand::Rng;
use serde::Deserialize;

use super::workload::find;
use crate::script::{close, generator, in_range, open, sample, start, BadParameter, Script};
use crate::{Catalog, Error, Step};

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

impl Monkey {
    pub(crate) fn check(&self) -> Result<(), BadParameter> {
        in_range("events", self.events, 1, 10_000_000)?;
        in_range("switch_percent", self.switch_percent, 0, 100)?;
        in_range("wait_limit_ns", self.wait_limit_ns, 1, 3_600_000_000_000)?;
        in_range("compute_percent", self.compute_percent, 0, 100)?;
        in_range("kills", self.kills, 0, self.events)
    }

    /// The one boot.
    pub(crate) fn scripts(
        &self,
        scenario: &str,
        seed: u64,
        services: &[String],
        catalog: &Catalog,
    ) -> Result<Vec<Script>, Error> {
        let workload = find(catalog, scenario, &self.workload)?;
        let apps: Vec<&str> = workload.percent.keys().map(String::as_str).collect();
        let mut rng = generator(seed, "monkey", 0);
        let mut kill_at: Vec<u32> = Vec::new();
        while (kill_at.len() as u32) < self.kills {
            let at = rng.gen_range(0..self.events);
            if !kill_at.contains(&at) {
                kill_at.push(at);
            }
        }
        let mut steps: Vec<Step> = services.iter().map(|s| start(s)).collect();
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
        Ok(vec![Script { case: String::new(), seed, steps, apps: Vec::new() }])
    }
}
