// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Acting: each action is named in the undo log before it is done where it can be undone, and in the journal after.

use super::*;

impl<D: Device> Engine<D> {
    /// Ranks anew after a change: remembers who went to the background when, and tells the kernel's OOM killer the order.
    pub(super) fn rank(&mut self, now_ns: u64) {
        for app in self.registry.iter() {
            let importance = self.registry.importance(app);
            let Some(runtime) = self.runtime.get_mut(&app.name) else { continue };
            let wanted = runtime.wanted_score(importance);
            if runtime.importance == Some(importance) && runtime.scored_as == Some(wanted) {
                continue;
            }
            let was_front = runtime.importance.is_none_or(|i| i <= Importance::Service);
            if was_front && importance > Importance::Service {
                runtime.background_since_ns = now_ns;
            }
            runtime.importance = Some(importance);
            runtime.scored_as = Some(wanted);
            // Nothing is done to it, and nothing is left to be undone.
            if runtime.standing() == Standing::Ignore && runtime.score_shift == 0 {
                continue;
            }
            if let Err(e) = rank_processes(&mut self.device, &mut self.undo, &app.cgroup, runtime, wanted) {
                say!("fovea: {e}");
            }
        }
    }

    pub(super) fn thaw(&mut self, name: &AppName, reason: Reason, now_ns: u64) {
        let (Some(app), Some(runtime)) = (self.registry.get(name), self.runtime.get_mut(name)) else { return };
        if !runtime.frozen {
            return;
        }
        match self.device.set_frozen(&app.cgroup, false) {
            Ok(()) => {
                runtime.frozen = false;
                if let Err(e) = self.undo.thawed(&app.cgroup) {
                    say!("fovea: writing the undo log: {e}");
                }
            }
            Err(e) => say!("fovea: {e}"),
        }
        self.write(now_ns, "thaw", Some(name), Some(reason), Value::Null);
    }

    pub(super) fn freeze(&mut self, name: &AppName, reason: Reason, now_ns: u64) {
        let (Some(app), Some(runtime)) = (self.registry.get(name), self.runtime.get_mut(name)) else { return };
        let done = self.undo.freezing(&app.cgroup).map_err(|e| e.to_string());
        match done.and_then(|()| self.device.set_frozen(&app.cgroup, true).map_err(|e| e.to_string())) {
            Ok(()) => runtime.frozen = true,
            Err(e) => {
                say!("fovea: freezing {name}: {e}");
                // Not again at every turn: after another debounce.
                runtime.background_since_ns = now_ns;
                return;
            }
        }
        self.write(now_ns, "freeze", Some(name), Some(reason), Value::Null);
    }

    /// Reads what was compressed of a focused app back, ahead of its touching it.
    pub(super) fn read_back(&mut self, now_ns: u64) {
        let Some(name) = self.prefetch.take() else { return };
        let pages = self.config.memory.prefetch_pages;
        if pages == 0 || self.config.memory.mode != fovea_policy::Mode::Full {
            return;
        }
        let (Some(app), Some(runtime)) = (self.registry.get(&name), self.runtime.get_mut(&name)) else { return };
        let resume_set = runtime.resume_set.take();
        // What a return touches is resident then, or nothing was ever compressed.
        let all_out = runtime.all_out;
        runtime.all_out = false;
        if resume_set.is_none() && !(all_out && self.cpus > 1) {
            return;
        }
        match self.device.prefetch(&app.cgroup, resume_set.as_deref(), pages) {
            Ok(0) => {}
            Ok(pages) => {
                let outcome = json!({ "pages": pages, "known": resume_set.is_some() });
                self.write(now_ns, "prefetch", Some(&name), Some(Reason::Needed), outcome);
            }
            Err(Error::Missing { .. }) => {}
            Err(e) => say!("fovea: reading {name} back: {e}"),
        }
    }

