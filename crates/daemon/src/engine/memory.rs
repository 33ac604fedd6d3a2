// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory: looked at when somebody waits for it; compressed, read back and, in the end, taken from whoever matters least.

mod compress;
mod cpus;
mod kill;
mod observe;
mod only_listed;
mod prefetch;
mod runaways;
mod set_up;
mod state;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use fovea_apps::{AppName, MemoryReading};
use fovea_client::news::News;
use fovea_client::Status;
use fovea_linux::{Device, Error};
use fovea_policy::memory::{self, Growth, MemoryState, Rate, RecentHits};
use fovea_policy::{Action, Asked, Config, Decision, Snapshot};

use super::engine_state::EngineState;
use super::mechanism::{About, Event, Mechanism, Need, Turn};
use super::step::Step;
use crate::journal::Entry;
use state::{AppMemory, Session, Victim};

/// Resident memory an app must gain after it was compressed to be looked at again.
const REGAINED_BYTES: u64 = 1 << 20;

/// Time after its start in which the daemon finds what was there before it.
const SETTLED_NS: u64 = 2_000_000_000;

#[derive(Default)]
pub(super) struct Memory {
    apps: BTreeMap<AppName, AppMemory>,
    reading: MemoryReading,
    /// What the last look made of it.
    state: MemoryState,
    looked_ns: u64,
    /// When the next look is due that was put off.
    look_at_ns: Option<u64>,
    storage_refaults: Rate,
    recent_hits: RecentHits,
    set_up_ns: u64,
    usage_read_ns: Option<u64>,
    /// When the zones' low watermarks were read, and their sum.
    watermarks: Option<(u64, u64)>,
    cpus: cpus::Cpus,
    victim: Option<Victim>,
    /// Whose processes could not be read when it was to die, and since when.
    unread: Option<(AppName, u64)>,
    /// Processes of a victim that had left its cgroup and were killed there: their ends are
    /// awaited.
    left: Vec<OwnedFd>,
    session: Option<Session>,
    /// One of an app's batches has been compressed in this turn.
    compressing: bool,
    /// Who has come to the screen, and may have something read back.
    returning: Option<AppName>,
    front: Option<AppName>,
    /// Who has come to the front since the last turn, and when.
    came_to_front: Vec<(AppName, u64)>,
    /// Who has left the front since apps were last read.
    left_front: Vec<AppName>,
    prefetch: Option<prefetch::Due>,
    outside: runaways::Outside,
    only_listed: only_listed::OnlyListed,
    /// To be told when the turn ends.
    warning: Option<News>,
    kills: u64,
    compressed_pages: u64,
}

impl Memory {
    /// An app's part of a snapshot, and what of memory concerns no app.
    fn describe_all(&self, snapshot: &mut Snapshot) {
        snapshot.memory = self.state;
        snapshot.outsiders = self.outside.outsiders().to_vec();
        let largest_app_bytes = self.apps.values().map(|known| known.usage.taken_bytes()).max().unwrap_or(0);
        snapshot.session_bytes = self.outside.session_bytes(largest_app_bytes);
        snapshot.leaked_ns = self.outside.leaked_ns();
        snapshot.cpu_busy = self.cpus.busy;
        snapshot.kill_pending = self.victim.is_some();
        snapshot.asked = self.victim.as_ref().and_then(|victim| {
            let reason = victim.asked?;
            Some(Asked { app: victim.app.clone(), reason, since_ns: victim.since_ns })
        });
        let now_ns = snapshot.now_ns;
        for app in &mut snapshot.apps {
            let Some(known) = self.apps.get(&app.name) else { continue };
            let usage = &known.usage;
            app.kill_failed = now_ns < known.kill_failed_until_ns;
            (app.anon_bytes, app.current_bytes, app.swap_bytes) =
                (usage.anon_bytes, usage.current_bytes, usage.swap_bytes);
            (app.shmem_bytes, app.lasting_bytes, app.kernel_bytes) =
                (usage.shmem_bytes, usage.lasting_bytes, usage.kernel_bytes);
            app.growth_bytes_per_s = known.growth.bytes_per_s();
            app.born_ns = known.growth.born_ns().unwrap_or(0);
            (app.growing_since_ns, app.gained_bytes) = known.growth.gained().unwrap_or_default();
            app.hog_bytes = known.hog_bytes;
            app.processes = usage.processes;
            app.returned = known.returned;
            app.looked_through = known.looked_through;
            app.returning = self.returning.as_ref() == Some(&app.name);
            app.all_out = known.all_out;
            app.resume_known = known.resume_set.is_some();
            app.exhausted = known.exhausted_at_bytes.is_some_and(|then| usage.anon_bytes < then + REGAINED_BYTES);
        }
    }
}

