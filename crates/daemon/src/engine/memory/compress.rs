// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Compressing an app, one batch a turn; a run of batches is one line of the journal.

use fovea_apps::{AppName, PAGE_BYTES};
use fovea_linux::{CompressCursor, Device, Error};
use fovea_policy::memory::{comes_back, may_read_back};
use serde_json::json;

use super::{Memory, Session};
use crate::engine::engine_state::EngineState;
use crate::engine::step::Step;
use crate::journal::Entry;

/// Ranges remembered of what an app's return touched.
const RESUME_RANGES_MAX: usize = 512;

impl Memory {
    /// One batch; says whether to look again at once.
    pub(super) fn compress<D: Device>(
        &mut self,
        shared: &mut EngineState<D>,
        name: &AppName,
        pages: u64,
        step: &Step,
    ) -> bool {
        if self.session.as_ref().is_some_and(|s| s.app != *name || s.reason != step.reason) {
            self.end_session(shared, step.snapshot.now_ns);
        }
        let (Some(app), Some(known)) = (shared.registry.get(name), self.apps.get_mut(name)) else {
            return false;
        };
        let under = shared.config.memory.compress_under_permille;
        let is_of_use = may_read_back(step.snapshot, &shared.policy.memory);
        if is_of_use && known.returned && known.looked_through && known.resume_set.is_none() {
            match shared.device.resident(&app.cgroup, RESUME_RANGES_MAX) {
                Ok(ranges) => known.resume_set = Some(ranges),
                Err(e) if e.is_put_off() => (),
                Err(e) => say!("fovea: {e}"),
            }
        }
        let outcome = match shared.device.compress(&app.cgroup, known.cursor, pages, under) {
            Ok(outcome) => outcome,
            Err(e) => {
                // Not again for this app until it was in front or has grown.
                known.exhausted_at_bytes = Some(known.usage.anon_bytes);
                // What the kernel lacks has been said at the start, and is the same for every app.
                if !matches!(e, Error::Missing { .. }) && !e.is_put_off() {
                    say!("fovea: compressing {name}: {e}");
                }
                return false;
            }
        };
        known.usage.anon_bytes = known.usage.anon_bytes.saturating_sub(outcome.swapped_pages * PAGE_BYTES);
        known.usage.swap_bytes += outcome.swapped_pages * PAGE_BYTES;
        // What leaves for swap leaves its charge: that is known, and need not be read again.
        known.sized.iter_mut().for_each(|(_, bytes)| *bytes = bytes.saturating_sub(outcome.swapped_pages * PAGE_BYTES));
        if outcome.swapped_pages > 0 {
            // Of what its return touched the rest still is.
            let of_return = step.snapshot.apps.iter().any(|a| a.name == *name && comes_back(a, &shared.policy.memory));
            (known.was_compressed, known.all_out) = (true, true);
            known.returned &= of_return;
        }
        match outcome.next {
            Some(cursor) => known.cursor = cursor,
            None => {
                known.cursor = CompressCursor::default();
                known.looked_through = true;
                known.exhausted_at_bytes = Some(known.usage.anon_bytes);
            }
        }
        self.compressed_pages += outcome.swapped_pages;
        let session = self.session.get_or_insert_with(|| Session {
            app: name.clone(),
            action: step.action.clone(),
            reason: step.reason,
            snapshot: step.snapshot.clone(),
            swapped_pages: 0,
            scanned_pages: 0,
            incompressible_pages: 0,
        });
        session.swapped_pages += outcome.swapped_pages;
        session.scanned_pages += outcome.scanned_pages;
        session.incompressible_pages += outcome.incompressible_pages;
        true
    }

    pub(super) fn end_session<D: Device>(&mut self, shared: &mut EngineState<D>, now_ns: u64) {
        let Some(session) = self.session.take() else { return };
        let outcome = json!({
            "began_ns": session.snapshot.now_ns,
            "swapped_pages": session.swapped_pages,
            "scanned_pages": session.scanned_pages,
            "incompressible_pages": session.incompressible_pages,
        });
        shared.journal.write(&Entry {
            t_ns: now_ns,
            action: session.action.name(),
            app: Some(&session.app),
            uid: shared.uid_of(&session.app),
            reason: Some(session.reason),
            snapshot: Some(&session.snapshot),
            outcome,
            ..Entry::default()
        });
    }
}
