// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The freezer: apps in the background stop running, where their owner wants it.

use std::collections::BTreeSet;

use fovea_apps::AppName;
use fovea_client::Status;
use fovea_linux::Device;
use fovea_policy::{freeze, Action, Config, Decision, Snapshot};
use serde_json::Value;

use super::engine_state::EngineState;
use super::mechanism::{About, Event, Mechanism, Need, Turn};
use super::step::Step;

#[derive(Debug, Default)]
pub(super) struct Freeze {
    frozen: BTreeSet<AppName>,
}

impl Freeze {
    fn thaw<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, cgroup: &str) {
        match shared.device.set_frozen(cgroup, false) {
            Ok(()) => {
                self.frozen.remove(name);
                if let Err(e) = shared.undo.thawed(cgroup) {
                    say!("fovea: writing the undo log: {e}");
                }
            }
            Err(e) => say!("fovea: {e}"),
        }
    }

    fn freeze<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, cgroup: &str, now_ns: u64) -> bool {
        let named = shared.undo.freezing(cgroup).map_err(|e| e.to_string());
        match named.and_then(|()| shared.device.set_frozen(cgroup, true).map_err(|e| e.to_string())) {
            Ok(()) => {
                // What was done is written down.
                debug_assert!(shared.undo.changed().frozen.contains(cgroup));
                self.frozen.insert(name.clone())
            }
            Err(e) => {
                say!("fovea: freezing {name}: {e}");
                // Not again at every turn: after another debounce.
                shared.known(name, |known| known.background_since_ns = now_ns);
                false
            }
        }
    }
}

impl<D: Device> Mechanism<D> for Freeze {
    fn about(&self) -> About {
        const NEEDS: [Need; 1] = [Need::reported("freezer", "stopping background apps")];
        About { name: "freeze", needs: &NEEDS }
    }

    fn on(&mut self, shared: &mut EngineState<D>, event: Event, now_ns: u64) {
        match event {
            Event::Gone(app) => {
                // Killed while it was frozen, it leaves a cgroup in which nothing that comes next could run.
                let was_frozen = self.frozen.remove(&app.name);
                if was_frozen {
                    shared.device.set_frozen(&app.cgroup, false).unwrap_or_else(|e| say!("fovea: {e}"));
                }
            }
            Event::Undo(app) if self.frozen.contains(&app.name) => {
                self.thaw(shared, &app.name, &app.cgroup);
                // Nobody's decision, and so without a reason: a replay would look for what it depended on.
                shared.write(now_ns, "thaw", Some(&app.name), None, Value::Null);
            }
            _ => {}
        }
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        for app in &mut snapshot.apps {
            app.frozen = self.frozen.contains(&app.name);
        }
    }

    /// Thawing cannot wait; freezing can, until what may forbid it has been looked at.
    fn at_once(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        let mut decision = freeze::decide(snapshot, &config.freeze);
        decision.actions.retain(|(action, _)| matches!(action, Action::Thaw { .. }));
        decision
    }

    fn decide(&self, snapshot: &Snapshot, config: &Config) -> Decision {
        freeze::decide(snapshot, &config.freeze)
    }

    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, _turn: &mut Turn) -> bool {
        let (Action::Freeze { app: name } | Action::Thaw { app: name }) = step.action else { return false };
        let Some(cgroup) = shared.registry.get(name).map(|app| app.cgroup.clone()) else { return true };
        match step.action {
            Action::Thaw { .. } if self.frozen.contains(name) => self.thaw(shared, name, &cgroup),
            Action::Freeze { .. } if self.freeze(shared, name, &cgroup, step.snapshot.now_ns) => {}
            _ => return true,
        }
        shared.journal_step(step, Value::Null);
        true
    }

    fn report(&self, status: &mut Status, _now_ns: u64) {
        for app in &mut status.apps {
            app.frozen = self.frozen.contains(&app.name);
        }
    }
}
