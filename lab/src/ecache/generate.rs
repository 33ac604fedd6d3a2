// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The requests of a phone to its eCache during a day of use: the six workloads of eCache12, section 5.2, played on a page cache.
//!
//! The apps, their files and touch patterns are those of the virtual phone (`profiles/apps`), the launches are drawn by the same
//! scenario as there (eCache12, table 7), and [`behaviour`] adds what the paper makes each app do. A page of a file that is not in
//! the page cache is a get; a page that the page cache evicts is a put.
//!
//! **The page cache's size** is what anonymous memory leaves of the phone's: its memory without reservations and kernel
//! (`fovea_scenario::user_memory_bytes`), less the services and the apps alive, less what no profile lists
//! ([`UNLISTED_BYTES`]), and at most the 40 MB that the paper saw. An app stays alive when it is left. When the page
//! cache would be smaller than 32 MB, the low-memory killer ends the app used longest ago, those that were closed first (section
//! 3.2: "when both free memory and cached pages are under 32MB"). The page cache is evicted from 32 pages at a time, as
//! `kswapd` does.
//!
//! **The files' size.** The profiles' files are small, so that the virtual phone runs quickly: all of them fit in the eCache, and no
//! choice of region would matter. Here they are [`FILE_SCALE`] times as large. That one number is fitted to the traffic of table 9,
//! 2.3 GB asked of the eCache in 400 launches of workload N, and to nothing else.

mod in_use;

use std::collections::{BTreeMap, BTreeSet};

use fovea_scenario::{
    hash::{app_seed, mix64, name64},
    touch::touch_set,
    user_memory_bytes, AppProfile, Catalog, FileUse, Scenario, Step, Touch,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{media::behaviour, Device, Event, Key, PageCache, Record, Trace};
use crate::{Error, Result, PAGE_BYTES};

/// The workloads' names, in the order of the paper's figures.
pub const WORKLOADS: [&str; 6] = ["L", "N", "H", "LM", "NM", "HM"];

/// Factor of the files' sizes; see the module's text.
pub const FILE_SCALE: f64 = 3.6;

/// The kernel's own memory (`fovea_scenario::KERNEL_BYTES`).
const KERNEL_BYTES: u64 = fovea_scenario::KERNEL_BYTES;

/// Page cache below which apps are killed (section 3.2).
const LEAST_CACHE_PAGES: u64 = (32 << 20) / PAGE_BYTES;

/// Page cache that is left when there is nobody to kill.
const FLOOR_PAGES: u64 = LEAST_CACHE_PAGES / 2;

/// Anonymous memory of the processes of an Android phone that no profile lists: content providers, Google's services, media
/// server, daemons. A choice: with it two or three apps besides the one in front stay alive in workload N, which a test measures.
const UNLISTED_BYTES: u64 = 160 << 20;

/// Page cache that there is with apps and services of a phone in memory, of which the profiles have only some: "kept around 40MB"
/// (section 3.2, figure 5b).
const MOST_CACHE_PAGES: u64 = (40 << 20) / PAGE_BYTES;

/// Pages that reclaim evicts at a time: Linux's `SWAP_CLUSTER_MAX`.
const CLUSTER_PAGES: u64 = 32;

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateOptions {
    /// Workload.
    pub workload: String,
    /// Apps opened; the paper's 400.
    pub launches: u32,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Factor of the files' sizes.
    pub file_scale: f64,
    /// Anonymous memory of processes that no profile lists.
    pub unlisted_bytes: u64,
}

impl GenerateOptions {
    /// The paper's experiment for a workload.
    pub fn new(workload: &str, launches: u32, seed: u64) -> Self {
        GenerateOptions {
            workload: workload.into(),
            launches,
            seed,
            file_scale: FILE_SCALE,
            unlisted_bytes: UNLISTED_BYTES,
        }
    }
}

fn scenario_error(error: fovea_scenario::Error) -> Error {
    Error::Usage(error.to_string())
}

/// The trace of a workload.
///
/// # Errors
/// If there is no such workload, or the numbers make no sense.
pub fn generate(options: &GenerateOptions) -> Result<Trace> {
    play(options, None).map(|(trace, _)| trace)
}

/// The same, with what was asked of the page cache.
///
/// # Errors
/// As [`generate`].
pub fn generate_recorded(options: &GenerateOptions) -> Result<(Trace, Record)> {
    play(options, Some(Record::default()))
}

fn play(options: &GenerateOptions, record: Option<Record>) -> Result<(Trace, Record)> {
    if !(options.file_scale > 0.0 && options.file_scale <= 100.0) {
        return Err(Error::Usage(format!("file scale {}: take one above 0 and at most 100", options.file_scale)));
    }
    let overrides = [
        format!("cases={}", options.workload),
        format!("launches={}", options.launches),
        format!("seed={}", options.seed),
        "session_launches=0".into(),
        "configurations=stock".into(),
    ];
    let scenario = Scenario::load("workload", &overrides).map_err(scenario_error)?;
    // The phone's flash is larger than the virtual phone's here: only the plan's steps are used, with the files at their own size.
    let catalog = Catalog::builtin().map_err(scenario_error)?;
    let plan = scenario.plans(&catalog, false).map_err(scenario_error)?.remove(0);
    let mut session = Session { record, ..Session::new(options, &plan.phone, &plan.apps) };
    for step in &plan.steps {
        session.step(step);
    }
    session.leave();
    Ok((session.trace, session.record.unwrap_or_default()))
}

/// A file's pages in [`Trace::pages`].
#[derive(Clone, Copy)]
struct File {
    first: u32,
    pages: u32,
}

struct Alive {
    anon_pages: u64,
    closed: bool,
    last_use: u64,
}

/// A user's day, being played.
struct Session<'a> {
    trace: Trace,
    apps: BTreeMap<&'a str, &'a AppProfile>,
    seed: u64,
    file_scale: f64,
    rng: ChaCha8Rng,
    cache: PageCache,
    /// Pages that apps and page cache share.
    user_pages: u64,
    files: BTreeMap<String, File>,
    alive: BTreeMap<String, Alive>,
    services: BTreeSet<String>,
    opened: BTreeMap<String, u64>,
    pictures: Vec<File>,
    front: Option<String>,
    /// Pages that the app in front read since it was opened.
    in_use: Vec<u32>,
    held: Vec<u8>,
    now: u64,
    record: Option<Record>,
}

