// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Receive windows: bursty apps' connections are held while a time-sensitive app receives; and what arrives for them by UDP is limited, if that is wanted.

use std::collections::{BTreeMap, BTreeSet};

use fovea_apps::AppName;
use fovea_client::Status;
use fovea_linux::{AppTraffic, Device, Error, Traffic};
use fovea_policy::net::{self, AppNet, NetState};
use fovea_policy::{Action, Config, Decision, Snapshot};
use serde_json::{json, Value};

use super::engine_state::EngineState;
use super::mechanism::{About, Event, Mechanism, Need, Turn};
use super::step::Step;

/// For how long what the network has been seen to bring is believed, at least; at most twice that.
const PEAK_NS: u64 = 300_000_000_000;

/// A period shorter than that says nothing of a rate.
const PERIOD_LEAST_NS: u64 = 50_000_000;

#[derive(Debug, Default)]
pub(super) struct Net {
    state: NetState,
    apps: BTreeMap<AppName, AppNet>,
    /// Since when the peak is counted, that, and the one before it.
    peak_since_ns: u64,
    peaks: [u64; 2],
    /// Somebody is to be protected, and somebody to be held.
    wanted: bool,
    /// It could not be looked at, and that has been said.
    unread: bool,
    /// Whose UDP has been told of.
    reported: BTreeSet<AppName>,
    /// That it cannot be limited has been said.
    refusal_reported: bool,
}

impl Net {
    fn udp_limit_of(&self, app: &AppName) -> u64 {
        self.apps.get(app).map_or(0, |net| net.udp_limit_bytes_per_s)
    }

    fn window_of(&self, app: &AppName) -> u64 {
        self.apps.get(app).map_or(0, |net| net.window_bytes)
    }

