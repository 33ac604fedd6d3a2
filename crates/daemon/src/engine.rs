// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The daemon without its event loop: it is told what happened, looks at the device, decides, acts and writes the journal.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use fovea_apps::{AppName, Importance, Registry};
use fovea_linux::{AppUsage, CompressCursor, CpuReading, Device, Error, MemoryReading, PageRange};
use fovea_policy::{decide, Action, AppState, MemoryState, Reason, Snapshot, SwapState, ZramState, PAGE_BYTES};
use serde_json::{json, Value};

use crate::config::Config;
use crate::journal::{Entry, Journal};
use crate::protocol::{AppStatus, Reply, Request, Status};
use crate::undo::UndoLog;

/// How old an app's usage may be for a decision.
const USAGE_FRESH_NS: u64 = 200_000_000;

/// Least time over which the CPUs' idle share is taken; the kernel counts it in 10 ms.
const IDLE_OVER_NS: u64 = 40_000_000;

/// Resident memory an app must gain after it was compressed to be looked at again.
const REGAINED_BYTES: u64 = 1 << 20;

/// Ranges remembered of what an app's return touched.
const RESUME_RANGES_MAX: usize = 512;

/// A victim that has not ended by then is given up waiting for.
const VICTIM_PATIENCE_NS: u64 = 2_000_000_000;

/// What the daemon remembers of an app beside its rank.
#[derive(Debug, Default)]
struct Runtime {
    background_since_ns: u64,
    importance: Option<Importance>,
    frozen: bool,
    cursor: CompressCursor,
    /// Pages of it were compressed in this life.
    was_compressed: bool,
    /// It has been in front since.
    returned: bool,
    /// It was compressed and has not been in front since.
    all_out: bool,
    /// What its last return touched, remembered when that too had to be compressed.
    resume_set: Option<Vec<PageRange>>,
    /// Resident memory when its last range had been looked at; `None` while some are left.
    compressed_at_bytes: Option<u64>,
    usage: AppUsage,
}

/// A victim whose memory is awaited.
#[derive(Debug)]
struct Victim {
    app: AppName,
    awaited: usize,
    since_ns: u64,
}

/// A run of compressions of one app for one reason: one journal line when it ends.
#[derive(Debug)]
struct Session {
    app: AppName,
    reason: Reason,
    readings: MemoryState,
    began_ns: u64,
    swapped_pages: u64,
    scanned_pages: u64,
    incompressible_pages: u64,
}

