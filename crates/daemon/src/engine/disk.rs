// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The disk is told what apps' requests need: dm-aciom by messages, else cgroup v2's `io` controller by weights or limits.

use std::collections::{BTreeMap, BTreeSet};

use fovea_apps::{AppName, DiskControl, IoClass};
use fovea_client::Status;
use fovea_linux::{Controller, Device, Error};
use fovea_policy::disk::{self, DiskState};
use fovea_policy::{Action, Config, Decision, Snapshot};
use serde_json::json;

use super::engine_state::EngineState;
use super::mechanism::{About, Event, Mechanism, Need, Turn};
use super::step::Step;

/// The file of limits.
const LIMITS: &str = "io.max";

/// Time after a time-sensitive app's last request for which the disk counts as used by it.
const USED_NS: u64 = 2_000_000_000;

/// What the disk knows of an app.
#[derive(Debug, Default)]
struct Sent {
    class: Option<IoClass>,
    /// Its cgroup's name with dm-aciom.
    id: Option<u64>,
    limit: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Disk {
    /// What the disk is treated by is known, and for that rate.
    looked_for: Option<u64>,
    state: DiskState,
    sent: BTreeMap<AppName, Sent>,
    /// What each time-sensitive app had moved at the last look, by device.
    moved: BTreeMap<AppName, BTreeMap<String, u64>>,
    /// The devices that they use.
    devices: BTreeSet<String>,
    used_ns: Option<u64>,
    /// It has been said that an app has no such file.
    said_missing: bool,
}

impl Disk {
    /// Looks by what classes can be made to count, if that is not known.
    fn look_for_control<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        let rate = shared.policy.disk.cmax_bytes_per_s;
        if self.looked_for == Some(rate) {
            return;
        }
        let new_rate = self.looked_for.replace(rate).is_some_and(|old| old != rate);
        let control = match shared.policy.disk.enabled {
            true => shared.device.disk_control(rate > 0).unwrap_or_else(|e| {
                say!("fovea: {e}: apps' disk requests are treated alike");
                DiskControl::Absent
            }),
            false => DiskControl::Absent,
        };
        shared.service_looks.matter |= control != DiskControl::Absent;
        if control == self.state.control && !new_rate {
            return;
        }
        if control != self.state.control {
            self.leave(shared);
            self.state = DiskState { control, ..DiskState::default() };
            shared.write(now_ns, "disk", None, None, json!({ "control": control }));
        }
        if control == DiskControl::Volumes && rate > 0 {
            shared.device.set_disk_rate(rate).unwrap_or_else(|e| say!("fovea: {e}"));
        }
    }

    /// Takes back all that was done, for it is done in another way from now on.
    fn leave<D: Device>(&mut self, shared: &mut EngineState<D>) {
        for (name, mut sent) in std::mem::take(&mut self.sent) {
            if let Some(cgroup) = shared.registry.get(&name).map(|app| app.cgroup.clone()) {
                forget(shared, &mut sent, &cgroup);
                put_back(shared, &cgroup, None);
            }
        }
    }

