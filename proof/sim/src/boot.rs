// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! One boot of the simulated phone: the daemon's own engine over the simulated device, and the loop that wakes it
//! (crates/daemon/src/worker.rs): a request, a PSI trigger, an app's end, or the time that its last decision named.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use fovea_apps::Role;
use fovea_client::protocol::{Reply, Request};
use fovea_client::Status;
use fovea_daemon::{restore, Config, Engine, Journal, UndoLog};
use fovea_policy::memory::RulesOff;
use fovea_scenario::follow::phone::{Book, TICK};
use fovea_scenario::{Event, EventBody, HugePages, Plan};

use super::apps::parse;
use super::device::SimulatedDevice;
use super::machine::Machine;
use crate::PAGE_BYTES;

/// What a boot cannot do: one line.
pub type Outcome<T> = Result<T, String>;

/// How often memory is asked for before the OOM killer comes (MAX_RECLAIM_RETRIES), and how long each try waits (HZ=250).
const RETRIES: u32 = 16;
const JIFFY_NS: u64 = 4_000_000;

/// Where the apps' cgroups are.
pub const APPS: &str = "apps";

/// An app that runs.
#[derive(Debug)]
pub struct RunningApp {
    /// Its cgroup.
    pub cgroup: String,
    /// Its role.
    pub role: Role,
    /// The user closed it.
    pub closed: bool,
    /// When it writes in the background next; none if it does not.
    pub churn_ns: Option<u64>,
    /// Where it is in the pages that it writes.
    pub churn_at: usize,
}

/// A boot.
pub struct Boot<'p> {
    /// What it does.
    pub plan: &'p Plan,
    /// Apps that run.
    pub apps: BTreeMap<String, RunningApp>,
    /// What is remembered of the plan.
    pub book: Book,
    /// What happened.
    pub events: Vec<Event>,
    pub(super) machine: Rc<RefCell<Machine>>,
    engine: Engine<SimulatedDevice>,
    config: Config,
    folder: tempfile::TempDir,
    wake_ns: Option<u64>,
    tick: Option<(u64, u64)>,
    last_tick: Option<EventBody>,
}

fn engine(config: &Config, folder: &Path, machine: &Rc<RefCell<Machine>>) -> Outcome<Engine<SimulatedDevice>> {
    let failed = |e: std::io::Error| format!("{}: {e}: make room there", folder.display());
    // Simulated time begins in 1970: what the journal says must not depend on when it was written.
    let journal = Journal::open(&config.journal_path(), u64::MAX).map_err(failed)?.with_time_of_day(|| 0);
    let undo = UndoLog::open(folder).map_err(failed)?;
    let device = SimulatedDevice::new(Rc::clone(machine));
    // The phone that is simulated has one CPU, whatever runs the simulation.
    let mut engine = Engine::new(device, config.clone(), journal, undo, Vec::new()).with_cpus(1);
    let now_ns = machine.borrow().now_ns;
    engine.set_up(now_ns).map_err(|e| e.to_string())?;
    Ok(engine)
}

impl<'p> Boot<'p> {
    /// A phone that has booted, with its daemon up.
    ///
    /// # Errors
    /// If the daemon's configuration is wrong, or its files cannot be made.
    pub fn new(plan: &'p Plan) -> Outcome<Self> {
        Self::without(plan, RulesOff::default())
    }

    /// The same with rules of the memory policy switched off.
    ///
    /// # Errors
    /// As [`Boot::new`].
    pub fn without(plan: &'p Plan, rules_off: RulesOff) -> Outcome<Self> {
        if plan.phone.huge_pages != HugePages::Never {
            return Err(format!("huge pages, which {} has, are not simulated: use `fovea phone run`", plan.phone.name));
        }
        if let Some(guard) = &plan.configuration.guard {
            return Err(format!("{guard} is not simulated: use `fovea phone run`"));
        }
        if plan.configuration.min_ttl_ms.is_some() {
            return Err("min_ttl_ms is not simulated: use `fovea phone run`".into());
        }
        let folder = tempfile::tempdir().map_err(|e| format!("making a temporary folder: {e}"))?;
        let mut config = Config::parse(&plan.daemon_config, Path::new("plan")).map_err(|e| e.to_string())?;
        config.daemon.run_folder = folder.path().to_owned();
        config.memory.rules_off = rules_off;
        let machine = Rc::new(RefCell::new(Machine::new(plan, config.daemon.psi_stall_us)));
        let ready = {
            let machine = machine.borrow();
            EventBody::Ready {
                kernel: "simulated".into(),
                memory_total_bytes: machine.memory.total * PAGE_BYTES,
                user_memory_bytes: machine.available_pages() * PAGE_BYTES,
            }
        };
        let engine = engine(&config, folder.path(), &machine)?;
        let mut boot = Self {
            plan,
            apps: BTreeMap::new(),
            book: Book::default(),
            events: Vec::new(),
            machine,
            engine,
            config,
            folder,
            wake_ns: Some(0),
            tick: None,
            last_tick: None,
        };
        boot.emit(ready);
        Ok(boot)
    }