impl Memory {
    /// Has apps asked to give memory back, where the decision says so.
    fn warn<D: Device>(&mut self, shared: &mut EngineState<D>, decision: &Decision, snapshot: &Snapshot) {
        let now_ns = snapshot.now_ns;
        if !shared.config.daemon.act || !shared.warned.is_news(decision.warning, now_ns) {
            return;
        }
        let level = decision.warning.map_or(0, memory::Warning::level);
        self.warning = Some(News::Warning { level });
        if level > 0 {
            let (readings, outcome) = (Some(snapshot.memory), serde_json::json!({ "level": level }));
            shared.journal.write(&Entry { t_ns: now_ns, action: "warn", readings, outcome, ..Entry::default() });
        }
    }

    /// One of the victim's processes has ended: the app, if it has ended with it.
    fn victim_ended<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Option<AppName> {
        let victim = self.victim.as_mut()?;
        victim.awaited = victim.awaited.saturating_sub(1);
        // Of many processes only some are held; the end of the last is then told by its cgroup.
        (victim.awaited == 0 && victim.all_held).then(|| self.victim_done(shared, now_ns))?
    }
}

impl<D: Device> Mechanism<D> for Memory {
    fn about(&self) -> About {
        const NEEDS: [Need; 8] = [
            Need::reported("memory-controller", "an app's memory in one figure, and its pressure"),
            Need::reported("process_madvise", "compressing idle apps ahead of need"),
            Need::reported("pidfd", "ending the app that was chosen, and no other"),
            Need::reported("process_mrelease", "a killed app's memory at once"),
            Need::shown("zram", "a compressed swap in memory"),
            Need::shown("swap-codec", "judging pages by the very codec that will compress them"),
            Need::shown("swap", "room for what is paged out"),
            Need::shown("ecache", "reserved memory as file cache while its device is idle"),
        ];
        About { name: "memory", needs: &NEEDS }
    }

    fn set_up(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        self.set_up_all(shared, now_ns)
    }

