// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps whose pages are alike, as they come from one zygote, beside some that are not (LowMem13, sections 4.3 and 4.4): what merging saves, and
//! what looking for it costs.

mod figures;

use fovea_report::panel::{Form, Panel};
use fovea_report::verdict::{ratio, verdict, Bound};
use rand::Rng;
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::{select, Folded};
use crate::figures::{by_case, compares, correctness, figure, id};
use crate::profile::Churn;
use crate::scenario::Scenario;
use crate::script::{generator, in_range, open, sample, start, BadParameter, Script};
use crate::{
    AppProfile, Boot, Case, Catalog, Configuration, Daemon, Error, Ksmd, Merging, Mix, PhoneProfile, Spawn, Step,
    Touch, Verdict,
};
use figures::{fill, put_saved};

const fn merged(name: &'static str, ksmd: Ksmd, only_kin: bool, for_kin: bool) -> Configuration {
    let mut configuration = Configuration::new(name, Daemon::Ladder);
    configuration.merging = Some(Merging { ksmd, only_kin, for_kin });
    configuration
}

/// Nothing is merged.
pub const OFF: Configuration = merged("off", Ksmd::Off, false, false);

/// All apps are registered, and ksmd runs as the kernel has it.
pub const ALWAYS: Configuration = merged("always", Ksmd::Always, false, false);

/// The same, at the speed that the kernel's advisor finds.
pub const ADVISOR: Configuration = merged("advisor", Ksmd::Advisor, false, false);

/// All apps are registered; ksmd runs when the daemon sees that some have newly gone to the background (LowMem13, optimization 1).
pub const BACKGROUND: Configuration = merged("background", Ksmd::Windows, false, false);

/// Only the zygote's children are registered (optimization 2), and ksmd runs as the kernel has it.
pub const KIN: Configuration = merged("kin", Ksmd::Always, true, false);

/// Both.
pub const BOTH: Configuration = merged("both", Ksmd::Windows, true, true);

/// The daemon as it is by default: all apps are registered, for those that are no kin have pages in common too, if fewer; ksmd runs when kin have
/// newly gone to the background.
pub const FOVEA: Configuration = merged("fovea", Ksmd::Windows, false, true);

pub(super) const ABOUT: About = About {
    configurations: &[OFF, ALWAYS, ADVISOR, BACKGROUND, KIN, BOTH, FOVEA],
    scenarios: builtin!["scenarios/ksm.toml"],
    lists: &["cases"],
    panels: &[
        Panel {
            scenario: "ksm",
            title: "CPU time to find pages that are alike",
            form: Form::Bars,
            figures: &[("ksmd_cpu_ns", "ksmd")],
        },
        Panel {
            scenario: "ksm",
            title: "Memory saved by merging them: more is better",
            form: Form::Bars,
            figures: &[("saved_bytes", "saved")],
        },
    ],
    ..About::NONE
};

const MIB: f64 = 1024.0 * 1024.0;

/// Apps switched to and fro with memory to spare, and with too little; and a daemon that is killed while ksmd looks.
const CASES: [&str; 3] = ["session", "tight", "killed"];

/// Apps that are opened before the daemon is killed, and how long that is after the last of them: the one before has been in the background for
/// the daemon's `burst_ms`, and ksmd takes some tenths of a second.
const KILLED_APPS: usize = 3;
const KILLED_AFTER_NS: u64 = 15_200_000_000;

/// Configurations of the second: whether anybody dies is looked at with merging and without.
const TIGHT: [&str; 3] = ["off", "always", "fovea"];

/// Parameters, explained in `profiles/scenarios/ksm.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ksm {
    /// Of "session", "tight", "killed".
    pub cases: Vec<String>,
    /// Apps from the zygote.
    pub apps: u32,
    /// Programs that are no kin of theirs.
    pub others: u32,
    /// Size of the smallest and of the largest.
    pub app_mib: [f64; 2],
    /// What they take of user memory together, in percent, by case.
    pub fill_percent: [f64; 2],
    /// Time spent with each app as it is first opened.
    pub first_use_ns: u64,
    /// Time spent with an app afterwards.
    pub use_ns: u64,
    /// Length of the session.
    pub session_ns: u64,
    /// Time after it in which nothing happens, twice: so long merging may still take, and so long it must rest.
    pub quiet_ns: u64,
    /// What apps' pages hold.
    pub mix: Mix,
    /// What the others' do.
    pub other_mix: Mix,
    /// What a start touches.
    pub launch: Touch,
    /// What a return to the screen touches; it writes a quarter of that.
    pub resume: Touch,
}