    /// The device.
    pub fn machine(&self) -> RefMut<'_, Machine> {
        self.machine.borrow_mut()
    }

    /// The clock.
    pub fn now_ns(&self) -> u64 {
        self.machine.borrow().now_ns
    }

    /// Reports something.
    pub fn emit(&mut self, body: EventBody) {
        let t_ns = self.now_ns();
        self.events.push(Event { t_ns, body });
    }

    /// Samples memory every so often from now on; 0 for no longer.
    pub fn set_ticks(&mut self, period_ns: u64) {
        self.tick = (period_ns > 0).then(|| (period_ns, self.now_ns() + period_ns));
    }

    /// Reports the state of memory; a tick only if it is not that of the last.
    pub fn sample(&mut self, label: &str) {
        let body = {
            let machine = self.machine();
            let memory = &machine.memory;
            EventBody::Sample {
                label: label.to_owned(),
                free_bytes: memory.free * PAGE_BYTES,
                available_bytes: machine.available_pages() * PAGE_BYTES,
                swapped_bytes: memory.zram.map_or(0, |z| z.pages * PAGE_BYTES),
                zram_bytes: memory.zram_frames() * PAGE_BYTES,
                read_bytes: machine.counts.read_bytes,
                alive: self.apps.len() as u32,
            }
        };
        if label == TICK {
            if self.last_tick.as_ref() == Some(&body) {
                return;
            }
            self.last_tick = Some(body.clone());
        }
        self.emit(body);
    }

    /// Asks the daemon; it looks at memory after each request, as its event loop does.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn ask(&mut self, request: Request) -> Outcome<Reply> {
        let now_ns = self.now_ns();
        let reply = self.engine.handle(request, now_ns);
        self.turn()?;
        Ok(reply)
    }

    /// Tells the daemon something that it must not refuse.
    ///
    /// # Errors
    /// If it does.
    pub fn tell(&mut self, request: Request) -> Outcome<()> {
        match self.ask(request)? {
            Reply::Error { error } => Err(format!("the daemon refused: {error}")),
            _ => Ok(()),
        }
    }

    /// The daemon's word on everything.
    ///
    /// # Errors
    /// If it gives none.
    pub fn status(&mut self) -> Outcome<Status> {
        let now_ns = self.now_ns();
        match self.engine.handle(Request::status(), now_ns) {
            Reply::Status(status) => Ok(*status),
            other => Err(format!("the daemon answered {other:?} when it was asked for its status")),
        }
    }

    fn turn(&mut self) -> Outcome<()> {
        let now_ns = self.now_ns();
        let turn = self.engine.turn(now_ns).map_err(|e| e.to_string())?;
        self.wake_ns = turn.wake_at_ns;
        Ok(())
    }

    /// When something happens by itself next.
    fn next_ns(&self) -> u64 {
        let machine = self.machine.borrow();
        let looks = machine.pressure.next_look_ns();
        let deaths = machine.deaths.iter().map(|death| death.at_ns).min();
        let churn = self.apps.values().filter_map(|app| app.churn_ns).min();
        let all = [self.wake_ns, looks, deaths, churn, self.tick.map(|t| t.1)];
        all.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Lets happen what is due. While no memory can be had, who asks for it waits, and in the end the OOM killer ends the wait
    /// (mm/page_alloc.c, `should_reclaim_retry`).
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn poll(&mut self) -> Outcome<()> {
        self.happen()?;
        while self.machine.borrow().starved {
            let mut helped = false;
            for _ in 0..RETRIES {
                self.machine().throttle(JIFFY_NS);
                self.happen()?;
                helped = self.machine().retry();
                if helped {
                    break;
                }
            }
            if !helped && !self.machine().oom_kill() {
                return Err("memory is full, and no app is left to kill".into());
            }
            self.happen()?;
        }
        Ok(())
    }

    /// Deaths are told, the daemon wakes, apps do their background work.
    fn happen(&mut self) -> Outcome<()> {
        loop {
            let deaths = self.machine().take_deaths();
            for death in deaths {
                self.died(&death.cgroup, death.oom)?;
            }
            let now_ns = self.now_ns();
            if self.next_ns() > now_ns {
                return Ok(());
            }
            if self.machine().pressure.look(now_ns) {
                self.engine.pressure();
                self.turn()?;
            } else if self.wake_ns.is_some_and(|at| at <= now_ns) {
                self.turn()?;
            }
            if let Some((period_ns, at_ns)) = self.tick.filter(|t| t.1 <= now_ns) {
                // Those that were missed are not made up for.
                self.tick = Some((period_ns, at_ns + (now_ns - at_ns) / period_ns * period_ns + period_ns));
                self.sample(TICK);
            }
            let due =
                |(name, app): (&String, &RunningApp)| app.churn_ns.filter(|&at| at <= now_ns).map(|_| name.clone());
            let due: Vec<String> = self.apps.iter().filter_map(due).collect();
            due.iter().for_each(|name| self.churn(name));
        }
    }

    fn died(&mut self, cgroup: &str, oom: bool) -> Outcome<()> {
        let Some(name) = self.apps.iter().find(|(_, app)| app.cgroup == cgroup).map(|(name, _)| name.clone()) else {
            return Ok(());
        };
        self.apps.remove(&name);
        if self.book.focused.as_ref() == Some(&name) {
            self.book.focused = None;
        }
        let now_ns = self.now_ns();
        self.engine.ended(&parse(&name)?, now_ns);
        self.emit(EventBody::Killed { app: name, oom });
        self.turn()
    }

    /// Time passes for everybody.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn pass(&mut self, ns: u64) -> Outcome<()> {
        let deadline_ns = self.now_ns().saturating_add(ns);
        loop {
            self.poll()?;
            if self.now_ns() >= deadline_ns {
                return Ok(());
            }
            let next_ns = self.next_ns().min(deadline_ns);
            self.machine().idle_until(next_ns);
        }
    }

    /// Somebody computes; others may have the CPU in between.
    ///
    /// # Errors
    /// If the device fails the daemon.
    pub fn compute(&mut self, ns: u64) -> Outcome<()> {
        let mut left_ns = ns;
        loop {
            self.poll()?;
            if left_ns == 0 {
                return Ok(());
            }
            let step_ns = left_ns.min(self.next_ns().saturating_sub(self.now_ns()));
            self.machine().work(step_ns);
            left_ns -= step_ns;
        }
    }

    /// The daemon dies and its supervisor puts everything back; then it starts anew.
    ///
    /// # Errors
    /// If something cannot be put back at all.
    pub fn kill_daemon(&mut self) -> Outcome<()> {
        let mut device = SimulatedDevice::new(Rc::clone(&self.machine));
        let complaints = restore(self.folder.path(), &mut device).map_err(|e| e.to_string())?;
        let after = {
            let machine = self.machine();
            let settings =
                machine.sysctls.iter().filter(|(name, value)| name.as_str() == "vm/page-cluster" && *value != "3");
            EventBody::AfterKill {
                frozen: machine.processes.values().filter(|p| p.frozen).count() as u32,
                adjusted: machine.processes.values().filter(|p| p.score != 0).count() as u32,
                zram_left: u32::from(machine.memory.zram.is_some()),
                settings: settings.map(|(name, _)| name.clone()).collect(),
            }
        };
        if matches!(after, EventBody::AfterKill { zram_left: 0, .. }) && !complaints.is_empty() {
            return Err(format!("the daemon's supervisor: {}", complaints.join("; ")));
        }
        self.emit(after);
        self.engine = engine(&self.config, self.folder.path(), &self.machine)?;
        self.wake_ns = Some(self.now_ns());
        let apps: Vec<(String, bool)> = self.apps.iter().map(|(name, app)| (name.clone(), app.closed)).collect();
        for (name, closed) in apps {
            self.register(&name)?;
            if closed {
                self.tell(Request::Close { app: parse(&name)? })?;
            }
        }
        match self.book.focused.clone() {
            Some(name) => self.tell(Request::Focus { app: parse(&name)? }),
            None => Ok(()),
        }
    }

    /// Tells the daemon of a running app.
    ///
    /// # Errors
    /// If it refuses.
    pub fn register(&mut self, name: &str) -> Outcome<()> {
        let Some(app) = self.apps.get(name) else { return Ok(()) };
        let (cgroup, role) = (app.cgroup.clone(), app.role);
        self.tell(Request::Register { app: parse(name)?, cgroup, role, io_class: None })
    }

    /// Reports what the daemon wrote and did.
    ///
    /// # Errors
    /// If its journal cannot be read.
    pub fn finish(&mut self) -> Outcome<()> {
        let path = self.config.journal_path();
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut kills = 0;
        for line in text.lines() {
            let entry: serde_json::Value = serde_json::from_str(line).map_err(|e| format!("the journal: {e}"))?;
            kills += u64::from(entry["action"] == "kill");
            self.emit(EventBody::Journal { entry });
        }
        let counts = self.machine().counts;
        self.emit(EventBody::Done { oom_kills: counts.oom_kills, kills, daemon_cpu_ns: counts.daemon_ns });
        Ok(())
    }
}
