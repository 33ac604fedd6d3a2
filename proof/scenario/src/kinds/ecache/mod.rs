// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Apps opened by a workload's proportions and used, on a phone with memory reserved for devices (eCache12, section 5.2).

mod against_normal;
mod figures;
mod tables;

use fovea_report::panel::{Form, Panel};
use fovea_report::paper::Paper;
use rand::Rng;
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::fold::Folded;
use crate::scenario::Scenario;
use crate::script::{close, draw, find, generator, in_range, open, sample, start, BadParameter, Script};
use crate::{
    catalog, AppProfile, Boot, Case, Catalog, Configuration, Daemon, Error, Footprint, PhoneProfile, Reservation, Step,
    Verdict,
};

/// Memory is managed as on the phone of eCache12: no swap, and Android's kill ladder.
const fn reserved(name: &'static str, reservation: Reservation) -> Configuration {
    let mut configuration = Configuration::new(name, Daemon::Ladder);
    configuration.reservation = reservation;
    configuration
}

/// Reserved memory lies idle until its device works, as on the phone of eCache12.
pub const NORMAL: Configuration = reserved("normal", Reservation::Idle);

/// Reserved memory caches evicted file pages meanwhile (eCache12).
pub const ECACHE: Configuration = reserved("ecache", Reservation::Ecache);

/// Nothing is reserved and no device allocates: the memory is simply the phone's. No scheme that also serves devices can have more.
pub const RETURNED: Configuration = reserved("returned", Reservation::Returned);

/// Movable pages fill the reserved memory and are migrated away when a device needs it: what CMA does.
pub const MIGRATE: Configuration = reserved("migrate", Reservation::Migrate);

/// The same with zram, and another who manages memory.
const fn beside_zram(name: &'static str, daemon: Daemon, reservation: Reservation) -> Configuration {
    let mut configuration = Configuration::new(name, daemon);
    configuration.zram = true;
    configuration.reservation = reservation;
    configuration
}

/// Reserved memory and the policy for all other memory at once: each of the first with each of the second. The four above have no swap and the ladder.
const WITH_POLICIES: &[Configuration] = &[
    beside_zram("migrate-zram", Daemon::Ladder, Reservation::Migrate),
    beside_zram("migrate-fovea", Daemon::Full, Reservation::Migrate),
    beside_zram("normal-fovea", Daemon::Full, Reservation::Idle),
    beside_zram("ecache-zram", Daemon::Ladder, Reservation::Ecache),
    beside_zram("ecache-fovea", Daemon::Full, Reservation::Ecache),
    beside_zram("returned-zram", Daemon::Ladder, Reservation::Returned),
    beside_zram("returned-fovea", Daemon::Full, Reservation::Returned),
];

pub(super) const ABOUT: About = About {
    configurations: &[NORMAL, ECACHE, RETURNED, MIGRATE],
    peers: WITH_POLICIES,
    scenarios: builtin!["scenarios/ecache.toml"],
    lists: &["cases", "traced"],
    shorthands: &[("workload", "cases")],
    panels: &[
        Panel {
            scenario: "ecache",
            title: "Opening an app, with memory reserved for devices",
            form: Form::Bars,
            figures: &[("launch_geomean_ns", "any app")],
        },
        Panel {
            scenario: "ecache",
            title: "Read from flash, with memory reserved for devices",
            form: Form::Bars,
            figures: &[("read_bytes", "read")],
        },
        Panel {
            scenario: "ecache",
            title: "Time until the video decoder has its memory",
            form: Form::Bars,
            figures: &[("alloc_mfc_insns", "on average"), ("alloc_mfc_worst_insns", "at worst")],
        },
    ],
    paper: Some(Paper {
        scenario: "ecache",
        source: "eCache12, section 5",
        configurations: &[],
        figures: &[],
        shares: Some(tables::SHARES),
    }),
    ..About::NONE
};

/// Parameters, explained in `profiles/scenarios/ecache.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecache {
    /// Names of workloads.
    pub cases: Vec<String>,
    /// Apps opened before anything is measured.
    pub warm_launches: u32,
    /// Apps opened.
    pub launches: u32,
    /// How often an app is closed and not merely left.
    pub close_percent: u32,
    /// Time spent with each app, unless the footprint says otherwise.
    pub use_ns: u64,
    /// Which files the apps use.
    pub footprint: String,
    /// Those of the cases in which hits are counted by kind of file, in a boot of their own.
    pub traced: Vec<String>,
    /// Further parameters of dm-ecache.
    pub module: String,
}

impl Default for Ecache {
    fn default() -> Self {
        Ecache {
            cases: ["L", "N", "H", "LM", "NM", "HM"].map(String::from).into(),
            warm_launches: 0,
            launches: 200,
            close_percent: 40,
            use_ns: 5_000_000_000,
            footprint: "android-2.3".into(),
            traced: vec!["N".into()],
            module: String::new(),
        }
    }
}

impl Parameters for Ecache {
    fn check(&self) -> Result<(), BadParameter> {
        if self.cases.is_empty() {
            return Err(("cases", "there are none".into()));
        }
        in_range("warm_launches", self.warm_launches, 0, 1_000_000)?;
        in_range("launches", self.launches, 1, 1_000_000)?;
        in_range("close_percent", self.close_percent, 0, 100)?;
        in_range("use_ns", self.use_ns, 0, 3_600_000_000_000)
    }

    /// One boot for each workload.
    fn scripts(&self, scenario: &Scenario, _scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let footprint = scenario.footprint(&self.footprint, catalog)?;
        // A traced workload need not be among the cases, but must not be a slip of the pen.
        self.traced.iter().try_for_each(|case| find(catalog, &scenario.name, case).map(drop))?;
        let script = |case: &String| {
            let steps = self.steps(scenario, find(catalog, &scenario.name, case)?, footprint);
            Ok(Script {
                case: case.clone(),
                seed: scenario.seed,
                steps,
                module_parameters: self.module.clone(),
                traced: self.traced.contains(case).then_some(ECACHE),
                ..Script::default()
            })
        };
        self.cases.iter().map(script).collect()
    }

    /// With the footprint's files in place of its own.
    fn app(
        &self,
        app: &AppProfile,
        scenario: &Scenario,
        devices: Option<&PhoneProfile>,
        catalog: &Catalog,
    ) -> Result<AppProfile, Error> {
        scenario.with_files(&self.footprint, app, devices, catalog)
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        figures::cases(self, scenario, folded)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], boots: &[Boot<'_>]) -> Vec<Verdict> {
        figures::verdicts(self, scenario, cases, boots)
    }
}

impl Ecache {
    fn steps(&self, scenario: &Scenario, workload: &catalog::Workload, footprint: &Footprint) -> Vec<Step> {
        let mut rng = generator(scenario.seed, "ecache", 0);
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        for launch in 0..self.warm_launches + self.launches {
            if launch == self.warm_launches {
                steps.push(sample("begin"));
            }
            let app = draw(workload, &mut rng);
            let ns = footprint.use_ns(app).unwrap_or(self.use_ns);
            steps.extend([open(app), Step::Use { app: app.into(), ns }]);
            steps.push(if rng.gen_range(0..100) < self.close_percent { close(app) } else { Step::Home {} });
        }
        steps.push(sample("end"));
        steps
    }
}