    /// One batch; says whether to look again at once.
    pub(super) fn compress(
        &mut self,
        name: &AppName,
        pages: u64,
        reason: Reason,
        snapshot: &Snapshot,
    ) -> Result<bool, Error> {
        if self.session.as_ref().is_some_and(|s| s.app != *name || s.reason != reason) {
            self.end_session(snapshot.now_ns);
        }
        let (Some(app), Some(runtime)) = (self.registry.get(name), self.runtime.get_mut(name)) else {
            return Ok(false);
        };
        let under = self.config.memory.compress_under_permille;
        if runtime.returned && runtime.resume_set.is_none() {
            match self.device.resident(&app.cgroup, RESUME_RANGES_MAX) {
                Ok(ranges) => runtime.resume_set = Some(ranges),
                Err(e) => say!("fovea: {e}"),
            }
        }
        let outcome = match self.device.compress(&app.cgroup, runtime.cursor, pages, under) {
            Ok(outcome) => outcome,
            Err(e) => {
                // Not again for this app until it was in front or has grown.
                runtime.compressed_at_bytes = Some(runtime.usage.anon_bytes);
                // What the kernel lacks has been said at the start, and is the same for every app.
                if !matches!(e, Error::Missing { .. }) {
                    say!("fovea: compressing {name}: {e}");
                }
                return Ok(false);
            }
        };
        runtime.usage.anon_bytes = runtime.usage.anon_bytes.saturating_sub(outcome.swapped_pages * PAGE_BYTES);
        runtime.usage.swap_bytes += outcome.swapped_pages * PAGE_BYTES;
        if outcome.swapped_pages > 0 {
            (runtime.was_compressed, runtime.returned, runtime.all_out) = (true, false, true);
        }
        match outcome.next {
            Some(cursor) => runtime.cursor = cursor,
            None => {
                runtime.cursor = CompressCursor::default();
                runtime.compressed_at_bytes = Some(runtime.usage.anon_bytes);
            }
        }
        self.compressed_pages += outcome.swapped_pages;
        let session = self.session.get_or_insert_with(|| Session {
            app: name.clone(),
            reason,
            readings: snapshot.memory,
            began_ns: snapshot.now_ns,
            swapped_pages: 0,
            scanned_pages: 0,
            incompressible_pages: 0,
        });
        session.swapped_pages += outcome.swapped_pages;
        session.scanned_pages += outcome.scanned_pages;
        session.incompressible_pages += outcome.incompressible_pages;
        Ok(true)
    }

    pub(super) fn end_session_of(&mut self, name: &AppName, now_ns: u64) {
        if self.session.as_ref().is_some_and(|s| s.app == *name) {
            self.end_session(now_ns);
        }
    }

    pub(super) fn end_session(&mut self, now_ns: u64) {
        let Some(session) = self.session.take() else { return };
        let outcome = json!({
            "began_ns": session.began_ns,
            "swapped_pages": session.swapped_pages,
            "scanned_pages": session.scanned_pages,
            "incompressible_pages": session.incompressible_pages,
        });
        self.journal.write(&Entry {
            t_ns: now_ns,
            action: "compress",
            app: Some(&session.app),
            reason: Some(session.reason),
            readings: Some(session.readings),
            outcome,
            ..Entry::default()
        });
    }
}

/// Tells the kernel's OOM killer how much an app matters. The scores there were go into the log before they are changed.
fn rank_processes<D: Device>(
    device: &mut D,
    undo: &mut UndoLog,
    cgroup: &str,
    runtime: &mut Runtime,
    wanted: i32,
) -> Result<(), Error> {
    let mut scores = device.scores(cgroup)?;
    for score in &mut scores {
        // Born since, it inherited what its parent had with what was added.
        let inherited = score.oom_score_adj - runtime.score_shift;
        score.oom_score_adj = undo.old_score(cgroup, score).unwrap_or(inherited);
    }
    if let Err(e) = undo.scores(cgroup, scores.clone()) {
        say!("fovea: writing the undo log: {e}: leaving {cgroup} as it is");
        return Ok(());
    }
    let shift = fovea_apps::score_shift(wanted, scores.iter().map(|score| score.oom_score_adj));
    scores.retain(|score| score.oom_score_adj >= 0);
    scores.iter_mut().for_each(|score| score.oom_score_adj += shift);
    runtime.score_shift = shift;
    device.set_scores(cgroup, &scores)
}
