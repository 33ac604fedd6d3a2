// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The tests of LowMem13, section 4.2.

use serde::Deserialize;

use crate::app_file::mib_pages;
use crate::script::{close, generator, in_range, open, sample, shuffle, start, BadParameter, Script};
use crate::{AppProfile, Catalog, Step, PAGE_BYTES};

/// User memory of the paper's phone (figure 2-1, I9100; section 4.2): the size to which its other sizes belong.
pub(crate) const SEED_USER_BYTES: u64 = 835 << 20;

impl Script {
    /// Adds an app made after a profile, of another name and size.
    fn add(&mut self, profile: &str, name: &str, anon_mib: f64, catalog: &Catalog) {
        if let Some(app) = catalog.app(profile) {
            let anon_bytes = mib_pages(anon_mib) * PAGE_BYTES as u64;
            self.apps.push(AppProfile { name: name.into(), anon_bytes, ..app.clone() });
        }
    }
}

/// Parameters, explained in `profiles/scenarios/lowmem.toml`. Sizes are the paper's, before scaling.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lowmem {
    /// Of "free-memory", "start-normal", "start-lowmem".
    pub cases: Vec<String>,
    /// Boots of each case.
    pub rounds: u64,
    /// Processes of the free memory test.
    pub test_apps: u32,
    /// Size of each.
    pub test_app_mib: f64,
    /// Opened and closed before the fish demo.
    pub closed: Vec<String>,
    /// Opened and left before the fish demo.
    pub hidden: Vec<String>,
    /// Free memory of the free memory test.
    pub idle_free_mib: f64,
    /// Free memory of the normal status.
    pub normal_free_mib: f64,
    /// Free memory of the low memory status.
    pub low_free_mib: f64,
    /// Page cache that MemAvailable counts beside those; not scaled.
    pub cache_floor_mib: f64,
    /// The fish demo's own memory.
    pub fish_mib: f64,
    /// Its services'.
    pub fish_services_mib: f64,
    /// Apps opened before the restart.
    pub others: u32,
    /// Size of each.
    pub others_mib: f64,
    /// Time spent with each app.
    pub use_ns: u64,
    /// Limit of the daemon's work after the screen went off.
    pub settle_limit_ns: u64,
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

const CASES: [&str; 3] = ["free-memory", "start-normal", "start-lowmem"];

impl Default for Lowmem {
    fn default() -> Self {
        Lowmem {
            cases: names(&CASES),
            rounds: 2,
            test_apps: 6,
            test_app_mib: 100.0,
            closed: names(&["angry-bots", "cut-the-rope"]),
            hidden: names(&[
                "wow-fish",
                "angry-birds",
                "gmail",
                "email",
                "maps",
                "ucweb",
                "market",
                "music-player",
                "video-player",
            ]),
            idle_free_mib: 18.9358,
            normal_free_mib: 80.0,
            low_free_mib: 20.5,
            cache_floor_mib: 20.0,
            fish_mib: 30.0,
            fish_services_mib: 20.0,
            others: 10,
            others_mib: 18.0,
            use_ns: 2_000_000_000,
            settle_limit_ns: 300_000_000_000,
        }
    }
}

impl Lowmem {
    pub(crate) fn check(&self) -> Result<(), BadParameter> {
        if let Some(case) = self.cases.iter().find(|c| !CASES.contains(&c.as_str())) {
            return Err(("cases", format!("{case:?} is none of {}", CASES.join(", "))));
        }
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        in_range("rounds", self.rounds, 1, 1000)?;
        in_range("test_apps", self.test_apps, 1, 100)?;
        in_range("others", self.others, 0, 100)?;
        for (key, mib) in [
            ("test_app_mib", self.test_app_mib),
            ("idle_free_mib", self.idle_free_mib),
            ("normal_free_mib", self.normal_free_mib),
            ("low_free_mib", self.low_free_mib),
            ("cache_floor_mib", self.cache_floor_mib),
            ("fish_mib", self.fish_mib),
            ("fish_services_mib", self.fish_services_mib),
            ("others_mib", self.others_mib),
        ] {
            in_range(key, mib, 0.0, 65536.0)?;
        }
        Ok(())
    }

