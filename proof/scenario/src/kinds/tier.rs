// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps in front and behind in fast and slow memory (Hybrid15, section 4).

use fovea_report::panel::{Form, Panel};
use fovea_report::verdict::{verdict, Bound};
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{mean, set, Folded};
use crate::figures::{by_case, figure, id, Figures};
use crate::hybrid_prices::{self, PageAccesses};
use crate::scenario::Scenario;
use crate::script::{in_range, BadParameter, Script};
use crate::{
    Boot, Case, Catalog, Configuration, Daemon, Error, Requests, Step, TierLoad, TierUse, Tiering, Verdict, PAGE_BYTES,
};

const fn tiered(name: &'static str, tiering: Tiering) -> Configuration {
    let mut configuration = Configuration::new(name, Daemon::Ranks);
    configuration.tiering = Some(tiering);
    configuration
}

/// The kernel as it boots: what is touched first has the fast memory, and keeps it.
pub const DEFAULT: Configuration = tiered("default", Tiering::Default);

/// The kernel's tiering: hint faults promote, reclaim demotes.
pub const NUMA_BALANCING: Configuration = tiered("numa-balancing", Tiering::NumaBalancing);

/// The same with all that the daemon sets of the kernel, by somebody who knows debugfs: it looks at what an app uses after each 100 ms of its CPU
/// time, from the first, and moves what is used within 3 s. What the daemon itself does is the difference to it.
pub const NUMA_BALANCING_OFTEN: Configuration = tiered("numa-balancing-often", Tiering::NumaBalancingOften);

/// DAMON's schemes: what is accessed is promoted, what is not is demoted.
pub const DAMON: Configuration = tiered("damon", Tiering::Damon);

/// The kernel's tiering for the app in front, with room made ahead by what others do not use.
pub const FOVEA: Configuration = tiered("fovea", Tiering::Managed);

pub(super) const ABOUT: About = About {
    configurations: &[DEFAULT, NUMA_BALANCING, NUMA_BALANCING_OFTEN, DAMON, FOVEA],
    scenarios: builtin!["scenarios/tier.toml"],
    lists: &["fast_percent", "ratio", "taken_per_s"],
    panels: &[Panel {
        scenario: "tier",
        title: "The app in front waits for memory",
        form: Form::Bars,
        figures: &[("foreground_elapsed_ns", "waits")],
    }],
    ..About::NONE
};

/// Parameters, explained in `profiles/scenarios/tier.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tier {
    /// Fast memory that apps have, of what they have in all; with each ratio a case.
    pub fast_percent: Vec<u32>,
    /// How many times as many requests the app in front makes as all others.
    pub ratio: Vec<u64>,
    /// New pages that an app in the background takes in a second; with each ratio and share a case.
    pub taken_per_s: Vec<u64>,
    /// With the lower ratios, the next app comes to the front after so long.
    pub switch_ns: u64,
    /// All else.
    pub load: TierLoad,
}

/// From this ratio on one app stays in front, as in the paper's first trace.
const STAYS_RATIO: u64 = 15;

impl Default for Tier {
    fn default() -> Self {
        Tier {
            fast_percent: vec![5, 10, 25],
            ratio: vec![15, 3],
            taken_per_s: vec![0],
            switch_ns: 5_000_000_000,
            load: TierLoad::default(),
        }
    }
}

impl Tier {
    fn loads(&self) -> impl Iterator<Item = (String, TierLoad)> + '_ {
        let each = self.taken_per_s.iter().flat_map(move |&taken_per_s| {
            self.ratio.iter().flat_map(move |&ratio| self.fast_percent.iter().map(move |&p| (taken_per_s, ratio, p)))
        });
        each.map(|(taken_per_s, ratio, fast_percent)| {
            let switch_ns = if ratio >= STAYS_RATIO { 0 } else { self.switch_ns };
            let takes = if taken_per_s > 0 { format!("-takes-{taken_per_s}") } else { String::new() };
            let load = TierLoad { fast_percent, ratio, switch_ns, taken_per_s, ..self.load };
            (format!("{ratio}-{fast_percent}{takes}"), load)
        })
    }
}

