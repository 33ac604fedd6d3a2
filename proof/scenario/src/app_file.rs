// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The short form in which apps are written down (`profiles/apps/*.toml`): classes hold what alike apps have in common.

use std::collections::BTreeMap;

use fovea_apps::AppName;
use serde::Deserialize;
use toml::Spanned;

use crate::error::{line_of, Error};
use crate::{AppProfile, Churn, FileUse, Load, Mix, Spawn, Touch, PAGE_BYTES};

/// One file of apps. Classes and file sets count for all files of a catalog.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppFile {
    #[serde(default)]
    pub file_sets: BTreeMap<String, Vec<SharedFile>>,
    #[serde(default)]
    pub classes: BTreeMap<String, Class>,
    #[serde(default)]
    pub app: Vec<Spanned<AppEntry>>,
}

/// A framework file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedFile {
    path: String,
    pages: u64,
    #[serde(default = "yes")]
    mapped: bool,
}

impl SharedFile {
    fn fits(&self) -> bool {
        let parts_ok = self.path.split('/').all(|part| !["", ".", ".."].contains(&part)) && !self.path.contains('\0');
        parts_ok && (1..=PAGES_MAX).contains(&self.pages)
    }
}

fn yes() -> bool {
    true
}

/// What alike apps have in common.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Class {
    shared: Vec<String>,
    mix: Mix,
    launch: Touch,
    resume: Touch,
    #[serde(default)]
    churn: Churn,
    #[serde(default)]
    spawn: Spawn,
    #[serde(default = "role_app")]
    role: String,
}

fn role_app() -> String {
    "app".into()
}

/// One app; what is left out is its class's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppEntry {
    pub name: String,
    class: String,
    anon_pages: Option<u64>,
    anon_mib: Option<f64>,
    private_pages: Option<u64>,
    private_mib: Option<f64>,
    shared: Option<Vec<String>>,
    mix: Option<Mix>,
    launch: Option<Touch>,
    resume: Option<Touch>,
    churn: Option<Churn>,
    spawn: Option<Spawn>,
    role: Option<String>,
    load: Option<Load>,
    source: String,
}

/// Bytes of a page.
pub(crate) const PAGE: u64 = PAGE_BYTES as u64;

/// The largest size an app may have: far beyond any phone here, small enough that sums never overflow.
const PAGES_MAX: u64 = 1 << 24;

/// MiB as whole pages.
pub(crate) fn mib_pages(mib: f64) -> u64 {
    (mib * 256.0).round() as u64
}

fn size(pages: Option<u64>, mib: Option<f64>, what: &str) -> Result<u64, String> {
    let pages = match (pages, mib) {
        (Some(pages), None) => pages,
        (None, Some(mib)) if mib >= 0.0 && mib.is_finite() => mib_pages(mib),
        (None, Some(mib)) => return Err(format!("{what}_mib is {mib}: it must be 0 or more")),
        _ => return Err(format!("needs either {what}_pages or {what}_mib")),
    };
    if pages > PAGES_MAX {
        return Err(format!("{what} memory is over 64 GiB: make it smaller"));
    }
    Ok(pages)
}

/// An app's own files: the rule is a package (60 %) and its compiled code (30 %), both mapped, and data that is read (the rest).
fn private_files(name: &str, pages: u64) -> Vec<FileUse> {
    let (package, code) = (pages * 6 / 10, pages * 3 / 10);
    [("base.apk", package, true), ("classes.odex", code, true), ("data.db", pages - package - code, false)]
        .into_iter()
        .filter(|&(_, pages, _)| pages > 0)
        .map(|(file, pages, mapped)| FileUse { path: format!("app/{name}/{file}"), size_bytes: pages * PAGE, mapped })
        .collect()
}

fn check_touch(touch: &Touch, what: &str) -> Result<(), String> {
    if [touch.anon_percent, touch.shared_percent, touch.private_percent].iter().any(|&p| p > 100) {
        return Err(format!("a share of `{what}` is over 100 percent: lower it"));
    }
    Ok(())
}