    /// Reads what time-sensitive apps take, where others are limited by that.
    fn look_at_use<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        let due_ns = disk::next_look_ns(&self.state, &shared.policy.disk);
        if self.state.control != DiskControl::Limits || (self.state.looked_ns > 0 && now_ns < due_ns) {
            return Ok(());
        }
        let is_sensitive =
            |name: &AppName| shared.apps.get(name).is_some_and(|known| known.io_class.class == IoClass::TimeSensitive);
        let sensitive: Vec<_> = shared.registry.iter().filter(|app| is_sensitive(&app.name)).cloned().collect();
        let mut bytes = 0u64;
        let mut devices = BTreeSet::new();
        let mut moved = BTreeMap::new();
        for app in sensitive {
            let usage: BTreeMap<_, _> = shared.device.disk_usage(&app.cgroup)?.into_iter().collect();
            // What one moved before it was looked at says nothing.
            if let Some(before) = self.moved.get(&app.name) {
                for (device, &now) in &usage {
                    let more = now.saturating_sub(before.get(device).copied().unwrap_or(0));
                    bytes += more;
                    devices.extend((more > 0).then(|| device.clone()));
                }
            }
            moved.insert(app.name, usage);
        }
        let passed_ns = now_ns.saturating_sub(self.state.looked_ns).max(1);
        let rate = u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(passed_ns)).unwrap_or(u64::MAX);
        let state = &mut self.state;
        if bytes > 0 {
            self.used_ns = Some(now_ns);
            self.devices.extend(devices);
            state.idle_looks = 0;
            // A burst of a player's stays reserved for a while.
            state.sensitive_bytes_per_s = rate.max(state.sensitive_bytes_per_s / 4 * 3);
        } else {
            state.idle_looks = state.idle_looks.saturating_add(1);
        }
        state.is_used = self.used_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < USED_NS);
        if !state.is_used {
            state.sensitive_bytes_per_s = 0;
        }
        state.looked_ns = now_ns;
        self.moved = moved;
        Ok(())
    }

    fn tell<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        name: &AppName,
        cgroup: &str,
        class: IoClass,
    ) -> Result<bool, Error> {
        enable_controller(shared, cgroup)?;
        let sent = self.sent.entry(name.clone()).or_default();
        // Whatever comes of it, it is not tried again before something changes.
        sent.class = Some(class);
        if self.state.control == DiskControl::Volumes {
            let Some(id) = shared.device.disk_id(cgroup)? else { return Ok(false) };
            if !is_written(shared.undo.disk_class(cgroup, id)) {
                return Ok(false);
            }
            sent.id = Some(id);
            return shared.device.set_disk_class(id, class).map(|()| true);
        }
        let mut done = false;
        for file in shared.device.io_weights()? {
            done |= set(shared, cgroup, file, None, &format!("default {}", weight(class)))?;
        }
        Ok(done)
    }

    fn limit<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        name: &AppName,
        cgroup: &str,
        limit: Option<u64>,
    ) -> Result<bool, Error> {
        self.sent.entry(name.clone()).or_default().limit = limit;
        let Some(bytes) = limit else {
            put_back(shared, cgroup, Some(LIMITS));
            return Ok(true);
        };
        enable_controller(shared, cgroup)?;
        let mut done = false;
        for device in &self.devices {
            done |= set(shared, cgroup, LIMITS, Some(device), &format!("{device} rbps={bytes} wbps={bytes}"))?;
        }
        Ok(done)
    }

    fn act<D: Device>(&mut self, shared: &mut EngineState<D>, action: &Action, cgroup: &str) -> Result<bool, Error> {
        match action {
            Action::DiskClass { app, class } => self.tell(shared, app, cgroup, *class),
            Action::DiskLimit { app, bytes_per_s } => self.limit(shared, app, cgroup, *bytes_per_s),
            action => {
                let mut sent = self.sent.remove(action.app()).unwrap_or_default();
                forget(shared, &mut sent, cgroup);
                put_back(shared, cgroup, None);
                Ok(true)
            }
        }
    }
}

/// What the weights of classes are; the kernel's own is 100.
fn weight(class: IoClass) -> u32 {
    match class {
        IoClass::TimeSensitive => 1000,
        IoClass::Bursty => 10,
        IoClass::Plain | IoClass::ForegroundDependent => 100,
    }
}

fn is_written(logged: std::io::Result<()>) -> bool {
    logged.map_err(|e| say!("fovea: writing the undo log: {e}: leaving the disk as it is")).is_ok()
}

/// Changes a setting of an app; what it was is written down before. False if the app has none.
fn set<D: Device>(
    shared: &mut EngineState<D>,
    cgroup: &str,
    file: &str,
    device: Option<&str>,
    value: &str,
) -> Result<bool, Error> {
    let Some(old) = shared.device.io_setting(cgroup, file, device)? else { return Ok(false) };
    if !is_written(shared.undo.io_setting(cgroup, file, &old)) {
        return Ok(false);
    }
    shared.device.set_io_setting(cgroup, file, value).map(|()| true)
}

