// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Footprints (`profiles/footprints/*.toml`): which files the apps of a system use, by their paths there, how much of them, and what
//! else they do while they are in front. A scenario that measures files lays one over the apps' memory sizes.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::app_file::{mib_pages, PAGE};
use crate::{Activity, AppProfile, Buffer, FileUse, PhoneProfile, Pictures, Reads, Screens, Touch};

/// Files of a whole system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footprint {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// Framework files by set.
    sets: BTreeMap<String, Vec<SizedFile>>,
    /// Packages by name.
    packages: BTreeMap<String, Package>,
    /// Documents by collection.
    #[serde(default)]
    documents: BTreeMap<String, Vec<SizedFile>>,
    /// What all apps touch.
    touch: Touches,
    /// Apps by name.
    apps: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SizedFile {
    path: String,
    mib: f64,
    #[serde(default = "yes")]
    mapped: bool,
}

fn yes() -> bool {
    true
}

impl SizedFile {
    fn usage(&self) -> FileUse {
        FileUse { path: self.path.clone(), size_bytes: mib_pages(self.mib).max(1) * PAGE, mapped: self.mapped }
    }
}

/// An app's package: what is read of it, and its compiled code.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    apk_mib: f64,
    dex_mib: f64,
    /// Part of the system image, not installed by the user.
    #[serde(default)]
    system: bool,
}