impl AppEntry {
    fn resolve(
        &self,
        sets: &BTreeMap<String, Vec<SharedFile>>,
        classes: &BTreeMap<String, Class>,
    ) -> Result<AppProfile, String> {
        let class = classes.get(&self.class).ok_or_else(|| {
            let known: Vec<_> = classes.keys().map(String::as_str).collect();
            format!("no class {:?}: use one of {}", self.class, known.join(", "))
        })?;
        // The name becomes a cgroup's and a folder's: the daemon's rule for names is the one that counts.
        if let Err(e) = self.name.parse::<AppName>() {
            return Err(e.to_string());
        }
        let mut shared_files = Vec::new();
        for set in self.shared.as_ref().unwrap_or(&class.shared) {
            let files = sets.get(set).ok_or_else(|| format!("no file set {set:?}: define it below [file_sets]"))?;
            if let Some(bad) = files.iter().find(|f| !f.fits()) {
                return Err(format!(
                    "file {:?} of set {set:?} must be a path below the flash, of 1 to 2^24 pages",
                    bad.path
                ));
            }
            shared_files.extend(files.iter().map(|f| FileUse {
                path: f.path.clone(),
                size_bytes: f.pages * PAGE,
                mapped: f.mapped,
            }));
        }
        let mix = self.mix.unwrap_or(class.mix);
        let parts = [mix.zero_percent, mix.duplicate_percent, mix.compressible_percent, mix.random_percent];
        if parts.iter().any(|&p| p > 100) || parts.iter().sum::<u32>() != 100 || mix.compressed_percent > 100 {
            return Err("the four shares of `mix` must sum to 100 and compressed_percent be at most 100".into());
        }
        let (launch, resume) = (self.launch.unwrap_or(class.launch), self.resume.unwrap_or(class.resume));
        check_touch(&launch, "launch")?;
        check_touch(&resume, "resume")?;
        let role = self.role.clone().unwrap_or_else(|| class.role.clone());
        if !["app", "visible", "service", "content-provider", "outside"].contains(&role.as_str()) {
            return Err(format!("role {role:?}: use app, visible, service, content-provider or outside"));
        }
        let anon_pages = size(self.anon_pages, self.anon_mib, "anon")?;
        let private_pages = size(self.private_pages, self.private_mib, "private")?;
        Ok(AppProfile {
            name: self.name.clone(),
            anon_bytes: anon_pages * PAGE,
            mix,
            shared_files,
            private_files: private_files(&self.name, private_pages),
            launch,
            resume,
            churn: self.churn.unwrap_or(class.churn),
            spawn: self.spawn.unwrap_or(class.spawn),
            role,
            load: self.load,
            activity: None,
            source: self.source.clone(),
        })
    }
}

/// Resolves the apps of a file against all known sets and classes.
pub(crate) fn resolve_all(
    file: &str,
    text: &str,
    apps: &[Spanned<AppEntry>],
    sets: &BTreeMap<String, Vec<SharedFile>>,
    classes: &BTreeMap<String, Class>,
) -> Result<Vec<AppProfile>, Error> {
    apps.iter()
        .map(|entry| {
            let app = entry.as_ref();
            app.resolve(sets, classes).map_err(|what| Error::Content {
                file: file.into(),
                line: line_of(text, entry.span().start),
                what: format!("app {:?}: {what}", app.name),
                mend: "correct the app that begins there".into(),
            })
        })
        .collect()
}

impl AppProfile {
    /// The app with all its sizes multiplied by `factor`, in whole pages, at least one where there was one. Computing is not scaled:
    /// a smaller memory does not make a faster processor.
    pub fn scaled(&self, factor: f64) -> AppProfile {
        let scale = |bytes: u64| match bytes {
            0 => 0,
            _ => (((bytes as f64 * factor / PAGE as f64).round() as u64).max(1)) * PAGE,
        };
        let mut app = self.clone();
        app.anon_bytes = scale(app.anon_bytes);
        for file in app.shared_files.iter_mut().chain(&mut app.private_files) {
            file.size_bytes = scale(file.size_bytes);
        }
        // Device buffers are as large as their device wants them.
        if let Some(activity) = &mut app.activity {
            let read = activity.reads.iter_mut().flat_map(|r| &mut r.files);
            for file in read.chain(activity.pictures.iter_mut().flat_map(|p| &mut p.files)) {
                file.size_bytes = scale(file.size_bytes);
            }
        }
        let scale_pages = |pages: &mut u64| *pages = ((*pages as f64 * factor).round() as u64).max(1);
        if app.churn.pages > 0 {
            scale_pages(&mut app.churn.pages);
        }
        if let Some(
            Load::Leak { pages, .. } | Load::Bomb { pages, .. } | Load::Build { pages, .. } | Load::Music { pages, .. },
        ) = &mut app.load
        {
            scale_pages(pages);
        }
        app
    }
}
