// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The scenario `music`: the player is opened once and left alone by its user, the control differs in one key, and verdicts can fail.

use fovea_report::Document;
use fovea_scenario::{
    document, Boot, Catalog, Event, EventBody, Heard, Load, Plan, Provenance, Scenario, Step, MEDIA_ROOT,
};

fn plans(overrides: &[&str]) -> (Scenario, Vec<Plan>) {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::load("music", &overrides).unwrap();
    let plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
    (scenario, plans)
}

fn of<'p>(plans: &'p [Plan], configuration: &str) -> &'p Plan {
    plans.iter().find(|plan| plan.configuration.name() == configuration).unwrap()
}

#[test]
fn the_player_is_opened_once_and_never_looked_at_again() {
    let (_, plans) = plans(&["launches=40"]);
    let plan = of(&plans, "fovea");
    assert!(plan.sound);
    let opened: Vec<_> = plan.steps.iter().filter(|s| matches!(s, Step::Open { .. })).filter_map(Step::app).collect();
    assert_eq!(opened.len(), 41);
    assert_eq!(opened.iter().filter(|app| **app == "music-player").count(), 1);
    assert_eq!(opened[0], "music-player");
    assert!(!plan.steps.iter().any(|s| matches!(s, Step::Close { app } if app == "music-player")));
    let player = plan.apps.iter().find(|app| app.name == "music-player").unwrap();
    assert!(matches!(player.load, Some(Load::Music { pages: 512, .. })));
    assert!(plan.steps.iter().any(|s| matches!(s, Step::Heard {})));
}

#[test]
fn the_control_is_the_same_daemon_that_does_not_look_who_plays() {
    let (_, plans) = plans(&[]);
    let key = format!("\n[daemon]\nmedia_root = \"{MEDIA_ROOT}\"\n");
    let (fovea, deaf) = (of(&plans, "fovea"), of(&plans, "fovea-deaf"));
    assert_eq!(fovea.daemon_config.replace(&key, ""), deaf.daemon_config);
    assert_ne!(fovea.daemon_config, deaf.daemon_config);
    assert_eq!(fovea.steps, deaf.steps);
}

fn results(fovea: Heard, deaf: Heard, killed: bool) -> Document {
    let (scenario, plans) = plans(&["launches=2", "use_ns=1_000_000_000"]);
    let of = |plan: &Plan| {
        let name = plan.configuration.name();
        let heard = if name == "fovea-deaf" { deaf } else { fovea };
        let mut bodies = vec![EventBody::Heard(heard)];
        if killed && name == "fovea" {
            bodies.push(EventBody::Killed { app: "music-player".into(), oom: false });
        }
        bodies.push(EventBody::Done { oom_kills: 0, kills: 0, daemon_cpu_ns: 0 });
        bodies.into_iter().map(|body| Event { t_ns: 0, body }).collect()
    };
    let all: Vec<Vec<Event>> = plans.iter().map(of).collect();
    let boots: Vec<Boot> = plans.iter().zip(&all).map(|(plan, events)| Boot { plan, events }).collect();
    document(&scenario, &boots, &Provenance::default())
}

fn holds(document: &Document, id: &str) -> bool {
    document.verdicts.iter().find(|verdict| verdict.id == id).unwrap().pass
}

#[test]
fn a_gap_a_player_that_dies_and_a_control_that_does_no_harm_fail() {
    let whole = Heard { played_ns: 3_000_000_000, ..Heard::default() };
    let broken = Heard { played_ns: 1_000_000_000, silent_ns: 2_000_000_000, gaps: 1, longest_gap_ns: 2_000_000_000 };
    let verdicts = ["silent-fovea", "played-fovea", "player-fovea", "silent-deaf"];
    let of = |document: Document| verdicts.map(|id| holds(&document, id));
    assert_eq!(of(results(whole, broken, false)), [true, true, true, true]);
    assert_eq!(of(results(broken, broken, false)), [false, false, true, true]);
    assert_eq!(of(results(whole, whole, true)), [true, true, false, false]);
}
