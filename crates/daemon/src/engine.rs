// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon without its event loop: it is told what happened, looks at the device, decides, acts and writes the journal.

mod act;
mod attention;
mod kill;
mod listed;
mod observe;
mod perceptible;
mod report;
mod requests;
mod runaways;
mod set_up;
mod simulated;
mod state;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use fovea_apps::{
    AppName, AppUsage, CpuReading, Importance, Listed, Lists, MemoryReading, Perceived, Registry, SourceId, Standing,
    PAGE_BYTES,
};
use fovea_linux::{CompressCursor, Device, Error, PageRange};
use fovea_policy::{decide, Action, AppState, Growth, MemoryState, Reason, Snapshot, SwapState};
pub(crate) use observe::state_of_memory;
use serde_json::{json, Value};
use state::{Runtime, Session, Victim};

use crate::config::Config;
use crate::journal::{Entry, Journal};
use crate::syslog::Syslog;
use crate::undo::UndoLog;
use fovea_client::news::Killed;
use fovea_client::protocol::{Reply, Request};
use fovea_client::{AppStatus, Status};

/// How old an app's usage may be for a decision.
const USAGE_FRESH_NS: u64 = 200_000_000;

/// The same where nothing is short, and an app may only be compressed ahead of need.
const USAGE_IDLE_NS: u64 = 10_000_000_000;

/// How old the zones' watermarks may be.
const WATERMARKS_FRESH_NS: u64 = 10_000_000_000;

/// Least time over which the CPUs' idle share is taken; the kernel counts it in 10 ms.
const IDLE_OVER_NS: u64 = 40_000_000;

/// Resident memory an app must gain after it was compressed to be looked at again.
const REGAINED_BYTES: u64 = 1 << 20;

/// Ranges remembered of what an app's return touched.
const RESUME_RANGES_MAX: usize = 512;

/// A victim that has not ended by then is given up waiting for.
const VICTIM_PATIENCE_NS: u64 = 2_000_000_000;

/// Time in which an app that could not be killed, or lived on, is not tried again.
const SPARED_NS: u64 = 30_000_000_000;

/// What the event loop has to do after a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// When to turn again if nothing happens; `None`: not before something happens.
    pub wake_at_ns: Option<u64>,
    /// Who was killed in it.
    pub killed: Vec<Killed>,
    /// Ends of processes to wait for; each is to be reported by [`Engine::victim_ended`].
    pub awaited: Vec<OwnedFd>,
}

/// The daemon without its event loop.
pub struct Engine<D> {
    device: D,
    config: Config,
    policy: fovea_policy::Config,
    registry: Registry,
    runtime: BTreeMap<AppName, Runtime>,
    /// What commands have put on the owner's lists, and those lists with the configuration's.
    said: Lists,
    lists: Lists,
    /// Memory is short, and nobody but listed apps could be killed; when that was last said.
    only_listed: bool,
    only_listed_said_ns: Option<u64>,
    outside: runaways::Outside,
    perceptions: perceptible::Perceptions,
    /// CPUs that can run the daemon beside an app.
    cpus: usize,
    /// When the CPUs' share was last taken, and what they had done by then.
    cpu_looked: (u64, CpuReading),
    cpu_busy: bool,
    /// PSI has fired since the last look.
    called: bool,
    /// Nobody calls: the kernel has no PSI, or refuses the trigger.
    uncalled: bool,
    /// The CPUs could not be read the last time.
    cpu_unread: bool,
    screen_on: bool,
    /// Sources that are there, by name.
    sources: BTreeMap<SourceId, String>,
    /// What those of them that know say of the screen.
    screens: BTreeMap<SourceId, bool>,
    focused_ns: Option<u64>,
    memory: MemoryReading,
    looked_ns: u64,
    usage_read_ns: Option<u64>,
    /// When the zones' low watermarks were read, and their sum.
    watermarks: Option<(u64, u64)>,
    victim: Option<Victim>,
    session: Option<Session>,
    prefetch: Option<AppName>,
    journal: Journal,
    undo: UndoLog,
    syslog: Option<Syslog>,
    kills: u64,
    compressed_pages: u64,
    missing: Vec<String>,
    busy: bool,
}

