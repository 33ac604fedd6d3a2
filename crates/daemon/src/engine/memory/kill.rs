// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Ending apps, or parts of them: asked first where there is time, one victim at a time, another one if it was in vain.

use fovea_apps::{AppName, AppUsage, Kind};
use fovea_client::news::{Killed, News};
use fovea_linux::{Device, Error, MarkTable};
use fovea_policy::memory::{extent, Extent, Need, Part};
use fovea_policy::{Action, Reason};
use serde_json::{json, Value};

use super::{Memory, Victim};
use crate::config::Config;
use crate::engine::engine_state::EngineState;
use crate::engine::mechanism::Turn;
use crate::engine::step::Step;

/// A victim that has not ended by then is given up waiting for.
const VICTIM_PATIENCE_NS: u64 = 2_000_000_000;

/// Time in which an app that could not be killed, or lived on, is not tried again.
const KILL_FAILED_NS: u64 = 30_000_000_000;

/// An app that within this time holds again what it held before a part of it died may start such parts anew.
const PARTS_NS: u64 = 30_000_000_000;

/// What starts them anew does so within this time of the part's kill. A user who enters the command again takes longer.
const AT_ONCE_NS: u64 = 2_000_000_000;

impl Memory {
    /// Asks a victim to end, or kills it. One that cannot be is left out of the next decision, which follows at once.
    pub(super) fn end<D: Device>(&mut self, shared: &mut EngineState<D>, app: &AppName, step: &Step, turn: &mut Turn) {
        let now_ns = step.snapshot.now_ns;
        // One that was asked, and is killed now.
        let asked = self.victim.take().filter(|victim| victim.app == *app && victim.asked.is_some());
        let extent = match asked {
            Some(asked) => asked.part.map_or(Extent::Whole, Extent::Part),
            None => match self.extent(shared, app, step) {
                Some(extent) => extent,
                // Another look follows.
                None => return,
            },
        };
        let part = match extent {
            Extent::Whole => None,
            Extent::Part(part) => Some(part),
            Extent::Nobody => {
                let error = "it may not die whole, and no process of it stands out";
                shared.write(now_ns, "kill-failed", Some(app), Some(step.reason), json!({ "error": error }));
                self.spare(app, now_ns);
                turn.wake_at_ns = Some(now_ns);
                return;
            }
        };
        let done = match step.action {
            Action::Ask { .. } => self.ask(shared, app, part, step, turn),
            _ => self.kill(shared, app, part, step, turn),
        };
        if step.reason == Reason::Runaway {
            if let Some(known) = shared.apps.get_mut(app) {
                known.runaway_ns = Some(now_ns);
            }
        }
        if let Err(e) = done {
            say!("fovea: killing {app}: {e}");
            shared.write(now_ns, "kill-failed", Some(app), Some(step.reason), json!({ "error": e.to_string() }));
            self.spare(app, now_ns);
            turn.wake_at_ns = Some(now_ns);
        }
    }

    fn spare(&mut self, app: &AppName, now_ns: u64) {
        if let Some(known) = self.apps.get_mut(app) {
            known.kill_failed_until_ns = now_ns + KILL_FAILED_NS;
        }
    }

