// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Ending apps: asked first where there is time, one victim at a time, another one if it was in vain.

use fovea_apps::AppName;
use fovea_client::news::Killed;
use fovea_linux::{Device, Error};
use fovea_policy::{Action, Reason};
use serde_json::{json, Value};

use super::{Memory, Victim};
use crate::engine::house::House;
use crate::engine::mechanism::{Step, Turn};

/// A victim that has not ended by then is given up waiting for.
pub(super) const VICTIM_PATIENCE_NS: u64 = 2_000_000_000;

/// Time in which an app that could not be killed, or lived on, is not tried again.
const SPARED_NS: u64 = 30_000_000_000;

impl Memory {
    /// Asks a victim to end, or kills it. One that cannot be is left out of the next decision, which follows at once.
    pub(super) fn end<D: Device>(&mut self, house: &mut House<D>, app: &AppName, step: &Step, turn: &mut Turn) {
        let now_ns = step.snapshot.now_ns;
        // One that was asked, and is killed now.
        self.victim = None;
        let done = match step.action {
            Action::Ask { .. } => self.ask(house, app, step),
            _ => self.kill(house, app, step, turn),
        };
        if let Err(e) = done {
            say!("fovea: killing {app}: {e}");
            house.write(now_ns, "kill-failed", Some(app), Some(step.reason), json!({ "error": e.to_string() }));
            self.spare(app, now_ns);
            turn.wake_at_ns = Some(now_ns);
        }
    }

    fn spare(&mut self, app: &AppName, now_ns: u64) {
        if let Some(known) = self.apps.get_mut(app) {
            known.spared_until_ns = now_ns + SPARED_NS;
        }
    }

    /// Gives up a victim that was killed and lives on: it waits for a disk, or is somebody's who cannot be killed. One that was asked to
    /// end, and that its owner spares by now, is let off.
    pub(super) fn lose_patience<D: Device>(&mut self, house: &mut House<D>, now_ns: u64) {
        let Some(victim) = &self.victim else { return };
        let app = victim.app.clone();
        if victim.asked.is_some() {
            if house.apps.get(&app).is_some_and(|known| known.standing().is_spared()) {
                self.victim = None;
            }
        } else if now_ns.saturating_sub(victim.since_ns) > VICTIM_PATIENCE_NS {
            self.victim = None;
            house.write(now_ns, "kill-in-vain", Some(&app), None, Value::Null);
            self.spare(&app, now_ns);
        }
    }

    fn ask<D: Device>(&mut self, house: &mut House<D>, name: &AppName, step: &Step) -> Result<(), Error> {
        let Some(app) = house.registry.get(name) else { return Ok(()) };
        let asked = house.device.terminate(&app.cgroup)?;
        let list = house.apps.get(name).and_then(|known| known.listed.as_ref()).map(|listed| listed.to_string());
        house.journal_step(step, json!({ "asked": asked, "list": list }));
        self.victim = Some(Victim {
            app: name.clone(),
            awaited: 0,
            since_ns: step.snapshot.now_ns,
            asked: Some(step.reason),
            all_held: false,
        });
        Ok(())
    }

    fn kill<D: Device>(
        &mut self,
        house: &mut House<D>,
        name: &AppName,
        step: &Step,
        turn: &mut Turn,
    ) -> Result<(), Error> {
        let Some(app) = house.registry.get(name) else { return Ok(()) };
        let usage = self.apps.get(name).map(|known| known.usage).unwrap_or_default();
        let list = house.apps.get(name).and_then(|known| known.listed.as_ref()).map(|listed| listed.to_string());
        let killed = house.device.kill(&app.cgroup)?;
        self.kills += 1;
        turn.killed.push(Killed {
            app: name.clone(),
            uid: fovea_apps::owner_of_cgroup(&app.cgroup),
            reason: step.reason,
            size_bytes: usage.anon_bytes.saturating_add(usage.swap_bytes),
        });
        house.syslog(&format!("killed {name} ({} MB): {}", usage.current_bytes >> 20, why(step.reason)));
        let outcome = json!({
            "importance": house.registry.importance(app),
            "list": list,
            "perceptible": house.apps.get(name).and_then(|known| known.perceived),
            "usage": usage,
            // From the wake-up that led here to the last signal sent.
            "signal_after_ns": killed.signalled_ns.saturating_sub(step.snapshot.now_ns),
            "signalled": killed.signalled,
            "released": killed.released,
        });
        house.journal_step(step, outcome);
        self.usage_read_ns = None;
        self.victim = Some(Victim {
            app: name.clone(),
            awaited: killed.pidfds.len(),
            all_held: killed.pidfds.len() == killed.signalled as usize,
            since_ns: step.snapshot.now_ns,
            asked: None,
        });
        // Without pidfds (before Linux 5.3) the end of its cgroup's last process is waited for.
        if killed.signalled == 0 {
            turn.ended.extend(self.victim_done(house, step.snapshot.now_ns));
        }
        turn.awaited.extend(killed.pidfds);
        Ok(())
    }

    /// The victim's memory is back; says whose end that is.
    pub(super) fn victim_done<D: Device>(&mut self, house: &mut House<D>, now_ns: u64) -> Option<AppName> {
        let victim = self.victim.take()?;
        let took_ns = now_ns - victim.since_ns;
        house.write(now_ns, "victim-gone", Some(&victim.app), None, json!({ "took_ns": took_ns }));
        Some(victim.app)
    }
}

fn why(reason: Reason) -> String {
    serde_json::to_value(reason).ok().and_then(|v| v.as_str().map(|s| s.replace('-', " "))).unwrap_or_default()
}
