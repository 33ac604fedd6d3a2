// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The one interpreter of plans: what each [`Step`] means, on whatever phone follows it, the virtual one or the simulated one.

pub mod phone;

use crate::{AppProfile, EventBody, LaunchKind, Step, PAGE_BYTES};
use phone::{Outcome, Pages, Phone, StepResult, TICK};

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
        Step::Leak { app, pages, period_ns, limit_ns } => leak(phone, app, *pages, *period_ns, *limit_ns),
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
        | Step::Traffic(_)
        | Step::Tier(_)
        | Step::Outsider(_)
        | Step::Outgrow(_)
        | Step::Forks(_)
        | Step::OwnZram {}
        | Step::Dentries { .. }
        | Step::Verify {}
        | Step::Pieces { .. }
        | Step::Heard {}
        | Step::IdleCheck { .. }
        | Step::KillDaemon {}
        | Step::CheckFrozen {}
        | Step::Disk { .. }
        | Step::Check { .. }
        | Step::DropCaches {}
        | Step::Play(_) => phone.special(step),
    };
    phone.set_ticks(0)?;
    result?;
    phone.catch_up()?;
    phone.check()
}

/// The daemon must not refuse it.
fn must(result: Outcome<StepResult>) -> Outcome<()> {
    result?.map_err(|refusal| format!("the daemon refused: {refusal}"))
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
    let cpu_before = phone.cpu_times()?;
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
    let cpu = phone.cpu_times()?.zip(cpu_before).map(|(after, before)| after.since(before));
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
        cpu,
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

fn leak<P: Phone + ?Sized>(phone: &mut P, name: &str, pages: u64, period_ns: u64, limit_ns: u64) -> Outcome<()> {
    phone.emit(EventBody::Leaking { app: name.into() })?;
    let until_ns = phone.now_ns().saturating_add(limit_ns);
    while phone.runs(name) && phone.now_ns() < until_ns {
        let next_ns = phone.now_ns() + period_ns;
        if !phone.grow(name, pages)? {
            break;
        }
        phone.pass(next_ns.saturating_sub(phone.now_ns()))?;
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
