// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A time in which the kernel's thread looks: from what it was set to before to that again.

use fovea_apps::{AppName, MergeReading, MergeSettings};
use fovea_linux::{Device, Error};
use fovea_policy::merge::{self, Window};
use fovea_policy::Reason;
use serde_json::{json, Value};

use super::{Merge, RUNS};
use crate::engine::engine_state::EngineState;
use crate::engine::step::Step;

/// How long the kernel's thread sleeps between two batches, as it does by default.
const SLEEP_MS: u64 = 20;

/// Fewer pages than that say nothing of what one costs.
const MEASURED_LEAST_PAGES: u64 = 1_000;

/// What a window is reckoned from.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How the kernel's thread is set.
    set: MergeSettings,
    began: MergeReading,
    /// Pages saved, and looked at so far, as its pass began.
    pass_sharing_pages: u64,
    pass_scanned_pages: u64,
}

/// Pages looked at or passed over unseen.
fn looked(reading: &MergeReading) -> u64 {
    scanned(reading) + reading.skipped_pages
}

fn scanned(reading: &MergeReading) -> u64 {
    // A kernel before 6.6 does not count them; passes over all that it knows come near that.
    reading.scanned_pages.unwrap_or(reading.full_scans * reading.known_pages())
}

impl Merge {
    /// It was another's, and is to be ours: it rests between windows, and is the other's again when the daemon ends.
    pub(super) fn take_over<D: Device>(&mut self, shared: &mut EngineState<D>, reading: &MergeReading, now_ns: u64) {
        let rests = MergeSettings { run: 0, ..reading.settings.clone() };
        let done = shared.undo.merging(&reading.settings).map_err(|e| e.to_string());
        match done.and_then(|()| shared.device.set_merging(&rests).map_err(|e| e.to_string())) {
            Ok(()) => self.state.ours = true,
            Err(e) => say!("fovea: taking merging over: {e}"),
        }
        shared.write(now_ns, "merging-taken-over", None, None, json!({ "settings": reading.settings }));
    }