impl<'a> Session<'a> {
    fn new(options: &GenerateOptions, phone: &fovea_scenario::PhoneProfile, apps: &'a [AppProfile]) -> Self {
        // The order of the regions in the paper's phone, section 4.
        let place = |name: &str| ["mfc0", "mfc1", "fimc", "jpeg"].iter().position(|n| *n == name).unwrap_or(usize::MAX);
        let mut devices: Vec<Device> = phone
            .reserved_bytes
            .iter()
            .map(|(name, bytes)| Device { name: name.clone(), frames: (bytes / PAGE_BYTES) as u32 })
            .collect();
        devices.sort_by_key(|d| (place(&d.name), d.name.clone()));
        Session {
            trace: Trace { name: options.workload.clone(), devices, ..Trace::default() },
            apps: apps.iter().map(|a| (a.name.as_str(), a)).collect(),
            seed: options.seed,
            file_scale: options.file_scale,
            rng: ChaCha8Rng::seed_from_u64(mix64(options.seed ^ name64(&options.workload))),
            cache: PageCache::default(),
            user_pages: user_memory_bytes(phone, KERNEL_BYTES).saturating_sub(options.unlisted_bytes) / PAGE_BYTES,
            files: BTreeMap::new(),
            alive: BTreeMap::new(),
            services: BTreeSet::new(),
            opened: BTreeMap::new(),
            pictures: Vec::new(),
            front: None,
            in_use: Vec::new(),
            held: Vec::new(),
            now: 0,
            record: None,
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Start { app } => {
                self.services.insert(app.clone());
                self.open(app);
            }
            Step::Open { app } => {
                self.leave();
                self.open(app);
                self.front = Some(app.clone());
                self.use_app(app);
            }
            Step::Close { app } => {
                self.leave();
                if let Some(alive) = self.alive.get_mut(app) {
                    alive.closed = true;
                }
            }
            Step::Home {} => self.leave(),
            // The time an app is used is its behaviour's.
            _ => {}
        }
    }

    fn seconds(&mut self, seconds: u32) {
        self.trace.events.extend((0..seconds).map(|_| Event::Second));
        if let Some(record) = &mut self.record {
            record.cached_pages.extend((0..seconds).map(|_| self.cache.len()));
            let behind = |name: &&String| !self.services.contains(*name) && self.front.as_ref() != Some(*name);
            let behind = self.alive.keys().filter(behind).count() as u64;
            record.alive_behind.extend((0..seconds).map(|_| behind));
        }
    }

