// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What an app does when it starts, comes back, is checked, and in the background: the touch patterns of the virtual phone's apps
//! (proof/guest/src/app.rs), page for page.

use fovea_apps::AppName;
use fovea_scenario::hash::{mix64, name64};
use fovea_scenario::touch::touch_set;
use fovea_scenario::{FileUse, Spawn, Touch};

use super::boot::{Boot, Outcome};
use super::costs::*;
use super::machine::Machine;
use super::memory::Place;
use super::process::Process;

/// Of the pages that a resume touches, one in so many is written, the others are read.
const REWRITE_ONE_IN: u64 = 4;

/// Pages that the check of an app looks at before it returns to swap what only it brought back.
const VERIFY_PAGES: usize = 32;

impl Boot<'_> {
    /// The process of an app, if it still is the one of that PID.
    fn process(&self, cgroup: &str, pid: u32) -> Option<Process> {
        self.machine().processes.get(cgroup).filter(|p| p.pid == pid).cloned()
    }

    fn lives(&self, cgroup: &str, pid: u32) -> bool {
        self.machine().processes.get(cgroup).is_some_and(|p| p.pid == pid)
    }

    /// The app's PID, if it runs.
    pub fn pid(&self, cgroup: &str) -> Option<u32> {
        self.machine().processes.get(cgroup).map(|p| p.pid)
    }

    /// A start until the app can be used; false if it is killed meanwhile.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn launch(&mut self, cgroup: &str, turn: u64) -> Outcome<bool> {
        let Some(pid) = self.pid(cgroup) else { return Ok(false) };
        let Some(process) = self.process(cgroup, pid) else { return Ok(false) };
        let touch = process.profile.launch;
        self.use_files(cgroup, &process, touch, turn, true)?;
        self.use_preloaded(cgroup, &process, touch, turn)?;
        for run in touch_set(process.pages, touch.anon_percent, process.seed, turn) {
            self.fill(cgroup, &process, run)?;
        }
        self.compute_as(cgroup, pid, touch.compute_insns)
    }

    /// Writes what of these pages never was written.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn fill(&mut self, cgroup: &str, process: &Process, pages: std::ops::Range<u64>) -> Outcome<()> {
        for index in pages {
            self.poll()?;
            if !self.lives(cgroup, process.pid) {
                return Ok(());
            }
            let mut machine = self.machine();
            let page = process.page(index);
            if machine.memory.page(page).place == Place::Nowhere {
                touch(&mut machine, cgroup, process, index);
                machine.work(content_ns(process.noise(index)));
            }
        }
        Ok(())
    }

    /// Writes the rest of an app's memory.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn fill_rest(&mut self, cgroup: &str) -> Outcome<()> {
        let Some(process) = self.pid(cgroup).and_then(|pid| self.process(cgroup, pid)) else { return Ok(()) };
        self.fill(cgroup, &process, 0..process.pages)
    }

    /// A return to the screen; false if the app is killed meanwhile.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn resume(&mut self, cgroup: &str, turn: u64) -> Outcome<bool> {
        let Some(process) = self.pid(cgroup).and_then(|pid| self.process(cgroup, pid)) else { return Ok(false) };
        self.machine().work(RESUME_NS);
        let touched = process.profile.resume;
        self.use_files(cgroup, &process, touched, turn, false)?;
        self.use_preloaded(cgroup, &process, touched, turn)?;
        for run in touch_set(process.pages, touched.anon_percent, process.seed, turn) {
            for index in run {
                self.poll()?;
                if !self.lives(cgroup, process.pid) {
                    return Ok(false);
                }
                let mut machine = self.machine();
                let rewrites = mix64(index ^ process.seed) % REWRITE_ONE_IN == 0;
                use_page(&mut machine, cgroup, &process, index, rewrites);
            }
        }
        self.compute_as(cgroup, process.pid, touched.compute_insns)
    }

    fn compute_as(&mut self, cgroup: &str, pid: u32, ns: u64) -> Outcome<bool> {
        self.compute(ns)?;
        Ok(self.lives(cgroup, pid))
    }

    fn use_files(&mut self, cgroup: &str, process: &Process, touch: Touch, turn: u64, opens: bool) -> Outcome<()> {
        let profile = &process.profile;
        let shared = profile.shared_files.iter().map(|file| (file, touch.shared_percent));
        let all: Vec<(&FileUse, u32)> =
            shared.chain(profile.private_files.iter().map(|file| (file, touch.private_percent))).collect();
        if opens {
            for (usage, _) in &all {
                let file = self.machine().file(usage);
                self.machine().open_file(file, process.lists);
                self.poll()?;
            }
        }
        for (usage, percent) in all {
            let file = self.machine().file(usage);
            let pages = self.machine().file_pages(file);
            self.machine().work(FILE_USE_NS / 2);
            for run in touch_set(pages, percent, process.seed ^ name64(&usage.path), turn) {
                self.poll()?;
                if !self.lives(cgroup, process.pid) {
                    return Ok(());
                }
                self.machine().touch_file(file, run, usage.mapped, process.lists);
            }
        }
        Ok(())
    }

    /// Preloaded classes are used in the same share as the app's own memory.
    fn use_preloaded(&mut self, cgroup: &str, process: &Process, touch: Touch, turn: u64) -> Outcome<()> {
        if process.profile.spawn != Spawn::Zygote {
            return Ok(());
        }
        let pages = self.machine().zygote.len() as u64;
        for run in touch_set(pages, touch.anon_percent, process.seed, turn) {
            for index in run {
                self.poll()?;
                if !self.lives(cgroup, process.pid) {
                    return Ok(());
                }
                use_preloaded_page(&mut self.machine(), index as usize);
            }
        }
        Ok(())
    }

    /// Every page that was written is read and checked, and what only that brought back returns to swap. The number of pages.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn verify(&mut self, cgroup: &str) -> Outcome<u64> {
        let Some(process) = self.pid(cgroup).and_then(|pid| self.process(cgroup, pid)) else { return Ok(0) };
        let mut verified = 0;
        let mut indices: Vec<u64> = (0..process.pages).collect();
        indices.retain(|&index| self.machine().memory.page(process.page(index)).place != Place::Nowhere);
        for window in indices.chunks(VERIFY_PAGES) {
            self.poll()?;
            if !self.lives(cgroup, process.pid) {
                return Ok(0);
            }
            let mut machine = self.machine();
            let swapped = |machine: &Machine, index: u64| machine.memory.page(process.page(index)).place == Place::Swap;
            let before: Vec<u64> = window.iter().copied().filter(|&index| swapped(&machine, index)).collect();
            for &index in window {
                use_page(&mut machine, cgroup, &process, index, false);
            }
            for index in before {
                let page = process.page(index);
                if machine.memory.page(page).place == Place::Memory {
                    machine.evict(page);
                }
            }
            verified += window.len() as u64;
        }
        if process.profile.spawn == Spawn::Zygote {
            let pages = self.machine().zygote.len();
            for index in 0..pages {
                self.poll()?;
                let mut machine = self.machine();
                let page = machine.zygote[index];
                let swapped = machine.memory.page(page).place == Place::Swap;
                use_preloaded_page(&mut machine, index);
                if swapped && machine.memory.page(page).place == Place::Memory {
                    machine.evict(page);
                }
            }
            verified += pages as u64;
        }
        Ok(verified)
    }

    /// An app begins to write in the background, if its profile says so, or stops.
    pub fn set_churn(&mut self, name: &str, wanted: bool) {
        let now_ns = self.now_ns();
        let Some(app) = self.apps.get(name) else { return };
        let churn = self.machine().processes.get(&app.cgroup).map(|p| p.profile.churn).unwrap_or_default();
        let begins = wanted && churn.pages > 0 && churn.period_ns > 0;
        if let Some(app) = self.apps.get_mut(name) {
            app.churn_ns = begins.then(|| now_ns + churn.period_ns);
        }
    }

    /// A background app's turn: the next pages of the set that a resume touches. A frozen app does not run, and does not catch up.
    pub fn churn(&mut self, name: &str) {
        let now_ns = self.now_ns();
        let Some(app) = self.apps.get_mut(name) else { return };
        let (cgroup, at) = (app.cgroup.clone(), app.churn_at);
        let Some(process) = self.machine.borrow().processes.get(&cgroup).cloned() else {
            app.churn_ns = None;
            return;
        };
        let churn = process.profile.churn;
        app.churn_ns =
            app.churn_ns.map(|due| due + (now_ns.saturating_sub(due) / churn.period_ns + 1) * churn.period_ns);
        if process.frozen {
            return;
        }
        let percent = process.profile.resume.anon_percent.max(1);
        let set: Vec<u64> = touch_set(process.pages, percent, process.seed, 0).into_iter().flatten().collect();
        let count = churn.pages.min(set.len() as u64) as usize;
        app.churn_at = (at + count) % set.len().max(1);
        for turn in 0..count {
            let mut machine = self.machine();
            // Memory that this takes can be that of the app itself.
            if machine.processes.get(&cgroup).is_none_or(|p| p.pid != process.pid) {
                return;
            }
            use_page(&mut machine, &cgroup, &process, set[(at + turn) % set.len()], true);
        }
    }
}

/// An app touches a page of its own.
fn touch(machine: &mut Machine, cgroup: &str, process: &Process, index: u64) {
    if let Some(running) = machine.processes.get_mut(cgroup) {
        running.ran_frozen |= running.frozen;
    }
    machine.touch_anon(process.page(index), process.lists);
}

/// An app reads and checks a page, and perhaps writes it anew.
fn use_page(machine: &mut Machine, cgroup: &str, process: &Process, index: u64, rewrites: bool) {
    touch(machine, cgroup, process, index);
    let content_ns = content_ns(process.noise(index));
    machine.work(content_ns + COMPARE_NS + if rewrites { content_ns } else { 0 });
}

fn use_preloaded_page(machine: &mut Machine, index: usize) {
    let (page, lists) = (machine.zygote[index], machine.zygote_lists);
    machine.touch_anon(page, lists);
    machine.work(content_ns(Some(crate::PAGE_BYTES * 2 / 5)) + COMPARE_NS + ZYGOTE_EXTRA_NS);
}

/// An app's name as the daemon takes it.
///
/// # Errors
/// If it takes no such name.
pub fn parse(name: &str) -> Outcome<AppName> {
    name.parse().map_err(|e| format!("app {name:?}: {e}"))
}
