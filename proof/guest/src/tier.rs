// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Memory of two kinds, and apps that use it at once: the step `tier`.

mod app;
mod nodes;
mod taken;
mod tiering;

use std::collections::BTreeMap;

use fovea_apps::Role;
use fovea_client::protocol::Request;
use fovea_scenario::{EventBody, TierLoad, TierUse, Tiering};

pub use app::{main, WORD};

use crate::checks;
use crate::outcome::{At, Outcome};
use crate::phone::Phone;
use crate::program::Program;
use crate::readings::now_ns;
use crate::setup::APPS;

/// In which each app starts, alone and in front.
const START_NS: u64 = 500_000_000;

/// Before the apps' end: what was done is counted until then.
const LAST_NS: u64 = 300_000_000;

/// How long the apps may take beyond their time, guest time.
const LATE_NS: u64 = 300_000_000_000;

/// Does the step.
pub fn run(phone: &mut Phone, load: &TierLoad) -> Outcome<()> {
    let tiering = phone.plan.configuration.tiering.ok_or("this configuration has no tiers: use another kind")?;
    let [fast, slow] = nodes::find()?;
    tiering::set_up(tiering, fast, slow)?;
    nodes::leave(fast, load.fast_bytes())?;
    let apps = u64::from(load.apps);
    let start_ns = now_ns() + (apps + 1) * START_NS;
    let mut running = BTreeMap::new();
    for app in 0..apps {
        let name = TierLoad::name(app);
        let cgroup = format!("{APPS}/{name}");
        let text = serde_json::to_string(load).at(|| "a load as text".into())?;
        let seed = phone.plan.seed.to_string();
        let words = [WORD, &app.to_string(), &start_ns.to_string(), &seed, &fast.to_string(), &text];
        running.insert(name.clone(), Program::start(&cgroup, &words)?);
        let app = name.parse().at(|| "naming an app".into())?;
        phone.daemon.insist(&Request::Register { app, cgroup, role: Role::App, io_class: None })?;
        focus(phone, &name)?;
        phone.pass(START_NS)?;
    }
    phone.pass(start_ns.saturating_sub(now_ns()))?;
    let before = nodes::Work::read()?;
    let end_ns = start_ns + load.ns;
    for turn in 1..load.turns() {
        let at_ns = turn * load.switch_ns;
        phone.pass((start_ns + at_ns).saturating_sub(now_ns()))?;
        focus(phone, &TierLoad::name(load.front(at_ns).0))?;
    }
    phone.pass(end_ns.saturating_sub(LAST_NS).saturating_sub(now_ns()))?;
    let done = nodes::Work::read()?;
    let status = phone.daemon.status()?;
    if let (Tiering::Managed, Some(before)) = (tiering, phone.baseline.take()) {
        // While apps are at it still, and some kept out.
        checks::kill_daemon(phone, &before)?;
        phone.baseline = Some(before);
    }
    let mut used = TierUse {
        moved_pages: done.moved_pages - before.moved_pages,
        system_ns: done.system_ns - before.system_ns,
        fast_bytes: load.fast_bytes(),
        slow_bytes: nodes::total_bytes(slow)?,
        kept_out: status.tiers.map_or(0, |tiers| tiers.kept_out as u64),
        ..TierUse::default()
    };
    for (name, program) in running {
        let text = program.all(phone, end_ns + LATE_NS)?;
        let app = serde_json::from_str(&text).at(|| format!("{name} ended without a result: {text:?}"))?;
        used.apps.insert(name, app);
    }
    phone.channel.emit(EventBody::Tier(used))
}

fn focus(phone: &mut Phone, name: &str) -> Outcome<()> {
    let app = name.parse().at(|| "naming an app".into())?;
    phone.daemon.insist(&Request::Focus { app }).map(drop)
}