    /// What was in front gives its devices back.
    fn leave(&mut self) {
        self.front = None;
        self.in_use.clear();
        for device in std::mem::take(&mut self.held) {
            self.trace.events.push(Event::Free { device });
        }
    }

    fn file(&mut self, path: &str, pages: u64) -> File {
        if let Some(&file) = self.files.get(path) {
            return file;
        }
        let file = self.new_file(pages);
        self.files.insert(path.to_owned(), file);
        file
    }

    fn new_file(&mut self, pages: u64) -> File {
        let first = self.trace.pages.len() as u32;
        let object = self.trace.pages.last().map_or(1, |key| key.object + 1);
        self.trace.pages.extend((0..pages).map(|index| Key { object, index }));
        self.cache.ensure_pages(self.trace.pages.len() as u32);
        File { first, pages: pages as u32 }
    }

    fn capacity(&self) -> u64 {
        let anon: u64 = self.alive.values().map(|a| a.anon_pages).sum();
        self.user_pages.saturating_sub(anon)
    }

    /// Kills until the page cache has what it must have.
    fn kill_for_memory(&mut self) {
        while self.capacity() < LEAST_CACHE_PAGES {
            let victim = self
                .alive
                .iter()
                .filter(|(name, _)| !self.services.contains(*name) && self.front.as_ref() != Some(*name))
                .min_by_key(|(_, a)| (!a.closed, a.last_use))
                .map(|(name, _)| name.clone());
            let Some(victim) = victim else { return };
            self.alive.remove(&victim);
        }
    }

    fn evict(&mut self) {
        let capacity = self.capacity().clamp(FLOOR_PAGES, MOST_CACHE_PAGES);
        if self.cache.len() <= capacity {
            return;
        }
        while let Some(page) = self.cache.shrink(capacity.saturating_sub(CLUSTER_PAGES)) {
            self.trace.events.push(Event::Put(page));
        }
    }

    /// Reads a page for the first time since the app in front was opened.
    fn read(&mut self, page: u32) {
        self.in_use.push(page);
        self.refer(page);
    }

    fn refer(&mut self, page: u32) {
        if let (Some(record), Some(app)) = (&mut self.record, &self.front) {
            if !self.services.contains(app) {
                record.read(app, page);
            }
        }
        if !self.cache.access(page) {
            self.trace.events.push(Event::Get(page));
            self.evict();
        }
    }

    /// Writes a page of a new file: there is nothing to get. Storage has it before it is evicted.
    fn write(&mut self, page: u32) {
        self.cache.access(page);
        self.evict();
    }

    fn touch(&mut self, files: &[FileUse], percent: u32, seed: u64, turn: u64) {
        for usage in files {
            let pages = ((usage.size_bytes.div_ceil(PAGE_BYTES)) as f64 * self.file_scale).round() as u64;
            let file = self.file(&usage.path, pages);
            for run in touch_set(pages, percent, seed ^ name64(&usage.path), turn) {
                run.for_each(|page| self.read(file.first + page as u32));
            }
        }
    }

    /// Starts or resumes an app: its shared files, then its devices, then its own files.
    fn open(&mut self, name: &str) {
        let Some(&app) = self.apps.get(name) else { return };
        self.now += 1;
        let turn = self.opened.entry(name.to_owned()).or_default();
        *turn += 1;
        let turn = *turn;
        let was_alive = self.alive.contains_key(name);
        let touch: Touch = if was_alive { app.resume } else { app.launch };
        let anon_pages = app.anon_bytes.div_ceil(PAGE_BYTES);
        let last_use = self.now;
        self.alive.insert(name.to_owned(), Alive { anon_pages, closed: false, last_use });
        self.front = Some(name.to_owned());
        self.kill_for_memory();
        self.evict();
        let seed = app_seed(self.seed, name);
        self.touch(&app.shared_files, touch.shared_percent, seed, turn);
        self.seconds(1);
        for device in behaviour(name).devices {
            self.allocate(device, true);
        }
        self.touch(&app.private_files, touch.private_percent, seed, turn);
    }

    fn device(&self, name: &str) -> Option<u8> {
        self.trace.devices.iter().position(|d| d.name == name).map(|at| at as u8)
    }

    fn allocate(&mut self, name: &str, keep: bool) {
        let Some(device) = self.device(name) else { return };
        let frames = self.trace.devices[usize::from(device)].frames;
        self.trace.events.push(Event::Alloc { device, frames });
        if keep {
            self.held.push(device);
        }
    }
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
