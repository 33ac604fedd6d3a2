// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How the simulated phone does what a plan says ([`fovea_scenario::follow`] says what each step means).

use fovea_client::protocol::{Reply, Request};
use fovea_scenario::follow::phone::{Book, Pages, Phone, StepResult};
use fovea_scenario::hash::app_seed;
use fovea_scenario::{AppProfile, EventBody, Plan, Step};

use super::apps::parse;
use super::boot::{Boot, Outcome, RunningApp, APPS};
use super::job::Job;
use crate::PAGE_BYTES;

/// Time between looks whether a killed app has ended.
const END_QUESTION_NS: u64 = 1_000_000;

fn cgroup_of(app: &str) -> String {
    format!("{APPS}/{app}")
}

impl Phone for Boot<'_> {
    fn plan(&self) -> &Plan {
        self.plan
    }

    fn book(&mut self) -> &mut Book {
        &mut self.book
    }

    fn now_ns(&self) -> u64 {
        Boot::now_ns(self)
    }

    fn emit(&mut self, body: EventBody) -> Outcome<()> {
        Boot::emit(self, body);
        Ok(())
    }

    fn catch_up(&mut self) -> Outcome<()> {
        self.poll()
    }

    fn set_ticks(&mut self, period_ns: u64) -> Outcome<()> {
        Boot::set_ticks(self, period_ns);
        Ok(())
    }

    fn pass(&mut self, ns: u64) -> Outcome<()> {
        Boot::pass(self, ns)
    }

    fn sample(&mut self, label: &str) -> Outcome<()> {
        Boot::sample(self, label);
        Ok(())
    }

    fn read_bytes(&mut self) -> Outcome<u64> {
        Ok(self.machine().counts.read_bytes)
    }

    fn available_bytes(&mut self) -> Outcome<u64> {
        Ok(self.machine().available_pages() * PAGE_BYTES)
    }

    fn runs(&self, app: &str) -> bool {
        self.apps.contains_key(app)
    }

    fn spawn(&mut self, profile: &AppProfile) -> Outcome<()> {
        let name = profile.name.clone();
        if profile.load.is_some_and(|load| Job::new(load, 0).is_none()) {
            return Err(format!("what {name} does beside is not simulated: use `fovea phone run`"));
        }
        let cgroup = cgroup_of(&name);
        let role = serde_json::from_value(profile.role.clone().into())
            .map_err(|e| format!("app {name}: role {:?}: {e}", profile.role))?;
        self.machine().spawn(&cgroup, profile, app_seed(self.plan.seed, &name));
        self.book.ran.insert(name.clone());
        self.apps.insert(name.clone(), RunningApp { cgroup, role, closed: false, churn_ns: None, churn_at: 0 });
        self.register(&name)
    }

    fn launch(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>> {
        self.set_churn(app, false);
        let ready = Boot::launch(self, &cgroup_of(app), turn)?;
        self.came_up(app, ready)
    }

    fn resume(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>> {
        self.set_churn(app, false);
        let ready = Boot::resume(self, &cgroup_of(app), turn)?;
        self.came_up(app, ready)
    }

    fn after_launch(&mut self, app: &str) -> Outcome<()> {
        let cgroup = cgroup_of(app);
        self.fill_rest(&cgroup)?;
        self.machine().begin_job(&cgroup);
        Ok(())
    }

    fn background(&mut self, app: &str, churn: bool) -> Outcome<()> {
        self.set_churn(app, churn);
        Ok(())
    }

    /// There is no content here that could be wrong: `sim` leaves the figure out.
    fn verify(&mut self, app: &str) -> Outcome<Pages> {
        Ok(Pages { wrong: 0, checked: Boot::verify(self, &cgroup_of(app))? })
    }

    fn grow(&mut self, app: &str, pages: u64) -> Outcome<bool> {
        let cgroup = cgroup_of(app);
        if self.machine().grow(&cgroup, pages).is_none() {
            return Ok(false);
        }
        self.fill_rest(&cgroup)?;
        self.poll()?;
        Ok(true)
    }

    fn crash(&mut self, app: &str) -> Outcome<()> {
        let cgroup = cgroup_of(app);
        self.machine().end(&cgroup);
        self.machine().note_death(&cgroup, false);
        self.await_end(app)
    }

    fn set_closed(&mut self, app: &str, closed: bool) {
        if let Some(app) = self.apps.get_mut(app) {
            app.closed = closed;
        }
    }

    fn focus(&mut self, app: &str) -> Outcome<StepResult> {
        self.request(Request::Focus { app: parse(app)? })
    }

    fn tell_closed(&mut self, app: &str) -> Outcome<StepResult> {
        self.request(Request::Close { app: parse(app)? })
    }

    fn tell_home(&mut self) -> Outcome<StepResult> {
        self.request(Request::Home {})
    }

    fn tell_screen(&mut self, on: bool) -> Outcome<StepResult> {
        self.request(Request::Screen { on })
    }

    fn daemon_is_busy(&mut self) -> Outcome<bool> {
        Ok(self.status()?.busy)
    }

    fn special(&mut self, step: &Step) -> Outcome<()> {
        match step {
            Step::KillDaemon {} => self.kill_daemon(),
            Step::CheckFrozen {} => self.check_frozen(),
            Step::Use { .. } => Err("device buffers and files in use are not simulated: use `fovea phone run`".into()),
            Step::Interact { .. } | Step::Verify {} => Err("a desktop is not simulated: use `fovea phone run`".into()),
            _ => Err("this looks at a real process on a real kernel: use `fovea phone run`".into()),
        }
    }
}

impl Boot<'_> {
    fn request(&mut self, request: Request) -> Outcome<StepResult> {
        Ok(match self.ask(request)? {
            Reply::Error { error } => Err(error),
            _ => Ok(()),
        })
    }

    fn came_up(&mut self, app: &str, ready: bool) -> Outcome<Option<Pages>> {
        if !ready {
            self.await_end(app)?;
        }
        self.poll()?;
        Ok(ready.then(Pages::default))
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
}
