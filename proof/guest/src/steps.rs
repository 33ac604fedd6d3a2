// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! How the virtual phone does what a plan says ([`fovea_scenario::follow`] says what each step means).

use fovea_client::protocol::Request;
use fovea_scenario::follow::phone::{Book, Pages, StepResult};
use fovea_scenario::{follow, AppProfile, CpuTimes, Daemon, EventBody, Plan, Reservation, Step};

use crate::outcome::{read_file, At, Outcome};
use crate::phone::{Answer, Phone, Woke};
use crate::readings::{cpu_times, now_ns, Memory};
use crate::wire::{Count, FromApp, ToApp};
use crate::{checks, desktop, devices, disk, flash, fragment, idle, net, play, prefetch, sound, tier};

/// Takes 1 for the page cache (admin-guide/sysctl/vm.rst).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// How long a killed app may take to end.
const CRASH_LIMIT_NS: u64 = 30_000_000_000;

impl From<Count> for Pages {
    fn from(count: Count) -> Pages {
        Pages { wrong: count.wrong, checked: count.checked }
    }
}

impl follow::phone::Phone for Phone {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn book(&mut self) -> &mut Book {
        &mut self.book
    }

    fn now_ns(&self) -> u64 {
        now_ns()
    }

    fn emit(&mut self, body: EventBody) -> Outcome<()> {
        self.channel.emit(body)
    }

    fn catch_up(&mut self) -> Outcome<()> {
        Phone::catch_up(self)
    }

    fn check(&mut self) -> Outcome<()> {
        match self.daemon.pid.is_none() && self.desktop.is_none() {
            true => Err("the daemon has ended: see the console".into()),
            false => Ok(()),
        }
    }

    fn set_ticks(&mut self, period_ns: u64) -> Outcome<()> {
        Phone::set_ticks(self, period_ns)
    }

    fn pass(&mut self, ns: u64) -> Outcome<()> {
        Phone::pass(self, ns)
    }

    fn sample(&mut self, label: &str) -> Outcome<()> {
        Phone::sample(self, label)
    }

    fn report(&mut self, label: &str) -> Outcome<()> {
        devices::sample(self, label)
    }

    fn read_bytes(&mut self) -> Outcome<u64> {
        flash::read_bytes()
    }

    /// Asked only where the figures want it: it takes a moment of the time between launches.
    fn cpu_times(&mut self) -> Outcome<Option<CpuTimes>> {
        match self.plan.configuration.reservation {
            Reservation::Absent if self.plan.configuration.prefetch.is_none() => Ok(None),
            _ => cpu_times().map(Some),
        }
    }

    fn available_bytes(&mut self) -> Outcome<u64> {
        Ok(Memory::read()?.available)
    }

    fn runs(&self, app: &str) -> bool {
        self.apps.contains_key(app)
    }

    fn spawn(&mut self, profile: &AppProfile) -> Outcome<()> {
        self.spawn_app(profile)?;
        self.tell_guard()
    }