impl<D: Device> Engine<D> {
    /// An engine over a device. `missing` names what the device lacks.
    pub fn new(device: D, config: Config, journal: Journal, undo: UndoLog, missing: Vec<String>) -> Self {
        let policy = fovea_policy::Config { memory: config.memory.clone(), freeze: config.freeze.clone() };
        Self {
            device,
            said: Lists::default(),
            lists: config.lists.clone(),
            only_listed: false,
            only_listed_said_ns: None,
            outside: runaways::Outside::default(),
            perceptions: perceptible::Perceptions::default(),
            config,
            policy,
            registry: Registry::default(),
            runtime: BTreeMap::new(),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get()),
            cpu_looked: (0, CpuReading::default()),
            cpu_busy: false,
            called: false,
            uncalled: false,
            cpu_unread: false,
            screen_on: true,
            sources: BTreeMap::new(),
            screens: BTreeMap::new(),
            focused_ns: None,
            memory: MemoryReading::default(),
            looked_ns: 0,
            usage_read_ns: None,
            watermarks: None,
            victim: None,
            session: None,
            prefetch: None,
            journal,
            undo,
            syslog: None,
            kills: 0,
            compressed_pages: 0,
            missing,
            busy: false,
        }
    }

    /// The engine of a device with so many CPUs; by default those of this machine.
    #[must_use]
    pub fn with_cpus(mut self, cpus: usize) -> Self {
        self.cpus = cpus;
        self
    }

    /// The engine that tells the system's log of its kills.
    #[must_use]
    pub fn with_syslog(mut self, syslog: Syslog) -> Self {
        self.syslog = Some(syslog);
        self
    }

    /// The engine whom nobody calls when memory gets short: it looks by itself, and every look counts as called for.
    #[must_use]
    pub fn uncalled(mut self, uncalled: bool) -> Self {
        self.uncalled = uncalled;
        self
    }

    /// An app's cgroup has no process any more.
    pub fn ended(&mut self, name: &AppName, now_ns: u64) {
        if self.victim.as_ref().is_some_and(|v| v.app == *name && v.awaited == 0) {
            return self.victim_done(now_ns);
        }
        if let Some(app) = self.registry.remove(name) {
            // Killed while it was frozen, it leaves a cgroup in which nothing that comes next could run.
            if self.runtime.remove(name).is_some_and(|runtime| runtime.frozen) {
                self.device.set_frozen(&app.cgroup, false).unwrap_or_else(|e| say!("fovea: {e}"));
            }
            if let Err(e) = self.undo.ended(&app.cgroup) {
                say!("fovea: writing the undo log: {e}");
            }
            self.end_session_of(name, now_ns);
            self.write(now_ns, "ended", Some(name), None, Value::Null);
        }
    }

    /// Looks at the device, decides and acts, once.
    pub fn turn(&mut self, now_ns: u64) -> Result<Turn, Error> {
        self.lose_patience(now_ns);
        self.read_back(now_ns);
        let snapshot = self.look(now_ns)?;
        let decision = decide(&snapshot, &self.policy);
        self.note_only_listed(&decision, &snapshot);
        let mut turn = Turn { wake_at_ns: decision.wake_at_ns, ..Turn::default() };
        let critical = decision.pressure.is_some_and(|p| p.critical || p.thrash);
        if let Some((app, reason)) = self.grace_is_over(critical, now_ns) {
            if !self.is_kept(&app, now_ns) {
                self.end(Action::Kill { app }, reason, &snapshot, &mut turn);
            }
        }
        let mut compressing = false;
        for (action, reason) in decision.actions {
            let harms = matches!(action, Action::Freeze { .. } | Action::Ask { .. } | Action::Kill { .. });
            if harms && self.has_changed(action.app(), now_ns) {
                // Decided on what is not so any more.
                turn.wake_at_ns = Some(now_ns);
                continue;
            }
            match action {
                Action::Freeze { app } => self.freeze(&app, reason, now_ns),
                Action::Thaw { app } => self.thaw(&app, reason, now_ns),
                Action::Compress { app, pages } => {
                    compressing = true;
                    if self.compress(&app, pages, reason, &snapshot)? {
                        turn.wake_at_ns = Some(now_ns);
                    }
                }
                step => self.end(step, reason, &snapshot, &mut turn),
            }
        }
        if !compressing {
            self.end_session(now_ns);
        }
        if let Some(victim) = &self.victim {
            let patience_ns = victim.since_ns + self.patience_ns(victim);
            turn.wake_at_ns = Some(turn.wake_at_ns.map_or(patience_ns, |t| t.min(patience_ns)));
        }
        self.busy = turn.wake_at_ns.is_some();
        // Only where nothing else wakes: looking out for a shortage is no work under way.
        turn.wake_at_ns = turn.wake_at_ns.into_iter().chain(decision.watch_at_ns).min();
        Ok(turn)
    }

    /// The kernel says that somebody waits for memory.
    pub fn pressure(&mut self) {
        self.called = true;
    }

    fn write(
        &mut self,
        t_ns: u64,
        action: &'static str,
        app: Option<&AppName>,
        reason: Option<Reason>,
        outcome: Value,
    ) {
        self.journal.write(&Entry { t_ns, action, app, reason, outcome, ..Entry::default() });
    }
}