    fn on(&mut self, shared: &mut EngineState<D>, event: Event, now_ns: u64) {
        match event {
            Event::Came(app) => {
                // What is found as the daemon starts may have been there for long.
                let has_begun = now_ns.saturating_sub(self.set_up_ns) >= SETTLED_NS;
                let growth = if has_begun { Growth::born(now_ns) } else { Growth::default() };
                self.apps.insert(app.clone(), AppMemory { growth, ..AppMemory::default() });
            }
            Event::Fronted(app) => {
                if let Some(known) = self.apps.get_mut(app) {
                    // Where compression has come to it goes on: what lies before was judged, and what came back of it is needed.
                    known.exhausted_at_bytes = None;
                    known.returned = known.was_compressed;
                }
                self.left_front.extend(self.front.replace(app.clone()).filter(|left| left != app));
                self.came_to_front.push((app.clone(), now_ns));
                self.returning = Some(app.clone());
            }
            Event::Gone(app) => {
                self.apps.remove(&app.name);
                self.left_front.retain(|name| *name != app.name);
                if self.session.as_ref().is_some_and(|session| session.app == app.name) {
                    self.end_session(shared, now_ns);
                }
            }
            Event::TurnBegins => {
                self.lose_patience(shared, now_ns);
                self.read_back(shared);
            }
            Event::Answered => {
                // What a return touches is resident then, or nothing was ever compressed.
                if let Some(known) = self.returning.take().and_then(|app| self.apps.get_mut(&app)) {
                    known.all_out = false;
                }
            }
            Event::Decided { decision, snapshot } => {
                self.compressing = false;
                self.warn(shared, decision, snapshot);
                self.only_listed.note(shared, decision, snapshot);
                if self.outside.note(shared, decision, &snapshot.memory, snapshot.now_ns) {
                    shared.changed = true;
                }
            }
            Event::TurnEnds(turn) => {
                if !self.compressing {
                    self.end_session(shared, now_ns);
                }
                if shared.changed {
                    turn.wake_by(now_ns);
                }
                // Before the kill that it warned of.
                self.warning.take().into_iter().for_each(|warning| turn.news.insert(0, warning));
                turn.awaited.append(&mut self.left);
                if let Some(victim) = &self.victim {
                    turn.wake_by(victim.since_ns + kill::patience_ns(victim, &shared.config));
                }
            }
            Event::VictimEnded => {
                let ended = self.victim_ended(shared, now_ns);
                shared.dead.extend(ended);
            }
            Event::Emptied(app) => {
                let is_its = self.victim.as_ref().is_some_and(|victim| victim.app == *app && victim.awaited == 0);
                if is_its && !self.kill_left(shared, app, now_ns) {
                    self.victim_done(shared, now_ns);
                }
            }
            Event::Asked(shown) => {
                self.read_sizes(shared, shown, now_ns);
                if let Ok(reading) = shared.device.memory() {
                    // Only shown: the rates of the next decision still count from the last look.
                    let (some, file, anon) =
                        (self.reading.psi_some_total_us, self.reading.refault_file, self.reading.refault_anon);
                    self.reading =
                        MemoryReading { psi_some_total_us: some, refault_file: file, refault_anon: anon, ..reading };
                }
            }
            _ => {}
        }
    }

    fn at_once(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        memory::read_back(snapshot, &config.memory)
    }

    fn observe(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        self.read_who_came(shared, now_ns);
        self.look(shared, now_ns)
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        self.describe_all(snapshot);
    }

    fn decide(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        let mut decision = memory::decide(snapshot, &config.memory);
        self.look_at_ns.into_iter().for_each(|at_ns| decision.watch_by(at_ns));
        decision
    }

    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, turn: &mut Turn) -> bool {
        match step.action {
            Action::Compress { app, pages } => {
                self.compressing = true;
                if self.compress(shared, app, *pages, step) {
                    turn.wake_by(step.snapshot.now_ns);
                }
            }
            Action::Prefetch { app, pages } => self.prefetch_later(app, *pages, step),
            Action::Ask { app } | Action::Kill { app } => self.end(shared, app, step, turn),
            _ => return false,
        }
        true
    }

    fn preview(&mut self, shared: &mut EngineState<D>, snapshot: &mut Snapshot) -> Result<Vec<String>, Error> {
        let reading = shared.device.memory()?;
        let all: Vec<_> = shared.registry.iter().map(|app| app.name.clone()).collect();
        self.read_sizes(shared, &all, snapshot.now_ns);
        self.describe_all(snapshot);
        snapshot.memory = self.with_stalls(shared, &reading, snapshot.now_ns);
        // One that dies now is told of in a note; what comes after it is asked for.
        (snapshot.kill_pending, snapshot.asked) = (false, None);
        let note =
            |victim: &Victim| format!("{} has been asked to end or killed, and its memory is awaited", victim.app);
        Ok(self.victim.iter().map(note).collect())
    }

    fn report(&self, status: &mut Status, now_ns: u64) {
        status.memory = self.reading;
        status.only_listed = self.only_listed.is_so();
        status.runaways = self.outside.named(now_ns);
        status.kills = self.kills;
        status.compressed_pages = self.compressed_pages;
        for app in &mut status.apps {
            app.usage = self.apps.get(&app.name).map(|known| known.usage).unwrap_or_default();
        }
    }
}
