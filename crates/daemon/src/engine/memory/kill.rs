// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Ending apps: asked first where there is time, one victim at a time, another one if it was in vain.

use super::*;

impl<D: Device> Engine<D> {
    /// Asks a victim to end, or kills it. One that cannot be is left out of the next decision, which follows at once.
    pub(super) fn end(&mut self, step: Action, reason: Reason, snapshot: &Snapshot, turn: &mut Turn) {
        let now_ns = snapshot.now_ns;
        let app = step.app().clone();
        let done = match step {
            Action::Ask { .. } => self.ask(&app, reason, snapshot),
            _ => self.kill(&app, reason, snapshot, turn),
        };
        if let Err(e) = done {
            say!("fovea: killing {app}: {e}");
            self.write(now_ns, "kill-failed", Some(&app), Some(reason), json!({ "error": e.to_string() }));
            self.spare(&app, now_ns);
            turn.wake_at_ns = Some(now_ns);
        }
    }

    fn spare(&mut self, app: &AppName, now_ns: u64) {
        if let Some(runtime) = self.runtime.get_mut(app) {
            runtime.spared_until_ns = now_ns + SPARED_NS;
        }
    }

    /// How long a victim is waited for.
    pub(super) fn patience_ns(&self, victim: &Victim) -> u64 {
        match victim.asked {
            Some(_) => self.config.memory.kill_grace_ms * 1_000_000,
            None => VICTIM_PATIENCE_NS,
        }
    }

    /// Gives up a victim that was killed and lives on: it waits for a disk, or is somebody's who cannot be killed.
    pub(super) fn lose_patience(&mut self, now_ns: u64) {
        let over = |v: &&Victim| v.asked.is_none() && now_ns.saturating_sub(v.since_ns) > VICTIM_PATIENCE_NS;
        if let Some(app) = self.victim.as_ref().filter(over).map(|v| v.app.clone()) {
            self.victim = None;
            self.write(now_ns, "kill-in-vain", Some(&app), None, Value::Null);
            self.spare(&app, now_ns);
        }
    }

    /// The victim that was asked to end, if it must not be waited for any longer.
    pub(super) fn grace_is_over(&mut self, critical: bool, now_ns: u64) -> Option<(AppName, Reason)> {
        let victim = self.victim.as_ref()?;
        let over = critical || now_ns.saturating_sub(victim.since_ns) >= self.patience_ns(victim);
        let reason = victim.asked.filter(|_| over)?;
        self.victim.take().map(|victim| (victim.app, reason))
    }

    fn ask(&mut self, name: &AppName, reason: Reason, snapshot: &Snapshot) -> Result<(), Error> {
        // Frozen, it could not answer.
        self.thaw(name, Reason::Needed, snapshot.now_ns);
        let Some(app) = self.registry.get(name) else { return Ok(()) };
        let asked = self.device.terminate(&app.cgroup)?;
        let list = self.runtime.get(name).and_then(|r| r.listed.as_ref()).map(|listed| listed.to_string());
        self.journal.write(&Entry {
            t_ns: snapshot.now_ns,
            action: "ask",
            app: Some(name),
            reason: Some(reason),
            readings: Some(snapshot.memory),
            outcome: json!({ "asked": asked, "list": list }),
            ..Entry::default()
        });
        self.victim = Some(Victim {
            app: name.clone(),
            awaited: 0,
            since_ns: snapshot.now_ns,
            asked: Some(reason),
            all_held: false,
        });
        Ok(())
    }

    fn kill(&mut self, name: &AppName, reason: Reason, snapshot: &Snapshot, turn: &mut Turn) -> Result<(), Error> {
        let Some(app) = self.registry.get(name) else { return Ok(()) };
        let usage = self.runtime.get(name).map(|r| r.usage).unwrap_or_default();
        let list = self.runtime.get(name).and_then(|r| r.listed.as_ref()).map(|listed| listed.to_string());
        let killed = self.device.kill(&app.cgroup)?;
        self.kills += 1;
        turn.killed.push(Killed {
            app: name.clone(),
            uid: fovea_apps::owner_of_cgroup(&app.cgroup),
            reason,
            size_bytes: usage.anon_bytes.saturating_add(usage.swap_bytes),
        });
        self.syslog(&format!("killed {name} ({} MB): {}", usage.current_bytes >> 20, self.why(reason)));
        let outcome = json!({
            "importance": self.registry.importance(app),
            "list": list,
            "perceptible": self.runtime.get(name).and_then(|r| r.perceived),
            "usage": usage,
            // From the wake-up that led here to the last signal sent.
            "signal_after_ns": killed.signalled_ns.saturating_sub(snapshot.now_ns),
            "signalled": killed.signalled,
            "released": killed.released,
        });
        self.journal.write(&Entry {
            t_ns: snapshot.now_ns,
            action: "kill",
            app: Some(name),
            reason: Some(reason),
            readings: Some(snapshot.memory),
            outcome,
            ..Entry::default()
        });
        self.usage_read_ns = None;
        self.victim = Some(Victim {
            app: name.clone(),
            awaited: killed.pidfds.len(),
            all_held: killed.pidfds.len() == killed.signalled as usize,
            since_ns: snapshot.now_ns,
            asked: None,
        });
        // Without pidfds (before Linux 5.3) the end of its cgroup's last process is waited for.
        if killed.signalled == 0 {
            self.victim_done(snapshot.now_ns);
        }
        turn.awaited.extend(killed.pidfds);
        Ok(())
    }

    /// One of the processes of the last [`Turn::awaited`] has ended.
    pub fn victim_ended(&mut self, now_ns: u64) {
        let Some(victim) = &mut self.victim else { return };
        victim.awaited = victim.awaited.saturating_sub(1);
        // Of many processes only some are held; the end of the last is then told by its cgroup.
        if victim.awaited == 0 && victim.all_held {
            self.victim_done(now_ns);
        }
    }

    pub(super) fn victim_done(&mut self, now_ns: u64) {
        if let Some(victim) = self.victim.take() {
            let took_ns = now_ns - victim.since_ns;
            self.write(now_ns, "victim-gone", Some(&victim.app), None, json!({ "took_ns": took_ns }));
            self.ended(&victim.app, now_ns);
        }
    }

    /// To the system's log as well, where people look first when something has vanished from their screen.
    pub(super) fn syslog(&self, line: &str) {
        if let Some(syslog) = &self.syslog {
            syslog.warning(line);
        }
    }

    fn why(&self, reason: Reason) -> String {
        serde_json::to_value(reason).ok().and_then(|v| v.as_str().map(|s| s.replace('-', " "))).unwrap_or_default()
    }
}
