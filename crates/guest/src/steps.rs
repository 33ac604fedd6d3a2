// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The steps of a plan (`fovea_scenario::Step` says what each means).

use fovea_client::protocol::Request;
use fovea_scenario::{AppProfile, EventBody, LaunchKind, Step, PAGE_BYTES};

use crate::outcome::{At, Outcome};
use crate::phone::{Answer, Phone, Woke, TICK};
use crate::readings::{now_ns, Memory};
use crate::restore::Baseline;
use crate::wire::{Count, FromApp, ToApp};
use crate::{checks, desktop, devices, flash};

/// Time between samples while a step runs.
const TICK_NS: u64 = 100_000_000;

/// Time between samples while time only passes.
const WAIT_TICK_NS: u64 = 500_000_000;

/// Time between questions whether the daemon is still busy.
const SETTLE_QUESTION_NS: u64 = 20_000_000;

/// How often an app that is killed while it opens is started again.
const OPEN_TRIES: u32 = 5;

/// How long a killed app may take to end.
const CRASH_LIMIT_NS: u64 = 30_000_000_000;

/// Name of the app that `Fill` starts.
const FILLER: &str = "filler";

/// How near `Fill` comes to what is asked, unless memory management takes a hand.
const FILL_TOLERANCE_BYTES: u64 = 256 * 1024;

/// How often `Fill` corrects its size.
const FILL_ROUNDS: u32 = 8;

/// Follows all steps of the plan.
pub fn follow(phone: &mut Phone, before: Option<&Baseline>) -> Outcome<()> {
    for index in 0..phone.plan.steps.len() {
        let step = phone.plan.steps[index].clone();
        phone.channel.emit(EventBody::Step { index })?;
        run(phone, &step, before).map_err(|error| format!("step {index} ({step:?}): {error}"))?;
    }
    Ok(())
}

fn run(phone: &mut Phone, step: &Step, before: Option<&Baseline>) -> Outcome<()> {
    phone.catch_up()?;
    phone.set_ticks(match step {
        Step::IdleCheck { .. } => 0,
        Step::Wait { .. } => WAIT_TICK_NS,
        _ => TICK_NS,
    })?;
    let result = match step {
        Step::Open { app } => open(phone, app),
        Step::Start { app } => start(phone, app),
        Step::Use { app, ns } => devices::work(phone, app, *ns),
        Step::Home {} => home(phone),
        Step::Close { app } => close(phone, app),
        Step::Screen { on } => tell(phone, &Request::Screen { on: *on }),
        Step::Wait { ns } => phone.pass(*ns),
        Step::Settle { limit_ns } => settle(phone, *limit_ns),
        Step::Fill { app, available_bytes } => fill(phone, app, *available_bytes),
        Step::Sample { label } => devices::sample(phone, label),
        Step::IdleCheck { ns } => checks::idle(phone, *ns),
        Step::KillDaemon {} => match before {
            Some(before) => checks::kill_daemon(phone, before),
            None => Err("a desktop's daemon is systemd's to start and end: use another scenario".into()),
        },
        Step::Interact { app, interactions, period_ns, touch } => {
            desktop::interact::run(phone, app, *interactions, *period_ns, *touch)
        }
        Step::Verify {} => verify_all(phone),
        Step::CheckFrozen {} => checks::frozen(phone),
        Step::Check { missing } => checks::machine(phone, missing.as_deref()),
        Step::Crash { app } => crash(phone, app),
    };
    phone.set_ticks(0)?;
    result?;
    phone.catch_up()?;
    if phone.daemon.pid.is_none() && phone.desktop.is_none() {
        return Err("the daemon has ended: see the console".into());
    }
    Ok(())
}

/// Tells the daemon something that it must not refuse.
fn tell(phone: &mut Phone, request: &Request) -> Outcome<()> {
    phone.daemon.tell(request)?.map_err(|error| format!("the daemon refused {request:?}: {error}"))
}

pub fn profile(phone: &Phone, name: &str) -> Outcome<AppProfile> {
    let found = phone.plan.apps.iter().find(|app| app.name == name);
    found.cloned().ok_or_else(|| format!("no app {name} in the plan: add its profile to `apps`"))
}

/// The app in front, if any, goes to the background.
fn leave(phone: &mut Phone) -> Outcome<()> {
    match phone.focused.take() {
        Some(name) => devices::background(phone, &name, true),
        None => Ok(()),
    }
}