impl Parameters for Tier {
    fn check(&self) -> Result<(), BadParameter> {
        for (key, empty) in [
            ("fast_percent", self.fast_percent.is_empty()),
            ("ratio", self.ratio.is_empty()),
            ("taken_per_s", self.taken_per_s.is_empty()),
        ] {
            if empty {
                return Err((key, "there are none".into()));
            }
        }
        self.fast_percent.iter().try_for_each(|&percent| in_range("fast_percent", percent, 1, 100))?;
        self.ratio.iter().try_for_each(|&ratio| in_range("ratio", ratio, 1, 1000))?;
        self.taken_per_s.iter().try_for_each(|&pages| in_range("taken_per_s", pages, 0, 1 << 20))?;
        in_range("switch_ns", self.switch_ns, 1_000_000_000, 3_600_000_000_000)?;
        let load = &self.load;
        in_range("load.apps", load.apps, 2, 16)?;
        in_range("load.pages", load.pages, 16, 1 << 20)?;
        in_range("load.set_pages", load.set_pages, 1, load.pages)?;
        in_range("load.set_percent", load.set_percent, 0, 100)?;
        in_range("load.write_percent", load.write_percent, 0, 100)?;
        in_range("load.front_per_s", load.front_per_s, 1, 10_000_000)?;
        in_range("load.compute_insns", load.compute_insns, 0, 1_000_000_000)?;
        in_range("load.ns", load.ns, 1_000_000_000, 3_600_000_000_000)
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let script =
            |(case, load)| Script { case, seed: scenario.seed, steps: vec![Step::Tier(load)], ..Script::default() };
        Ok(self.loads().map(script).collect())
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        let cases: Vec<String> = self.loads().map(|(case, _)| case).collect();
        by_case(scenario, &cases, folded, fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (case, _) in self.loads() {
            for configuration in &scenario.configurations {
                let name = configuration.name();
                verdicts.push(verdict(
                    &id(&format!("content-{name}"), &case),
                    "pages that were moved hold what was written there",
                    "this project",
                    figure(cases, &case, name, "wrong_pages"),
                    Bound::AtMost(0.0),
                ));
            }
            verdicts.extend(compared(scenario, cases, &case));
        }
        verdicts
    }
}

/// What the daemon's own moves may cost beside the kernel with the same settings.
const ALONE_SHARE: f64 = 1.05;

/// What ours is to reach: first of all who are compared, and nobody behind pays for it.
fn compared(scenario: &Scenario, cases: &[Case], case: &str) -> Vec<Verdict> {
    let of = |name: &str, what: &str| figure(cases, case, name, what);
    let names: Vec<_> = scenario.configurations.iter().map(|c| c.name().to_owned()).collect();
    let others: Vec<_> = names.iter().map(String::as_str).filter(|name| *name != FOVEA.name()).collect();
    if !names.iter().any(|name| name == FOVEA.name()) {
        return Vec::new();
    }
    let ours = |what: &str| of(FOVEA.name(), what);
    let paper = "this project (Hybrid15: -53 % and -23 % beside LRU and 2QLRU)";
    let mut verdicts = vec![verdict(
        &id("fast-touches", case),
        "from two seconds after a focus, requests in front that find their page in fast memory (%)",
        "this project",
        ours("fast_touch_percent"),
        Bound::AtLeast(90.0),
    )];
    verdicts.push(verdict(
        &id("as-it-was", case),
        "after the daemon was killed at work, all that it sets is as it was before",
        "this project",
        ours("left_after_kill"),
        Bound::Equal(0.0),
    ));
    let tuned = NUMA_BALANCING_OFTEN;
    let alone = tuned.name();
    for (name, what, claim) in [
        ("elapsed", "foreground_elapsed_ns", "the app in front waits less for memory"),
        ("energy", "energy_nj", "memory takes less energy"),
    ] {
        let best =
            others.iter().filter(|name| **name != alone).filter_map(|name| of(name, what)).min_by(f64::total_cmp);
        let mut push = |id: &str, claim: &str, source: &str, base: f64, most: f64| {
            verdicts.push(verdict(id, claim, source, ours(what).map(|ours| ours / base), Bound::AtMost(most)));
        };
        if let Some(best) = best {
            push(&id(name, case), &format!("{claim} than under any other (ratio to the best)"), paper, best, 1.0);
        }
        if let Some(base) = of(alone, what).filter(|_| others.contains(&alone)) {
            let claim =
                format!("{claim}, or at most 5 % more, than under the kernel alone with the same settings (ratio)");
            push(&id(&format!("{name}-alone"), case), &claim, "this project", base, ALONE_SHARE);
        }
    }
    if others.contains(&DEFAULT.name()) {
        let (ours, theirs) = (ours("background_elapsed_ns"), of(DEFAULT.name(), "background_elapsed_ns"));
        verdicts.push(verdict(
            &id("background", case),
            "apps behind wait for memory as they do under the kernel's default (ratio)",
            "this project",
            ours.zip(theirs).map(|(ours, theirs)| ours / theirs),
            Bound::AtMost(1.1),
        ));
    }
    verdicts
}

fn pages(requests: &Requests) -> PageAccesses {
    let Requests { fast_reads, fast_writes, slow_reads, slow_writes } = *requests;
    PageAccesses { dram_reads: fast_reads, dram_writes: fast_writes, pcm_reads: slow_reads, pcm_writes: slow_writes }
}

fn elapsed_ns<'a>(requests: impl Iterator<Item = &'a Requests>) -> f64 {
    requests.map(|requests| pages(requests).elapsed_ns()).sum()
}