/// What the event loop has to do after a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// When to turn again if nothing happens; `None`: not before something happens.
    pub wake_at_ns: Option<u64>,
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
    /// CPUs that can run the daemon beside an app.
    cpus: usize,
    /// When the CPUs' share was last taken, and what they had done by then.
    cpu_looked: (u64, CpuReading),
    cpu_busy: bool,
    /// PSI has fired since the last look.
    called: bool,
    screen_on: bool,
    focused_ns: Option<u64>,
    memory: MemoryReading,
    looked_ns: u64,
    usage_read_ns: Option<u64>,
    victim: Option<Victim>,
    session: Option<Session>,
    prefetch: Option<AppName>,
    journal: Journal,
    undo: UndoLog,
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
            config,
            policy,
            registry: Registry::default(),
            runtime: BTreeMap::new(),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get()),
            cpu_looked: (0, CpuReading::default()),
            cpu_busy: false,
            called: false,
            screen_on: true,
            focused_ns: None,
            memory: MemoryReading::default(),
            looked_ns: 0,
            usage_read_ns: None,
            victim: None,
            session: None,
            prefetch: None,
            journal,
            undo,
            kills: 0,
            compressed_pages: 0,
            missing,
            busy: false,
        }
    }

    /// Sets the device up: compressed swap where there is none.
    pub fn set_up(&mut self, now_ns: u64) -> Result<(), Error> {
        self.memory = self.device.memory()?;
        self.looked_ns = now_ns;
        self.write(now_ns, "start", None, None, json!({ "missing": self.missing }));
        if !self.config.zram.enabled {
            return Ok(());
        }
        if let Some(zram) = self.undo.changed().zram.clone() {
            self.write(now_ns, "zram-taken-over", None, None, json!({ "number": zram.number }));
            self.set_sysctl("vm/page-cluster", "0");
            return Ok(());
        }
        if self.memory.zram.is_some() {
            return Ok(());
        }
        let (limit_bytes, disk_bytes) = self.config.zram.sizes(self.memory.total_bytes);
        let wish = fovea_linux::ZramWish {
            algorithm: self.config.zram.algorithm.clone(),
            disk_bytes,
            limit_bytes,
            priority: self.config.zram.priority,
        };
        let undo = &mut self.undo;
        match self.device.zram_setup(&wish, &mut |zram| undo.zram(zram)) {
            Ok(zram) => {
                self.write(now_ns, "zram", None, None, json!({ "device": zram, "limit_bytes": limit_bytes }));
                self.set_sysctl("vm/page-cluster", "0");
                self.memory = self.device.memory()?;
            }
            // A device without zram is served without compression: named, not fatal.
            Err(e) => self.lacks(now_ns, format!("zram: {e}")),
        }
        Ok(())
    }

    fn lacks(&mut self, now_ns: u64, what: String) {
        say!("fovea: going on without {what}");
        self.write(now_ns, "missing", None, None, json!({ "what": what }));
        self.missing.push(what);
    }

    /// Of swap settings: reading neighbours ahead (page-cluster) is for disks; zram pays for every page read.
    fn set_sysctl(&mut self, name: &str, value: &str) {
        let done = self.device.sysctl(name).and_then(|old| {
            if old != value && self.undo.sysctl(name, &old).is_ok() {
                self.device.set_sysctl(name, value)?;
            }
            Ok(())
        });
        if let Err(e) = done {
            say!("fovea: {e}");
        }
    }

    /// The app whose cgroup this is.
    pub fn owner_of(&self, cgroup: &str) -> Option<AppName> {
        self.registry.iter().find(|app| app.cgroup == cgroup).map(|app| app.name.clone())
    }

    /// Answers a request, and does what it asks at once.
    pub fn handle(&mut self, request: Request, now_ns: u64) -> Reply {
        let known = match &request {
            Request::Focus { app } | Request::Close { app } if self.registry.get(app).is_none() => {
                Err(fovea_apps::Unknown(app.clone()).to_string())
            }
            _ => Ok(()),
        };
        if let Err(error) = known {
            return Reply::Error { error };
        }
        match request {
            Request::Register { app, cgroup, role, io_class } => {
                // An app that was killed frozen leaves its cgroup frozen; its next life must not begin so.
                self.thaw(&app, Reason::Needed, now_ns);
                self.registry.insert(app.clone(), cgroup, role, io_class);
                self.runtime.insert(app.clone(), Runtime { background_since_ns: now_ns, ..Runtime::default() });
                self.write(now_ns, "register", Some(&app), None, Value::Null);
                self.rank(now_ns);
            }
            Request::Focus { app } => {
                // Checked above; a race is impossible in one thread.
                let _ = self.registry.focus(&app);
                self.focused_ns = Some(now_ns);
                self.rank(now_ns);
                self.thaw(&app, Reason::Needed, now_ns);
                if let Some(runtime) = self.runtime.get_mut(&app) {
                    runtime.compressed_at_bytes = None;
                    runtime.cursor = CompressCursor::default();
                    runtime.returned = runtime.was_compressed;
                }
                self.write(now_ns, "focus", Some(&app), None, Value::Null);
                self.prefetch = Some(app);
            }
            Request::FocusPid { pid } => {
                return match self.app_of_pid(pid) {
                    Ok(Some(app)) if self.registry.foreground() == Some(&app) => Reply::Done {},
                    Ok(Some(app)) => self.handle(Request::Focus { app }, now_ns),
                    Ok(None) => self.handle(Request::Home {}, now_ns),
                    Err(e) => Reply::Error { error: e.to_string() },
                }
            }
            Request::Home {} => {
                self.registry.unfocus();
                self.rank(now_ns);
            }
            Request::Close { app } => {
                let _ = self.registry.close(&app);
                self.rank(now_ns);
                self.write(now_ns, "close", Some(&app), None, Value::Null);
            }
            Request::Screen { on } => {
                if self.screen_on != on {
                    self.screen_on = on;
                    self.write(now_ns, if on { "screen-on" } else { "screen-off" }, None, None, Value::Null);
                }
            }
            Request::Status {} => return Reply::Status(Box::new(self.status())),
            Request::Explain { app, limit } => {
                return match self.journal.story(app.as_ref(), limit.unwrap_or(50).min(400)) {
                    Ok(entries) => Reply::Story { entries },
                    Err(e) => Reply::Error { error: format!("reading the journal: {e}") },
                };
            }
        }
        Reply::Done {}
    }

    /// The app in whose cgroup, or below it, a process is; the innermost one, should an app's cgroup lie in another's.
    fn app_of_pid(&mut self, pid: u32) -> Result<Option<AppName>, Error> {
        let Some(member) = self.device.cgroup_of_pid(pid)? else { return Ok(None) };
        let holders = self.registry.iter().filter(|app| fovea_linux::cgroup::is_within(&member, &app.cgroup));
        Ok(holders.max_by_key(|app| app.cgroup.len()).map(|app| app.name.clone()))
    }

    /// Ranks anew after a change: remembers who went to the background when, and tells the kernel's OOM killer the order.
    fn rank(&mut self, now_ns: u64) {
        for app in self.registry.iter() {
            let importance = self.registry.importance(app);
            let Some(runtime) = self.runtime.get_mut(&app.name) else { continue };
            if runtime.importance == Some(importance) {
                continue;
            }
            let was_front = runtime.importance.is_none_or(|i| i <= Importance::Service);
            if was_front && importance > Importance::Service {
                runtime.background_since_ns = now_ns;
            }
            runtime.importance = Some(importance);
            // The scores there were go into the log before they are changed.
            let told = self.device.scores(&app.cgroup).and_then(|scores| match self.undo.scores(&app.cgroup, scores) {
                Ok(()) => self.device.set_importance(&app.cgroup, importance),
                Err(e) => {
                    say!("fovea: writing the undo log: {e}: leaving {} as it is", app.name);
                    Ok(())
                }
            });
            if let Err(e) = told {
                say!("fovea: {e}");
            }
        }
    }

    fn thaw(&mut self, name: &AppName, reason: Reason, now_ns: u64) {
        let (Some(app), Some(runtime)) = (self.registry.get(name), self.runtime.get_mut(name)) else { return };
        if !runtime.frozen {
            return;
        }
        match self.device.set_frozen(&app.cgroup, false) {
            Ok(()) => {
                runtime.frozen = false;
                if let Err(e) = self.undo.thawed(&app.cgroup) {
                    say!("fovea: writing the undo log: {e}");
                }
            }
            Err(e) => say!("fovea: {e}"),
        }
        self.write(now_ns, "thaw", Some(name), Some(reason), Value::Null);
    }

    fn freeze(&mut self, name: &AppName, reason: Reason, now_ns: u64) {
        let (Some(app), Some(runtime)) = (self.registry.get(name), self.runtime.get_mut(name)) else { return };
        let done = self.undo.freezing(&app.cgroup).map_err(|e| e.to_string());
        match done.and_then(|()| self.device.set_frozen(&app.cgroup, true).map_err(|e| e.to_string())) {
            Ok(()) => runtime.frozen = true,
            Err(e) => {
                say!("fovea: freezing {name}: {e}");
                // Not again at every turn: after another debounce.
                runtime.background_since_ns = now_ns;
                return;
            }
        }
        self.write(now_ns, "freeze", Some(name), Some(reason), Value::Null);
    }

    /// An app's cgroup has no process any more.
    pub fn ended(&mut self, name: &AppName, now_ns: u64) {
        if self.victim.as_ref().is_some_and(|v| v.app == *name && v.awaited == 0) {
            return self.victim_done(now_ns);
        }
        if let Some(app) = self.registry.remove(name) {
            self.runtime.remove(name);
            if let Err(e) = self.undo.ended(&app.cgroup) {
                say!("fovea: writing the undo log: {e}");
            }
            self.end_session_of(name, now_ns);
            self.write(now_ns, "ended", Some(name), None, Value::Null);
        }
    }

    /// One of the processes of the last [`Turn::awaited`] has ended.
    pub fn victim_ended(&mut self, now_ns: u64) {
        let Some(victim) = &mut self.victim else { return };
        victim.awaited = victim.awaited.saturating_sub(1);
        if victim.awaited == 0 {
            self.victim_done(now_ns);
        }
    }

    fn victim_done(&mut self, now_ns: u64) {
        if let Some(victim) = self.victim.take() {
            let took_ns = now_ns - victim.since_ns;
            self.write(now_ns, "victim-gone", Some(&victim.app), None, json!({ "took_ns": took_ns }));
            self.ended(&victim.app, now_ns);
        }
    }

    /// Looks at the device, decides and acts, once.
    pub fn turn(&mut self, now_ns: u64) -> Result<Turn, Error> {
        if self.victim.as_ref().is_some_and(|v| now_ns.saturating_sub(v.since_ns) > VICTIM_PATIENCE_NS) {
            self.victim = None;
        }
        self.read_back(now_ns);
        let snapshot = self.look(now_ns)?;
        let decision = decide(&snapshot, &self.policy);
        let mut turn = Turn { wake_at_ns: decision.wake_at_ns, awaited: Vec::new() };
        let mut compressing = false;
        for (action, reason) in decision.actions {
            match action {
                Action::Freeze { app } => self.freeze(&app, reason, now_ns),
                Action::Thaw { app } => self.thaw(&app, reason, now_ns),
                Action::Compress { app, pages } => {
                    compressing = true;
                    if self.compress(&app, pages, reason, &snapshot)? {
                        turn.wake_at_ns = Some(now_ns);
                    }
                }
                Action::Kill { app } => match self.kill(&app, reason, &snapshot) {
                    Ok(awaited) => turn.awaited = awaited,
                    Err(e) => {
                        say!("fovea: killing {app}: {e}");
                        self.write(now_ns, "kill-failed", Some(&app), Some(reason), json!({ "error": e.to_string() }));
                        // Not again at every turn: once the patience for a victim is over.
                        self.victim = Some(Victim { app, awaited: 1, since_ns: now_ns });
                    }
                },
            }
        }
        if !compressing {
            self.end_session(now_ns);
        }
        if let Some(victim) = &self.victim {
            let patience_ns = victim.since_ns + VICTIM_PATIENCE_NS;
            turn.wake_at_ns = Some(turn.wake_at_ns.map_or(patience_ns, |t| t.min(patience_ns)));
        }
        self.busy = turn.wake_at_ns.is_some();
        // Only where nothing else wakes: looking out for a shortage is no work under way.
        turn.wake_at_ns = turn.wake_at_ns.into_iter().chain(decision.watch_at_ns).min();
        Ok(turn)
    }

    /// Reads what was compressed of a focused app back, ahead of its touching it.
    fn read_back(&mut self, now_ns: u64) {
        let Some(name) = self.prefetch.take() else { return };
        let pages = self.config.memory.prefetch_pages;
        if pages == 0 || self.config.memory.mode != fovea_policy::Mode::Full {
            return;
        }
        let (Some(app), Some(runtime)) = (self.registry.get(&name), self.runtime.get_mut(&name)) else { return };
        let resume_set = runtime.resume_set.take();
        // What a return touches is resident then, or nothing was ever compressed.
        let all_out = runtime.all_out;
        runtime.all_out = false;
        if resume_set.is_none() && !(all_out && self.cpus > 1) {
            return;
        }
        match self.device.prefetch(&app.cgroup, resume_set.as_deref(), pages) {
            Ok(0) => {}
            Ok(pages) => {
                let outcome = json!({ "pages": pages, "known": resume_set.is_some() });
                self.write(now_ns, "prefetch", Some(&name), Some(Reason::Needed), outcome);
            }
            Err(Error::Missing { .. }) => {}
            Err(e) => say!("fovea: reading {name} back: {e}"),
        }
    }

    /// Reads the device and puts together what the decision may depend on.
    fn look(&mut self, now_ns: u64) -> Result<Snapshot, Error> {
        let last = self.memory;
        let now = self.device.memory()?;
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns).max(1);
        let refaults = (now.refault_file + now.refault_anon).saturating_sub(last.refault_file + last.refault_anon);
        // Over less than 10 ms a rate says nothing.
        let rate_over_ns = elapsed_ns.max(10_000_000);
        let memory = MemoryState {
            free_bytes: now.free_bytes,
            file_bytes: now.file_bytes,
            swap: (now.swap_total_bytes > 0).then_some(SwapState {
                free_bytes: now.swap_free_bytes,
                total_bytes: now.swap_total_bytes,
                zram: now.zram.map(|z| ZramState {
                    disk_bytes: z.disk_bytes,
                    original_bytes: z.original_bytes,
                    used_bytes: z.used_bytes,
                    limit_bytes: z.limit_bytes,
                }),
            }),
            stalled_us: match (now.psi_some_total_us, last.psi_some_total_us) {
                // Stalls too short for the trigger, long ago, are not what this look is about.
                (Some(_), Some(_)) if !self.called && elapsed_ns > self.watching_ns() => 0,
                (Some(now), Some(last)) => now.saturating_sub(last),
                // Without PSI every look counts as called for.
                _ => 1,
            },
            psi_full_avg10: now.psi_full_avg10.unwrap_or(0.0),
            untold: now.psi_some_total_us.is_none(),
            refaults_per_s: (u128::from(refaults) * 1_000_000_000 / u128::from(rate_over_ns)) as u64,
        };
        self.memory = now;
        self.looked_ns = now_ns;
        self.called = false;
        let short = fovea_policy::pressure(&memory, &self.policy.memory);
        if short.shortage.is_some() || short.ladder.is_some() || !self.screen_on {
            self.refresh_usage(now_ns);
        }
        let apps = self.registry.iter().filter_map(|app| self.state_of(app)).collect();
        self.look_at_cpus(now_ns)?;
        let (screen_on, focused_ns, cpu_busy) = (self.screen_on, self.focused_ns, self.cpu_busy);
        Ok(Snapshot { now_ns, screen_on, focused_ns, cpu_busy, memory, kill_pending: self.victim.is_some(), apps })
    }

    /// Looks that follow each other within this time watch one and the same shortage.
    fn watching_ns(&self) -> u64 {
        4 * self.config.memory.watch_ms * 1_000_000
    }

    /// The kernel says that somebody waits for memory.
    pub fn pressure(&mut self) {
        self.called = true;
    }

    /// Whether the others kept the CPUs busy for more than half of the time that the daemon left them.
    fn look_at_cpus(&mut self, now_ns: u64) -> Result<(), Error> {
        let (then_ns, then) = self.cpu_looked;
        let elapsed_ns = now_ns.saturating_sub(then_ns);
        if elapsed_ns < IDLE_OVER_NS {
            return Ok(());
        }
        let now = self.device.cpu()?;
        self.cpu_looked = (now_ns, now);
        let own_ns = now.own_ns.saturating_sub(then.own_ns);
        let left_ns = (elapsed_ns * self.cpus as u64).saturating_sub(own_ns);
        let idle_ns = now.idle_ns.saturating_sub(then.idle_ns);
        // The idle time is counted in 10 ms: less left than that says nothing.
        self.cpu_busy = left_ns > 10_000_000 && idle_ns * 2 < left_ns;
        Ok(())
    }

    fn state_of(&self, app: &fovea_apps::App) -> Option<AppState> {
        let runtime = self.runtime.get(&app.name)?;
        let usage = &runtime.usage;
        Some(AppState {
            name: app.name.clone(),
            importance: self.registry.importance(app),
            focus_seq: app.focus_seq,
            background_since_ns: runtime.background_since_ns,
            frozen: runtime.frozen,
            anon_bytes: usage.anon_bytes,
            current_bytes: usage.current_bytes,
            swap_bytes: usage.swap_bytes,
            returned: runtime.returned,
            compressed: runtime.compressed_at_bytes.is_some_and(|then| usage.anon_bytes < then + REGAINED_BYTES),
        })
    }

    /// Reads what the apps occupy: in full only of those that may be compressed, since a kill may have to wait for this.
    fn refresh_usage(&mut self, now_ns: u64) {
        if self.usage_read_ns.is_some_and(|t| now_ns.saturating_sub(t) < USAGE_FRESH_NS) {
            return;
        }
        self.usage_read_ns = Some(now_ns);
        let compresses = self.config.memory.mode == fovea_policy::Mode::Full;
        for app in self.registry.iter() {
            let Some(runtime) = self.runtime.get_mut(&app.name) else { continue };
            let idle = self.registry.importance(app) >= Importance::Hidden;
            let read = match compresses && idle {
                true => self.device.usage(&app.cgroup).map(|usage| runtime.usage = usage),
                false => self.device.charge(&app.cgroup).map(|bytes| runtime.usage.current_bytes = bytes),
            };
            if let Err(e) = read {
                say!("fovea: {e}");
            }
        }
    }

    /// One batch; says whether to look again at once.
    fn compress(&mut self, name: &AppName, pages: u64, reason: Reason, snapshot: &Snapshot) -> Result<bool, Error> {
        if self.session.as_ref().is_some_and(|s| s.app != *name || s.reason != reason) {
            self.end_session(snapshot.now_ns);
        }
        let (Some(app), Some(runtime)) = (self.registry.get(name), self.runtime.get_mut(name)) else {
            return Ok(false);
        };
        let under = self.config.memory.compress_under_permille;
        if runtime.returned && runtime.resume_set.is_none() {
            match self.device.resident(&app.cgroup, RESUME_RANGES_MAX) {
                Ok(ranges) => runtime.resume_set = Some(ranges),
                Err(e) => say!("fovea: {e}"),
            }
        }
        let outcome = match self.device.compress(&app.cgroup, runtime.cursor, pages, under) {
            Ok(outcome) => outcome,
            Err(e) => {
                // Not again for this app until it was in front or has grown.
                runtime.compressed_at_bytes = Some(runtime.usage.anon_bytes);
                // What the kernel lacks has been said at the start, and is the same for every app.
                if !matches!(e, Error::Missing { .. }) {
                    say!("fovea: compressing {name}: {e}");
                }
                return Ok(false);
            }
        };
        runtime.usage.anon_bytes = runtime.usage.anon_bytes.saturating_sub(outcome.swapped_pages * PAGE_BYTES);
        runtime.usage.swap_bytes += outcome.swapped_pages * PAGE_BYTES;
        if outcome.swapped_pages > 0 {
            (runtime.was_compressed, runtime.returned, runtime.all_out) = (true, false, true);
        }
        match outcome.next {
            Some(cursor) => runtime.cursor = cursor,
            None => {
                runtime.cursor = CompressCursor::default();
                runtime.compressed_at_bytes = Some(runtime.usage.anon_bytes);
            }
        }
        self.compressed_pages += outcome.swapped_pages;
        let session = self.session.get_or_insert_with(|| Session {
            app: name.clone(),
            reason,
            readings: snapshot.memory,
            began_ns: snapshot.now_ns,
            swapped_pages: 0,
            scanned_pages: 0,
            incompressible_pages: 0,
        });
        session.swapped_pages += outcome.swapped_pages;
        session.scanned_pages += outcome.scanned_pages;
        session.incompressible_pages += outcome.incompressible_pages;
        Ok(true)
    }

    fn end_session_of(&mut self, name: &AppName, now_ns: u64) {
        if self.session.as_ref().is_some_and(|s| s.app == *name) {
            self.end_session(now_ns);
        }
    }

    fn end_session(&mut self, now_ns: u64) {
        let Some(session) = self.session.take() else { return };
        let outcome = json!({
            "began_ns": session.began_ns,
            "swapped_pages": session.swapped_pages,
            "scanned_pages": session.scanned_pages,
            "incompressible_pages": session.incompressible_pages,
        });
        self.journal.write(&Entry {
            t_ns: now_ns,
            action: "compress",
            app: Some(&session.app),
            reason: Some(session.reason),
            readings: Some(session.readings),
            outcome,
        });
    }

    fn kill(&mut self, name: &AppName, reason: Reason, snapshot: &Snapshot) -> Result<Vec<OwnedFd>, Error> {
        let Some(app) = self.registry.get(name) else { return Ok(Vec::new()) };
        let usage = self.runtime.get(name).map(|r| r.usage).unwrap_or_default();
        let killed = self.device.kill(&app.cgroup)?;
        self.kills += 1;
        let outcome = json!({
            "importance": self.registry.importance(app),
            "usage": usage,
            // From the wake-up that led here to the last signal sent.
            "signal_after_ns": killed.signalled_ns.saturating_sub(snapshot.now_ns),
            "signalled": killed.signalled,
            "released": killed.released,
        });
        self.journal.write(&Entry {
            t_ns: snapshot.now_ns,
            action: "kill",
            app: Some(name),
            reason: Some(reason),
            readings: Some(snapshot.memory),
            outcome,
        });
        self.usage_read_ns = None;
        self.victim = Some(Victim { app: name.clone(), awaited: killed.pidfds.len(), since_ns: snapshot.now_ns });
        // Without pidfds (before Linux 5.3) the end of its cgroup's last process is waited for.
        if killed.signalled == 0 {
            self.victim_done(snapshot.now_ns);
        }
        Ok(killed.pidfds)
    }

    fn write(
        &mut self,
        t_ns: u64,
        action: &'static str,
        app: Option<&AppName>,
        reason: Option<Reason>,
        outcome: Value,
    ) {
        self.journal.write(&Entry { t_ns, action, app, reason, readings: None, outcome });
    }

    fn status(&mut self) -> Status {
        for app in self.registry.iter() {
            if let (Some(runtime), Ok(usage)) = (self.runtime.get_mut(&app.name), self.device.usage(&app.cgroup)) {
                runtime.usage = usage;
            }
        }
        if let Ok(memory) = self.device.memory() {
            // Only shown: the rates of the next decision still count from the last look.
            let (some, file, anon) =
                (self.memory.psi_some_total_us, self.memory.refault_file, self.memory.refault_anon);
            self.memory = MemoryReading { psi_some_total_us: some, refault_file: file, refault_anon: anon, ..memory };
        }
        let apps = self.registry.iter().map(|app| {
            let runtime = self.runtime.get(&app.name);
            AppStatus {
                name: app.name.clone(),
                cgroup: app.cgroup.clone(),
                importance: self.registry.importance(app),
                frozen: runtime.is_some_and(|r| r.frozen),
                usage: runtime.map(|r| r.usage).unwrap_or_default(),
            }
        });
        Status {
            pid: std::process::id(),
            screen_on: self.screen_on,
            foreground: self.registry.foreground().cloned(),
            busy: self.busy,
            memory: self.memory,
            kills: self.kills,
            compressed_pages: self.compressed_pages,
            missing: self.missing.clone(),
            apps: apps.collect(),
        }
    }
}
