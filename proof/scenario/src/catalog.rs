// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! All profiles by name: the built-in ones, and those of a folder laid over them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::app_file::{resolve_all, AppEntry, AppFile, Class, SharedFile};
use crate::error::{file_error, parse, Error};
use crate::{AppProfile, Footprint, PhoneProfile};

macro_rules! builtin {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/", $path)))),*]
    };
}
pub(crate) use builtin;

/// Embedded, so that an installed program needs no folder.
const APPS: &[(&str, &str)] =
    builtin!["apps/framework.toml", "apps/ecache12.toml", "apps/lowmem13.toml", "apps/desktop.toml"];
const PHONES: &[(&str, &str)] = builtin![
    "phones/nexus-s.toml",
    "phones/nexus-s-emmc.toml",
    "phones/nexus-s-roomy.toml",
    "phones/nexus-s-day.toml",
    "phones/pocket.toml",
    "phones/handheld.toml",
    "phones/laptop.toml",
    "phones/netbook.toml",
    "phones/player.toml",
    "phones/hybrid.toml",
    "phones/phone-2020.toml",
    "phones/pi.toml",
];
const FOOTPRINTS: &[(&str, &str)] = builtin!["footprints/android-2.3.toml"];
const WORKLOADS: &[(&str, &str)] = builtin![
    "workloads/L.toml",
    "workloads/N.toml",
    "workloads/H.toml",
    "workloads/LM.toml",
    "workloads/NM.toml",
    "workloads/HM.toml",
    "workloads/solo-movies.toml",
    "workloads/solo-camera.toml",
    "workloads/desktop.toml",
];

/// How often each app is opened.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Where the proportions come from.
    pub source: String,
    /// Proportion of each app. They need not sum to 100: the tables they come from do not.
    pub percent: BTreeMap<String, f64>,
}

/// All profiles by name.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    phones: BTreeMap<String, PhoneProfile>,
    apps: BTreeMap<String, AppProfile>,
    workloads: BTreeMap<String, Workload>,
    footprints: BTreeMap<String, Footprint>,
    sets: BTreeMap<String, Vec<SharedFile>>,
    classes: BTreeMap<String, Class>,
}

type Texts = Vec<(String, String)>;

fn embedded(files: &[(&str, &str)]) -> Texts {
    files.iter().map(|(path, text)| (format!("profiles/{path}"), (*text).to_owned())).collect()
}

/// The TOML files of a folder by name; none if there is no such folder.
fn folder(path: &Path) -> Result<Texts, Error> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(path).map_err(|e| file_error(path, &e))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| file_error(path, &e))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).map_err(|e| file_error(&path, &e))?;
            Ok((path.display().to_string(), text))
        })
        .collect()
}

impl Catalog {
    /// The built-in profiles.
    pub fn builtin() -> Result<Catalog, Error> {
        let mut catalog = Catalog::default();
        catalog.add(&embedded(PHONES), &embedded(APPS), &embedded(WORKLOADS))?;
        catalog.add_footprints(&embedded(FOOTPRINTS))?;
        Ok(catalog)
    }

    /// The built-in profiles, with those below `path` (`phones/`, `apps/`, `workloads/`, `footprints/`) added; of two of a name, the
    /// folder's counts.
    pub fn with_folder(path: &Path) -> Result<Catalog, Error> {
        if !path.is_dir() {
            return Err(file_error(path, &std::io::Error::from(std::io::ErrorKind::NotFound)));
        }
        let mut catalog = Catalog::builtin()?;
        catalog.add(&folder(&path.join("phones"))?, &folder(&path.join("apps"))?, &folder(&path.join("workloads"))?)?;
        catalog.add_footprints(&folder(&path.join("footprints"))?)?;
        Ok(catalog)
    }

    fn add_footprints(&mut self, footprints: &Texts) -> Result<(), Error> {
        for (file, text) in footprints {
            let footprint: Footprint = parse(file, text)?;
            footprint.check().map_err(|what| Error::Content {
                file: file.clone(),
                line: 1,
                what,
                mend: "correct the footprint".into(),
            })?;
            self.footprints.insert(footprint.name.clone(), footprint);
        }
        Ok(())
    }

