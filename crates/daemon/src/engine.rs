// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon without its event loop: takes in events, has its mechanisms observe, decide and act,
//! and writes the journal.

mod adopt;
mod attention;
mod classes;
mod engine_state;
mod listed;
mod mechanism;
mod perceptible;
mod perceptions;
mod registration;
mod service_looks;
mod step;

// The mechanisms: each here and in `all`.
mod disk;
mod freeze;
mod memory;
mod merge;
mod net;
mod rank;
mod tier;

use engine_state::EngineState;
use fovea_apps::{limits, SourceId};
use fovea_client::protocol::{Reply, Request};
use fovea_client::{Assumed, Simulation};
use fovea_linux::{Device, Error, NormalPriority, Report, State};
use fovea_policy::{Action, Decision, Snapshot};
pub use mechanism::Turn;
use mechanism::{About, Event, Mechanism};
use step::Step;

use crate::config::Config;
use crate::journal::{Journal, Of};
use crate::syslog::Syslog;
use crate::undo::UndoLog;

/// The source of requests by [`Engine::handle`], which never leaves.
const OWNER: SourceId = 0;

/// The daemon without its event loop.
pub struct Engine<D> {
    shared: EngineState<D>,
    mechanisms: Vec<Box<dyn Mechanism<D>>>,
    busy: bool,
}

/// The mechanisms, in the order in which they act.
fn all<D: Device>() -> Vec<Box<dyn Mechanism<D>>> {
    vec![
        Box::<rank::Rank>::default(),
        Box::<freeze::Freeze>::default(),
        Box::<memory::Memory>::default(),
        Box::<disk::Disk>::default(),
        Box::<net::Net>::default(),
        Box::<merge::Merge>::default(),
        Box::<tier::Tier>::default(),
    ]
}

/// The report of `fovea check`, with what each mechanism uses each row for.
pub(crate) fn check<D: Device>(mut report: Report) -> Report {
    for mechanism in all::<D>() {
        let About { name, needs } = mechanism.about();
        needs.iter().for_each(|need| report.used(need.row, name, need.gives));
    }
    report
}

/// What the mechanisms need and the machine lacks, a line each, where they would not notice by
/// themselves.
pub(crate) fn lacks<D: Device>(report: &Report) -> Vec<String> {
    let needs = all::<D>().into_iter().flat_map(|mechanism| mechanism.about().needs);
    let rows = needs.filter(|need| need.is_reported).filter_map(|need| report.row(need.row));
    rows.filter(|row| row.state == State::Missing)
        .map(|row| format!("{}: {}: {}", row.name, row.found, row.mend))
        .collect()
}

impl<D: Device> Engine<D> {
    /// An engine over a device. `missing` names what the device lacks.
    pub fn new(device: D, config: Config, journal: Journal, undo: UndoLog, missing: Vec<String>) -> Self {
        Self { shared: EngineState::new(device, config, journal, undo, missing), mechanisms: all(), busy: false }
    }

    /// Sets the number of CPUs; by default this machine's.
    #[must_use]
    pub fn with_cpus(mut self, cpus: usize) -> Self {
        self.shared.cpus = cpus;
        self
    }

    /// Has kills written to the system's log.
    #[must_use]
    pub fn with_syslog(mut self, syslog: Syslog) -> Self {
        self.shared.syslog = Some(syslog);
        self
    }

