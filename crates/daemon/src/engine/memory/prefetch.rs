// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Reading back what was compressed of an app that has come to the screen, ahead of its touching it.

use fovea_apps::AppName;
use fovea_linux::{Device, Error, PageRange};
use fovea_policy::{Action, Snapshot};
use serde_json::json;

use super::Memory;
use crate::engine::engine_state::EngineState;
use crate::engine::step::Step;

/// What was decided, and is done once whoever told of the app has its answer.
#[derive(Debug)]
pub(super) struct Due {
    action: Action,
    reason: fovea_policy::Reason,
    snapshot: Snapshot,
    app: AppName,
    pages: u64,
    ranges: Option<Vec<PageRange>>,
}

impl Memory {
    pub(super) fn prefetch_later(&mut self, app: &AppName, pages: u64, step: &Step) {
        self.prefetch = Some(Due {
            action: step.action.clone(),
            reason: step.reason,
            snapshot: step.snapshot.clone(),
            app: app.clone(),
            pages,
            ranges: self.apps.get_mut(app).and_then(|known| known.resume_set.take()),
        });
    }

    pub(super) fn read_back<D: Device>(&mut self, shared: &mut EngineState<D>) {
        let Some(due) = self.prefetch.take() else { return };
        let Some(cgroup) = shared.registry.get(&due.app).map(|app| app.cgroup.clone()) else { return };
        match shared.device.prefetch(&cgroup, due.ranges.as_deref(), due.pages) {
            Ok(0) => {}
            Ok(pages) => {
                let step = Step { action: &due.action, reason: due.reason, snapshot: &due.snapshot };
                shared.journal_step(&step, json!({ "pages": pages, "known": due.ranges.is_some() }));
            }
            Err(Error::Missing { .. } | Error::PutOff { .. }) => {}
            Err(e) => say!("fovea: reading {} back: {e}", due.app),
        }
    }
}