impl Default for Ksm {
    fn default() -> Self {
        let mix = |zero_percent, duplicate_percent, compressible_percent| Mix {
            zero_percent,
            duplicate_percent,
            compressible_percent,
            random_percent: 100 - zero_percent - duplicate_percent - compressible_percent,
            compressed_percent: 40,
        };
        let touch = |anon_percent| Touch { anon_percent, compute_insns: 20_000_000, ..Touch::default() };
        Ksm {
            cases: CASES.map(Into::into).into(),
            apps: 10,
            others: 3,
            app_mib: [60.0, 80.0],
            fill_percent: [60.0, 100.0],
            first_use_ns: 10_000_000_000,
            use_ns: 20_000_000_000,
            session_ns: 600_000_000_000,
            quiet_ns: 120_000_000_000,
            mix: mix(5, 20, 60),
            other_mix: mix(1, 0, 79),
            launch: touch(90),
            resume: touch(20),
        }
    }
}

impl Ksm {
    fn count(&self) -> u32 {
        self.apps + self.others
    }

    /// Of the paper's phone: evenly from the smallest to the largest.
    fn mib(&self, nth: u32) -> f64 {
        let [least, most] = self.app_mib;
        least + (most - least) * f64::from(nth) / f64::from(self.count().saturating_sub(1).max(1))
    }

    fn total_mib(&self) -> f64 {
        (0..self.count()).map(|nth| self.mib(nth)).sum()
    }

    /// Those that are no kin are spread among the sizes.
    fn is_other(&self, nth: u32) -> bool {
        let before = |nth: u32| nth * self.others / self.count();
        before(nth + 1) > before(nth)
    }

    fn profile(&self, nth: u32, grown: f64) -> AppProfile {
        let other = self.is_other(nth);
        AppProfile {
            name: format!("{}-{nth}", if other { "other" } else { "app" }),
            anon_bytes: (self.mib(nth) * grown * MIB) as u64,
            mix: if other { self.other_mix } else { self.mix },
            shared_files: Vec::new(),
            private_files: Vec::new(),
            launch: self.launch,
            resume: self.resume,
            churn: Churn::default(),
            spawn: if other { Spawn::Exec } else { Spawn::Zygote },
            role: "app".into(),
            load: None,
            activity: None,
            source: "LowMem13, section 4.3".into(),
        }
    }

    /// Until the daemon is killed.
    fn killed_steps(&self, names: &[String]) -> Vec<Step> {
        let opened = names.iter().take(KILLED_APPS);
        let mut steps = vec![sample("begin")];
        steps.extend(opened.flat_map(|name| [open(name), Step::Wait { ns: KILLED_AFTER_NS }]));
        steps.extend([sample("killed"), Step::KillDaemon {}, sample("end"), Step::Verify {}]);
        steps
    }

    fn steps(&self, scenario: &Scenario, names: &[String]) -> Vec<Step> {
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        steps.push(sample("begin"));
        let mut left_ns = self.session_ns;
        let mut use_for = |steps: &mut Vec<Step>, name: &str, ns: u64, label: &str| {
            steps.extend([open(name), Step::Wait { ns }, sample(label)]);
            left_ns = left_ns.saturating_sub(ns);
            left_ns >= ns
        };
        let mut goes_on = true;
        for name in names {
            goes_on = use_for(&mut steps, name, self.first_use_ns, "opening");
        }
        let mut rng = generator(scenario.seed, "ksm", 0);
        let mut last = names.len() - 1;
        while goes_on {
            let next = rng.gen_range(0..names.len() - 1);
            last = if next >= last { next + 1 } else { next };
            goes_on = use_for(&mut steps, &names[last], self.use_ns, "session");
        }
        steps.extend([
            sample("end"),
            Step::Home {},
            Step::Wait { ns: self.quiet_ns },
            sample("quiet"),
            Step::Wait { ns: self.quiet_ns },
            sample("still"),
            Step::Verify {},
        ]);
        steps
    }
}

/// The configurations that run a case; all do without.
fn only(case: &str) -> Option<&'static [&'static str]> {
    match case {
        "tight" => Some(&TIGHT),
        "killed" => Some(&["fovea"]),
        _ => None,
    }
}

impl Parameters for Ksm {
    fn check(&self) -> Result<(), BadParameter> {
        if let Some(case) = self.cases.iter().find(|case| !CASES.contains(&case.as_str())) {
            return Err(("cases", format!("{case:?} is none of {}", CASES.join(", "))));
        }
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        in_range("apps", self.apps, 2, 100)?;
        in_range("others", self.others, 0, 100)?;
        self.app_mib.iter().try_for_each(|&mib| in_range("app_mib", mib, 0.1, 4096.0))?;
        self.fill_percent.iter().try_for_each(|&percent| in_range("fill_percent", percent, 1.0, 300.0))?;
        for (key, mix) in [("mix", self.mix), ("other_mix", self.other_mix)] {
            let Mix { zero_percent, duplicate_percent, compressible_percent, random_percent, .. } = mix;
            in_range(key, zero_percent + duplicate_percent + compressible_percent + random_percent, 100, 100)?;
        }
        in_range("first_use_ns", self.first_use_ns, 1, 600_000_000_000)?;
        in_range("use_ns", self.use_ns, 1_000_000, 600_000_000_000)?;
        in_range("session_ns", self.session_ns, 1, 7_200_000_000_000)?;
        in_range("quiet_ns", self.quiet_ns, 0, 3_600_000_000_000)
    }

