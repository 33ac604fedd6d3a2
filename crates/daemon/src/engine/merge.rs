// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Pages that are alike: the kernel's thread looks for them while there are new ones of kin in the background, and rests otherwise.

mod window;

use std::collections::BTreeMap;

use fovea_apps::{AppName, Identity, Importance, Lists, MergeReading};
use fovea_client::Status;
use fovea_linux::{Device, Error};
use fovea_policy::merge::{self, AppMerge, MergeState};
use fovea_policy::{Action, Config, Decision, Reason, Snapshot};
use serde_json::json;

use super::engine_state::EngineState;
use super::mechanism::{About, Event, Mechanism, Need, Turn};
use super::step::Step;
use window::Progress;

/// `run` while the kernel's thread works.
const RUNS: u64 = 1;

/// Memory is short when less than such a part of it is available.
const SHORT: u64 = 8;

/// What is known of an app that has been looked at.
#[derive(Debug)]
struct Known {
    /// None if it is not registered, or not to be merged.
    merge: Option<AppMerge>,
    /// Its stay in the background at which that was read.
    background_since_ns: u64,
}

#[derive(Debug, Default)]
pub(super) struct Merge {
    /// The kernel has it.
    present: bool,
    state: MergeState,
    apps: BTreeMap<AppName, Known>,
    /// Of the window that is open.
    progress: Progress,
    /// When those who came to the background are looked at: not while another app comes to the screen.
    newcomers_at_ns: Option<u64>,
    /// `parted_pages` as the last window ended.
    parted_before: u64,
    /// As last read.
    reading: MergeReading,
}

impl Merge {
    /// Reads an app's kinship; one that has grown by a quarter since it was merged is new again.
    fn read_app<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, background_since_ns: u64) {
        let Some(cgroup) = shared.registry.get(name).map(|app| app.cgroup.clone()) else { return };
        let kin = match is_excluded(shared, name, &cgroup) {
            true => Ok(None),
            false => shared.device.kinship(&cgroup),
        };
        let kin = match kin {
            Ok(kin) => kin,
            // It stays as it was known, and is looked at again with whoever comes next.
            Err(e) if e.is_put_off() => return,
            Err(e) => {
                say!("fovea: {e}: {name} counts as not registered for merging");
                None
            }
        };
        let before = self.apps.get(name).and_then(|known| known.merge);
        let merge = kin.map(|kin| {
            let charged_bytes = shared.device.charge(&cgroup).unwrap_or(0);
            match before.filter(|before| before.kin == kin && !before.fresh) {
                Some(before) if charged_bytes <= before.charged_bytes.saturating_add(before.charged_bytes / 4) => {
                    before
                }
                _ => AppMerge { kin, fresh: true, charged_bytes },
            }
        });
        self.apps.insert(name.clone(), Known { merge, background_since_ns });
    }

    /// Who has come to the background, and since when, and was not looked at since.
    fn newcomers<'a, D>(&'a self, shared: &'a EngineState<D>) -> impl Iterator<Item = (AppName, u64)> + 'a {
        shared.apps.iter().filter_map(|(name, known)| {
            let since_ns = known.background_since_ns;
            let is_background = known.importance.is_some_and(|importance| importance > Importance::Service);
            let read = self.apps.get(name).is_some_and(|read| read.background_since_ns == since_ns);
            (is_background && !read).then(|| (name.clone(), since_ns))
        })
    }

    /// Looks at who has come to the background since the last time; says whether somebody has who can be merged.
    fn look_at_newcomers<D: Device>(&mut self, shared: &mut EngineState<D>) -> bool {
        let new: Vec<_> = self.newcomers(shared).collect();
        for (name, since_ns) in &new {
            self.read_app(shared, name, *since_ns);
        }
        new.iter().any(|(name, _)| self.apps.get(name).is_some_and(|known| known.merge.is_some()))
    }

    fn is_anyone_registered(&self) -> bool {
        self.apps.values().any(|known| known.merge.is_some())
    }

    /// Reads the kernel's state; says whether there is one.
    fn read<D: Device>(&mut self, shared: &mut EngineState<D>) -> Result<bool, Error> {
        let Some(reading) = shared.device.merging()? else { return Ok(false) };
        self.state.sharing_pages = reading.sharing_pages;
        self.state.known_pages = reading.known_pages();
        if self.state.window.is_none() {
            // Whoever runs it has come after us, or has gone.
            self.state.ours = reading.settings.run != RUNS;
            self.state.parted_pages = reading.parted_pages.saturating_sub(self.parted_before);
        }
        self.reading = reading;
        Ok(true)
    }

    /// What a decision to begin rests on, read when one is due.
    fn look_before<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        let is_due = |merge: &Self, shared: &EngineState<D>| {
            let mut snapshot = shared.snapshot(now_ns);
            <Self as Mechanism<D>>::describe(merge, &mut snapshot);
            merge::due_ns(&snapshot, &shared.policy.merge).is_some_and(|due_ns| due_ns <= now_ns)
        };
        if !is_due(self, shared) {
            return Ok(());
        }
        // An app may have been read before its exec, or have been in front ever since.
        let all: Vec<_> = shared.apps.iter().map(|(name, known)| (name.clone(), known.background_since_ns)).collect();
        for (name, since_ns) in all {
            self.read_app(shared, &name, since_ns);
        }
        self.read(shared)?;
        let spare = shared.device.spare()?;
        (self.state.cpu_wait_percent, self.state.battery_percent) = (spare.cpu_wait_percent, spare.battery_percent);
        Ok(())
    }

    fn try_observe<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        if self.state.window.is_some() {
            return self.look_within(shared, now_ns);
        }
        let grace_ends_ns = shared.grace_ends_ns();
        let waits = now_ns < grace_ends_ns;
        self.newcomers_at_ns = (waits && self.newcomers(shared).next().is_some()).then_some(grace_ends_ns);
        let came = !waits && self.look_at_newcomers(shared);
        if !self.is_anyone_registered() {
            return Ok(());
        }
        if came {
            self.read(shared)?;
            let memory = &shared.memory;
            self.state.memory_short = memory.available_bytes.saturating_mul(SHORT) < memory.total_bytes;
        }
        self.look_before(shared, now_ns)
    }
}

