// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A process outside of the user's apps takes memory: in a terminal, a snap, a container, a session
//! over SSH and so on. Who is killed?

mod cases;
mod verdicts;

use serde::Deserialize;

use self::cases::{names, Manner, OneCase, CASES};
use super::desktop::{BESIDE_EARLYOOM, BESIDE_SYSTEMD_OOMD, EARLYOOM, FOVEA, KERNEL, SYSTEMD_OOMD};
use super::{About, Parameters};
use crate::app_file::mib_pages;
use crate::catalog::builtin;
use crate::figures::by_case;
use crate::figures::fold::Folded;
use crate::outsider::Leaks;
use crate::scenario::Scenario;
use crate::script::{in_range, open, sample, BadParameter, Script};
use crate::{
    Boot, Case, Catalog, Error, Forks, Growth, Meanwhile, Mix, Outsider, PhoneProfile, Step, Swap, Touch, Verdict,
    PAGE_BYTES,
};

pub(super) const ABOUT: About = About {
    configurations: &[KERNEL, EARLYOOM, SYSTEMD_OOMD, FOVEA],
    peers: &[BESIDE_EARLYOOM, BESIDE_SYSTEMD_OOMD],
    scenarios: builtin!["scenarios/outsiders.toml"],
    lists: &["cases", "apps"],
    is_judged_by_figures: true,
    ..About::NONE
};

/// Half of the leaker's pages compress to 40 %, the others not at all.
const MIX: Mix =
    Mix { zero_percent: 0, duplicate_percent: 0, compressible_percent: 50, random_percent: 50, compressed_percent: 40 };

/// A leaker that stops does so at this many times the memory of the largest app.
const STOPS_AT_LARGEST: u64 = 5;

/// Parameters, explained in `profiles/scenarios/outsiders.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Outsiders {
    /// Names of the cases that are played.
    pub cases: Vec<String>,
    /// The apps that are opened.
    pub apps: Vec<String>,
    /// Interactions with each app that comes to the front.
    pub interactions: u32,
    /// Time from one to the next.
    pub period_ns: u64,
    /// What each interaction touches.
    pub touch: Touch,
    /// Longest time for which the user works during the leak.
    pub limit_ns: u64,
    /// Time for which the user works after the leaker's end.
    pub after_ns: u64,
    /// The same where systemd starts the leaker anew.
    pub anew_ns: u64,
    /// Taken at a time by a fast leak, a slow one, and one that pauses.
    pub leak_mib: [f64; 3],
    /// Time from one to the next, of each.
    pub leak_period_ns: [u64; 3],
    /// Memory of the leaker's siblings: a shell, and a program with work that is not saved.
    pub siblings_mib: [f64; 2],
    /// Size of the file that a sibling puts on a tmpfs in `vte-tmpfs`.
    pub file_mib: f64,
    /// Memory of the second user's process.
    pub quiet_mib: f64,
    /// Memory at which the session part stops to leak.
    pub session_part_mib: f64,
    /// Memory at which the job in `vte-fits` stops.
    pub fits_mib: f64,
    /// Names that are looked up in `slab`, so that the kernel caches them.
    pub names: u64,
    /// Available memory at which the service stops, in `slab`.
    pub available_mib: f64,
    /// Processes that come and go in `scores`.
    pub forks: u64,
    /// Changes of focus meanwhile.
    pub switches: u32,
}

impl Default for Outsiders {
    fn default() -> Self {
        Outsiders {
            cases: CASES.iter().filter(|case| case.usual).map(|case| case.name.into()).collect(),
            apps: ["web", "photos", "mail", "notes", "term", "calc"].map(Into::into).into(),
            interactions: 4,
            period_ns: 500_000_000,
            touch: Touch { anon_percent: 10, shared_percent: 10, private_percent: 10, compute_insns: 2_000_000 },
            limit_ns: 120_000_000_000,
            after_ns: 5_000_000_000,
            anew_ns: 45_000_000_000,
            leak_mib: [8.0, 2.0, 62.0],
            leak_period_ns: [250_000_000, 250_000_000, 7_000_000_000],
            siblings_mib: [2.0, 12.0],
            file_mib: 120.0,
            quiet_mib: 440.0,
            session_part_mib: 360.0,
            fits_mib: 230.0,
            names: 400_000,
            available_mib: 40.0,
            forks: 10_000,
            switches: 50,
        }
    }
}

impl Parameters for Outsiders {
    fn check(&self) -> Result<(), BadParameter> {
        if let Some(case) = self.cases.iter().find(|case| OneCase::find(case).is_none()) {
            return Err(("cases", format!("{case:?} is none of {}", names().collect::<Vec<_>>().join(", "))));
        }
        if self.cases.is_empty() || self.apps.is_empty() {
            return Err((if self.apps.is_empty() { "apps" } else { "cases" }, "there are none".into()));
        }
        in_range("interactions", self.interactions, 1, 10_000)?;
        in_range("period_ns", self.period_ns, 1_000_000, 60_000_000_000)?;
        in_range("limit_ns", self.limit_ns, 1, 3_600_000_000_000)?;
        in_range("after_ns", self.after_ns, 0, 3_600_000_000_000)?;
        in_range("anew_ns", self.anew_ns, 0, 3_600_000_000_000)?;
        self.leak_mib.iter().try_for_each(|&mib| in_range("leak_mib", mib, 0.01, 1024.0))?;
        self.leak_period_ns.iter().try_for_each(|&ns| in_range("leak_period_ns", ns, 1_000_000, 60_000_000_000))?;
        self.siblings_mib.iter().try_for_each(|&mib| in_range("siblings_mib", mib, 0.01, 1024.0))?;
        in_range("file_mib", self.file_mib, 0.01, 65536.0)?;
        in_range("quiet_mib", self.quiet_mib, 1.0, 65536.0)?;
        in_range("session_part_mib", self.session_part_mib, 1.0, 65536.0)?;
        in_range("fits_mib", self.fits_mib, 1.0, 65536.0)?;
        in_range("available_mib", self.available_mib, 1.0, 65536.0)?;
        in_range("names", self.names, 1, 100_000_000)?;
        in_range("forks", self.forks, 1, 10_000_000)?;
        in_range("switches", self.switches, 1, 100_000)
    }

