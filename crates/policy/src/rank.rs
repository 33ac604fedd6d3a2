// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel's OOM killer is told: it is to choose as the daemon would. Where somebody outside of apps leaks, of whom it is told nothing,
//! it is to go by size: no app is to come before him for being of no use now.

use fovea_apps::{Kind, Perceived, Standing};

use crate::memory::leak_outside;
use crate::{Action, AppState, Decision, Reason, Snapshot};

/// Who matters more, or less, than the kernel knows.
pub fn decide(snapshot: &Snapshot) -> Decision {
    let mut decision = Decision::default();
    let by_size = leak_outside(snapshot).is_some();
    for app in &snapshot.apps {
        // One to be left alone is only given back what it had; so is a job, whose scores are its starter's affair.
        let left_alone = app.standing == Standing::Ignore || app.kind != Kind::App;
        let untouched = left_alone && app.ranked.is_none_or(|score| score == 0);
        let oom_score_adj = if by_size || app.kind != Kind::App { wanted(app).min(0) } else { wanted(app) };
        if !untouched && app.ranked != Some(oom_score_adj) {
            decision.push(Action::Rank { app: app.name.clone(), oom_score_adj }, Reason::Importance);
        }
    }
    decision
}

/// What its most killable process should have.
fn wanted(app: &AppState) -> i32 {
    let by_class = app.standing.oom_score_adj(app.importance);
    app.perceived.map_or(by_class, |_| by_class.min(Perceived::OOM_SCORE_ADJ))
}

#[cfg(test)]
mod tests {
    use fovea_apps::Importance;

    use super::*;

    fn told(app: AppState) -> Option<i32> {
        let snapshot = Snapshot { apps: vec![app], ..Snapshot::default() };
        decide(&snapshot).actions.first().map(|(action, _)| match action {
            Action::Rank { oom_score_adj, .. } => *oom_score_adj,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_kernel_is_told_what_has_changed_and_nothing_twice() {
        let mail = || AppState::new("mail".parse().unwrap(), Importance::Hidden);
        assert_eq!(told(mail()), Some(700));
        assert_eq!(told(AppState { ranked: Some(700), ..mail() }), None);
        assert_eq!(told(AppState { ranked: Some(700), perceived: Some(Perceived::PlaysSound), ..mail() }), Some(200));
        let front = AppState { importance: Importance::Foreground, ..mail() };
        assert_eq!(
            told(AppState { perceived: Some(Perceived::PlaysSound), ..front }),
            Some(0),
            "it is in front anyway"
        );
        assert_eq!(told(AppState { standing: Standing::Prefer, ..mail() }), Some(725));
    }

    #[test]
    fn one_that_is_to_be_left_alone_is_given_back_what_was_changed() {
        let ignored =
            AppState { standing: Standing::Ignore, ..AppState::new("foreign".parse().unwrap(), Importance::Hidden) };
        assert_eq!(told(ignored.clone()), None);
        assert_eq!(told(AppState { ranked: Some(700), ..ignored.clone() }), Some(0));
        assert_eq!(told(AppState { ranked: Some(0), ..ignored }), None);
    }
}
