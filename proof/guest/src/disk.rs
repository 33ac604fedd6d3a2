// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A slow disk, and apps that use it at once: the step `disk`.

mod apps;
mod open;
pub mod volume;

use std::collections::BTreeMap;

use fovea_apps::{IoClass, Role};
use fovea_client::protocol::Request;
use fovea_contract::{ACIOM_FORGET, HEAP_MODULE};
use fovea_linux::dm::DeviceMapper;
use fovea_linux::Root;
use fovea_scenario::{DiskLoad, DiskSetting, DiskUse, EventBody, Play};
use rustix::process::{kill_process, Pid, Signal};

pub use apps::{main, WORD};

use crate::outcome::{write_file, At, Outcome};
use crate::phone::Phone;
use crate::play::{self, Film};
use crate::program::Program;
use crate::readings::now_ns;
use crate::setup::{cgroup_path, APPS};

/// Time between the processes' start and that of their work: the daemon is told of them meanwhile.
const LEAD_NS: u64 = 1_000_000_000;

/// Who plays the film.
const PLAYER: &str = "player";

/// How long the player's start waits for the others: the copy is under way by then.
const BEHIND_NS: u64 = 500_000_000;

/// How long the apps may take beyond their time, guest time.
const LATE_NS: u64 = 120_000_000_000;

fn cgroup_of(app: &str) -> String {
    format!("{APPS}/{app}")
}

/// Does the step.
pub fn run(phone: &mut Phone, load: &DiskLoad) -> Outcome<()> {
    let setting = phone.plan.configuration.disk.ok_or("this configuration has no disk: use another kind")?;
    volume::set_up(load, setting)?;
    let apps = load.apps();
    let start_ns = now_ns() + LEAD_NS;
    let mut running = BTreeMap::new();
    let prepared = open::Prepared::of(load)?;
    for &app in apps {
        running.insert(app, start(app, load, start_ns)?);
    }
    tell(phone, load, apps, setting)?;
    let film = match &load.play {
        Some(play) => Some(start_film(phone, load, play, start_ns)?),
        None => None,
    };
    let mut left = None;
    if load.label == DiskLoad::DEATH {
        phone.pass(LEAD_NS + load.ns / 4)?;
        let found = kill_daemon(phone, apps, setting)?;
        // What was set by hand stays.
        left = setting.is_managed().then_some(found);
    }
    let mut uses = BTreeMap::new();
    let deadline = start_ns + load.ns + LATE_NS;
    for (app, program) in running {
        let text = program.all(phone, deadline)?;
        let done: DiskUse = serde_json::from_str(&text).at(|| format!("{app} ended without a result: {text:?}"))?;
        uses.insert(app.to_owned(), done);
    }
    prepared.undo()?;
    if let Some(film) = film {
        let text = film.all(phone, deadline)?;
        let film: Film = serde_json::from_str(&text).at(|| format!("the film ended without a result: {text:?}"))?;
        phone.channel.emit(EventBody::Buffers { app: PLAYER.into(), buffers: film.buffers })?;
        phone.channel.emit(EventBody::Played(film.played))?;
    }
    phone.channel.emit(EventBody::DiskLoad {
        label: load.label.clone(),
        apps: uses,
        volume: volume::status(setting)?,
        classes_left: left,
    })?;
    for app in apps {
        // Its last process may still be going.
        let _ = std::fs::remove_dir(cgroup_path(&cgroup_of(app)));
    }
    Ok(())
}

/// Starts what hands the film's frames on, in the player's cgroup.
fn start_film(phone: &Phone, load: &DiskLoad, play: &Play, start_ns: u64) -> Outcome<Program> {
    let keeps = phone.plan.configuration.combined.is_some_and(|combined| combined.mapcache);
    write_file(format!("/sys/module/{HEAP_MODULE}/parameters/mapcache"), if keeps { "1" } else { "0" })?;
    let text = serde_json::to_string(&Play { mapcache: keeps, ..play.clone() }).at(|| "a film as text".into())?;
    let (start_ns, frame_ns) = (start_ns.to_string(), load.disk.frame_ns.to_string());
    Program::start(&cgroup_of(PLAYER), &[play::WORD, &start_ns, &frame_ns, &text])
}

