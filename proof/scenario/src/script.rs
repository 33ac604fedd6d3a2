// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A boot's steps before its configuration is known, and what they are drawn with. Pure: the seed decides everything that is drawn.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{catalog, AppProfile, Catalog, Configuration, Error, Importers, Step, Swap};

/// A parameter that is wrong: its key, and what is wrong with it.
pub(crate) type BadParameter = (&'static str, String);

/// One boot before it is known under which configuration it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// Case.
    pub case: String,
    /// Seed of the boot.
    pub seed: u64,
    /// What to do.
    pub steps: Vec<Step>,
    /// Apps of this script's own, at the paper's size: they come before those of the catalog.
    pub apps: Vec<AppProfile>,
    /// It is a desktop's, and swaps to this.
    pub desktop: Option<Swap>,
    /// What a slow disk does, in bytes a second, if that is told to the daemon.
    pub disk_rate: Option<u64>,
    /// Further keys of the last section of the daemon's file.
    pub daemon_keys: String,
    /// Further parameters of dm-ecache.
    pub module_parameters: String,
    /// The configuration under which it runs once more to have the eCache's hits counted by file, which costs time in every read.
    pub traced: Option<Configuration>,
    /// It has devices that import buffers, behind this.
    pub importers: Option<Importers>,
    /// It has a sound server.
    pub sound: bool,
    /// Only these configurations run it; all do without.
    pub only: Option<&'static [&'static str]>,
    /// Its steps go through all that is compared, in one boot, which has these settings.
    pub all_in_one: Option<Configuration>,
}

/// A generator that depends on the seed and on what is drawn, so that one more draw here changes nothing there.
pub(crate) fn generator(seed: u64, purpose: &str, round: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&round.to_le_bytes());
    for (slot, byte) in key[16..].iter_mut().zip(purpose.bytes()) {
        *slot = byte;
    }
    ChaCha8Rng::from_seed(key)
}

/// Fisher and Yates, with an explicit draw, so that the order does not depend on a library's version.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.gen_range(0..=i));
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

pub(crate) fn open(app: &str) -> Step {
    Step::Open { app: app.into() }
}

pub(crate) fn start(app: &str) -> Step {
    Step::Start { app: app.into() }
}

pub(crate) fn close(app: &str) -> Step {
    Step::Close { app: app.into() }
}

pub(crate) fn sample(label: &str) -> Step {
    Step::Sample { label: label.into() }
}

/// A number that must be in a range.
pub(crate) fn in_range<T: PartialOrd + std::fmt::Display>(
    key: &'static str,
    value: T,
    low: T,
    high: T,
) -> Result<(), BadParameter> {
    if value >= low && value <= high {
        Ok(())
    } else {
        Err((key, format!("{value} is not from {low} to {high}")))
    }
}

/// How a user goes through a day.
pub(crate) struct Day {
    /// How often an app is closed and not merely left.
    pub close_percent: u32,
    /// Time spent with each app.
    pub use_ns: u64,
    /// After so many opens the screen goes off; 0 for never.
    pub session_launches: u32,
    /// For so long.
    pub off_ns: u64,
    /// Limit of the daemon's work then.
    pub settle_limit_ns: u64,
}

impl Day {
    /// An app is opened as the day's `launch`th, used, and closed or left; then the screen may go off.
    pub fn use_app(&self, launch: u32, app: &str, rng: &mut ChaCha8Rng, steps: &mut Vec<Step>) {
        steps.extend([open(app), Step::Wait { ns: self.use_ns }]);
        self.leave_app(launch, app, rng, steps);
    }

    /// The same from when it has been used.
    pub fn leave_app(&self, launch: u32, app: &str, rng: &mut ChaCha8Rng, steps: &mut Vec<Step>) {
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