    /// The boots, by case and round. `scale` is needed for levels of free memory, which are steps' and not apps' sizes.
    pub(crate) fn scripts(&self, seed: u64, scale: f64, services: &[String], catalog: &Catalog) -> Vec<Script> {
        let mut scripts = Vec::new();
        for case in &self.cases {
            for round in 0..self.rounds {
                let mut script = Script { case: case.clone(), seed: seed.wrapping_add(round), ..Script::default() };
                script.steps.extend(services.iter().map(|s| start(s)));
                match case.as_str() {
                    "free-memory" => self.free_memory(&mut script, scale, catalog),
                    _ => self.start(&mut script, scale, case == "start-lowmem", round, catalog),
                }
                scripts.push(script);
            }
        }
        scripts
    }

    fn fill(&self, free_mib: f64, scale: f64) -> Step {
        let bytes = (mib_pages(free_mib * scale) + mib_pages(self.cache_floor_mib)) * PAGE_BYTES as u64;
        Step::Fill { app: "filler".into(), available_bytes: bytes }
    }

    /// Six processes run, then are closed; what is free when the phone has been left alone?
    fn free_memory(&self, script: &mut Script, scale: f64, catalog: &Catalog) {
        for i in 1..=self.test_apps {
            let name = format!("test-app-{i}");
            script.add("test-app", &name, self.test_app_mib, catalog);
            script.steps.extend([open(&name), Step::Wait { ns: self.use_ns }, close(&name)]);
        }
        // Last, and to a level at which no configuration has begun to act, so that all three carry the same load.
        script.steps.extend([self.fill(self.idle_free_mib, scale), sample("initial")]);
        self.idle(script);
        script.steps.extend([sample("after-idle"), Step::Screen { on: true }]);
    }

    fn idle(&self, script: &mut Script) {
        script.steps.extend([
            Step::Home {},
            Step::Screen { on: false },
            Step::Settle { limit_ns: self.settle_limit_ns },
        ]);
    }

    fn start(&self, script: &mut Script, scale: f64, low: bool, round: u64, catalog: &Catalog) {
        script.add("fish-demo", "fish-demo", self.fish_mib, catalog);
        script.add("fish-services", "fish-services", self.fish_services_mib, catalog);
        let others: Vec<String> = (1..=if low { self.others } else { 0 }).map(|i| format!("other-{i}")).collect();
        for name in &others {
            script.add("others", name, self.others_mib, catalog);
        }
        let mut before: Vec<(&String, bool)> =
            self.closed.iter().map(|a| (a, true)).chain(self.hidden.iter().map(|a| (a, false))).collect();
        shuffle(&mut before, &mut generator(script.seed, "lowmem-order", round));
        for (app, closes) in before {
            script.steps.extend([open(app), Step::Wait { ns: self.use_ns }]);
            script.steps.push(if closes { close(app) } else { Step::Home {} });
        }
        let free_mib = if low { self.low_free_mib } else { self.normal_free_mib };
        script.steps.extend([self.fill(free_mib, scale), sample("initial")]);
        self.idle(script);
        script.steps.extend([
            sample("after-idle"),
            Step::Screen { on: true },
            sample("before-start"),
            start("fish-services"),
            open("fish-demo"),
            sample("after-start"),
            Step::Wait { ns: self.use_ns },
            Step::Home {},
            Step::Wait { ns: self.use_ns },
        ]);
        // Each smaller than the fish demo, which is then the largest hidden app, as the paper's restart test needs.
        for name in &others {
            script.steps.extend([open(name), Step::Wait { ns: self.use_ns }]);
        }
        script.steps.extend([open("fish-demo"), sample("after-restart")]);
    }
}