    fn add(&mut self, phones: &Texts, apps: &Texts, workloads: &Texts) -> Result<(), Error> {
        for (file, text) in phones {
            let phone: PhoneProfile = parse(file, text)?;
            check_phone(file, &phone)?;
            self.phones.insert(phone.name.clone(), phone);
        }
        let mut parsed = Vec::new();
        // Classes of every file first, so that the files' order means nothing.
        for (file, text) in apps {
            let mut content: AppFile = parse(file, text)?;
            self.sets.append(&mut content.file_sets);
            self.classes.append(&mut content.classes);
            parsed.push((file, text, content.app));
        }
        for (file, text, entries) in parsed {
            for app in self.resolve(file, text, &entries)? {
                self.apps.insert(app.name.clone(), app);
            }
        }
        for (file, text) in workloads {
            let workload: Workload = parse(file, text)?;
            self.check_workload(file, &workload)?;
            self.workloads.insert(workload.name.clone(), workload);
        }
        Ok(())
    }

    pub(crate) fn resolve(
        &self,
        file: &str,
        text: &str,
        entries: &[Spanned<AppEntry>],
    ) -> Result<Vec<AppProfile>, Error> {
        resolve_all(file, text, entries, &self.sets, &self.classes)
    }

    /// Adds an app, or replaces the one of that name.
    pub fn insert_app(&mut self, app: AppProfile) {
        self.apps.insert(app.name.clone(), app);
    }

    fn check_workload(&self, file: &str, workload: &Workload) -> Result<(), Error> {
        let wrong =
            |what: String, mend: &str| Err(Error::Content { file: file.into(), line: 1, what, mend: mend.into() });
        // A case is named after its workload, and files after the case.
        if workload.name.parse::<fovea_apps::AppName>().is_err() {
            return wrong(format!("workload name {:?}", workload.name), "use letters, digits, dots and dashes");
        }
        for (app, &percent) in &workload.percent {
            if !self.apps.contains_key(app) {
                return wrong(format!("no app {app:?}"), "name an app of profiles/apps, or add it there");
            }
            if !(percent.is_finite() && percent >= 0.0) {
                return wrong(format!("proportion {percent} of {app:?}"), "make it 0 or more");
            }
        }
        if workload.percent.values().sum::<f64>() <= 0.0 {
            return wrong("no app has a proportion".into(), "give at least one a proportion above 0");
        }
        Ok(())
    }

    /// A phone by name.
    pub fn phone(&self, name: &str) -> Option<&PhoneProfile> {
        self.phones.get(name)
    }

    /// An app by name.
    pub fn app(&self, name: &str) -> Option<&AppProfile> {
        self.apps.get(name)
    }

    /// A workload by name.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.get(name)
    }

    /// A footprint by name.
    pub fn footprint(&self, name: &str) -> Option<&Footprint> {
        self.footprints.get(name)
    }

    /// All phones.
    pub fn phones(&self) -> impl Iterator<Item = &PhoneProfile> {
        self.phones.values()
    }

    /// All apps.
    pub fn apps(&self) -> impl Iterator<Item = &AppProfile> {
        self.apps.values()
    }

    /// All workloads.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.values()
    }
}

fn check_phone(file: &str, phone: &PhoneProfile) -> Result<(), Error> {
    let reserved = phone.reserved_bytes.values().try_fold(0u64, |sum, &b| sum.checked_add(b));
    let what = match reserved {
        Some(reserved) if reserved < phone.memory_bytes => match (phone.cpus, phone.flash.size_bytes) {
            (0, _) => "cpus is 0",
            (_, 0) => "flash.size_bytes is 0",
            // null_blk counts in sectors of 512 bytes and holds pages.
            _ if phone.flash.command_bytes.is_some_and(|b| b == 0 || b % 4096 != 0 || b > 1 << 30) => {
                "flash.command_bytes is no multiple of 4096 up to 1 GiB"
            }
            _ => return Ok(()),
        },
        _ => "reserved_bytes leave no memory of memory_bytes",
    };
    Err(Error::Content {
        file: file.into(),
        line: 1,
        what: format!("phone {:?}: {what}", phone.name),
        mend: "correct the profile".into(),
    })
}
