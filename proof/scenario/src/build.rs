// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! From a scenario to the plans of its boots.

use std::collections::BTreeMap;

use crate::app_file::mib_pages;
use crate::daemon_config::{daemon_config, disk_section, sound_section, user_memory_bytes};
use crate::scenario::Scenario;
use crate::script::Script;
use crate::{AppProfile, Catalog, Configuration, Error, Footprint, PhoneProfile, Plan, Reservation, Step, PAGE_BYTES};

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
            | Step::Leak { app, .. }
            | Step::Fill { app, .. } => Some(app),
            _ => None,
        }
    }
}

impl Scenario {
    /// The plans of all boots: by seed, by case and round, and within these by configuration, so that what is compared runs side by side.
    /// Plans of the same seed, case and round differ in nothing but the configuration and the daemon's file, and, where reserved memory has been
    /// given back, in that apps allocate no device buffers.
    pub fn plans(&self, catalog: &Catalog, exact: bool) -> Result<Vec<Plan>, Error> {
        let several = self.seeds.len() > 1;
        let mut plans = Vec::new();
        for &seed in &self.seeds {
            let of_seed = several.then_some(seed);
            let own = self.with_seed(seed).plans_of_seed(catalog, exact)?;
            plans.extend(own.into_iter().map(|plan| Plan { of_seed, ..plan }));
        }
        Ok(plans)
    }

    fn plans_of_seed(&self, catalog: &Catalog, exact: bool) -> Result<Vec<Plan>, Error> {
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
        let scale = self.parameters().scale(self.scale, &phone, user_bytes);
        let scripts = self.parameters().scripts(self, scale, &catalog)?;
        let mut plans = Vec::new();
        for script in scripts {
            // The daemon has settings of its own for the module.
            let leave_module = if script.module_parameters.is_empty() { "" } else { "\n[ecache]\nenabled = false\n" };
            for (configuration, trace_files) in self.boots(&script) {
                let apps = self.apps(&script, &catalog, scale, &phone, configuration.reservation)?;
                plans.push(Plan {
                    scenario: self.name.clone(),
                    case: script.case.clone(),
                    configuration: configuration.clone(),
                    seed: script.seed,
                    of_seed: None,
                    exact,
                    phone: phone.clone(),
                    daemon_config: daemon_config(configuration, phone.thresholds, user_bytes, self.zram_percent)
                        + &script.daemon_keys
                        + leave_module
                        + &disk_section(configuration, script.disk_rate)
                        + &sound_section(configuration, script.sound),
                    zygote_anon_bytes: mib_pages(self.zygote_mib * scale) * PAGE_BYTES as u64,
                    apps,
                    lacks: self.lacks.clone(),
                    trace_files,
                    module_parameters: script.module_parameters.clone(),
                    desktop: script.desktop,
                    importers: script.importers,
                    sound: script.sound,
                    steps: script.steps.clone(),
                });
            }
        }
        Ok(plans)
    }

    /// The boots of one script: each configuration, unless it goes through them by itself, and the one in which hits are counted by file once more.
    fn boots<'a>(&'a self, script: &'a Script) -> impl Iterator<Item = (&'a Configuration, bool)> {
        let each = match &script.all_in_one {
            Some(one) => std::slice::from_ref(one),
            None => &self.configurations,
        };
        let again = script.traced.iter().filter(|traced| self.configurations.contains(traced));
        let runs = |c: &&Configuration| script.only.is_none_or(|only| only.contains(&c.name()));
        each.iter().filter(runs).map(|c| (c, false)).chain(again.map(|c| (c, true)))
    }

    pub(crate) fn wrong(&self, what: String, mend: &str) -> Error {
        Error::Scenario { scenario: self.name.clone(), what, mend: mend.into() }
    }

    /// A footprint by name.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn footprint<'a>(&self, name: &str, catalog: &'a Catalog) -> Result<&'a Footprint, Error> {
        catalog.footprint(name).ok_or_else(|| {
            self.wrong(format!("no footprint {name:?}"), "name one of profiles/footprints, such as android-2.3")
        })
    }

    /// An app with a footprint's files in place of its own.
    ///
    /// # Errors
    /// If there is no such footprint, or it does not fit the app.
    pub(crate) fn with_files(
        &self,
        footprint: &str,
        app: &AppProfile,
        devices: Option<&PhoneProfile>,
        catalog: &Catalog,
    ) -> Result<AppProfile, Error> {
        let laid = self.footprint(footprint, catalog)?.lay_over(app, devices);
        laid.map_err(|what| self.wrong(what, "correct profiles/footprints or the scenario"))
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
            let app = self.parameters().app(app, self, devices, catalog)?.scaled(scale);
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