    /// What the kernel undoes when this process ends needs no line in the undo log.
    fn limit_udp<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        name: &AppName,
        cgroup: &str,
        rate: Option<u64>,
    ) -> Value {
        match shared.device.limit_udp(cgroup, rate) {
            Ok(()) => {
                if let Some(net) = self.apps.get_mut(name) {
                    net.udp_limit_bytes_per_s = rate.unwrap_or(0);
                }
                let arrived = self.apps.get(name).map_or(0, |net| net.udp_arrived_bytes_per_s);
                json!({ "rate_bytes_per_s": rate, "arrived_bytes_per_s": arrived })
            }
            Err(e) => {
                // Nobody is limited now; that is tried again when somebody is next to be served.
                self.apps.values_mut().for_each(|net| net.udp_limit_bytes_per_s = 0);
                (self.state.udp_refused, self.state.udp_bytes_per_s) = (true, 0);
                if !std::mem::replace(&mut self.refusal_reported, true) {
                    say!("fovea: {e}: going on without");
                }
                json!({ "error": e.to_string() })
            }
        }
    }

    fn release<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, cgroup: &str) -> Value {
        let sockets = shared.undo.changed().windows.get(cgroup).cloned().unwrap_or_default();
        if let Err(e) = shared.device.release_windows(cgroup, &sockets) {
            // What stands in the log is tried again at the end.
            say!("fovea: {e}");
        } else if let Err(e) = shared.undo.windows_released(cgroup) {
            say!("fovea: writing the undo log: {e}");
        }
        if let Some(net) = self.apps.get_mut(name) {
            net.window_bytes = 0;
        }
        json!({ "connections": sockets.len() })
    }

    fn hold<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        name: &AppName,
        cgroup: &str,
        window_bytes: u64,
    ) -> Value {
        let EngineState { device, undo, .. } = shared;
        let mut claim = |sockets: &[fovea_linux::HeldSocket]| undo.windows(cgroup, sockets.to_vec());
        let window = u32::try_from(window_bytes).unwrap_or(u32::MAX >> 1);
        match device.hold_windows(cgroup, window, &mut claim) {
            Ok(outcome) => {
                // What was done is written down.
                debug_assert!(outcome.held == 0 || shared.undo.changed().windows.contains_key(cgroup));
                if let Some(net) = self.apps.get_mut(name) {
                    net.window_bytes = window_bytes;
                }
                json!({ "window_bytes": window_bytes, "connections": outcome.held, "missed": outcome.missed })
            }
            Err(e) => {
                if !e.is_put_off() {
                    say!("fovea: {e}");
                }
                json!({ "error": e.to_string() })
            }
        }
    }

    /// Where nobody looks, nothing is kept.
    fn rest<D: Device>(&mut self, shared: &mut EngineState<D>) {
        let is_free = |net: &AppNet| net.window_bytes == 0 && net.udp_limit_bytes_per_s == 0;
        if !self.wanted && self.state.looked_ns.is_some() && self.apps.values().all(is_free) {
            shared.device.forget_traffic();
            self.apps.clear();
            self.state = NetState { peak_bytes_per_s: self.state.peak_bytes_per_s, ..NetState::default() };
        }
    }

    fn look<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        let before_ns = self.state.looked_ns.replace(now_ns);
        self.state.none = !shared.device.has_network()?;
        if self.state.none {
            return Ok(());
        }
        shared.service_looks.matter = true;
        let apps: Vec<(AppName, String)> =
            shared.registry.iter().map(|app| (app.name.clone(), app.cgroup.clone())).collect();
        let cgroups: Vec<&str> = apps.iter().map(|(_, cgroup)| cgroup.as_str()).collect();
        let traffic = shared.device.traffic(&cgroups)?;
        traffic.complaints.iter().for_each(|what| say!("fovea: {what}"));
        let Some(period_ns) = before_ns.map(|before_ns| now_ns.saturating_sub(before_ns)) else { return Ok(()) };
        self.take(&apps, &traffic, period_ns.max(1), now_ns);
        let mut snapshot = shared.snapshot(now_ns);
        <Self as Mechanism<D>>::describe(self, &mut snapshot);
        match net::has_sensitive_traffic(&snapshot) {
            true => (self.state.sensitive_ns, self.state.idle_looks) = (Some(now_ns), 0),
            false => self.state.idle_looks = self.state.idle_looks.saturating_add(1),
        }
        self.tell_of_udp(shared, &snapshot, now_ns);
        Ok(())
    }

    fn take(&mut self, apps: &[(AppName, String)], traffic: &Traffic, period_ns: u64, now_ns: u64) {
        let rate = |bytes: u64| (u128::from(bytes) * 1_000_000_000 / u128::from(period_ns)) as u64;
        self.state.period_ns = period_ns;
        self.state.received_bytes_per_s = rate(traffic.received_bytes);
        if now_ns.saturating_sub(self.peak_since_ns) >= PEAK_NS {
            (self.peak_since_ns, self.peaks) = (now_ns, [0, self.peaks[0]]);
        }
        self.peaks[0] = self.peaks[0].max(self.state.received_bytes_per_s);
        self.state.peak_bytes_per_s = self.peaks[0].max(self.peaks[1]);
        let read = apps.iter().filter_map(|(name, cgroup)| {
            let measured: AppTraffic = *traffic.apps.get(cgroup)?;
            let net = AppNet {
                received_bytes_per_s: rate(measured.received_bytes),
                flows: measured.flows,
                active_flows: measured.active_flows,
                unheld_flows: measured.unheld_flows,
                rtt_us: measured.rtt_us,
                segment_bytes: measured.segment_bytes,
                udp_sockets: measured.udp_sockets,
                unconnected_udp_sockets: measured.unconnected_udp_sockets,
                udp_arrived_bytes_per_s: rate(measured.udp_arrived_bytes),
                udp_limit_bytes_per_s: self.udp_limit_of(name),
                window_bytes: self.window_of(name),
            };
            (net != AppNet::default()).then(|| (name.clone(), net))
        });
        self.apps = read.collect();
    }

    /// What cannot be held is said once of each app, for `fovea explain`.
    fn tell_of_udp<D: Device>(&mut self, shared: &mut EngineState<D>, snapshot: &Snapshot, now_ns: u64) {
        let is_bursty = |app: &&fovea_policy::AppState| app.io_class.class == fovea_apps::IoClass::Bursty;
        for app in snapshot.apps.iter().filter(is_bursty) {
            let sockets = app.net.map_or(0, |net| net.udp_sockets);
            if sockets > 0 && self.reported.insert(app.name.clone()) {
                shared.write(now_ns, "udp", Some(&app.name), None, json!({ "connected_sockets": sockets }));
            }
        }
    }
}