pub fn open(phone: &mut Phone, name: &str) -> Outcome<()> {
    let profile = profile(phone, name)?;
    phone.sample(TICK)?;
    if phone.focused.as_deref() != Some(name) {
        leave(phone)?;
    }
    let before = devices::before_open(phone, &profile)?;
    let read_before = flash::read_bytes()?;
    let began = now_ns();
    let mut tries = 0;
    let (kind, mut count) = loop {
        if tries == OPEN_TRIES {
            // There the user gives up for now: that it does not come to the screen is a figure.
            if phone.desktop.is_some() {
                return Ok(());
            }
            return Err(format!("app {name} was killed {OPEN_TRIES} times while it opened"));
        }
        tries += 1;
        if let Some(done) = try_open(phone, &profile)? {
            break done;
        }
    };
    let elapsed_ns = now_ns() - began;
    let read_bytes = flash::read_bytes()? - read_before;
    devices::after_open(phone, &profile, before)?;
    phone.focused = Some(name.to_owned());
    if let Some(app) = phone.apps.get_mut(name) {
        app.closed = false;
    }
    // On a desktop once, at the end: reading all of an app back would be the largest load of all while memory is short.
    if phone.desktop.is_none() {
        count += verify(phone, name)?;
    }
    phone.channel.emit(EventBody::Launch {
        app: name.to_owned(),
        kind,
        elapsed_ns,
        read_bytes,
        wrong_pages: count.wrong,
        verified_pages: count.checked,
    })?;
    devices::report(phone, name)?;
    phone.sample(TICK)
}

/// One attempt; `None` if the app was killed meanwhile.
fn try_open(phone: &mut Phone, profile: &AppProfile) -> Outcome<Option<(LaunchKind, Count)>> {
    let name = profile.name.as_str();
    let alive = phone.apps.contains_key(name);
    let kind = match (alive, phone.ran.contains(name)) {
        (true, _) => LaunchKind::Resume,
        (false, true) => LaunchKind::Restart,
        (false, false) => LaunchKind::Cold,
    };
    if !alive {
        phone.spawn_app(profile)?;
    }
    if phone.desktop.is_some() {
        return try_open_window(phone, name, alive, kind);
    }
    let app = name.parse().at(|| "opening".into())?;
    if let Err(refusal) = phone.daemon.tell(&Request::Focus { app })? {
        // The daemon may know of the app's death before we do.
        phone.catch_up()?;
        if phone.apps.contains_key(name) {
            return Err(format!("the daemon refused to focus {name}: {refusal}"));
        }
        return Ok(None);
    }
    let turn = next_turn(phone, name);
    phone.tell(name, &if alive { ToApp::Resume { turn } } else { ToApp::Launch { turn } })?;
    Ok(ready(phone, name)?.map(|count| (kind, count)))
}

/// A desktop's app comes to the front when it has a window: at once if it runs, else when it is ready.
fn try_open_window(
    phone: &mut Phone,
    name: &str,
    alive: bool,
    kind: LaunchKind,
) -> Outcome<Option<(LaunchKind, Count)>> {
    let turn = next_turn(phone, name);
    if alive {
        desktop::session::show(phone, name, false)?;
    }
    phone.tell(name, &if alive { ToApp::Resume { turn } } else { ToApp::Launch { turn } })?;
    let Some(count) = ready(phone, name)? else { return Ok(None) };
    if !alive {
        desktop::session::show(phone, name, true)?;
    }
    Ok(Some((kind, count)))
}

fn next_turn(phone: &mut Phone, name: &str) -> u64 {
    let turn = phone.turns.entry(name.to_owned()).or_insert(0);
    *turn += 1;
    *turn - 1
}

/// Has every app that runs check all its pages.
fn verify_all(phone: &mut Phone) -> Outcome<()> {
    let apps = phone.plan.apps.iter().filter(|app| app.load.is_none()).map(|app| app.name.clone());
    for name in apps.collect::<Vec<_>>() {
        if !phone.apps.contains_key(&name) {
            continue;
        }
        let count = verify(phone, &name)?;
        phone.channel.emit(EventBody::Used {
            app: name,
            read_bytes: 0,
            wrong_pages: count.wrong,
            verified_pages: count.checked,
        })?;
    }
    Ok(())
}