/// Gives an app the settings back that it had: of one file, or all.
fn put_back<D: Device>(shared: &mut EngineState<D>, cgroup: &str, file: Option<&str>) {
    for (of, old) in shared.undo.io_settings(cgroup) {
        if file.is_none_or(|file| file == of) {
            match shared.device.set_io_setting(cgroup, &of, &old) {
                Ok(()) => drop(is_written(shared.undo.io_put_back(cgroup, &of, &old))),
                Err(e) => say!("fovea: {e}"),
            }
        }
    }
}

fn forget<D: Device>(shared: &mut EngineState<D>, sent: &mut Sent, cgroup: &str) {
    if let Some(id) = sent.id.take() {
        match shared.device.forget_disk_class(id) {
            Ok(()) => drop(is_written(shared.undo.disk_forgotten(cgroup))),
            Err(e) => say!("fovea: {e}"),
        }
    }
    sent.class = None;
}

/// Sees to it that the kernel tells an app's requests from others', where the owner lets us.
fn enable_controller<D: Device>(shared: &mut EngineState<D>, cgroup: &str) -> Result<(), Error> {
    match shared.policy.disk.enable_controller {
        true => shared.pass_on(cgroup, Controller::Io).map(|_| ()),
        false => Ok(()),
    }
}

impl<D: Device> Mechanism<D> for Disk {
    fn about(&self) -> About {
        const NEEDS: [Need; 1] = [Need::shown("disk", "a player's or camera's disk requests in time beside a copy's")];
        About { name: "disk", needs: &NEEDS }
    }

    fn set_up(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        self.look_for_control(shared, now_ns);
        Ok(())
    }

    fn on(&mut self, shared: &mut EngineState<D>, event: Event, now_ns: u64) {
        match event {
            // A volume may have come with its first user.
            Event::Came(_) => {
                self.looked_for = None;
            }
            Event::Fronted(_) => {
                self.looked_for = None;
                // It may begin to use the disk at once.
                self.state.idle_looks = 0;
            }
            Event::Gone(app) => {
                self.moved.remove(&app.name);
                if let Some(mut sent) = self.sent.remove(&app.name) {
                    forget(shared, &mut sent, &app.cgroup);
                }
            }
            Event::Undo(app) => {
                if let Some(mut sent) = self.sent.remove(&app.name) {
                    forget(shared, &mut sent, &app.cgroup);
                    put_back(shared, &app.cgroup, None);
                    // Nobody's decision, and so without a reason: a replay would look for what it depended on.
                    shared.write(now_ns, "disk-forget", Some(&app.name), None, json!(null));
                }
            }
            _ => {}
        }
    }

    fn observe(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        self.look_for_control(shared, now_ns);
        self.look_at_use(shared, now_ns)
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        snapshot.disk = self.state;
        for app in &mut snapshot.apps {
            let sent = self.sent.get(&app.name);
            app.disk_class = sent.and_then(|sent| sent.class);
            app.disk_limit = sent.and_then(|sent| sent.limit);
        }
    }

    fn decide(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        disk::decide(snapshot, &config.disk)
    }

    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, _turn: &mut Turn) -> bool {
        let (Action::DiskClass { app, .. } | Action::DiskForget { app } | Action::DiskLimit { app, .. }) = step.action
        else {
            return false;
        };
        let Some(cgroup) = shared.registry.get(app).map(|app| app.cgroup.clone()) else { return true };
        match self.act(shared, step.action, &cgroup) {
            Ok(true) => shared.journal_step(step, outcome(step.action)),
            Ok(false) if !std::mem::replace(&mut self.said_missing, true) => {
                let what = format!("disk classes of {app}: its cgroup has no io controller (`fovea check`, row disk)");
                shared.lacks(step.snapshot.now_ns, what);
            }
            Ok(false) => {}
            Err(e) => {
                // The volume may be gone.
                self.looked_for = None;
                say!("fovea: {e}");
            }
        }
        true
    }

    fn report(&self, status: &mut Status, _now_ns: u64) {
        status.disk = self.state.control;
    }
}

fn outcome(action: &Action) -> serde_json::Value {
    match action {
        Action::DiskClass { class, .. } => json!({ "class": class }),
        Action::DiskLimit { bytes_per_s, .. } => json!({ "bytes_per_s": bytes_per_s }),
        _ => json!(null),
    }
}