    /// Gives up a victim that was killed and lives on: it waits for a disk, or is somebody's who cannot be killed. One that was asked to
    /// end, and that its owner spares by now, is let off.
    pub(super) fn lose_patience<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        let Some(victim) = &self.victim else { return };
        let app = victim.app.clone();
        if victim.asked.is_some() {
            if shared.apps.get(&app).is_some_and(|known| known.standing().is_spared()) {
                self.victim = None;
            }
        } else if now_ns.saturating_sub(victim.since_ns) > patience_ns(victim, &shared.config) {
            let was_part = victim.part.is_some();
            self.victim = None;
            if shared.config.daemon.act {
                shared.write(now_ns, "kill-in-vain", Some(&app), None, Value::Null);
            }
            match self.apps.get_mut(&app).filter(|_| was_part) {
                Some(known) => known.whole_until_ns = now_ns + KILL_FAILED_NS,
                None => self.spare(&app, now_ns),
            }
        }
    }

    fn ask<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        name: &AppName,
        part: Option<Part>,
        step: &Step,
        turn: &mut Turn,
    ) -> Result<(), Error> {
        let Some(app) = shared.registry.get(name) else { return Ok(()) };
        let (cgroup, list) = (app.cgroup.clone(), list_of(shared, name));
        let mut victim = Victim {
            app: name.clone(),
            part: None,
            awaited: 0,
            since_ns: step.snapshot.now_ns,
            asked: Some(step.reason),
            all_held: false,
        };
        let mut process = Value::Null;
        let mut size_bytes = self.apps.get(name).map_or(0, |known| held_bytes(&known.usage));
        let asked = match part {
            Some(part) => {
                process = describe(shared, &part);
                size_bytes = part.bytes;
                let asked = shared.device.terminate_part(&cgroup, &part.processes)?;
                (victim.awaited, victim.all_held) = (asked.pidfds.len(), asked.is_all_held());
                turn.awaited.extend(asked.pidfds);
                victim.part = Some(part);
                asked.signalled
            }
            None => shared.device.terminate(&cgroup)?,
        };
        if shared.config.daemon.act {
            let process = process["name"].as_str().map(str::to_owned);
            turn.news.push(News::AboutToKill(whom_of(name, &cgroup, step.reason, process, size_bytes)));
        }
        shared.journal_step(step, json!({ "asked": asked, "list": list, "process": process }));
        self.victim = Some(victim);
        Ok(())
    }

    fn kill<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        name: &AppName,
        part: Option<Part>,
        step: &Step,
        turn: &mut Turn,
    ) -> Result<(), Error> {
        let Some(app) = shared.registry.get(name) else { return Ok(()) };
        let (cgroup, importance) = (app.cgroup.clone(), shared.registry.importance(app));
        let may_die_whole = app.kind != Kind::Login;
        let list = list_of(shared, name);
        // Read before the kill: afterwards only what is left is to be seen.
        let known = self.apps.get(name).map(|known| known.usage);
        let usage = shared.device.usage(&cgroup).or_else(|e| known.ok_or(e))?;
        let process = part.as_ref().map_or(Value::Null, |part| describe(shared, part));
        let (killed, size_bytes) = match &part {
            Some(part) => match shared.device.kill_part(&cgroup, &part.processes) {
                // Its processes hold up whoever looks into them: it must not be spared for that, and others die.
                Err(e) if e.is_put_off() && may_die_whole => (shared.device.kill(&cgroup)?, held_bytes(&usage)),
                killed => (killed?, part.bytes),
            },
            None => (shared.device.kill(&cgroup)?, held_bytes(&usage)),
        };
        self.kills += 1;
        let now_ns = step.snapshot.now_ns;
        if let Some(known) = self.apps.get_mut(name) {
            known.parted = part.is_some().then(|| (now_ns, held_bytes(&usage)));
        }
        let process_name = process["name"].as_str().map(str::to_owned);
        let whom = process_name.as_ref().map_or_else(|| name.to_string(), |process| format!("{process} of {name}"));
        let acts = shared.config.daemon.act;
        let done = if acts { "killed" } else { "would have killed" };
        shared.syslog(&format!("{done} {whom} ({} MiB): {}", size_bytes >> 20, why(step.reason)));
        if acts {
            turn.news.push(News::Killed(whom_of(name, &cgroup, step.reason, process_name, size_bytes)));
        }
        let outcome = json!({
            "importance": importance,
            "list": list,
            "perceptible": shared.apps.get(name).and_then(|known| known.perceived),
            "process": process,
            "size_bytes": size_bytes,
            "usage": usage,
            // From the wake-up that led here to the last signal sent.
            "signal_after_ns": killed.signalled_ns.saturating_sub(now_ns),
            "signalled": killed.signalled,
            "released": killed.released,
        });
        shared.journal_step(step, outcome);
        self.usage_read_ns = None;
        self.victim = Some(Victim {
            app: name.clone(),
            part,
            awaited: killed.pidfds.len(),
            all_held: killed.is_all_held(),
            since_ns: now_ns,
            asked: None,
        });
        // Without pidfds (before Linux 5.3) the end of its cgroup's last process is waited for.
        if killed.signalled == 0 {
            turn.ended.extend(self.victim_done(shared, now_ns));
        }
        turn.awaited.extend(killed.pidfds);
        Ok(())
    }

    /// What of an app dies for it. All of it where it has one process, where a part that was killed lives on, or where what a
    /// part gave was taken again at once by a process that began since: then there is a parent that starts them anew. A login's
    /// scope never dies whole. `None` where its processes could not be read now and may be read in a moment.
    fn extent<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, step: &Step) -> Option<Extent> {
        let (Some(app), Some(known)) = (shared.registry.get(name), self.apps.get(name)) else {
            return Some(Extent::Whole);
        };
        let now_ns = step.snapshot.now_ns;
        let may_die_whole = app.kind != Kind::Login;
        let comes_again = known.parted.filter(|&(then_ns, then_bytes)| {
            now_ns.saturating_sub(then_ns) < PARTS_NS && held_bytes(&known.usage) >= then_bytes
        });
        let is_enough = known.usage.processes >= 2 && now_ns >= known.whole_until_ns;
        if may_die_whole && !is_enough {
            return Some(Extent::Whole);
        }
        let mut processes = match shared.device.holders(&app.cgroup) {
            Ok(processes) => {
                self.unread = None;
                processes
            }
            Err(_) if may_wait_for_a_reading(&mut self.unread, name, now_ns) => return None,
            Err(_) => Vec::new(),
        };
        // By what the app says of its processes, not by what we do: one that was too young to be marked stands as it was.
        for process in &mut processes {
            process.oom_score_adj = shared.undo.marks().own_score(process.oom_score_adj);
        }
        let need = Need::new(step.snapshot, &shared.policy.memory);
        let found = extent(&processes, &known.baseline, need.least_bytes, may_die_whole);
        let root_is_new = |part: &Part, then_ns: u64| {
            let at_once = then_ns..then_ns + AT_ONCE_NS;
            processes.iter().any(|process| process.id == part.root && at_once.contains(&process.started_ns))
        };
        Some(match (found, comes_again) {
            (Extent::Part(part), Some((then_ns, _))) if may_die_whole && root_is_new(&part, then_ns) => Extent::Whole,
            (found, _) => found,
        })
    }

    /// An app that was asked to end has left its cgroup empty: those of its processes that only
    /// moved elsewhere are killed, for their memory is not back. Says whether there are any.
    pub(super) fn kill_left<D: Device>(&mut self, shared: &mut EngineState<D>, name: &AppName, now_ns: u64) -> bool {
        if self.victim.as_ref().is_none_or(|victim| victim.asked.is_none()) {
            return false;
        }
        let Some(app) = shared.registry.get(name) else { return false };
        let killed = match shared.device.kill_left(&app.cgroup) {
            Ok(killed) => killed,
            Err(e) => {
                say!("fovea: killing what {name} left elsewhere: {e}");
                return false;
            }
        };
        if killed.signalled == 0 {
            return false;
        }
        shared.write(now_ns, "kill-left", Some(name), None, json!({ "signalled": killed.signalled }));
        self.victim = Some(Victim {
            app: name.clone(),
            part: None,
            awaited: killed.pidfds.len(),
            all_held: true,
            since_ns: now_ns,
            asked: None,
        });
        self.left = killed.pidfds;
        true
    }

    /// The victim's memory is back; says whose end that is.
    pub(super) fn victim_done<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) -> Option<AppName> {
        let victim = self.victim.take()?;
        let took_ns = now_ns - victim.since_ns;
        shared.write(now_ns, "victim-gone", Some(&victim.app), None, json!({ "took_ns": took_ns }));
        // Of one of which a part has died the rest lives on.
        victim.part.is_none().then_some(victim.app)
    }
}