    /// Sets what is wrong with the configuration file.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<String>) -> Self {
        self.problems(problems);
        self
    }

    /// What is wrong with the configuration file from now on.
    pub fn problems(&mut self, problems: Vec<String>) {
        self.shared.problems = problems;
    }

    /// Sets whether the engine polls memory, because PSI cannot fire. Every look then counts as one
    /// that a stall asked for.
    #[must_use]
    pub fn polls_memory(mut self, polls_memory: bool) -> Self {
        self.shared.polls_memory = polls_memory;
        self
    }

    /// Sets the device up.
    pub fn set_up(&mut self, now_ns: u64) -> Result<(), Error> {
        let missing = serde_json::json!({ "missing": self.shared.missing });
        self.shared.write(now_ns, "start", None, None, missing);
        for mechanism in &mut self.mechanisms {
            mechanism.set_up(&mut self.shared, now_ns)?;
        }
        Ok(())
    }

    /// Takes another configuration for decisions. What is set up at the start (swap, eCache, files)
    /// stays until the next start. Returns the changed sections that wait for that.
    pub fn reconfigure(&mut self, config: Config, now_ns: u64) -> Vec<&'static str> {
        let waiting = self.shared.reconfigure(config, now_ns);
        self.busy = true;
        self.answer(now_ns);
        waiting
    }

    /// A PSI trigger fired: tasks wait for memory.
    pub fn pressure(&mut self) {
        self.shared.psi_fired = true;
    }

    /// What apps were warned of, as far as it still holds.
    pub fn warning(&self) -> Option<fovea_policy::memory::Warning> {
        self.shared.warned.now()
    }

    /// Devices of sound or video have been opened or closed.
    pub fn media_changed(&mut self, change: fovea_linux::MediaChange, now_ns: u64) {
        self.shared.perceptions.media_changed(change, now_ns);
    }

    /// Answers a request of the program that runs the engine, as a source that never leaves.
    pub fn handle(&mut self, request: Request, now_ns: u64) -> Reply {
        self.handle_from(Some(OWNER), request, now_ns)
    }

    /// Answers a request and performs it at once. `source` is the connection that it came by, if
    /// what it says holds for as long as that lasts.
    pub fn handle_from(&mut self, source: Option<SourceId>, request: Request, now_ns: u64) -> Reply {
        let known = match &request {
            Request::Focus { app } | Request::Close { app } if self.shared.registry.get(app).is_none() => {
                Err(fovea_apps::Unknown(app.clone()).to_string())
            }
            _ => Ok(()),
        };
        if let Err(error) = known {
            return Reply::Error { error };
        }
        // The turn that follows may have work to do. A status before it must not say that all is
        // done.
        self.busy |= !request.only_asks();
        // Requests that only ask have no priority, because any client may send them at any rate.
        let _normal_priority = request.only_asks().then(NormalPriority::of_thread);
        let reply = self.serve(source, request, now_ns);
        self.answer(now_ns);
        reply
    }

    fn serve(&mut self, source: Option<SourceId>, request: Request, now_ns: u64) -> Reply {
        let shared = &mut self.shared;
        let done = match request {
            Request::Register { app, cgroup, role, io_class } => {
                self.register(app, cgroup, role, io_class, now_ns);
                Ok(())
            }
            // The loop handles these: it knows the connection (`attends`), and how to read the file
            // again.
            Request::Attend { .. } | Request::OnlyAsk {} | Request::Follow {} | Request::Reload {} => Ok(()),
            Request::Focus { app } => {
                shared.focus(source, app, now_ns);
                Ok(())
            }
            Request::Adopt { pid, windows } => return self.adopt(pid, &windows, now_ns),
            Request::Windows { front, visible } => {
                self.find_those_with_windows(front.iter().chain(&visible), now_ns);
                let shared = &mut self.shared;
                shared.windows(source, front, &visible, now_ns).map_err(|e| e.to_string())
            }
            Request::Inhibitors { pids } => shared.perceptions.inhibitors(source, pids),
            Request::Playing { pids } => shared.perceptions.playing(source, pids),
            Request::Names { names } => shared.service_looks.names(source, names),
            Request::Home {} => {
                shared.unfocus(source, now_ns);
                Ok(())
            }
            Request::Close { app } => {
                shared.close(&app, now_ns);
                Ok(())
            }
            Request::List {} => {
                let (configured, said) = shared.both_lists();
                return Reply::Lists { configured, said };
            }
            Request::ListAdd { list, entry } => shared.list_add(list, entry, now_ns),
            Request::ListRemove { list, entry } => shared.list_remove(list, &entry, now_ns),
            Request::Screen { on } => {
                shared.screen(source, on, now_ns);
                Ok(())
            }
            Request::Simulate { assumed } => {
                return match self.simulate(assumed, now_ns) {
                    Ok(simulation) => Reply::Simulation(Box::new(simulation)),
                    Err(e) => Reply::Error { error: e.to_string() },
                };
            }
            Request::Status { offset, limit } => {
                let limit = limit.unwrap_or(usize::MAX).min(limits::STATUS_APPS_MAX);
                return Reply::Status(Box::new(self.status(offset, limit, now_ns).page(offset, Some(limit))));
            }
            Request::Explain { app, limit, uid } => {
                let of = Of { app, uid };
                return crate::journal::story_reply(shared.journal.story(&of, crate::journal::at_most(limit)));
            }
        };
        match done {
            Ok(()) => Reply::Done {},
            Err(error) => Reply::Error { error },
        }
    }

    /// One of the processes of the last [`Turn::awaited`] has ended.
    pub fn victim_ended(&mut self, now_ns: u64) {
        self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::VictimEnded, now_ns));
        for app in std::mem::take(&mut self.shared.dead) {
            self.ended(&app, now_ns);
        }
    }

    /// One turn: all mechanisms observe, and then each decides and acts.
    pub fn turn(&mut self, now_ns: u64) -> Result<Turn, Error> {
        let mut turn = Turn::default();
        self.answer(now_ns);
        for mechanism in &mut self.mechanisms {
            mechanism.on(&mut self.shared, Event::TurnBegins, now_ns);
        }
        for mechanism in &mut self.mechanisms {
            mechanism.observe(&mut self.shared, now_ns)?;
        }
        self.shared.look_at_services(now_ns);
        let mut snapshot = self.snapshot(now_ns);
        let due_ns = [self.shared.service_looks.due_ns(), self.shared.perceptions.due_ns(now_ns)];
        let mut watch_at_ns = due_ns.into_iter().flatten().min();
        for at in 0..self.mechanisms.len() {
            let decision = self.mechanisms[at].decide(&snapshot, &self.shared.policy);
            let decided = Event::Decided { decision: &decision, snapshot: &snapshot };
            self.mechanisms[at].on(&mut self.shared, decided, now_ns);
            decision.wake_at_ns.into_iter().for_each(|at_ns| turn.wake_by(at_ns));
            watch_at_ns = watch_at_ns.into_iter().chain(decision.watch_at_ns).min();
            self.perform(decision, &mut snapshot, &mut turn);
        }
        for mechanism in &mut self.mechanisms {
            mechanism.on(&mut self.shared, Event::TurnEnds(&mut turn), now_ns);
        }
        for app in std::mem::take(&mut turn.ended) {
            self.ended(&app, now_ns);
        }
        if self.shared.changed {
            turn.wake_at_ns = Some(now_ns);
        }
        turn.short = self.shared.short;
        self.busy = turn.wake_at_ns.is_some();
        // A look for a shortage wakes the loop, but is no work under way.
        turn.wake_at_ns = turn.wake_at_ns.into_iter().chain(watch_at_ns).min();
        Ok(turn)
    }

    /// Has the mechanisms answer what has changed, before anything is read: the source of the
    /// change waits for this.
    fn answer(&mut self, now_ns: u64) {
        if !std::mem::take(&mut self.shared.changed) {
            return;
        }
        for app in std::mem::take(&mut self.shared.attention.fronted) {
            self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::Fronted(&app), now_ns));
        }
        let mut snapshot = self.snapshot(now_ns);
        for at in 0..self.mechanisms.len() {
            let decision = self.mechanisms[at].at_once(&snapshot, &self.shared.policy);
            self.perform(decision, &mut snapshot, &mut Turn::default());
            self.mechanisms[at].on(&mut self.shared, Event::Answered, now_ns);
        }
    }

    /// A snapshot of what is known; nothing is read.
    fn snapshot(&self, now_ns: u64) -> Snapshot {
        let mut snapshot = self.shared.snapshot(now_ns);
        self.mechanisms.iter().for_each(|m| m.describe(&mut snapshot));
        snapshot
    }

    fn perform(&mut self, decision: Decision, snapshot: &mut Snapshot, turn: &mut Turn) {
        for (action, reason) in decision.actions {
            if action.harms() && self.shared.has_changed(action.app(), snapshot.now_ns) {
                // The app has changed since the decision: decide anew.
                turn.wake_at_ns = Some(snapshot.now_ns);
                continue;
            }
            let step = Step { action: &action, reason, snapshot };
            let done = self.mechanisms.iter_mut().any(|m| m.perform(&mut self.shared, &step, turn));
            debug_assert!(done, "nobody does {action:?}");
            if let Action::Freeze { app } | Action::Thaw { app } = &action {
                // The mechanisms after this one decide on the new state.
                let frozen = matches!(action, Action::Freeze { .. });
                snapshot.apps.iter_mut().filter(|a| a.name == *app).for_each(|a| a.frozen = frozen);
            }
        }
    }

    /// The status. `limit` apps from `offset` on are read anew; the reply has no others.
    fn status(&mut self, offset: usize, limit: usize, now_ns: u64) -> fovea_client::Status {
        let shown = self.shared.registry.iter().skip(offset).take(limit);
        let shown: Vec<_> = shown.map(|app| app.name.clone()).collect();
        self.mechanisms.iter_mut().for_each(|m| m.on(&mut self.shared, Event::Asked(&shown), now_ns));
        self.shared.perceive(now_ns);
        let mut status = self.shared.status();
        status.busy = self.busy;
        self.mechanisms.iter().for_each(|m| m.report(&mut status, now_ns));
        status
    }

    /// What would be done: the decision on what is so now, with nothing done.
    fn simulate(&mut self, assumed: Assumed, now_ns: u64) -> Result<Simulation, Error> {
        self.shared.perceive(now_ns);
        let mut snapshot = self.shared.snapshot(now_ns);
        let mut notes = Vec::new();
        for mechanism in &mut self.mechanisms {
            notes.extend(mechanism.preview(&mut self.shared, &mut snapshot)?);
        }
        Ok(crate::simulate::simulation(snapshot, &self.shared.policy, assumed, true, notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeDevice;

    #[test]
    fn what_a_mechanism_needs_is_a_row_of_fovea_check_and_each_row_is_of_use() {
        let report = check::<FakeDevice>(fovea_linux::System::new().unwrap().check());
        for mechanism in all::<FakeDevice>() {
            let About { name, needs } = mechanism.about();
            for need in needs {
                let row = report.row(need.row);
                assert!(row.is_some(), "{}: nobody looks for it, so nobody would be told", need.row);
                assert!(row.unwrap().used_by.contains(&name.to_owned()));
            }
        }
        for row in &report.rows {
            assert!(!row.gives.is_empty(), "{}: of use to nobody, so nobody need look for it", row.name);
        }
    }
}