/// Waits for an app's word that it is ready; `None` if it ended.
pub fn ready(phone: &mut Phone, name: &str) -> Outcome<Option<Count>> {
    match phone.answer(name)? {
        Answer::Said(FromApp::Ready(count)) => Ok(Some(count)),
        Answer::Said(other) => Err(format!("app {name} said {other:?} when it should have said that it is ready")),
        Answer::Ended => Ok(None),
    }
}

/// Has an app check all its pages; nothing is counted if it is killed meanwhile.
fn verify(phone: &mut Phone, name: &str) -> Outcome<Count> {
    phone.tell(name, &ToApp::Verify {})?;
    match phone.answer(name)? {
        Answer::Said(FromApp::Checked(count)) => Ok(count),
        Answer::Said(other) => Err(format!("app {name} said {other:?} when it should have checked its pages")),
        Answer::Ended => Ok(Count::default()),
    }
}

fn start(phone: &mut Phone, name: &str) -> Outcome<()> {
    if phone.apps.contains_key(name) {
        return Ok(());
    }
    let profile = profile(phone, name)?;
    start_profile(phone, &profile)
}

/// Starts an app off the screen. That memory management kills it at once is reported, as every kill is, and not held against the plan.
fn start_profile(phone: &mut Phone, profile: &AppProfile) -> Outcome<()> {
    phone.spawn_app(profile)?;
    let turn = next_turn(phone, &profile.name);
    phone.tell(&profile.name, &ToApp::Launch { turn })?;
    if ready(phone, &profile.name)?.is_some() {
        phone.tell(&profile.name, &ToApp::Background { churn: true })?;
    }
    Ok(())
}

fn home(phone: &mut Phone) -> Outcome<()> {
    leave(phone)?;
    tell(phone, &Request::Home {})
}

fn close(phone: &mut Phone, name: &str) -> Outcome<()> {
    let Some(app) = phone.apps.get_mut(name) else { return Ok(()) };
    app.closed = true;
    if phone.focused.as_deref() == Some(name) {
        phone.focused = None;
    }
    devices::background(phone, name, false)?;
    let request = Request::Close { app: name.parse().at(|| "closing".into())? };
    if let Err(refusal) = phone.daemon.tell(&request)? {
        phone.catch_up()?;
        if phone.apps.contains_key(name) {
            return Err(format!("the daemon refused to close {name}: {refusal}"));
        }
    }
    Ok(())
}

/// An app ends without anybody's doing, wherever it is and even if it is frozen.
fn crash(phone: &mut Phone, name: &str) -> Outcome<()> {
    if !phone.apps.contains_key(name) {
        return Err(format!("app {name} does not run, so it cannot crash"));
    }
    phone.kill_app(name)?;
    while phone.apps.contains_key(name) {
        if matches!(phone.wait(Some(now_ns() + CRASH_LIMIT_NS), None, None)?, Woke::Time) {
            return Err(format!("app {name} lives on after SIGKILL"));
        }
    }
    Ok(())
}

fn settle(phone: &mut Phone, limit_ns: u64) -> Outcome<()> {
    let deadline = now_ns().saturating_add(limit_ns);
    while phone.daemon.status()?.busy {
        if now_ns() >= deadline {
            return Err(format!("the daemon is still busy after {limit_ns} ns"));
        }
        phone.pass(SETTLE_QUESTION_NS)?;
    }
    Ok(())
}

fn fill(phone: &mut Phone, like: &str, wanted: u64) -> Outcome<()> {
    let mut filler = profile(phone, like)?;
    filler.name = FILLER.into();
    filler.shared_files.clear();
    filler.private_files.clear();
    filler.churn = Default::default();
    filler.launch.anon_percent = 100;
    filler.launch.compute_insns = 0;
    // A first start of one page shows what the process itself takes; the rest is exact.
    filler.anon_bytes = PAGE_BYTES as u64;
    if !phone.apps.contains_key(FILLER) {
        start_profile(phone, &filler)?;
    }
    for _ in 0..FILL_ROUNDS {
        let over = Memory::read()?.available.saturating_sub(wanted);
        if over <= FILL_TOLERANCE_BYTES || !phone.apps.contains_key(FILLER) {
            break;
        }
        phone.tell(FILLER, &ToApp::Grow { pages: over / PAGE_BYTES as u64 })?;
        if ready(phone, FILLER)?.is_none() {
            break;
        }
    }
    phone.sample(TICK)
}
