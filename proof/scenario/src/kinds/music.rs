// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Music in the background, through a user's day: who is heard is left alone, though memory is short and the app has not been seen for hours.

use fovea_report::verdict::{verdict, Bound};
use serde::Deserialize;

use super::managed::{DEAF, FOVEA, STOCK, ZRAM};
use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{mean, set, Folded};
use crate::figures::{by_case, compares, correctness, figure, Figures};
use crate::scenario::Scenario;
use crate::script::{draw, find, generator, in_range, open, sample, start, BadParameter, Day, Script};
use crate::{Boot, Case, Catalog, Error, Heard, Load, Step, Verdict};

pub(super) const ABOUT: About =
    About { configurations: &[STOCK, ZRAM, FOVEA, DEAF], scenarios: builtin!["scenarios/music.toml"], ..About::NONE };

/// The player, of `profiles/apps/lowmem13.toml`.
const PLAYER: &str = "music-player";

/// The control must break the music off for so long.
const DEAF_SILENT_NS: f64 = 1e9;

/// Parameters, explained in `profiles/scenarios/music.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Music {
    /// Whose apps are used meanwhile.
    pub workload: String,
    /// Apps opened.
    pub launches: u32,
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
    /// Pages of the player's decoder.
    pub decoder_pages: u64,
    /// Of them it uses so many for each 4 KiB of sound.
    pub pages_per_chunk: u32,
}

impl Default for Music {
    fn default() -> Self {
        Music {
            workload: "N".into(),
            launches: 60,
            close_percent: 40,
            use_ns: 5_000_000_000,
            session_launches: 8,
            off_ns: 60_000_000_000,
            settle_limit_ns: 300_000_000_000,
            decoder_pages: 512,
            pages_per_chunk: 4,
        }
    }
}

impl Parameters for Music {
    fn check(&self) -> Result<(), BadParameter> {
        in_range("launches", self.launches, 1, 1_000_000)?;
        in_range("close_percent", self.close_percent, 0, 100)?;
        in_range("decoder_pages", self.decoder_pages, 1, 1 << 20)?;
        in_range("pages_per_chunk", self.pages_per_chunk, 0, 1 << 16)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let mut player = catalog
            .app(PLAYER)
            .cloned()
            .ok_or_else(|| scenario.wrong(format!("no app {PLAYER:?}"), "it is in profiles/apps/lowmem13.toml"))?;
        player.load = Some(Load::Music { pages: self.decoder_pages, pages_per_chunk: self.pages_per_chunk });
        let steps = self.steps(scenario, catalog)?;
        let seed = scenario.seed;
        Ok(vec![Script { seed, steps, apps: vec![player], sound: true, ..Script::default() }])
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &[String::new()], folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let get = |configuration: &str, name: &str| figure(cases, "", configuration, name);
        let mut verdicts = Vec::new();
        let mut push = |name: &str, claim: &str, figure: Option<f64>, bound: Bound| {
            verdicts.push(verdict(name, claim, "this project", figure, bound));
        };
        if compares(scenario, &["fovea"]) {
            push("silent-fovea", "the music never breaks off (ns)", get("fovea", "silent_ns"), Bound::Equal(0.0));
            let least_ns = f64::from(self.launches) * self.use_ns as f64;
            push(
                "played-fovea",
                "it is played for as long as apps are used (ns)",
                get("fovea", "played_ns"),
                Bound::AtLeast(least_ns),
            );
            push("player-fovea", "the player is not killed", get("fovea", "player_kills"), Bound::Equal(0.0));
            push(
                "oom-kills-fovea",
                "the kernel's OOM killer is never reached",
                get("fovea", "oom_kills"),
                Bound::Equal(0.0),
            );
            push(
                "launches-fovea",
                "every app that the user opens comes to the screen",
                get("fovea", "launches"),
                Bound::Equal(f64::from(self.launches) + 1.0),
            );
        }
        if compares(scenario, &["fovea-deaf"]) {
            push(
                "silent-deaf",
                "a daemon that does not look who plays breaks it off (ns)",
                get("fovea-deaf", "silent_ns"),
                Bound::AtLeast(DEAF_SILENT_NS),
            );
        }
        verdicts.extend(correctness(scenario, cases, ""));
        verdicts
    }
}

impl Music {
    fn steps(&self, scenario: &Scenario, catalog: &Catalog) -> Result<Vec<Step>, Error> {
        let workload = find(catalog, &scenario.name, &self.workload)?;
        let only_player = workload.percent.iter().all(|(name, &percent)| name == PLAYER || percent <= 0.0);
        let day = Day {
            close_percent: self.close_percent,
            use_ns: self.use_ns,
            session_launches: self.session_launches,
            off_ns: self.off_ns,
            settle_limit_ns: self.settle_limit_ns,
        };
        let mut rng = generator(scenario.seed, "music", 0);
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        steps.extend([sample("begin"), open(PLAYER), Step::Wait { ns: self.use_ns }, Step::Home {}]);
        for launch in 1..=self.launches {
            // Nobody looks at the player again.
            let app = loop {
                let app = draw(workload, &mut rng);
                if app != PLAYER || only_player {
                    break app;
                }
            };
            day.use_app(launch, app, &mut rng, &mut steps);
        }
        steps.extend([Step::Heard {}, sample("end")]);
        Ok(steps)
    }
}

fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&Folded) -> Option<f64>| set(figures, name, mean(boots, value));
    let heard = |of: fn(&Heard) -> u64| move |f: &Folded| f.heard.as_ref().map(|heard| of(heard) as f64);
    put("played_ns", &heard(|h| h.played_ns));
    put("silent_ns", &heard(|h| h.silent_ns));
    put("gaps", &heard(|h| h.gaps));
    put("longest_gap_ns", &heard(|h| h.longest_gap_ns));
    put("player_kills", &|f| Some(f.desktop.killed.iter().filter(|(app, _)| app == PLAYER).count() as f64));
    put("user_memory_bytes", &|f| f.user_memory_bytes);
    put("launches", &|f| Some(f.launches.len() as f64));
    put("kills", &|f| Some(f.end()?.kills));
    put("oom_kills", &|f| Some(f.end()?.oom_kills));
    put("daemon_cpu_ns", &|f| Some(f.end()?.daemon_cpu_ns));
    put("wrong_pages", &|f| Some(f.wrong_pages));
}