/// Whether an app whose processes could not be read is read again before it dies: while everybody waits for memory, so does whoever
/// reads. One that cannot be read for as long as a victim is waited for holds up whoever looks, and is not spared for that.
fn may_wait_for_a_reading(unread: &mut Option<(AppName, u64)>, name: &AppName, now_ns: u64) -> bool {
    let known = unread.take().filter(|(of, since_ns)| of == name && now_ns.saturating_sub(*since_ns) < PARTS_NS);
    let (_, since_ns) = unread.insert(known.unwrap_or_else(|| (name.clone(), now_ns)));
    now_ns.saturating_sub(*since_ns) < VICTIM_PATIENCE_NS
}

/// How long a victim is waited for. What is decided where nothing is done gives no memory back, so the next decision waits for as long as one that
/// failed does: else it would name every app in turn, of which it would have killed one.
pub(super) fn patience_ns(victim: &Victim, config: &Config) -> u64 {
    match victim.asked {
        Some(_) => config.memory.kill_grace_ms * 1_000_000,
        None if config.daemon.act => VICTIM_PATIENCE_NS,
        None => KILL_FAILED_NS,
    }
}

/// What an app held, in swap too: the same number wherever its end is told.
pub(super) fn held_bytes(usage: &AppUsage) -> u64 {
    usage.taken_bytes()
}

/// Who is killed, for those who are told.
fn whom_of(app: &AppName, cgroup: &str, reason: Reason, process: Option<String>, size_bytes: u64) -> Killed {
    let unit = cgroup.rsplit('/').next().unwrap_or_default().to_owned();
    Killed { app: app.clone(), unit, uid: fovea_apps::owner_of_cgroup(cgroup), reason, process, size_bytes }
}

fn list_of<D: Device>(shared: &EngineState<D>, name: &AppName) -> Option<String> {
    shared.apps.get(name).and_then(|known| known.listed.as_ref()).map(|listed| listed.to_string())
}

fn describe<D: Device>(shared: &mut EngineState<D>, part: &Part) -> Value {
    json!({
        "name": shared.device.process_name(part.root),
        "pid": part.root.pid,
        "processes": part.processes.len(),
        "bytes": part.bytes,
    })
}

fn why(reason: Reason) -> String {
    serde_json::to_value(reason).ok().and_then(|v| v.as_str().map(|s| s.replace('-', " "))).unwrap_or_default()
}