/// Whether the owner wants an app left out, by its name, unit or programs; what is left alone in every respect is left out of this too.
fn is_excluded<D: Device>(shared: &mut EngineState<D>, name: &AppName, cgroup: &str) -> bool {
    if shared.apps.get(name).is_some_and(|known| known.standing() == fovea_apps::Standing::Ignore) {
        return true;
    }
    let exclude = &shared.policy.merge.exclude;
    if exclude.is_empty() {
        return false;
    }
    let lists = Lists { ignore: exclude.clone(), ..Lists::default() };
    // Whose programs cannot be read goes by the name alone.
    let programs = shared.device.programs(cgroup).unwrap_or_default();
    let label = fovea_apps::label_of_cgroup(cgroup);
    lists.entry(&Identity { name: name.as_str(), label: label.as_deref(), cgroup, programs: &programs }).is_some()
}

impl<D: Device> Mechanism<D> for Merge {
    fn about(&self) -> About {
        const NEEDS: [Need; 1] = [Need::shown("ksm", "one copy of pages that apps of one ancestor have in common")];
        About { name: "merge", needs: &NEEDS }
    }

    fn set_up(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        let reading = match shared.device.merging() {
            Ok(reading) => reading,
            Err(e) => {
                shared.lacks(now_ns, format!("merging: {e}"));
                return Ok(());
            }
        };
        let Some(reading) = reading else { return Ok(()) };
        self.present = true;
        self.parted_before = reading.parted_pages;
        self.state.ours = reading.settings.run != RUNS;
        if self.state.ours || !shared.policy.merge.enabled {
            return Ok(());
        }
        match shared.policy.merge.take_over {
            true => self.take_over(shared, &reading, now_ns),
            false => shared.write(now_ns, "merging-is-anothers", None, None, json!({ "settings": reading.settings })),
        }
        Ok(())
    }

    fn on(&mut self, shared: &mut EngineState<D>, event: Event, _now_ns: u64) {
        match event {
            Event::Gone(app) => {
                self.apps.remove(&app.name);
            }
            Event::Decided { .. } => {
                // A pass is judged once.
                if let Some(window) = &mut self.state.window {
                    window.passed = false;
                }
            }
            Event::Asked(_) => {
                if let (true, Ok(Some(reading))) = (self.is_anyone_registered(), shared.device.merging()) {
                    self.reading = reading;
                }
            }
            _ => {}
        }
    }

    fn at_once(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        merge::stop(snapshot, &config.merge)
    }

    fn observe(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        if !self.present || !(shared.policy.merge.enabled || self.state.window.is_some()) {
            return Ok(());
        }
        // Memory must be looked after though this cannot.
        if let Err(e) = self.try_observe(shared, now_ns) {
            say!("fovea: {e}: the kernel looks for no pages that are alike meanwhile");
            self.close(shared, now_ns, false);
            self.state.ours = false;
        }
        Ok(())
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        snapshot.merge = self.state.clone();
        for app in &mut snapshot.apps {
            app.merge = self.apps.get(&app.name).and_then(|known| known.merge);
        }
    }

    fn decide(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        let mut decision = merge::decide(snapshot, &config.merge);
        self.newcomers_at_ns.into_iter().for_each(|at_ns| decision.watch_by(at_ns));
        decision
    }

    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, _turn: &mut Turn) -> bool {
        let now_ns = step.snapshot.now_ns;
        let outcome = match step.action {
            Action::Merge { pages, .. } if self.state.window.is_some() => self.set_rate(shared, *pages),
            Action::Merge { app, pages } => self.open(shared, app, *pages, step),
            Action::StopMerging { .. } => {
                let whole = matches!(step.reason, Reason::NothingAlike | Reason::Spent);
                self.close(shared, now_ns, whole)
            }
            _ => return false,
        };
        shared.journal_step(step, outcome);
        true
    }

    fn report(&self, status: &mut Status, _now_ns: u64) {
        let registered = self.apps.values().filter(|known| known.merge.is_some()).count();
        status.merging = (registered > 0).then(|| fovea_client::Merging {
            looking: self.state.window.is_some(),
            ours: self.state.ours,
            registered_apps: registered,
            saved_bytes: self.reading.sharing_pages * fovea_apps::PAGE_BYTES,
            cpu_ns: self.reading.cpu_ns,
        });
    }
}