impl<D: Device> Mechanism<D> for Net {
    fn about(&self) -> About {
        const NEEDS: [Need; 2] = [
            Need::reported("sock-diag", "leaving the network to apps that must receive in time"),
            Need::shown("udp-limit", "limiting UDP of the others too ([net] limit_udp)"),
        ];
        About { name: "net", needs: &NEEDS }
    }

    fn on(&mut self, shared: &mut EngineState<D>, event: Event, now_ns: u64) {
        match event {
            Event::Gone(app) => {
                // Its processes have ended, its connections perhaps not: it may have handed one on.
                if self.window_of(&app.name) > 0 {
                    self.release(shared, &app.name, &app.cgroup);
                }
                if self.udp_limit_of(&app.name) > 0 {
                    self.limit_udp(shared, &app.name, &app.cgroup, None);
                }
                self.apps.remove(&app.name);
                self.reported.remove(&app.name);
            }
            Event::Undo(app) => {
                if self.window_of(&app.name) > 0 {
                    let outcome = self.release(shared, &app.name, &app.cgroup);
                    shared.write(now_ns, "release-window", Some(&app.name), None, outcome);
                }
                if self.udp_limit_of(&app.name) > 0 {
                    let outcome = self.limit_udp(shared, &app.name, &app.cgroup, None);
                    shared.write(now_ns, "release-udp", Some(&app.name), None, outcome);
                }
            }
            Event::Answered => {
                // Who matters has changed: it may be that somebody begins to receive.
                self.state.idle_looks = 0;
            }
            Event::Decided { snapshot, .. } => {
                self.state.window_bytes = net::window_bytes(snapshot, &shared.policy.net);
                self.state.udp_bytes_per_s = net::udp_bytes_per_s(snapshot, &shared.policy.net);
                self.state.period_ns = 0;
            }
            Event::TurnEnds(_) => {
                self.rest(shared);
            }
            _ => {}
        }
    }

    fn observe(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Result<(), Error> {
        let classes = shared.apps.values().map(|known| &known.io_class);
        self.wanted = net::is_wanted(classes, shared.attention.screen_on, &shared.policy.net);
        if !self.wanted {
            return Ok(());
        }
        let due_ns = net::look_ns(&self.state, &shared.policy.net);
        let least_ns = self.state.looked_ns.map_or(0, |looked_ns| looked_ns + PERIOD_LEAST_NS);
        if now_ns < due_ns.max(least_ns) {
            return Ok(());
        }
        // Memory must be looked after though the network cannot.
        if let Err(e) = self.look(shared, now_ns) {
            self.state.idle_looks = self.state.idle_looks.saturating_add(1);
            if !std::mem::replace(&mut self.unread, true) {
                say!("fovea: {e}: windows stay as they are meanwhile");
            }
        } else {
            self.unread = false;
        }
        Ok(())
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        snapshot.net = self.state;
        for app in &mut snapshot.apps {
            app.net = self.apps.get(&app.name).copied();
        }
    }

    /// Letting go cannot wait.
    fn at_once(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        net::release(snapshot, &config.net)
    }

    fn decide(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        net::decide(snapshot, &config.net)
    }

    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, _turn: &mut Turn) -> bool {
        let (Action::HoldWindow { app: name, .. }
        | Action::ReleaseWindow { app: name }
        | Action::LimitUdp { app: name, .. }
        | Action::ReleaseUdp { app: name }) = step.action
        else {
            return false;
        };
        let Some(cgroup) = shared.registry.get(name).map(|app| app.cgroup.clone()) else { return true };
        let outcome = match step.action {
            Action::HoldWindow { window_bytes, .. } => self.hold(shared, name, &cgroup, *window_bytes),
            // Asked of all of them at once: the first one's failure is the others' too.
            Action::LimitUdp { .. } if self.state.udp_refused => return true,
            Action::LimitUdp { rate_bytes_per_s, .. } => self.limit_udp(shared, name, &cgroup, Some(*rate_bytes_per_s)),
            Action::ReleaseUdp { .. } => self.limit_udp(shared, name, &cgroup, None),
            _ => self.release(shared, name, &cgroup),
        };
        shared.journal_step(step, outcome);
        true
    }

    fn report(&self, status: &mut Status, _now_ns: u64) {
        for app in &mut status.apps {
            app.receive_window_bytes = self.window_of(&app.name);
            app.udp_limit_bytes_per_s = self.udp_limit_of(&app.name);
        }
    }
}
