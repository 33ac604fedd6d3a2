// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! From a scenario to the plans of its boots.

use std::collections::BTreeMap;

use crate::app_file::mib_pages;
use crate::daemon_config::{daemon_config_for, user_memory_bytes};
use crate::kinds::lowmem::SEED_USER_BYTES;
use crate::scenario::{Kind, Scenario};
use crate::script::Script;
use crate::{AppProfile, Catalog, Configuration, Error, PhoneProfile, Plan, Reservation, Step, Swap, PAGE_BYTES};

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
            | Step::Use { app, .. }
            | Step::Interact { app, .. }
            | Step::Fill { app, .. } => Some(app),
            _ => None,
        }
    }
}

impl Scenario {
    /// The plans of all boots: by case and round, and within these by configuration, so that what is compared runs side by side.
    /// Plans of the same case and round differ in nothing but the configuration and the daemon's file, and, where reserved memory has been
    /// given back, in that apps allocate no device buffers.
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
        let scale = self.scale(user_bytes, phone.app_scale);
        let scripts = match self.kind {
            Kind::Lowmem => self.lowmem.scripts(self.seed, scale, &self.services, &catalog),
            Kind::Workload => self.workload.scripts(&self.name, self.seed, &self.services, &catalog)?,
            Kind::Monkey => self.monkey.scripts(&self.name, self.seed, &self.services, &catalog)?,
            Kind::Ecache => self.ecache.scripts(&self.name, self.seed, &self.services, &catalog)?,
            Kind::Desktop => self.desktop.scripts(&self.name, self.seed, &self.services, &catalog)?,
            Kind::Steps => {
                let services = self.services.iter().map(|s| Step::Start { app: s.clone() });
                let steps = services.chain(self.steps.iter().cloned()).collect();
                vec![Script { seed: self.seed, steps, ..Script::default() }]
            }
        };
        let module_parameters = match self.kind {
            Kind::Ecache => self.ecache.module.clone(),
            _ => String::new(),
        };
        // The daemon has settings of its own for the module.
        let leave_module = if module_parameters.is_empty() { "" } else { "\n[ecache]\nenabled = false\n" };
        let mut plans = Vec::new();
        for script in scripts {
            let traced = self.kind == Kind::Ecache && self.ecache.traced.contains(&script.case);
            for (configuration, trace_files) in self.boots(traced) {
                let apps = self.apps(&script, &catalog, scale, &phone, configuration.reservation())?;
                plans.push(Plan {
                    scenario: self.name.clone(),
                    case: script.case.clone(),
                    configuration,
                    seed: script.seed,
                    exact,
                    phone: phone.clone(),
                    daemon_config: match self.kind {
                        // As it is installed: every key has its default.
                        Kind::Desktop => String::new(),
                        _ => daemon_config_for(configuration, phone.thresholds, user_bytes) + leave_module,
                    },
                    zygote_anon_bytes: mib_pages(self.zygote_mib * scale) * PAGE_BYTES as u64,
                    apps,
                    lacks: self.lacks.clone(),
                    trace_files,
                    module_parameters: module_parameters.clone(),
                    desktop: self.desktop_swap(&script.case),
                    steps: script.steps.clone(),
                });
            }
        }
        Ok(plans)
    }

    /// The boots of one script: each configuration, and that of the eCache once more if its hits are to be traced, since tracing costs
    /// time in every read.
    fn boots(&self, traced: bool) -> impl Iterator<Item = (Configuration, bool)> + '_ {
        let again = traced && self.configurations.contains(&Configuration::Ecache);
        self.configurations.iter().map(|&c| (c, false)).chain(again.then_some((Configuration::Ecache, true)))
    }

    /// The factor of all sizes.
    fn scale(&self, user_bytes: u64, app_scale: f64) -> f64 {
        match (self.scale, self.kind) {
            (None, Kind::Lowmem) => user_bytes as f64 / SEED_USER_BYTES as f64,
            (Some(scale), Kind::Lowmem) => scale,
            // Its apps are a desktop's already.
            (scale, Kind::Desktop) => scale.unwrap_or(1.0),
            (scale, _) => scale.unwrap_or(1.0) * app_scale,
        }
    }

    fn desktop_swap(&self, case: &str) -> Option<Swap> {
        let swap = [Swap::Zram, Swap::Disk].into_iter().find(|swap| swap.name() == case);
        swap.filter(|_| self.kind == Kind::Desktop)
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
        reservation: Reservation,
    ) -> Result<Vec<AppProfile>, Error> {
        let footprint = match self.kind {
            Kind::Ecache => Some(self.ecache.footprint(&self.name, catalog)?),
            _ => None,
        };
        // Where no memory is reserved for devices, none is allocated: what that leaves to apps and caches is the bound.
        let devices = (reservation != Reservation::Returned).then_some(phone);
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
            let laid = footprint.map(|f| f.lay_over(app, devices)).transpose();
            let laid = laid.map_err(|what| self.wrong(what, "correct profiles/footprints or the scenario"))?;
            let mut app = laid.as_ref().unwrap_or(app).scaled(scale);
            if self.kind == Kind::Monkey {
                for touch in [&mut app.launch, &mut app.resume] {
                    touch.compute_insns = touch.compute_insns / 100 * self.monkey.compute_percent;
                }
            }
            apps.insert(name, app);
        }
        let mut files: BTreeMap<&str, u64> = BTreeMap::new();
        for app in apps.values() {
            for file in app.files() {
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
