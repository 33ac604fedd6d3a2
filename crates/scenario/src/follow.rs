// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The one interpreter of plans: what each [`Step`] means, on whatever phone follows it, the virtual one or the simulated one.

use std::collections::{BTreeMap, BTreeSet};

use crate::{AppProfile, EventBody, LaunchKind, Plan, Step, PAGE_BYTES};

/// A step that cannot be followed: one line.
pub type Outcome<T> = Result<T, String>;

/// What the daemon said to a request: its refusal, if it is one.
pub type Told = Result<(), String>;

/// Label of the samples taken on the way.
pub const TICK: &str = "tick";

/// Time between samples while a step runs.
const TICK_NS: u64 = 100_000_000;

/// Time between samples while time only passes.
const WAIT_TICK_NS: u64 = 500_000_000;

/// Time between questions whether the daemon is still busy.
const SETTLE_QUESTION_NS: u64 = 20_000_000;

/// How often an app that is killed while it opens is started again.
const OPEN_TRIES: u32 = 5;

/// Name of the app that `Fill` starts.
const FILLER: &str = "filler";

/// How near `Fill` comes to what is asked, unless memory management takes a hand.
const FILL_TOLERANCE_BYTES: u64 = 256 * 1024;

/// How often `Fill` corrects its size.
const FILL_ROUNDS: u32 = 8;

/// Pages that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// With another content than they should have.
    pub wrong: u64,
    /// In all.
    pub checked: u64,
}

/// What a phone remembers of its plan so far.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// App on the screen.
    pub focused: Option<String>,
    /// Apps that ran at some time.
    pub ran: BTreeSet<String>,
    /// How often each app was opened.
    pub turns: BTreeMap<String, u64>,
}

impl Book {
    /// The number of an app's next opening, from 0.
    pub fn next_turn(&mut self, app: &str) -> u64 {
        let turn = self.turns.entry(app.to_owned()).or_insert(0);
        *turn += 1;
        *turn - 1
    }
}

/// A phone that can follow a plan.
pub trait Phone {
    /// The plan.
    fn plan(&self) -> &Plan;

    /// What is remembered of it.
    fn book(&mut self) -> &mut Book;

    /// The clock.
    fn now_ns(&self) -> u64;

    /// Reports something.
    fn emit(&mut self, body: EventBody) -> Outcome<()>;

    /// Takes note of everything that has happened already.
    fn catch_up(&mut self) -> Outcome<()>;