/// Starts an app in its cgroup; it prints its result.
fn start(app: &str, load: &DiskLoad, start_ns: u64) -> Outcome<Program> {
    let load = serde_json::to_string(load).at(|| "a load as text".into())?;
    let start_ns = start_ns + if app == "player" { BEHIND_NS } else { 0 };
    Program::start(&cgroup_of(app), &[WORD, app, &start_ns.to_string(), &load])
}

/// Tells the daemon of the apps, or sets by hand what a configuration has instead.
fn tell(phone: &mut Phone, load: &DiskLoad, apps: &[&str], setting: DiskSetting) -> Outcome<()> {
    for &app in apps {
        let io_class = (app == "plain").then_some(IoClass::Plain);
        let name = app.parse().at(|| "registering".into())?;
        // What updates while a film plays would tell its user so: it is a service, and not to be frozen.
        let role = match load.label == DiskLoad::UPDATE && app != PLAYER {
            true => Role::Service,
            false => Role::App,
        };
        let request = Request::Register { app: name, cgroup: cgroup_of(app), role, io_class };
        phone.daemon.insist(&request)?;
    }
    let front = match apps.iter().find(|&&app| ["player", "front"].contains(&app)) {
        Some(app) => Request::Focus { app: app.parse().at(|| "focusing".into())? },
        None => Request::Home {},
    };
    phone.daemon.insist(&front)?;
    let by_hand = |app: &str, file: &str, value: &str| match apps.contains(&app) {
        true => write_file(cgroup_path(&cgroup_of(app)).join(file), value),
        false => Ok(()),
    };
    match setting {
        DiskSetting::BfqWeights if apps.len() > 1 => {
            by_hand("player", "io.bfq.weight", "1000")?;
            by_hand("dperf", "io.bfq.weight", "10")?;
            by_hand("updater", "io.bfq.weight", "10")?;
            by_hand("writer", "io.bfq.weight", "10")
        }
        DiskSetting::IoMax if apps.len() > 1 => {
            // As the paper's budget would have it, if the film never changed.
            let each = (load.disk.rate_bytes() / 10 * 9).saturating_sub(load.disk.stream_bytes_per_s()) / 2;
            let limit = format!("{} rbps={each} wbps={each}", volume::number()?);
            by_hand("dperf", "io.max", &limit)?;
            by_hand("writer", "io.max", &limit)
        }
        _ => Ok(()),
    }
}

/// Kills worker and supervisor, has `fovea restore` undo what they did, and counts the apps of which the disk then still knows a class or a
/// limit.
fn kill_daemon(phone: &mut Phone, apps: &[&str], setting: DiskSetting) -> Outcome<u64> {
    let worker = phone.daemon.status()?.pid;
    let supervisor = phone.daemon.pid.ok_or("the daemon does not run")?;
    // The worker first: its end is what the supervisor waits for, and it has no time to see it.
    for pid in [worker, supervisor] {
        let pid = Pid::from_raw(pid as i32).ok_or("the daemon says that its PID is 0")?;
        kill_process(pid, Signal::KILL).at(|| "killing the daemon".into())?;
    }
    while phone.daemon.pid.is_some() {
        phone.pass(10_000_000)?;
    }
    let (code, said) = phone.run_fovea(&["fovea", "restore", "--wait"])?;
    if code != 0 {
        return Err(format!("`fovea restore` ended with {code}: {said}"));
    }
    let mut left = 0;
    for app in apps {
        let path = cgroup_path(&cgroup_of(app));
        if setting == DiskSetting::FoveaDm {
            let id = fovea_linux::cgroup::number(&path).at(|| format!("looking at {}", path.display()))?;
            let mapper = DeviceMapper::open(&Root::at("/")).at(|| "device-mapper".into())?;
            // Of whom nothing is known, nothing can be forgotten.
            left += u64::from(mapper.message(volume::NAME, 0, &format!("{ACIOM_FORGET} {id}")).is_ok());
        }
        let limits = std::fs::read_to_string(path.join("io.max")).unwrap_or_default();
        left += u64::from(!limits.trim().is_empty());
    }
    phone.start_daemon()?;
    phone.retell()?;
    Ok(left)
}