/// Of all requests, of moving pages, and of memory for the time that the requests took together. Of the pages moved half are taken to have gone
/// either way: where fast memory is full, what comes in drives as much out.
fn energy_nj(tier: &TierUse) -> f64 {
    let requests = || tier.apps.values().flat_map(|app| [&app.front, &app.back]);
    let dynamic: f64 = requests().map(|requests| pages(requests).dynamic_nj()).sum();
    // A page to and fro is read and written in both.
    let to_and_fro = PageAccesses { dram_reads: 1, dram_writes: 1, pcm_reads: 1, pcm_writes: 1 };
    let moves = tier.moved_pages as f64 / 2.0 * to_and_fro.dynamic_nj();
    dynamic + moves + hybrid_prices::static_nj(tier.fast_bytes, tier.slow_bytes, elapsed_ns(requests()))
}

fn fill(figures: &mut Figures, boots: &[&Folded]) {
    let mut put = |name: &str, value: &dyn Fn(&TierUse) -> f64| {
        set(figures, name, mean(boots, |folded| folded.tier.as_ref().map(value)));
    };
    put("fast_touch_percent", &|tier| {
        let sum = |of: fn(&Requests) -> u64| tier.apps.values().map(|app| of(&app.settled)).sum::<u64>() as f64;
        100.0 * sum(Requests::fast) / sum(Requests::all).max(1.0)
    });
    put("foreground_elapsed_ns", &|tier| elapsed_ns(tier.apps.values().map(|app| &app.front)));
    put("background_elapsed_ns", &|tier| elapsed_ns(tier.apps.values().map(|app| &app.back)));
    put("energy_nj", &energy_nj);
    put("moved_bytes", &|tier| (tier.moved_pages * PAGE_BYTES as u64) as f64);
    put("system_ns", &|tier| tier.system_ns as f64);
    put("wrong_pages", &|tier| tier.apps.values().map(|app| app.wrong_pages as f64).sum());
    put("kept_out", &|tier| tier.kept_out as f64);
    set(figures, "left_after_kill", mean(boots, |folded| folded.left_after_kill));
    set(figures, "daemon_cpu_ns", mean(boots, |folded| Some(folded.end()?.daemon_cpu_ns)));
}
