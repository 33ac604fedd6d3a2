// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A desktop in use while a build runs, an app leaks, and a fork bomb goes off.

use serde::Deserialize;

use super::workload::{draw, find};
use crate::script::{generator, in_range, open, sample, shuffle, start, BadParameter, Script};
use crate::{Catalog, Error, Step, Swap, Touch};

/// The workload whose apps are used.
const WORKLOAD: &str = "desktop";
/// What runs beside them; the names are those of `profiles/apps/desktop.toml`.
const BUILD: &str = "build";
const LEAKER: &str = "leaker";
const BOMB: &str = "bomb";

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

impl Desktop {
    pub(crate) fn check(&self) -> Result<(), BadParameter> {
        let names = [Swap::Zram, Swap::Disk].map(Swap::name);
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

    pub(crate) fn scripts(
        &self,
        scenario: &str,
        seed: u64,
        services: &[String],
        catalog: &Catalog,
    ) -> Result<Vec<Script>, Error> {
        let workload = find(catalog, scenario, WORKLOAD)?;
        let mut scripts = Vec::new();
        for case in &self.cases {
            for round in 0..self.rounds {
                let seed = seed.wrapping_add(round);
                let mut rng = generator(seed, "desktop", 0);
                let mut steps: Vec<Step> = services.iter().map(|s| start(s)).collect();
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
                scripts.push(Script { case: case.clone(), seed, steps, apps: Vec::new() });
            }
        }
        Ok(scripts)
    }

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
