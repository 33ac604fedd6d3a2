// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Rank: the kernel's OOM killer is told how much each app matters.

use std::collections::BTreeMap;

use fovea_apps::AppName;
use fovea_linux::Device;
use fovea_policy::{rank, Action, Config, Decision, Snapshot};
use serde_json::json;

use super::engine_state::EngineState;
use super::mechanism::{About, Event, Mechanism, Turn};
use super::step::Step;

/// Time after which processes that were too young to be ranked, or could not be, are tried again.
const AGAIN_NS: u64 = 1_000_000_000;

/// What an app's processes' scores are by.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    ranked: Option<i32>,
    /// Some were too young, or could not be ranked: all are ranked anew at the first change from then on.
    again_ns: Option<u64>,
    /// Some could not be ranked the last time, which was said.
    failed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Rank {
    scores: BTreeMap<AppName, Score>,
}

impl<D: Device> Mechanism<D> for Rank {
    fn about(&self) -> About {
        About { name: "rank", needs: &[] }
    }

    fn on(&mut self, _shared: &mut EngineState<D>, event: Event, _now_ns: u64) {
        match event {
            Event::Came(app) => {
                self.scores.insert(app.clone(), Score::default());
            }
            Event::Gone(app) => {
                self.scores.remove(&app.name);
            }
            _ => {}
        }
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        for app in &mut snapshot.apps {
            let score = self.scores.get(&app.name).copied().unwrap_or_default();
            let is_due = score.again_ns.is_some_and(|again_ns| again_ns <= snapshot.now_ns);
            app.ranked = score.ranked.filter(|_| !is_due);
        }
    }

    fn at_once(&self, snapshot: &Snapshot, _config: &Config) -> Decision {
        rank::decide(snapshot)
    }

    fn perform(&mut self, shared: &mut EngineState<D>, step: &Step, _turn: &mut Turn) -> bool {
        let Action::Rank { app: name, oom_score_adj } = step.action else { return false };
        let Some(cgroup) = shared.registry.get(name).map(|app| app.cgroup.clone()) else { return true };
        let score = self.scores.entry(name.clone()).or_default();
        // Whatever comes of it, it is not tried again before something changes.
        score.ranked = Some(*oom_score_adj);
        // A score of the background that stays on an app in front has the kernel end that, for somebody else's leak.
        score.again_ns = Some(step.snapshot.now_ns + AGAIN_NS);
        match shared.device.rank(&cgroup, *oom_score_adj, &mut shared.undo) {
            Ok(ranked) => {
                score.failed = false;
                score.again_ns = (ranked.young > 0).then_some(step.snapshot.now_ns + AGAIN_NS);
                shared.journal_step(step, json!({ "oom_score_adj": oom_score_adj, "changed": ranked.changed }));
            }
            Err(e) => {
                if !std::mem::replace(&mut score.failed, true) && !e.is_put_off() {
                    say!("fovea: ranking {name} for the kernel's OOM killer: {e}");
                }
            }
        }
        true
    }
}
