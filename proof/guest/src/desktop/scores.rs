// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Everybody's `oom_score_adj`: what it would be without the daemon, while processes come and go
//! and the daemon is killed.

use std::collections::BTreeMap;
use std::process::Command;

use fovea_client::protocol::Request;
use fovea_scenario::outsider::SIBLINGS;
use fovea_scenario::{Daemon, Forks};

use super::outside::outside_of;
use super::outsider::{FromOutsider, ToOutsider};
use super::session::USER;
use crate::outcome::{At, Outcome};
use crate::phone::Phone;
use crate::readings::{now_ns, processes};
use crate::setup::cgroup_path;
use crate::wire::{receive, send};

/// How long a daemon that was killed may take to be there again.
const AGAIN_NS: u64 = 60_000_000_000;

/// From one question whether it is there to the next.
const QUESTION_NS: u64 = 50_000_000;

/// Asks systemd for something.
pub fn systemctl(words: &[&str]) -> Outcome<()> {
    let output = Command::new("/usr/bin/systemctl").args(words).output().at(|| "running systemctl".into())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("systemctl {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Scores of all living processes of the apps and of the outsider's unit, each with what it would
/// be without anybody's doing.
fn scores(phone: &mut Phone) -> Vec<(i32, i32)> {
    let unit = outside_of(phone).unit;
    let apps = phone.apps.values().map(|app| (app.cgroup.clone(), USER.oom_score_adj));
    let all: Vec<_> = apps.chain([(unit.cgroup(), unit.oom_score_adj)]).collect();
    let score = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).ok()?.trim().parse().ok();
    let of = |(cgroup, own): (String, i32)| {
        let pids = processes(&cgroup_path(&cgroup));
        pids.into_iter().filter_map(score).map(move |is| (is, own))
    };
    all.into_iter().flat_map(of).collect()
}

/// Living processes whose score is another, and how many have which.
pub fn changed(phone: &mut Phone) -> (u32, BTreeMap<String, u32>) {
    let scores = scores(phone);
    let mut each = BTreeMap::new();
    scores.iter().for_each(|(is, _)| *each.entry(is.to_string()).or_insert(0) += 1);
    (scores.iter().filter(|(is, own)| is != own).count() as u32, each)
}

/// Processes come and go in the outsider's unit while the focus goes to it and away; in the middle
/// the daemon is killed.
pub fn run(phone: &mut Phone, forks: &Forks) -> Outcome<()> {
    let Some((shell, socket)) = outside_of(phone).living.get(SIBLINGS[0]) else { return Err("no shell lives".into()) };
    let shell = *shell;
    send(socket, &ToOutsider::Fork { forks: forks.clone() }, &[])?;
    let has_daemon = phone.plan.configuration.daemon != Daemon::Absent;
    for switch in 0..forks.switches {
        if has_daemon && switch == forks.switches / 2 {
            systemctl(&["kill", "--kill-who=all", "--signal=KILL", "fovea.service"])?;
            await_daemon(phone)?;
        }
        let app = phone.apps.get(&forks.app).map(|app| app.pid);
        let front = if switch % 2 == 0 { Some(shell) } else { app };
        if has_daemon {
            phone.daemon.insist(&Request::Windows { front, visible: front.into_iter().collect() })?;
        }
        phone.pass(forks.switch_ns)?;
        let below = scores(phone).iter().filter(|(is, own)| is < own).count() as u32;
        outside_of(phone).scores_below += below;
    }
    let Some((_, socket)) = outside_of(phone).living.get(SIBLINGS[0]) else {
        return Err("the shell was killed".into());
    };
    // Nobody takes memory here, so that nobody is killed.
    match receive(socket)? {
        Some((FromOutsider::Here { .. }, _)) => Ok(()),
        other => Err(format!("the shell said {other:?} when it should have said that all have come")),
    }
}

/// systemd starts it again.
fn await_daemon(phone: &mut Phone) -> Outcome<()> {
    let deadline_ns = now_ns() + AGAIN_NS;
    phone.pass(QUESTION_NS)?;
    while !phone.daemon.connect()? {
        if now_ns() >= deadline_ns {
            return Err("the daemon is not there again: see the console".into());
        }
        phone.pass(QUESTION_NS)?;
    }
    Ok(())
}