    /// Fails if something ended that must not end.
    fn check(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// Samples memory every so often from now on; 0 for no longer.
    fn set_ticks(&mut self, period_ns: u64) -> Outcome<()>;

    /// Lets time pass.
    fn pass(&mut self, ns: u64) -> Outcome<()>;

    /// Reports the state of memory; a tick only if it is not that of the last.
    fn sample(&mut self, label: &str) -> Outcome<()>;

    /// The same where the plan asks for it: with whatever else there is to report.
    fn report(&mut self, label: &str) -> Outcome<()> {
        self.sample(label)
    }

    /// Bytes read from storage so far.
    fn read_bytes(&mut self) -> Outcome<u64>;

    /// MemAvailable.
    fn available_bytes(&mut self) -> Outcome<u64>;

    /// Whether an app runs.
    fn runs(&self, app: &str) -> bool;

    /// Starts an app's process, and tells the daemon where that is the phone's to tell.
    fn spawn(&mut self, profile: &AppProfile) -> Outcome<()>;

    /// Has an app that was just spawned come up; `None` if it ended meanwhile.
    fn launch(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>>;

    /// Has an app that ran off the screen come back; `None` if it ended meanwhile.
    fn resume(&mut self, app: &str, turn: u64) -> Outcome<Option<Pages>>;

    /// What an app still does once it can be used, after its start.
    fn after_launch(&mut self, _app: &str) -> Outcome<()> {
        Ok(())
    }

    /// An app goes to the background; there it works on, if `churn`.
    fn background(&mut self, app: &str, churn: bool) -> Outcome<()>;

    /// Has an app check all its pages; nothing is counted if it ends meanwhile.
    fn verify(&mut self, app: &str) -> Outcome<Pages>;

    /// Has an app take more memory; false if it ended.
    fn grow(&mut self, app: &str, pages: u64) -> Outcome<bool>;

    /// Ends an app without anybody's doing, wherever it is and even if it is frozen; returns once that has been noticed.
    fn crash(&mut self, app: &str) -> Outcome<()>;

    /// The user has closed an app, or opened it again.
    fn set_closed(&mut self, app: &str, closed: bool);

    /// Tells the daemon that an app comes to the screen.
    fn focus(&mut self, app: &str) -> Outcome<Told>;

    /// Tells it that the user closed one.
    fn tell_closed(&mut self, app: &str) -> Outcome<Told>;

    /// Tells it that nothing is in front any more.
    fn tell_home(&mut self) -> Outcome<Told>;

    /// Tells it of the screen.
    fn tell_screen(&mut self, on: bool) -> Outcome<Told>;

    /// Asks it whether it has work under way.
    fn daemon_is_busy(&mut self) -> Outcome<bool>;

    /// Brings an app that has a process to the screen; `None` if it was killed meanwhile. A phone's daemon is told before the app; where it
    /// finds out from windows, the phone says otherwise.
    fn bring(&mut self, app: &str, alive: bool) -> Outcome<Option<Pages>> {
        bring_by_focus(self, app, alive)
    }

    /// Whether the user gives up on an app that is killed again and again while it opens: that it does not come to the screen is a figure.
    fn gives_up(&self) -> bool {
        false
    }

    /// Whether an app checks all its pages each time it is opened. Reading all of it back may be the largest load of all.
    fn verifies_each(&self) -> bool {
        true
    }

    /// Something is about to be opened.
    fn before_open(&mut self, _profile: &AppProfile) -> Outcome<()> {
        Ok(())
    }

    /// It can be used; what it took has been measured.
    fn after_open(&mut self, _profile: &AppProfile) -> Outcome<()> {
        Ok(())
    }

    /// A launch has been reported.
    fn after_report(&mut self, _app: &str) -> Outcome<()> {
        Ok(())
    }

    /// A step of which only this kind of phone knows what it means.
    fn special(&mut self, step: &Step) -> Outcome<()>;
}

/// Follows a plan to its end.
///
/// # Errors
/// One line: the step, and why it cannot be followed.
pub fn follow<P: Phone + ?Sized>(phone: &mut P) -> Outcome<()> {
    for index in 0..phone.plan().steps.len() {
        follow_step(phone, index)?;
    }
    Ok(())
}

/// Follows one step of the plan.
///
/// # Errors
/// As [`follow`].
pub fn follow_step<P: Phone + ?Sized>(phone: &mut P, index: usize) -> Outcome<()> {
    let step = phone.plan().steps[index].clone();
    phone.emit(EventBody::Step { index })?;
    run(phone, &step).map_err(|error| format!("step {index} ({step:?}): {error}"))
}

fn run<P: Phone + ?Sized>(phone: &mut P, step: &Step) -> Outcome<()> {
    phone.catch_up()?;
    phone.set_ticks(match step {
        Step::IdleCheck { .. } => 0,
        Step::Wait { .. } => WAIT_TICK_NS,
        _ => TICK_NS,
    })?;
    let result = match step {
        Step::Open { app } => open(phone, app),
        Step::Start { app } => start(phone, app),
        Step::Home {} => home(phone),
        Step::Close { app } => close(phone, app),
        Step::Screen { on } => must(phone.tell_screen(*on)),
        Step::Wait { ns } => phone.pass(*ns),
        Step::Settle { limit_ns } => settle(phone, *limit_ns),
        Step::Fill { app, available_bytes } => fill(phone, app, *available_bytes),
        Step::Sample { label } => phone.report(label),
        Step::Crash { app } if !phone.runs(app) => Err(format!("app {app} does not run, so it cannot crash")),
        Step::Crash { app } => phone.crash(app),
        Step::Use { .. }
        | Step::Interact { .. }
        | Step::Verify {}
        | Step::IdleCheck { .. }
        | Step::KillDaemon {}
        | Step::CheckFrozen {}
        | Step::Check { .. } => phone.special(step),
    };
    phone.set_ticks(0)?;
    result?;
    phone.catch_up()?;
    phone.check()
}

/// The daemon must not refuse it.
fn must(told: Outcome<Told>) -> Outcome<()> {
    told?.map_err(|refusal| format!("the daemon refused: {refusal}"))
}

fn profile<P: Phone + ?Sized>(phone: &P, name: &str) -> Outcome<AppProfile> {
    let found = phone.plan().apps.iter().find(|app| app.name == name);
    found.cloned().ok_or_else(|| format!("no app {name} in the plan: add its profile to `apps`"))
}

/// The app in front, if any, goes to the background.
fn leave<P: Phone + ?Sized>(phone: &mut P) -> Outcome<()> {
    match phone.book().focused.take() {
        Some(name) => phone.background(&name, true),
        None => Ok(()),
    }
}

/// Opens an app, as its user does: again, if it is killed meanwhile.
///
/// # Errors
/// If it cannot be opened.
pub fn open<P: Phone + ?Sized>(phone: &mut P, name: &str) -> Outcome<()> {
    let profile = profile(phone, name)?;
    phone.sample(TICK)?;
    if phone.book().focused.as_deref() != Some(name) {
        leave(phone)?;
    }
    phone.before_open(&profile)?;
    let read_before = phone.read_bytes()?;
    let began_ns = phone.now_ns();
    let mut tries = 0;
    let (kind, mut pages) = loop {
        if tries == OPEN_TRIES {
            if phone.gives_up() {
                return Ok(());
            }
            return Err(format!("app {name} was killed {OPEN_TRIES} times while it opened"));
        }
        tries += 1;
        if let Some(done) = try_open(phone, &profile)? {
            break done;
        }
    };
    let elapsed_ns = phone.now_ns() - began_ns;
    let read_bytes = phone.read_bytes()? - read_before;
    phone.after_open(&profile)?;
    phone.set_closed(name, false);
    phone.book().focused = phone.runs(name).then(|| name.to_owned());
    if kind != LaunchKind::Resume {
        phone.after_launch(name)?;
    }
    if phone.verifies_each() {
        let all = phone.verify(name)?;
        pages = Pages { wrong: pages.wrong + all.wrong, checked: pages.checked + all.checked };
    }
    phone.emit(EventBody::Launch {
        app: name.to_owned(),
        kind,
        elapsed_ns,
        read_bytes,
        wrong_pages: pages.wrong,
        verified_pages: pages.checked,
    })?;
    phone.after_report(name)?;
    phone.sample(TICK)
}

/// One attempt; `None` if the app was killed meanwhile.
fn try_open<P: Phone + ?Sized>(phone: &mut P, profile: &AppProfile) -> Outcome<Option<(LaunchKind, Pages)>> {
    let name = profile.name.as_str();
    let alive = phone.runs(name);
    let kind = match (alive, phone.book().ran.contains(name)) {
        (true, _) => LaunchKind::Resume,
        (false, true) => LaunchKind::Restart,
        (false, false) => LaunchKind::Cold,
    };
    if !alive {
        phone.spawn(profile)?;
    }
    Ok(phone.bring(name, alive)?.map(|pages| (kind, pages)))
}

/// Brings an app to the screen by telling the daemon first.
///
/// # Errors
/// If the daemon refuses and the app lives.
pub fn bring_by_focus<P: Phone + ?Sized>(phone: &mut P, name: &str, alive: bool) -> Outcome<Option<Pages>> {
    if let Err(refusal) = phone.focus(name)? {
        // The daemon may know of the app's death before we do.
        phone.catch_up()?;
        if phone.runs(name) {
            return Err(format!("the daemon refused to focus {name}: {refusal}"));
        }
        return Ok(None);
    }
    let turn = phone.book().next_turn(name);
    match alive {
        true => phone.resume(name, turn),
        false => phone.launch(name, turn),
    }
}

fn start<P: Phone + ?Sized>(phone: &mut P, name: &str) -> Outcome<()> {
    if phone.runs(name) {
        return Ok(());
    }
    let profile = profile(phone, name)?;
    start_profile(phone, &profile)
}

/// Starts an app off the screen. That memory management kills it at once is reported, as every kill is, and not held against the plan.
fn start_profile<P: Phone + ?Sized>(phone: &mut P, profile: &AppProfile) -> Outcome<()> {
    let name = profile.name.as_str();
    phone.spawn(profile)?;
    let turn = phone.book().next_turn(name);
    if phone.launch(name, turn)?.is_some() {
        phone.after_launch(name)?;
        phone.background(name, true)?;
    }
    phone.catch_up()
}

fn home<P: Phone + ?Sized>(phone: &mut P) -> Outcome<()> {
    leave(phone)?;
    must(phone.tell_home())
}

fn close<P: Phone + ?Sized>(phone: &mut P, name: &str) -> Outcome<()> {
    if !phone.runs(name) {
        return Ok(());
    }
    phone.set_closed(name, true);
    phone.book().focused.take_if(|focused| focused == name);
    phone.background(name, false)?;
    if let Err(refusal) = phone.tell_closed(name)? {
        phone.catch_up()?;
        if phone.runs(name) {
            return Err(format!("the daemon refused to close {name}: {refusal}"));
        }
    }
    Ok(())
}

fn settle<P: Phone + ?Sized>(phone: &mut P, limit_ns: u64) -> Outcome<()> {
    let deadline_ns = phone.now_ns().saturating_add(limit_ns);
    while phone.daemon_is_busy()? {
        if phone.now_ns() >= deadline_ns {
            return Err(format!("the daemon is still busy after {limit_ns} ns"));
        }
        phone.pass(SETTLE_QUESTION_NS)?;
    }
    Ok(())
}

fn fill<P: Phone + ?Sized>(phone: &mut P, like: &str, wanted_bytes: u64) -> Outcome<()> {
    let mut filler = profile(phone, like)?;
    filler.name = FILLER.into();
    filler.shared_files.clear();
    filler.private_files.clear();
    filler.churn = Default::default();
    filler.launch.anon_percent = 100;
    filler.launch.compute_insns = 0;
    // A first start of one page shows what the process itself takes; the rest is exact.
    filler.anon_bytes = PAGE_BYTES as u64;
    if !phone.runs(FILLER) {
        start_profile(phone, &filler)?;
    }
    for _ in 0..FILL_ROUNDS {
        let over_bytes = phone.available_bytes()?.saturating_sub(wanted_bytes);
        if over_bytes <= FILL_TOLERANCE_BYTES || !phone.runs(FILLER) {
            break;
        }
        if !phone.grow(FILLER, over_bytes / PAGE_BYTES as u64)? {
            break;
        }
    }
    phone.sample(TICK)
}