    fn scripts(&self, scenario: &Scenario, scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let mut scripts = Vec::new();
        for case in self.cases.iter().filter_map(|case| OneCase::find(case)) {
            let outsider = Step::Outsider(self.outsider(case, scenario, scale, catalog)?);
            let mut steps = vec![sample("begin")];
            let is_first = matches!(case.manner, Manner::Quiet);
            steps.extend(is_first.then(|| outsider.clone()));
            let last = self.apps.last().into_iter();
            for app in self.apps.iter().chain(last.filter(|_| case.manner == Manner::Quiet)) {
                steps.push(open(app));
                steps.push(self.interact(app));
            }
            if case.manner == Manner::Mild {
                steps.push(Step::Dentries { names: self.names });
            }
            steps.extend((!is_first).then_some(outsider));
            steps.push(match case.manner {
                Manner::Forks => Step::Forks(self.forks()),
                Manner::Owner => Step::OwnZram {},
                _ => Step::Outgrow(self.meanwhile(case)),
            });
            steps.extend([sample("end"), Step::Verify {}]);
            let without_swap = case.manner == Manner::Mild;
            scripts.push(Script {
                case: case.name.into(),
                seed: scenario.seed,
                steps,
                desktop: Some(match case.manner {
                    Manner::Mild => Swap::None,
                    Manner::Owner => Swap::Owned,
                    _ => Swap::Zram,
                }),
                // This follows the line `[zram]`, with which the daemon's file begins.
                daemon_keys: if without_swap { "enabled = false\n".into() } else { String::new() },
                ..Script::default()
            });
        }
        Ok(scripts)
    }

    /// The phone's size does not scale the apps: they are a desktop's already.
    fn scale(&self, asked: Option<f64>, _phone: &PhoneProfile, _user_bytes: u64) -> f64 {
        asked.unwrap_or(1.0)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &self.cases, folded, verdicts::fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        let of = |case: &String| OneCase::find(case).map(|case| verdicts::of_case(case, scenario, cases));
        self.cases.iter().filter_map(of).flatten().collect()
    }
}

impl Outsiders {
    fn interact(&self, app: &str) -> Step {
        let (interactions, period_ns, touch) = (self.interactions, self.period_ns, self.touch);
        Step::Interact { app: app.into(), interactions, period_ns, touch }
    }

    fn meanwhile(&self, case: OneCase) -> Meanwhile {
        Meanwhile {
            apps: self.apps.clone(),
            interactions: self.interactions,
            period_ns: self.period_ns,
            touch: self.touch,
            limit_ns: self.limit_ns,
            // One that begins anew ends several times.
            after_ns: if case.leaks == Leaks::Anew { self.anew_ns } else { self.after_ns },
            to_and_fro: case.to_and_fro,
        }
    }

    /// Each process lives through several changes of focus. A unit of the netbook may have some 700 tasks: systemd's
    /// `DefaultTasksMax` is 15 % of what the kernel allows.
    fn forks(&self) -> Forks {
        Forks {
            app: self.apps[0].clone(),
            processes: self.forks,
            living: (self.forks / 20).min(500),
            period_ns: 2_000_000,
            switches: self.switches,
            switch_ns: self.forks.saturating_mul(2_000_000) / u64::from(self.switches),
        }
    }

    fn outsider(&self, case: OneCase, scenario: &Scenario, scale: f64, catalog: &Catalog) -> Result<Outsider, Error> {
        let pages = |mib: f64| mib_pages(mib * scale);
        let rate = match case.manner {
            Manner::Slow | Manner::Fits | Manner::Mild => 1,
            Manner::Steps => 2,
            _ => 0,
        };
        let grows = !matches!(case.manner, Manner::Quiet | Manner::Forks | Manner::Owner);
        let most_pages = match case.manner {
            Manner::Stops => {
                let mut largest = 0;
                for name in &self.apps {
                    let app = catalog.app(name);
                    let app = app.ok_or_else(|| scenario.wrong(format!("no app {name:?}"), "add it as [[app]]"))?;
                    largest = largest.max(app.anon_bytes / PAGE_BYTES as u64);
                }
                (largest as f64 * scale) as u64 * STOPS_AT_LARGEST
            }
            Manner::Bounded => pages(self.session_part_mib),
            Manner::Fits => pages(self.fits_mib),
            _ => u64::MAX,
        };
        Ok(Outsider {
            place: case.place,
            sibling_pages: self.siblings_mib.map(pages),
            mix: MIX,
            growth: Growth {
                first_pages: if case.manner == Manner::Quiet { pages(self.quiet_mib) } else { 0 },
                pages: if grows { pages(self.leak_mib[rate]) } else { 0 },
                period_ns: self.leak_period_ns[rate],
                most_pages,
                least_available_bytes: match case.manner {
                    Manner::Mild => pages(self.available_mib) * PAGE_BYTES as u64,
                    _ => 0,
                },
                shared: case.shared,
                rereads: case.manner == Manner::Thrash,
            },
            file_pages: if case.files { pages(self.file_mib) } else { 0 },
            has_window: case.window,
            leaks: case.leaks,
        })
    }
}