    fn launch(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>> {
        self.tell(app, &ToApp::Launch { turn })?;
        ready(self, app)
    }

    fn resume(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>> {
        self.tell(app, &ToApp::Resume { turn })?;
        ready(self, app)
    }

    fn background(&mut self, app: &str, churn: bool) -> Outcome<()> {
        devices::background(self, app, churn)
    }

    fn verify(&mut self, app: &str) -> Outcome<Pages> {
        self.tell(app, &ToApp::Verify {})?;
        match self.answer(app)? {
            Answer::Said(FromApp::Checked(count)) => Ok(count.into()),
            Answer::Said(other) => Err(format!("app {app} said {other:?} when it should have checked its pages")),
            Answer::Ended => Ok(Pages::default()),
        }
    }

    fn grow(&mut self, app: &str, pages: u64) -> Outcome<bool> {
        self.tell(app, &ToApp::Grow { pages })?;
        Ok(ready(self, app)?.is_some())
    }

    fn crash(&mut self, app: &str) -> Outcome<()> {
        prefetch::before_crash(self, app)?;
        self.kill_app(app)?;
        while self.apps.contains_key(app) {
            if matches!(self.wait(Some(now_ns() + CRASH_LIMIT_NS), None, None)?, Woke::Time) {
                return Err(format!("app {app} lives on after SIGKILL"));
            }
        }
        Ok(())
    }

    fn set_closed(&mut self, app: &str, closed: bool) {
        if let Some(app) = self.apps.get_mut(app) {
            app.closed = closed;
        }
    }

    fn focus(&mut self, app: &str) -> Outcome<StepResult> {
        let app = app.parse().at(|| "opening".into())?;
        self.tell_both(&Request::Focus { app })
    }

    fn tell_closed(&mut self, app: &str) -> Outcome<StepResult> {
        let app = app.parse().at(|| "closing".into())?;
        self.tell_both(&Request::Close { app })
    }

    fn tell_home(&mut self) -> Outcome<StepResult> {
        self.tell_both(&Request::Home {})
    }

    fn tell_screen(&mut self, on: bool) -> Outcome<StepResult> {
        self.daemon.tell(&Request::Screen { on })
    }

    fn daemon_is_busy(&mut self) -> Outcome<bool> {
        Ok(self.daemon.status()?.busy)
    }

    /// A desktop's app comes to the front when it has a window: at once if it runs, else when it is ready.
    fn bring(&mut self, app: &str, alive: bool) -> Outcome<Option<Pages>> {
        if self.desktop.is_none() {
            return follow::bring_by_focus(self, app, alive);
        }
        let turn = self.book.next_turn(app);
        if alive {
            desktop::service::show(self, app, false)?;
            return follow::phone::Phone::resume(self, app, turn);
        }
        let pages = follow::phone::Phone::launch(self, app, turn)?;
        if pages.is_some() {
            desktop::service::show(self, app, true)?;
        }
        Ok(pages)
    }

    /// Where our daemon kills nobody, that an app cannot be opened is what is compared, and no defect of ours.
    fn gives_up(&self) -> bool {
        let configuration = &self.plan.configuration;
        self.desktop.is_some()
            || configuration.combined.is_some()
            || matches!(configuration.daemon, Daemon::Idle | Daemon::Ranks)
    }

    /// On a desktop once, at the end.
    fn verifies_each(&self) -> bool {
        self.desktop.is_none()
    }

    fn before_open(&mut self, profile: &AppProfile) -> Outcome<()> {
        prefetch::before_open(self, profile)?;
        self.hits_before = devices::before_open(self, profile)?;
        Ok(())
    }

    fn after_open(&mut self, profile: &AppProfile) -> Outcome<()> {
        let before = self.hits_before.take();
        devices::after_open(self, profile, before)
    }

    fn after_report(&mut self, app: &str) -> Outcome<()> {
        devices::report(self, app)
    }

    fn special(&mut self, step: &Step) -> Outcome<()> {
        match step {
            Step::Use { app, ns } => devices::work(self, app, *ns),
            Step::Interact { app, interactions, period_ns, touch } => {
                desktop::interact::run(self, app, *interactions, *period_ns, *touch)
            }
            Step::Outsider(outsider) => desktop::outside::start(self, outsider),
            Step::Outgrow(meanwhile) => desktop::outside::grow(self, meanwhile),
            Step::OwnZram {} => desktop::owner::set_up(self),
            Step::Forks(forks) => desktop::scores::run(self, forks),
            Step::Dentries { names } => desktop::outside::dentries(*names),
            Step::Traffic(traffic) => net::run(self, traffic),
            Step::Tier(load) => tier::run(self, load),
            Step::Play(play) => {
                let played = play::run(self, play)?;
                self.channel.emit(EventBody::Played(played))
            }
            Step::Heard {} => self.channel.emit(EventBody::Heard(sound::heard()?)),
            Step::Pieces { launches } => {
                let free = fragment::pieces(&read_file("/proc/buddyinfo")?);
                self.channel.emit(EventBody::Pieces { launches: *launches, free })
            }
            Step::DropCaches {} => std::fs::write(DROP_CACHES, "1").at(|| DROP_CACHES.into()),
            Step::Verify {} => verify_all(self),
            Step::IdleCheck { ns } => idle::watch(self, *ns),
            Step::KillDaemon {} => {
                let Some(before) = self.baseline.take() else {
                    return Err("a desktop's daemon is systemd's to start and end: use another scenario".into());
                };
                let done = checks::kill_daemon(self, &before);
                self.baseline = Some(before);
                done
            }
            Step::CheckFrozen {} => checks::frozen(self),
            Step::Disk { load } => disk::run(self, load),
            Step::Check { missing } => checks::machine(self, missing.as_deref()),
            other => Err(format!("nobody knows what {other:?} means here")),
        }
    }
}

impl Phone {
    /// Tells the daemon of what changes who matters; after it, whoever else ends apps.
    fn tell_both(&mut self, request: &Request) -> Outcome<StepResult> {
        let result = self.daemon.tell(request)?;
        self.tell_guard()?;
        Ok(result)
    }
}

/// Has every app that runs check all its pages.
fn verify_all(phone: &mut Phone) -> Outcome<()> {
    let apps = phone.plan.apps.iter().filter(|app| app.load.is_none()).map(|app| app.name.clone());
    for name in apps.collect::<Vec<_>>() {
        if !phone.apps.contains_key(&name) {
            continue;
        }
        let pages = follow::phone::Phone::verify(phone, &name)?;
        phone.channel.emit(EventBody::Used {
            app: name,
            read_bytes: 0,
            wrong_pages: pages.wrong,
            verified_pages: pages.checked,
        })?;
    }
    Ok(())
}

/// Waits for an app's word that it is ready; `None` if it ended.
pub fn ready(phone: &mut Phone, name: &str) -> Outcome<Option<Pages>> {
    match phone.answer(name)? {
        Answer::Said(FromApp::Ready(count)) => Ok(Some(count.into())),
        Answer::Said(other) => Err(format!("app {name} said {other:?} when it should have said that it is ready")),
        Answer::Ended => Ok(None),
    }
}
