// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The steps of a plan, as the virtual phone follows them (crates/guest/src/steps.rs), on the simulated one.

use fovea_client::protocol::{Reply, Request};
use fovea_scenario::hash::app_seed;
use fovea_scenario::{AppProfile, EventBody, LaunchKind, Step};

use super::boot::{parse, Boot, Outcome, RunningApp, APPS};
use crate::PAGE_BYTES;

/// Time between samples while a step runs, and while time only passes.
const TICK_NS: u64 = 100_000_000;
const WAIT_TICK_NS: u64 = 500_000_000;
/// Time between questions whether the daemon is still busy.
const SETTLE_QUESTION_NS: u64 = 20_000_000;
/// Time between looks whether a killed app has ended.
const END_QUESTION_NS: u64 = 1_000_000;
/// How often an app that is killed while it opens is started again.
const OPEN_TRIES: u32 = 5;
/// Name of the app that `Fill` starts, how near it comes to what is asked, and how often it corrects its size.
const FILLER: &str = "filler";
const FILL_TOLERANCE_PAGES: u64 = 64;
const FILL_ROUNDS: u32 = 8;

impl Boot<'_> {
    /// Follows the plan to its end.
    ///
    /// # Errors
    /// One line: the step, and why it cannot be followed.
    pub fn follow(&mut self) -> Outcome<()> {
        for index in 0..self.plan.steps.len() {
            self.follow_step(index)?;
        }
        self.finish()
    }

    /// Follows one step of the plan.
    ///
    /// # Errors
    /// As [`Boot::follow`].
    pub fn follow_step(&mut self, index: usize) -> Outcome<()> {
        let step = &self.plan.steps[index];
        self.emit(EventBody::Step { index });
        self.poll()?;
        self.set_ticks(if matches!(step, Step::Wait { .. }) { WAIT_TICK_NS } else { TICK_NS });
        self.step(step).map_err(|error| format!("step {index} ({step:?}): {error}"))?;
        self.set_ticks(0);
        self.poll()
    }

    fn step(&mut self, step: &Step) -> Outcome<()> {
        match step {
            Step::Open { app } => self.open(app),
            Step::Start { app } => self.start(app),
            Step::Home {} => {
                self.leave();
                self.tell(Request::Home {})
            }
            Step::Close { app } => self.close(app),
            Step::Screen { on } => self.tell(Request::Screen { on: *on }),
            Step::Wait { ns } => self.pass(*ns),
            Step::Settle { limit_ns } => self.settle(*limit_ns),
            Step::Fill { app, available_bytes } => self.fill_memory(app, *available_bytes),
            Step::Sample { label } => {
                self.sample(label);
                Ok(())
            }
            Step::KillDaemon {} => self.kill_daemon(),
            Step::CheckFrozen {} => self.check_frozen(),
            Step::Crash { app } => self.crash(app),
            Step::Use { .. } => Err("device buffers and files in use are not simulated: use `fovea phone run`".into()),
            Step::Interact { .. } | Step::Verify {} => Err("a desktop is not simulated: use `fovea phone run`".into()),
            Step::IdleCheck { .. } | Step::Check { .. } => {
                Err("this looks at a real process on a real kernel: use `fovea phone run`".into())
            }
        }
    }

    fn profile(&self, name: &str) -> Outcome<AppProfile> {
        let found = self.plan.apps.iter().find(|app| app.name == name);
        found.cloned().ok_or_else(|| format!("no app {name} in the plan: add its profile to `apps`"))
    }

    /// The app in front, if any, goes to the background.
    fn leave(&mut self) {
        if let Some(name) = self.focused.take() {
            self.set_churn(&name, true);
        }
    }

    fn next_turn(&mut self, name: &str) -> u64 {
        let turn = self.turns.entry(name.to_owned()).or_insert(0);
        *turn += 1;
        *turn - 1
    }

    fn open(&mut self, name: &str) -> Outcome<()> {
        let profile = self.profile(name)?;
        self.sample_now();
        if self.focused.as_deref() != Some(name) {
            self.leave();
        }
        let (began_ns, read_before) = (self.now_ns(), self.machine().counts.read_bytes);
        let mut tries = 0;
        let kind = loop {
            if tries == OPEN_TRIES {
                return Err(format!("app {name} was killed {OPEN_TRIES} times while it opened"));
            }
            tries += 1;
            if let Some(kind) = self.try_open(&profile)? {
                break kind;
            }
        };
        let elapsed_ns = self.now_ns() - began_ns;
        let read_bytes = self.machine().counts.read_bytes - read_before;
        let cgroup = format!("{APPS}/{name}");
        if let Some(app) = self.apps.get_mut(name) {
            app.closed = false;
            self.focused = Some(name.to_owned());
        }
        if kind != LaunchKind::Resume {
            self.fill_rest(&cgroup)?;
        }
        let verified_pages = self.verify(&cgroup)?;
        self.emit(EventBody::Launch {
            app: name.to_owned(),
            kind,
            elapsed_ns,
            read_bytes,
            // There is no content here that could be wrong: `sim` leaves the figure out.
            wrong_pages: 0,
            verified_pages,
        });
        self.sample_now();
        Ok(())
    }

    /// One attempt; `None` if the app was killed meanwhile.
    fn try_open(&mut self, profile: &AppProfile) -> Outcome<Option<LaunchKind>> {
        let name = profile.name.as_str();
        let alive = self.apps.contains_key(name);
        let kind = match (alive, self.ran.contains(name)) {
            (true, _) => LaunchKind::Resume,
            (false, true) => LaunchKind::Restart,
            (false, false) => LaunchKind::Cold,
        };
        if !alive {
            self.spawn(profile)?;
        }
        if let Reply::Error { error } = self.ask(Request::Focus { app: parse(name)? })? {
            self.poll()?;
            if self.apps.contains_key(name) {
                return Err(format!("the daemon refused to focus {name}: {error}"));
            }
            return Ok(None);
        }
        let turn = self.next_turn(name);
        self.set_churn(name, false);
        let cgroup = format!("{APPS}/{name}");
        let ready = if alive { self.resume(&cgroup, turn)? } else { self.launch(&cgroup, turn)? };
        if !ready {
            self.await_end(name)?;
        }
        self.poll()?;
        Ok(ready.then_some(kind))
    }

    fn spawn(&mut self, profile: &AppProfile) -> Outcome<()> {
        let name = profile.name.clone();
        let cgroup = format!("{APPS}/{name}");
        let role = serde_json::from_value(profile.role.clone().into())
            .map_err(|e| format!("app {name}: role {:?}: {e}", profile.role))?;
        self.machine().spawn(&cgroup, profile, app_seed(self.plan.seed, &name));
        self.ran.insert(name.clone());
        self.apps.insert(name.clone(), RunningApp { cgroup, role, closed: false, churn_ns: None, churn_at: 0 });
        self.register(&name)
    }

    fn start(&mut self, name: &str) -> Outcome<()> {
        if self.apps.contains_key(name) {
            return Ok(());
        }
        let profile = self.profile(name)?;
        self.start_profile(&profile)
    }

    fn start_profile(&mut self, profile: &AppProfile) -> Outcome<()> {
        self.spawn(profile)?;
        let turn = self.next_turn(&profile.name);
        let cgroup = format!("{APPS}/{}", profile.name);
        if self.launch(&cgroup, turn)? {
            self.fill_rest(&cgroup)?;
            self.set_churn(&profile.name, true);
        }
        self.poll()
    }

    fn close(&mut self, name: &str) -> Outcome<()> {
        let Some(app) = self.apps.get_mut(name) else { return Ok(()) };
        app.closed = true;
        if self.focused.as_deref() == Some(name) {
            self.focused = None;
        }
        self.set_churn(name, false);
        self.tell(Request::Close { app: parse(name)? })
    }

    fn crash(&mut self, name: &str) -> Outcome<()> {
        let Some(app) = self.apps.get(name) else { return Err(format!("app {name} does not run, so it cannot crash")) };
        let cgroup = app.cgroup.clone();
        self.machine().end(&cgroup);
        self.machine().note_death(&cgroup, false);
        self.await_end(name)
    }

    /// Waits until the end of a killed app has been noticed.
    fn await_end(&mut self, name: &str) -> Outcome<()> {
        while self.apps.contains_key(name) {
            self.pass(END_QUESTION_NS)?;
        }
        Ok(())
    }

    fn check_frozen(&mut self) -> Outcome<()> {
        let status = self.status()?;
        let stray = {
            let machine = self.machine();
            let said = |cgroup: &str| status.apps.iter().any(|app| app.frozen && app.cgroup == cgroup);
            machine.processes.iter().filter(|(cgroup, p)| p.frozen && !said(cgroup)).count() as u32
        };
        self.emit(EventBody::FrozenCheck { stray });
        Ok(())
    }

    fn settle(&mut self, limit_ns: u64) -> Outcome<()> {
        let deadline_ns = self.now_ns().saturating_add(limit_ns);
        while self.status()?.busy {
            if self.now_ns() >= deadline_ns {
                return Err(format!("the daemon is still busy after {limit_ns} ns"));
            }
            self.pass(SETTLE_QUESTION_NS)?;
        }
        Ok(())
    }

    fn fill_memory(&mut self, like: &str, available_bytes: u64) -> Outcome<()> {
        let mut filler = self.profile(like)?;
        filler.name = FILLER.into();
        filler.shared_files.clear();
        filler.private_files.clear();
        filler.churn = Default::default();
        filler.launch.anon_percent = 100;
        filler.launch.compute_insns = 0;
        // A first start of one page shows what the process itself takes; the rest is exact.
        filler.anon_bytes = PAGE_BYTES;
        if !self.apps.contains_key(FILLER) {
            self.start_profile(&filler)?;
        }
        let cgroup = format!("{APPS}/{FILLER}");
        for _ in 0..FILL_ROUNDS {
            let over = self.machine().available_pages().saturating_sub(available_bytes / PAGE_BYTES);
            if over <= FILL_TOLERANCE_PAGES || self.machine().grow(&cgroup, over).is_none() {
                break;
            }
            self.fill_rest(&cgroup)?;
            self.poll()?;
        }
        self.sample_now();
        Ok(())
    }
}