    pub(super) fn open<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        app: &AppName,
        pages: u64,
        step: &Step,
    ) -> Value {
        let (snapshot, newcomers) = (step.snapshot, step.reason == Reason::Newcomers);
        let now_ns = snapshot.now_ns;
        let before = self.reading.clone();
        let set = MergeSettings {
            run: RUNS,
            pages_to_scan: pages,
            sleep_ms: SLEEP_MS,
            advisor: before.settings.advisor.as_ref().map(|_| "none".to_owned()),
        };
        if let Err(e) = shared.undo.merging(&before.settings) {
            say!("fovea: writing the undo log: {e}");
            self.state.ours = false;
            return json!({ "error": e.to_string() });
        }
        let outcome = json!({ "pages_to_scan": pages, "known_pages": before.known_pages() });
        self.state.window = Some(Window {
            app: app.clone(),
            since_ns: now_ns,
            newcomers,
            pages,
            passes: 0,
            passed: false,
            gained_pages: 0,
            volatile_pages: before.volatile_pages,
            unshared_pages: before.unshared_pages,
            expected_pages: merge::expected_pages(snapshot),
            scanned_pages: 0,
            looked_pages: 0,
            parted_pages: self.state.parted_pages,
            regained_pages: 0,
            cpu_ns: 0,
        });
        self.progress = Progress {
            pass_sharing_pages: before.sharing_pages,
            pass_scanned_pages: scanned(&before),
            set: set.clone(),
            began: before,
        };
        match shared.device.set_merging(&set) {
            Ok(()) => outcome,
            Err(e) => {
                say!("fovea: {e}");
                self.close(shared, now_ns, false);
                self.state.ours = false;
                json!({ "error": e.to_string() })
            }
        }
    }

    pub(super) fn set_rate<D: Device>(&mut self, shared: &mut EngineState<D>, pages: u64) -> Value {
        let set = MergeSettings { pages_to_scan: pages, ..self.progress.set.clone() };
        if let Err(e) = shared.device.set_merging(&set) {
            say!("fovea: {e}");
            return json!({ "error": e.to_string() });
        }
        self.progress.set = set;
        if let Some(window) = &mut self.state.window {
            window.pages = pages;
        }
        json!({ "pages_to_scan": pages })
    }

    /// How far the kernel's thread has come.
    pub(super) fn look_within<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        let full_scans = self.reading.full_scans;
        let there = self.read(shared)?;
        if !there || self.reading.settings != self.progress.set {
            // Somebody else has set it since: what he wants holds, and is not taken back.
            shared.write(now_ns, "merging-is-anothers", None, None, json!({ "settings": self.reading.settings }));
            self.state.window = None;
            self.state.ours = false;
            self.state.mid_pass = true;
            shared.undo.merging_restored().unwrap_or_else(|e| say!("fovea: writing the undo log: {e}"));
            return Ok(());
        }
        self.learn();
        let Some(window) = &mut self.state.window else { return Ok(()) };
        let reading = &self.reading;
        (window.volatile_pages, window.unshared_pages) = (reading.volatile_pages, reading.unshared_pages);
        let passes = reading.full_scans.saturating_sub(full_scans);
        if passes > 0 {
            window.passes = window.passes.saturating_add(u32::try_from(passes).unwrap_or(u32::MAX));
            window.passed = true;
            window.expected_pages = 0;
            window.gained_pages = reading.sharing_pages.saturating_sub(self.progress.pass_sharing_pages);
            self.progress.pass_sharing_pages = reading.sharing_pages;
            self.progress.pass_scanned_pages = scanned(reading);
        }
        window.scanned_pages = scanned(reading).saturating_sub(self.progress.pass_scanned_pages);
        window.looked_pages = looked(reading).saturating_sub(looked(&self.progress.began));
        window.cpu_ns = reading.cpu_ns.saturating_sub(self.progress.began.cpu_ns);
        window.regained_pages = self.progress.began.anon_pages.saturating_sub(reading.anon_pages);
        Ok(())
    }

    /// What looking at a page costs here.
    fn learn(&mut self) {
        let pages = scanned(&self.reading).saturating_sub(scanned(&self.progress.began));
        let cpu_ns = self.reading.cpu_ns.saturating_sub(self.progress.began.cpu_ns);
        if pages >= MEASURED_LEAST_PAGES && cpu_ns > 0 {
            self.state.page_cpu_ns = (cpu_ns / pages).max(1);
        }
    }

    /// The kernel's thread is set as it was. If it was `whole`, nobody is new any more.
    pub(super) fn close<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64, whole: bool) -> Value {
        let Some(window) = self.state.window.take() else { return Value::Null };
        let taken_over = self.progress.began.settings.run == 0 && shared.policy.merge.take_over;
        match shared.device.set_merging(&self.progress.began.settings) {
            // What was taken over stays ours, and written down, until the end.
            Ok(()) if taken_over && shared.undo.changed().merging.as_ref().is_some_and(|old| old.run == RUNS) => {}
            Ok(()) => shared.undo.merging_restored().unwrap_or_else(|e| say!("fovea: writing the undo log: {e}")),
            // What stands in the log is tried again at the end.
            Err(e) => say!("fovea: {e}"),
        }
        if let Ok(Some(reading)) = shared.device.merging() {
            self.reading = reading;
        }
        // Where parted pages were enough, it was stopped somewhere.
        self.state.mid_pass = !whole || !window.newcomers;
        let cpu_ns = self.reading.cpu_ns.saturating_sub(self.progress.began.cpu_ns);
        self.state.paid_ns = merge::paid_ns(self.state.paid_ns, now_ns, cpu_ns, &shared.policy.merge);
        self.state.rests_until_ns = merge::rests_until_ns(self.state.paid_ns);
        self.state.sharing_pages = self.reading.sharing_pages;
        self.state.known_pages = self.reading.known_pages();
        if whole {
            // What was not come to waits for the next that are parted: nobody looks for it while nothing happens.
            self.parted_before = self.reading.parted_pages;
            self.state.parted_pages = 0;
        }
        if whole && window.newcomers {
            let since_ns = window.since_ns;
            // Whoever came while it looked may have been missed.
            let there = self.apps.values_mut().filter(|known| known.background_since_ns <= since_ns);
            there.filter_map(|known| known.merge.as_mut()).for_each(|merge| merge.fresh = false);
        }
        json!({
            "passes": window.passes,
            "scanned_pages": scanned(&self.reading).saturating_sub(scanned(&self.progress.began)),
            "skipped_pages": self.reading.skipped_pages.saturating_sub(self.progress.began.skipped_pages),
            "regained_pages": window.regained_pages,
            "gained_pages": self.reading.sharing_pages.saturating_sub(self.progress.began.sharing_pages),
            "sharing_pages": self.reading.sharing_pages,
            "cpu_ns": cpu_ns,
        })
    }
}
