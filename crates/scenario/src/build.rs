// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! From a scenario to the plans of its boots.

use std::collections::BTreeMap;

use crate::app_file::mib_pages;
use crate::daemon_config::{daemon_config_for, user_memory_bytes};
use crate::scenario::{Kind, Scenario};
use crate::steps::{Script, SEED_USER_BYTES};
use crate::{AppProfile, Catalog, Error, PhoneProfile, Plan, Step, PAGE_BYTES};

/// Share of the flash that files may take; the rest is the file system's own.
const FLASH_FILL: f64 = 0.9;

impl Step {
    /// The app that the step names.
    pub fn app(&self) -> Option<&str> {
        match self {
            Step::Open { app }
            | Step::Start { app }
            | Step::Close { app }
            | Step::Crash { app }
            | Step::Fill { app, .. } => Some(app),
            _ => None,
        }
    }
}

impl Scenario {
    /// The plans of all boots: by case and round, and within these by configuration, so that what is compared runs side by side.
    /// Plans of the same case and round differ in nothing but the configuration and the daemon's file.
    pub fn plans(&self, catalog: &Catalog, exact: bool) -> Result<Vec<Plan>, Error> {
        let mut catalog = catalog.clone();
        for app in catalog.resolve(&self.origin.0, &self.origin.1, &self.app)? {
            catalog.insert_app(app);
        }
        let phone = catalog.phone(&self.phone).cloned().ok_or_else(|| {
            let known: Vec<_> = catalog.phones().map(|p| p.name.as_str()).collect();
            self.wrong(format!("no phone {:?}", self.phone), &format!("use one of {}", known.join(", ")))
        })?;
        let user_bytes = user_memory_bytes(&phone, mib_pages(self.kernel_mib) * PAGE_BYTES as u64);
        if user_bytes == 0 {
            return Err(self.wrong("the kernel leaves no memory".into(), "lower kernel_mib or choose another phone"));
        }
        let scale = self.scale(user_bytes);
        let scripts = match self.kind {
            Kind::Lowmem => self.lowmem.scripts(self.seed, scale, &self.services, &catalog),
            Kind::Workload => self.workload.scripts(&self.name, self.seed, &self.services, &catalog)?,
            Kind::Monkey => self.monkey.scripts(&self.name, self.seed, &self.services, &catalog)?,
            Kind::Steps => {
                let services = self.services.iter().map(|s| Step::Start { app: s.clone() });
                let steps = services.chain(self.steps.iter().cloned()).collect();
                vec![Script { seed: self.seed, steps, ..Script::default() }]
            }
        };
        let mut plans = Vec::new();
        for script in scripts {
            let apps = self.apps(&script, &catalog, scale, &phone)?;
            for &configuration in &self.configurations {
                plans.push(Plan {
                    scenario: self.name.clone(),
                    case: script.case.clone(),
                    configuration,
                    seed: script.seed,
                    exact,
                    phone: phone.clone(),
                    daemon_config: daemon_config_for(configuration, user_bytes),
                    zygote_anon_bytes: mib_pages(self.zygote_mib * scale) * PAGE_BYTES as u64,
                    apps: apps.clone(),
                    lacks: self.lacks.clone(),
                    steps: script.steps.clone(),
                });
            }
        }
        Ok(plans)
    }

    /// The factor of all sizes.
    fn scale(&self, user_bytes: u64) -> f64 {
        self.scale.unwrap_or(match self.kind {
            Kind::Lowmem => user_bytes as f64 / SEED_USER_BYTES as f64,
            _ => 1.0,
        })
    }

    fn wrong(&self, what: String, mend: &str) -> Error {
        Error::Scenario { scenario: self.name.clone(), what, mend: mend.into() }
    }

    /// The apps that the steps name, scaled.
    fn apps(
        &self,
        script: &Script,
        catalog: &Catalog,
        scale: f64,
        phone: &PhoneProfile,
    ) -> Result<Vec<AppProfile>, Error> {
        let mut apps: BTreeMap<&str, AppProfile> = BTreeMap::new();
        for (index, step) in script.steps.iter().enumerate() {
            let Some(name) = step.app() else { continue };
            if apps.contains_key(name) {
                continue;
            }
            let app = script.apps.iter().find(|a| a.name == name).or_else(|| catalog.app(name)).ok_or_else(|| {
                self.wrong(
                    format!("step {index} names no known app: {name:?}"),
                    "add it as [[app]] or correct the name",
                )
            })?;
            let mut app = app.scaled(scale);
            if self.kind == Kind::Monkey {
                for touch in [&mut app.launch, &mut app.resume] {
                    touch.compute_insns = touch.compute_insns / 100 * self.monkey.compute_percent;
                }
            }
            apps.insert(name, app);
        }
        let mut files: BTreeMap<&str, u64> = BTreeMap::new();
        for app in apps.values() {
            for file in app.shared_files.iter().chain(&app.private_files) {
                let size = *files.entry(&file.path).or_insert(file.size_bytes);
                if size != file.size_bytes {
                    return Err(self.wrong(
                        format!("{} has two sizes, {size} and {} bytes", file.path, file.size_bytes),
                        "give it one size in every app",
                    ));
                }
            }
        }
        let total: u64 = files.values().sum();
        if total as f64 > phone.flash.size_bytes as f64 * FLASH_FILL {
            return Err(self.wrong(
                format!("the apps' files take {total} bytes of a flash of {}", phone.flash.size_bytes),
                "use fewer apps, a smaller scale or a phone with a larger flash.size_bytes",
            ));
        }
        Ok(apps.into_values().collect())
    }
}