    /// The first case's; the second's apps are larger by as much.
    fn scale(&self, asked: Option<f64>, _phone: &PhoneProfile, user_bytes: u64) -> f64 {
        asked.unwrap_or(user_bytes as f64 * self.fill_percent[0] / 100.0 / (self.total_mib() * MIB))
    }

    fn scripts(&self, scenario: &Scenario, _scale: f64, _catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let script = |case: &String| {
            let tight = case == CASES[1];
            let grown = if tight { self.fill_percent[1] / self.fill_percent[0] } else { 1.0 };
            let apps: Vec<AppProfile> = (0..self.count()).map(|nth| self.profile(nth, grown)).collect();
            let names: Vec<String> = apps.iter().map(|app| app.name.clone()).collect();
            Script {
                case: case.clone(),
                seed: scenario.seed,
                steps: if case == CASES[2] { self.killed_steps(&names) } else { self.steps(scenario, &names) },
                apps,
                only: only(case),
                ..Script::default()
            }
        };
        Ok(self.cases.iter().map(script).collect())
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        let mut cases = by_case(scenario, &self.cases, folded, fill);
        for case in &self.cases {
            let Some(off) = select(folded, case, OFF.name()) else { continue };
            for of in cases.iter_mut().filter(|of| of.case == *case && !of.figures.is_empty()) {
                let Some(boots) = select(folded, case, &of.configuration) else { continue };
                put_saved(&mut of.figures, &boots, &off);
            }
        }
        cases.retain(|of| only(&of.case).is_none_or(|only| only.contains(&of.configuration.as_str())));
        cases
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for case in &self.cases {
            let get = |configuration: &str, name: &str| figure(cases, case, configuration, name);
            if case == CASES[2] {
                let mut push = |name: &str, claim: &str, figure: &str, bound: Bound| {
                    verdicts.push(verdict(&id(name, case), claim, "this project", get("fovea", figure), bound));
                };
                push("looking", "ksmd looks as the daemon is killed", "run", Bound::Equal(1.0));
                push("as-it-was", "and is set as it was before the daemon came", "left_after_kill", Bound::Equal(0.0));
                push("wrong-pages-fovea", "no page comes back wrong under fovea", "wrong_pages", Bound::Equal(0.0));
                continue;
            }
            if case == CASES[1] {
                let in_tight = |v: &Verdict| TIGHT.iter().any(|name| v.id == id(&format!("wrong-pages-{name}"), case));
                if compares(scenario, &["off", "fovea"]) {
                    let excess = get("fovea", "kills").zip(get("off", "kills")).map(|(ours, off)| ours - off);
                    verdicts.push(verdict(
                        &id("kills", case),
                        "fewer kills with merging than without (kills less those without)",
                        "LowMem13, section 4.4 and figure 4-13: fewer calls of the low memory killer",
                        excess,
                        Bound::Below(0.0),
                    ));
                }
                verdicts.extend(correctness(scenario, cases, case).into_iter().filter(in_tight));
                continue;
            }
            if compares(scenario, &["off", "always", "fovea"]) {
                let share = |name: &str| ratio(get("fovea", name), get("always", name));
                verdicts.push(verdict(
                    &id("ksmd-cpu", case),
                    "ksmd takes at most 5 % of the CPU time that it takes when it always runs",
                    "LowMem13, section 3.3, optimization 1: \"98% CPU saving\"",
                    share("ksmd_cpu_ns"),
                    Bound::AtMost(0.05),
                ));
                verdicts.push(verdict(
                    &id("saved", case),
                    "once all apps are open, for at least 95 % of the memory that this saves",
                    "LowMem13, section 3.3: \"with the same amount of memory saved\"; section 4.4 and figure 4-12",
                    share("saved_bytes"),
                    Bound::AtLeast(0.95),
                ));
            }
            if compares(scenario, &["advisor", "fovea"]) {
                verdicts.push(verdict(
                    &id("ksmd-cpu-advisor", case),
                    "ksmd takes less CPU time than with the kernel's advisor (share of it)",
                    "this project",
                    ratio(get("fovea", "ksmd_cpu_ns"), get("advisor", "ksmd_cpu_ns")),
                    Bound::Below(1.0),
                ));
            }
            for configuration in ["background", "both", "fovea"] {
                if compares(scenario, &[configuration]) {
                    verdicts.push(verdict(
                        &id(&format!("ksmd-rests-{configuration}"), case),
                        "ksmd does nothing while nothing is new (ns)",
                        "this project",
                        get(configuration, "still_ksmd_cpu_ns"),
                        Bound::Equal(0.0),
                    ));
                }
            }
            verdicts.extend(correctness(scenario, cases, case));
        }
        verdicts
    }
}
