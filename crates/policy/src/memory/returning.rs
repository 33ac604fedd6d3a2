// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What is read back of an app that has come to the screen, ahead of its touching it.

use super::{MemoryConfig, Mode};
use crate::{Action, Decision, Reason, Snapshot};

/// What its last return touched, if that is known: it is what this one will touch. If not, but all of it was compressed, the beginning of
/// its main heap. Either where another CPU can do it while the app runs: on one the app would wait for it, also for pages that it does not
/// need, and for those that had to make room for them.
pub fn read_back(snapshot: &Snapshot, config: &MemoryConfig) -> Decision {
    let mut decision = Decision::default();
    let pages = config.prefetch_pages;
    if !may_read_back(snapshot, config) {
        return decision;
    }
    for app in snapshot.apps.iter().filter(|app| app.returning) {
        if app.resume_known || app.all_out {
            decision.push(Action::Prefetch { app: app.name.clone(), pages }, Reason::Needed);
        }
    }
    decision
}

/// Whether anything is ever read back here, and what returns touch is worth remembering.
pub fn may_read_back(snapshot: &Snapshot, config: &MemoryConfig) -> bool {
    config.prefetch_pages > 0 && config.mode == Mode::Full && snapshot.cpus > 1
}

#[cfg(test)]
mod tests {
    use fovea_apps::Importance;

    use super::*;
    use crate::AppState;

    #[test]
    fn only_what_will_be_touched_is_read_back() {
        let reads = |cpus, app, config: &MemoryConfig| {
            let snapshot = Snapshot { cpus, apps: vec![app], ..Snapshot::default() };
            !read_back(&snapshot, config).actions.is_empty()
        };
        let mail = || AppState { returning: true, ..AppState::new("mail".parse().unwrap(), Importance::Foreground) };
        let full = MemoryConfig::default();
        assert!(!reads(4, mail(), &full), "it is all there");
        assert!(reads(2, AppState { resume_known: true, ..mail() }, &full));
        for known in [true, false] {
            assert!(!reads(1, AppState { resume_known: known, all_out: true, ..mail() }, &full), "it would wait");
        }
        assert!(reads(2, AppState { all_out: true, ..mail() }, &full));
        let stays = AppState { resume_known: true, returning: false, ..mail() };
        assert!(!reads(2, stays, &full));
        let known = || AppState { resume_known: true, ..mail() };
        assert!(!reads(2, known(), &MemoryConfig { prefetch_pages: 0, ..MemoryConfig::default() }));
        assert!(!reads(2, known(), &MemoryConfig { mode: Mode::Ladder, ..MemoryConfig::default() }));
    }
}
