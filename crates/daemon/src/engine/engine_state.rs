// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What all mechanisms share: the device, the configuration, the apps and their importance, the
//! journal and the undo log.

use std::collections::BTreeMap;

use fovea_apps::{
    AppName, Classified, Importance, Kind, Listed, Lists, MemoryReading, Perceived, Registry, Service, SourceId,
    Standing,
};
use fovea_client::Status;
use fovea_linux::{Controller, Device, Error};
use fovea_policy::{memory, AppState, Reason, Snapshot};
use serde_json::Value;

use super::perceptions::Perceptions;
use super::service_looks::ServiceLooks;
use super::step::Step;
use crate::config::Config;
use crate::journal::{Entry, Journal};
use crate::syslog::Syslog;
use crate::undo::{Setting, UndoLog};

/// Most holders of device buffers that a status names, because a reply is bounded.
const BUFFER_HOLDERS_MAX: usize = 16;

/// What all mechanisms share of an app, beside its entry in the registry.
#[derive(Debug, Default)]
pub(super) struct SharedAppState {
    pub(super) background_since_ns: u64,
    /// When it, or a part of it, was killed as a runaway.
    pub(super) runaway_ns: Option<u64>,
    /// It has begun anew after that.
    pub(super) ran_away: bool,
    pub(super) importance: Option<Importance>,
    /// The list it is on and by which entry; below, when that was last looked up.
    pub(super) listed: Option<Listed>,
    pub(super) identified_ns: u64,
    /// Why it is perceptible; `None` if it is not.
    pub(super) perceived: Option<Perceived>,
    /// The same, if the reason is sound or a camera.
    pub(super) heard: Option<Perceived>,
    /// The services that it uses, by their place in [`EngineState::services`].
    pub(super) services: Vec<usize>,
    /// The class of its I/O, and since when.
    pub(super) io_class: Classified,
    pub(super) io_class_since_ns: u64,
}

impl SharedAppState {
    pub(super) fn standing(&self) -> Standing {
        self.listed.as_ref().map_or(Standing::Plain, |listed| listed.list)
    }
}

/// An app or job that ended a short time ago: it may be started anew.
#[derive(Debug)]
pub(super) struct EndedApp {
    pub(super) name: AppName,
    pub(super) cgroup: String,
    pub(super) kind: Kind,
    pub(super) ended_ns: u64,
    /// Since when it was in the background.
    pub(super) background_since_ns: u64,
    /// It was killed as a runaway.
    pub(super) ran_away: bool,
}

/// Focus and screen, as connected sources say.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) screen_on: bool,
    /// Connected sources and their names.
    pub(super) sources: BTreeMap<SourceId, String>,
    /// Whether the screen is on, by each source that knows.
    pub(super) screens: BTreeMap<SourceId, bool>,
    pub(super) focused_ns: Option<u64>,
    /// Apps that have come to the foreground since the mechanisms were last called.
    pub(super) fronted: Vec<AppName>,
}

pub(super) struct EngineState<D> {
    pub(super) device: D,
    pub(super) config: Config,
    pub(super) policy: fovea_policy::Config,
    pub(super) registry: Registry,
    pub(super) apps: BTreeMap<AppName, SharedAppState>,
    /// Those that ended a short time ago, the last one last.
    pub(super) ended: Vec<EndedApp>,
    /// Those that ended with the victim whose end was told last.
    pub(super) dead: Vec<AppName>,
    pub(super) attention: Attention,
    /// The lists that were set by command, and these with the configuration's.
    pub(super) said: Lists,
    pub(super) lists: Lists,
    pub(super) perceptions: Perceptions,
    /// The table of services.
    pub(super) services: Vec<Service>,
    pub(super) service_looks: ServiceLooks,
    /// Memory as this turn read it.
    pub(super) memory: MemoryReading,
    /// Something has changed that mechanisms are to answer at once.
    pub(super) changed: bool,
    /// PSI has fired since the last look.
    pub(super) psi_fired: bool,
    /// PSI cannot fire: the kernel has none, or refuses the trigger. Memory is polled.
    pub(super) polls_memory: bool,
    /// What apps were warned of.
    pub(super) warned: memory::Warned,
    /// Memory was short at the last look.
    pub(super) short: bool,
    /// CPUs that can run the daemon beside an app.
    pub(super) cpus: usize,
    pub(super) journal: Journal,
    pub(super) undo: UndoLog,
    pub(super) syslog: Option<Syslog>,
    pub(super) missing: Vec<String>,
    /// What is wrong with the configuration file.
    pub(super) problems: Vec<String>,
}