/// Shares of an app's files.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    shared_percent: u32,
    private_percent: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Touches {
    launch: Share,
    resume: Share,
    screen: Share,
    screens_known: u32,
    screens_opened: u32,
    screen_compute_insns: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    sets: Vec<String>,
    package: String,
    data_mib: f64,
    /// Screens opened each time, if not as many as all others open.
    screens_opened: Option<u32>,
    /// Time it is used for, if not the scenario's.
    use_ns: Option<u64>,
    #[serde(default)]
    buffers: Vec<String>,
    reads: Option<ReadEntry>,
    pictures: Option<PictureEntry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadEntry {
    documents: String,
    opened: u32,
    #[serde(default)]
    paced: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PictureEntry {
    documents: String,
    taken: u32,
    buffer: String,
}

impl Package {
    /// As Android 2.3 lays them out; the second path is what `dexopt` makes of the first.
    fn files(&self, name: &str) -> [FileUse; 2] {
        let folder = if self.system { "system" } else { "data" };
        let file = |path: String, mib: f64| FileUse { path, size_bytes: mib_pages(mib).max(1) * PAGE, mapped: true };
        [
            file(format!("{folder}/app/{name}.apk"), self.apk_mib),
            file(format!("data/dalvik-cache/{folder}@app@{name}.apk@classes.dex"), self.dex_mib),
        ]
    }
}

impl Footprint {
    /// What is wrong with it, if anything is.
    pub(crate) fn check(&self) -> Result<(), String> {
        let sized = self.sets.values().chain(self.documents.values()).flatten().map(|f| (f.path.as_str(), f.mib));
        let packages = self.packages.iter().flat_map(|(n, p)| [(n.as_str(), p.apk_mib), (n.as_str(), p.dex_mib)]);
        let data = self.apps.iter().map(|(n, e)| (n.as_str(), e.data_mib));
        if let Some((name, mib)) = sized.chain(packages).chain(data).find(|(_, mib)| !(0.0..=4096.0).contains(mib)) {
            return Err(format!("{name}: {mib} MiB is not from 0 to 4096"));
        }
        let paths = self.sets.values().chain(self.documents.values()).flatten().map(|f| f.path.as_str());
        let bad_path = |p: &str| p.split('/').any(|part| ["", ".", ".."].contains(&part)) || p.contains('\0');
        if let Some(path) = paths.chain(self.packages.keys().map(String::as_str)).find(|p| bad_path(p)) {
            return Err(format!("{path:?} is not a path below the flash"));
        }
        let touches = [self.touch.launch, self.touch.resume, self.touch.screen];
        if touches.iter().any(|s| s.shared_percent > 100 || s.private_percent > 100) {
            return Err("a share of [touch] is over 100 percent".into());
        }
        self.apps.iter().try_for_each(|(name, entry)| self.check_app(entry).map_err(|e| format!("app {name}: {e}")))
    }

    fn check_app(&self, entry: &Entry) -> Result<(), String> {
        if let Some(set) = entry.sets.iter().find(|s| !self.sets.contains_key(*s)) {
            return Err(format!("no set {set:?}"));
        }
        if !self.packages.contains_key(&entry.package) {
            return Err(format!("no package {:?}", entry.package));
        }
        let reads = entry.reads.iter().map(|r| (&r.documents, r.opened));
        for (documents, count) in reads.chain(entry.pictures.iter().map(|p| (&p.documents, p.taken))) {
            let there = self.documents.get(documents).ok_or_else(|| format!("no documents {documents:?}"))?.len();
            if count as usize > there {
                return Err(format!("uses {count} of {there} {documents}"));
            }
        }
        let screens = entry.screens_opened.unwrap_or(self.touch.screens_opened);
        if screens > self.touch.screens_known {
            return Err(format!("opens {screens} of {} screens", self.touch.screens_known));
        }
        Ok(())
    }

    /// How long an app is used for, if it says so.
    pub fn use_ns(&self, app: &str) -> Option<u64> {
        self.apps.get(app)?.use_ns
    }

    /// The app with these files in place of its own. `phone` says how large a device's buffer is; without it, devices do not allocate.
    pub(crate) fn lay_over(&self, app: &AppProfile, phone: Option<&PhoneProfile>) -> Result<AppProfile, String> {
        let entry =
            self.apps.get(&app.name).ok_or_else(|| format!("app {:?} is not in footprint {}", app.name, self.name))?;
        let mut app = app.clone();
        app.shared_files = entry.sets.iter().flat_map(|set| &self.sets[set]).map(SizedFile::usage).collect();
        app.private_files = self.packages[&entry.package].files(&entry.package).into();
        let data = FileUse {
            path: format!("data/data/{}/files.db", app.name),
            size_bytes: mib_pages(entry.data_mib).max(1) * PAGE,
            mapped: false,
        };
        app.private_files.push(data);
        let share = |touch: Touch, share: Share| Touch {
            shared_percent: share.shared_percent,
            private_percent: share.private_percent,
            ..touch
        };
        app.launch = share(app.launch, self.touch.launch);
        app.resume = share(app.resume, self.touch.resume);
        let screen = Touch { compute_insns: self.touch.screen_compute_insns, ..Touch::default() };
        app.activity = Some(Box::new(Activity {
            buffers: match phone {
                Some(phone) => entry.buffers.iter().map(|d| buffer(phone, d)).collect::<Result<_, _>>()?,
                None => Vec::new(),
            },
            screens: Screens {
                known: self.touch.screens_known,
                opened: entry.screens_opened.unwrap_or(self.touch.screens_opened),
                touch: share(screen, self.touch.screen),
            },
            reads: entry.reads.as_ref().map(|r| Reads {
                files: self.documents(&r.documents),
                opened: r.opened,
                paced: r.paced,
            }),
            pictures: match &entry.pictures {
                Some(p) => Some(Pictures {
                    buffer: phone.map(|phone| buffer(phone, &p.buffer)).transpose()?,
                    files: self.documents(&p.documents),
                    taken: p.taken,
                }),
                None => None,
            },
        }));
        Ok(app)
    }

    fn documents(&self, name: &str) -> Vec<FileUse> {
        self.documents[name].iter().map(|f| FileUse { mapped: false, ..f.usage() }).collect()
    }
}

fn buffer(phone: &PhoneProfile, device: &str) -> Result<Buffer, String> {
    let size_bytes = *phone
        .reserved_bytes
        .get(device)
        .ok_or_else(|| format!("phone {} reserves nothing for {device}: add it to its reserved_bytes", phone.name))?;
    Ok(Buffer { device: device.into(), size_bytes })
}
