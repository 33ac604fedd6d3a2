// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Rank: the kernel's OOM killer is told how much each app matters.

use std::collections::BTreeMap;

use fovea_apps::{App, AppName};
use fovea_linux::{Device, Error};
use fovea_policy::{rank, Action, Config, Decision, Snapshot};
use serde_json::json;

use super::house::House;
use super::mechanism::{Mechanism, Need, Step, Turn};

/// What an app's processes' scores are by, and what was added to them for it.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    ranked: Option<i32>,
    shift: i32,
}

#[derive(Debug, Default)]
pub(super) struct Rank {
    scores: BTreeMap<AppName, Score>,
}

impl<D: Device> Mechanism<D> for Rank {
    fn name(&self) -> &'static str {
        "rank"
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn came(&mut self, app: &AppName, _now_ns: u64) {
        self.scores.insert(app.clone(), Score::default());
    }

    fn gone(&mut self, _house: &mut House<D>, app: &App, _now_ns: u64) {
        self.scores.remove(&app.name);
    }

    fn describe(&self, snapshot: &mut Snapshot) {
        for app in &mut snapshot.apps {
            app.ranked = self.scores.get(&app.name).and_then(|score| score.ranked);
        }
    }

    fn at_once(&self, snapshot: &Snapshot, _config: &Config) -> Decision {
        rank::decide(snapshot)
    }

    fn perform(&mut self, house: &mut House<D>, step: &Step, _turn: &mut Turn) -> bool {
        let Action::Rank { app: name, oom_score_adj } = step.action else { return false };
        let Some(cgroup) = house.registry.get(name).map(|app| app.cgroup.clone()) else { return true };
        let score = self.scores.entry(name.clone()).or_default();
        // Whatever comes of it, it is not tried again before something changes.
        score.ranked = Some(*oom_score_adj);
        match rank_processes(house, &cgroup, score.shift, *oom_score_adj) {
            Ok(Some(shift)) => {
                score.shift = shift;
                house.journal_step(step, json!({ "oom_score_adj": oom_score_adj }));
            }
            // Nothing was changed that could not have been put back, and nothing is written down that was not done.
            Ok(None) => {}
            Err(e) => say!("fovea: {e}"),
        }
        true
    }
}

/// Tells the kernel's OOM killer how much an app matters; what was added to its processes' scores. The scores there were go into the log
/// before they are changed.
fn rank_processes<D: Device>(
    house: &mut House<D>,
    cgroup: &str,
    old_shift: i32,
    wanted: i32,
) -> Result<Option<i32>, Error> {
    let mut scores = house.device.scores(cgroup)?;
    for score in &mut scores {
        // Born since, it inherited what its parent had with what was added.
        let inherited = score.oom_score_adj - old_shift;
        score.oom_score_adj = house.undo.old_score(cgroup, score).unwrap_or(inherited);
    }
    if let Err(e) = house.undo.scores(cgroup, scores.clone()) {
        say!("fovea: writing the undo log: {e}: leaving {cgroup} as it is");
        return Ok(None);
    }
    let shift = fovea_apps::score_shift(wanted, scores.iter().map(|score| score.oom_score_adj));
    scores.retain(|score| score.oom_score_adj >= 0);
    scores.iter_mut().for_each(|score| score.oom_score_adj += shift);
    house.device.set_scores(cgroup, &scores)?;
    Ok(Some(shift))
}