impl<D: Device> EngineState<D> {
    pub(super) fn new(device: D, config: Config, mut journal: Journal, undo: UndoLog, missing: Vec<String>) -> Self {
        journal.set_policy(config.policy());
        Self {
            device,
            policy: config.policy(),
            ended: Vec::new(),
            dead: Vec::new(),
            said: Lists::default(),
            lists: config.lists.clone(),
            services: config.services.rows(),
            service_looks: ServiceLooks::default(),
            config,
            registry: Registry::default(),
            apps: BTreeMap::new(),
            attention: Attention {
                screen_on: true,
                sources: BTreeMap::new(),
                screens: BTreeMap::new(),
                focused_ns: None,
                fronted: Vec::new(),
            },
            perceptions: Perceptions::default(),
            memory: MemoryReading::default(),
            changed: false,
            psi_fired: false,
            polls_memory: false,
            warned: memory::Warned::default(),
            short: false,
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get()),
            journal,
            undo,
            syslog: None,
            missing,
            problems: Vec::new(),
        }
    }

    /// As [`super::Engine::reconfigure`] says.
    pub(super) fn reconfigure(&mut self, config: Config, now_ns: u64) -> Vec<&'static str> {
        let old = &self.config;
        let waiting = [
            ("zram", old.zram != config.zram),
            ("ecache", old.ecache != config.ecache),
            ("watch", old.watch != config.watch),
            ("daemon", old.daemon != config.daemon),
        ];
        let waiting: Vec<_> = waiting.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect();
        self.policy = config.policy();
        self.journal.set_policy(config.policy());
        self.services = config.services.rows();
        self.apps.values_mut().for_each(|known| known.services.clear());
        self.service_looks.look_anew();
        self.perceptions.look_anew();
        self.config = Config {
            zram: old.zram.clone(),
            ecache: old.ecache.clone(),
            watch: old.watch.clone(),
            daemon: old.daemon.clone(),
            ..config
        };
        self.relist(now_ns);
        self.write(now_ns, "reload", None, None, serde_json::json!({ "at-the-next-start": waiting }));
        waiting
    }

    pub(super) fn known(&mut self, app: &AppName, change: impl FnOnce(&mut SharedAppState)) {
        if let Some(known) = self.apps.get_mut(app) {
            change(known);
        }
    }

    /// A snapshot of what all mechanisms share; each adds its own.
    pub(super) fn snapshot(&self, now_ns: u64) -> Snapshot {
        let returns = self.registry.returns_permille();
        // The user whose app was in the foreground last. A desktop with nothing in the foreground
        // is still that user's.
        let newest = self.registry.iter().filter(|app| app.focus_seq > 0).max_by_key(|app| app.focus_seq);
        let at_the_screen = newest.and_then(|app| fovea_apps::owner_of_cgroup(&app.cgroup));
        let is_user_absent = |cgroup: &str| match (at_the_screen, fovea_apps::owner_of_cgroup(cgroup)) {
            (Some(here), Some(owner)) => owner != here,
            _ => false,
        };
        let apps = self.registry.iter().filter_map(|app| {
            let known = self.apps.get(&app.name)?;
            Some(AppState {
                kind: app.kind,
                standing: known.standing(),
                perceived: known.perceived,
                io_class: known.io_class.clone(),
                io_class_since_ns: known.io_class_since_ns,
                focus_seq: app.focus_seq,
                uses: app.uses,
                returns_permille: returns.get(&app.name).copied(),
                background_since_ns: known.background_since_ns,
                ran_away: known.ran_away,
                seen: app.seen,
                user_absent: is_user_absent(&app.cgroup),
                ..AppState::new(app.name.clone(), self.registry.importance(app))
            })
        });
        Snapshot {
            now_ns,
            screen_on: self.attention.screen_on,
            focus_told: self.registry.has_source(),
            focused_ns: self.attention.focused_ns,
            goes_back_permille: Some(self.registry.goes_back_permille()),
            cpus: self.cpus,
            apps: apps.collect(),
            ..Snapshot::default()
        }
    }

    /// Until when the CPU is left to the app that came to the foreground last. Work that can wait
    /// waits until then.
    pub(super) fn grace_ends_ns(&self) -> u64 {
        let (screen_on, focused_ns) = (self.attention.screen_on, self.attention.focused_ns);
        memory::grace_ends_ns(&Snapshot { screen_on, focused_ns, ..Snapshot::default() }, &self.policy.memory)
    }

    /// Enables a controller in the cgroups above one, each written to the undo log first. False if
    /// the log cannot be written.
    pub(super) fn pass_on(&mut self, cgroup: &str, controller: Controller) -> Result<bool, Error> {
        for above in self.device.without_controller(cgroup, controller)? {
            if let Err(e) = self.undo.passes(&above, controller) {
                say!("fovea: writing the undo log: {e}: leaving {above} as it is");
                return Ok(false);
            }
            self.device.pass_controller_on(&above, controller, true)?;
        }
        Ok(true)
    }

    /// The status without what the mechanisms know.
    pub(super) fn status(&mut self) -> Status {
        let ecache = self.device.ecache().ok().flatten();
        let mut buffer_holders = self.device.buffer_holders().unwrap_or_default();
        buffer_holders.sort_unstable_by_key(|holder| std::cmp::Reverse(holder.bytes));
        buffer_holders.truncate(BUFFER_HOLDERS_MAX);
        let returns = self.registry.returns_permille();
        let apps = self.registry.iter().map(|app| {
            let known = self.apps.get(&app.name);
            fovea_client::AppStatus {
                name: app.name.clone(),
                kind: app.kind,
                cgroup: app.cgroup.clone(),
                importance: self.registry.importance(app),
                returns_permille: returns.get(&app.name).copied(),
                list: known.and_then(|k| k.listed.as_ref()).map(|listed| listed.to_string()),
                perceptible: known.and_then(|k| k.perceived),
                io_class: known.map(|k| k.io_class.clone()).unwrap_or_default(),
                receive_window_bytes: 0,
                udp_limit_bytes_per_s: 0,
                frozen: false,
                usage: Default::default(),
            }
        });
        let expected = self.registry.expected_permille().into_iter();
        let expected =
            expected.map(|(name, returns_permille)| fovea_client::Expected { name: name.clone(), returns_permille });
        Status {
            pid: std::process::id(),
            only_decides: !self.config.daemon.act,
            screen_on: self.attention.screen_on,
            sources: self.attention.sources.values().cloned().collect(),
            focus_told: self.registry.has_source(),
            foreground: self.registry.foreground().cloned(),
            ecache,
            buffer_holders,
            expected: expected.collect(),
            warning: self.warned.now(),
            missing: self.missing.clone(),
            config_problems: self.problems.clone(),
            apps: apps.collect(),
            ..Status::default()
        }
    }

    /// Whose app it is, where that is known by its cgroup.
    pub(super) fn uid_of(&self, app: &AppName) -> Option<u32> {
        self.registry.get(app).and_then(|app| fovea_apps::owner_of_cgroup(&app.cgroup))
    }

    /// Journals an event, or an action that no decision asked for.
    pub(super) fn write(
        &mut self,
        t_ns: u64,
        action: &'static str,
        app: Option<&AppName>,
        reason: Option<Reason>,
        outcome: Value,
    ) {
        let uid = app.and_then(|app| self.uid_of(app));
        self.journal.write(&Entry { t_ns, action, app, uid, reason, outcome, ..Entry::default() });
    }

    /// Journals an action of a decision, with the snapshot that it was decided on.
    pub(super) fn journal_step(&mut self, step: &Step, outcome: Value) {
        self.journal.write(&Entry {
            t_ns: step.snapshot.now_ns,
            action: step.action.name(),
            app: Some(step.action.app()),
            uid: self.uid_of(step.action.app()),
            reason: Some(step.reason),
            snapshot: Some(step.snapshot),
            outcome,
            ..Entry::default()
        });
    }

    /// Writes a line to the system's log too, where people look first when an app has vanished.
    pub(super) fn syslog(&self, line: &str) {
        if let Some(syslog) = &self.syslog {
            syslog.warning(line);
        }
    }

    pub(super) fn lacks(&mut self, now_ns: u64, what: String) {
        say!("fovea: going on without {what}");
        self.write(now_ns, "missing", None, None, serde_json::json!({ "what": what }));
        self.missing.push(what);
    }

    /// Notes in the undo log what a setting reads as after it was set. It is put back only while it
    /// still reads so.
    pub(super) fn is_ours(&mut self, setting: Setting, is_now: &str) {
        self.undo.ours(setting, is_now).unwrap_or_else(|e| say!("fovea: writing the undo log: {e}"));
    }

    /// Changes a setting of the kernel. The old value goes to the undo log first; if that fails,
    /// the setting stays.
    pub(super) fn set_sysctl(&mut self, name: &str, value: &str) {
        let done = self.device.sysctl(name).and_then(|old| {
            if old == value {
                return Ok(());
            }
            if let Err(e) = self.undo.sysctl(name, &old) {
                say!("fovea: writing the undo log: {e}: leaving /proc/sys/{name} as it is");
                return Ok(());
            }
            self.device.set_sysctl(name, value)?;
            let is_now = self.device.sysctl(name)?;
            self.is_ours(Setting::Sysctl(name.into()), &is_now);
            Ok(())
        });
        done.unwrap_or_else(|e| say!("fovea: {e}"));
    }

    /// The same for a module's parameter.
    pub(super) fn set_parameter(&mut self, module: &str, name: &str, value: &str) {
        let done = self.device.parameter(module, name).and_then(|old| {
            if old == value {
                return Ok(());
            }
            if let Err(e) = self.undo.parameter(module, name, &old) {
                say!("fovea: writing the undo log: {e}: leaving parameter {name} of {module} as it is");
                return Ok(());
            }
            self.device.set_parameter(module, name, value)?;
            let is_now = self.device.parameter(module, name)?;
            self.is_ours(Setting::Parameter(module.into(), name.into()), &is_now);
            Ok(())
        });
        done.unwrap_or_else(|e| say!("fovea: {e}"));
    }
}
